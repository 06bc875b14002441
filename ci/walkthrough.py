"""Does in a copy of the repository what CONTRIBUTING.md says, so that its walk-throughs stay true.

A section of CONTRIBUTING.md that shows patches (```diff blocks) is a walk-through. All its patches are applied to one copy,
in target/walkthrough; then the ```sh blocks of these sections run there, in order. A comment
`<!-- at most 25 lines in 6 files -->` bounds what the patches of its section may add. Afterwards one line of the copy's
softsign kernel is made wrong, and the section's run must fail.

A patch names its file in a `+++` line. Its hunks begin with `@@` and have no line numbers: the lines of a hunk that are there
already (` ` and `-`) must be found in the file exactly once.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
COPY = TARGET / "walkthrough/parity"
BUILDS = TARGET / "walkthrough/target"
# What must not pass: a kernel with one wrong line. `parity run` ends with 100 when results differ.
BROKEN = ("rocm-backend/kernels/unary.hip", "/ (1 + abs(", "/ (2 + abs(")
FAILED = 100


def fail(words):
    sys.exit(f"error: {words}")


def sections(text):
    """The walk-throughs: title, bound on lines and files, patches, commands."""
    for section in re.split(r"^##+ ", text, flags=re.M)[1:]:
        blocks = re.findall(r"^```(\w+)\n(.*?)^```$", section, flags=re.M | re.S)
        patches = [body for kind, body in blocks if kind == "diff"]
        if patches:
            bound = re.search(r"<!-- at most (\d+) lines in (\d+) files? -->", section)
            bound = bound and tuple(map(int, bound.groups()))
            yield section.splitlines()[0], bound, patches, [body for kind, body in blocks if kind == "sh"]


def hunks(patch):
    """Each hunk of a patch with the file that it is for."""
    for part in re.split(r"^\+\+\+ ", patch, flags=re.M)[1:]:
        name, *bodies = re.split(r"^@@.*\n", part, flags=re.M)
        yield from ((name.strip(), body.splitlines()) for body in bodies)


def apply(patch):
    """Applies a patch to the copy; the lines that it adds and the files that it touches."""
    added, files = 0, set()
    for name, lines in hunks(patch):
        path = COPY / name
        if odd := [line for line in lines if line[:1] not in " +-"]:
            fail(f"{name}: a line of a patch begins with a space, + or -; found {odd[0]!r}")
        before = [line[1:] for line in lines if line[0] in " -"]
        after = [line[1:] for line in lines if line[0] in " +"]
        old = path.read_text().splitlines() if path.exists() else []
        places = [i for i in range(len(old) - len(before) + 1) if old[i : i + len(before)] == before]
        if not before and not old:
            places = [0]
        if len(places) != 1:
            fail(f"CONTRIBUTING.md: these lines are {len(places)} times in {name}, expected once:\n" + "\n".join(before))
        at = places[0]
        path.write_text("\n".join(old[:at] + after + old[at + len(before) :]) + "\n")
        added += sum(line[0] == "+" for line in lines)
        files.add(name)
    return added, files


def copy_repository():
    """A copy of what git knows or would add, and of the crates that cargo has built already."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\0")
    shutil.rmtree(COPY, ignore_errors=True)
    for name in filter(None, listed):
        if (ROOT / name).is_file():
            (COPY / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, COPY / name)
    for profile in ("debug", "release"):
        for folder in ("deps", "build", ".fingerprint"):
            source, copy = TARGET / profile / folder, BUILDS / profile / folder
            if source.is_dir() and not copy.exists():
                # cargo replaces a library as a whole, so that a link to it is as good as a copy; it writes into the others.
                shutil.copytree(source, copy, symlinks=True, copy_function=os.link if folder == "deps" else shutil.copy2)


def run(script, wanted=0):
    print(script, end="", flush=True)
    env = {**os.environ, "CARGO_TARGET_DIR": str(BUILDS), "ROCM_KERNEL_CACHE": str(TARGET / "kernels")}
    status = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=COPY, env=env).returncode
    if status != wanted:
        fail(f"exit code {status}, expected {wanted}, of:\n{script}")


def main():
    found = list(sections((ROOT / "CONTRIBUTING.md").read_text()))
    if len(found) < 2 or not found[0][3]:
        fail("CONTRIBUTING.md has no walk-throughs: expected sections with ```diff and ```sh blocks")
    copy_repository()
    for title, bound, patches, _ in found:
        done = [apply(patch) for patch in patches]
        lines, files = sum(added for added, _ in done), set().union(*(files for _, files in done))
        print(f"{title}: {lines} lines in {len(files)} files", flush=True)
        if bound and (lines > bound[0] or len(files) > bound[1]):
            fail(f"{title}: {lines} lines in {len(files)} files; CONTRIBUTING.md promises {bound[0]} in {bound[1]}")
    for _, _, _, scripts in found:
        for script in scripts:
            run(script)
    name, right, wrong = BROKEN
    text = (COPY / name).read_text()
    if text.count(right) != 1:
        fail(f"{name}: `{right}` is there {text.count(right)} times, expected once")
    (COPY / name).write_text(text.replace(right, wrong))
    run(found[0][3][0], FAILED)
    print("every walk-through of CONTRIBUTING.md was applied, built and run; a broken kernel was found")


main()
