"""What scripts of ci/ share: commands that must succeed, a bare Debian, and the main job as a check of where it runs."""
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
DIST = TARGET / "dist"
MIRROR = "http://deb.debian.org/debian"
SUITE = "bookworm"
NOBODY = "65534:65534"
MAIN_JOB = ["run", "--backend", "rocm", "--ops", "unary,binary"]


def call(*command, **options):
    """Runs a command that must succeed; what it printed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def sealed(file):
    """Writes a file's SHA-256 beside it; what is said of the file."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    file.with_name(f"{file.name}.sha256").write_text(f"{digest}  {file.name}\n")
    return f"{file}: {file.stat().st_size / 1e6:.1f} MB, SHA-256 {digest}"


def tool(name, *packages):
    """Has apt install the packages of a command where it is missing: by default the one of its name."""
    if shutil.which(name) is None:
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        call("apt-get", "update", "-qq")
        call("apt-get", "install", "-y", "-qq", "--no-install-recommends", *(packages or [name]), env=quiet)


def system(suite):
    """A bare Debian."""
    root = DIST / f"debian-{suite}"
    # A debootstrap that was cut off leaves a shell as well: the tree has its name once it is whole.
    if not root.exists():
        tool("debootstrap")
        unfinished = root.with_name(f"{root.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        # In its own namespace, so that what it mounts is gone with it, however it ends.
        call("unshare", "--mount", "debootstrap", "--variant=minbase", suite, unfinished, MIRROR)
        unfinished.rename(root)
    return root


def main_job(place, parity, folder):
    """Runs the main job by the command `parity`, whose working directory is `folder` here; then again with a spec that is wrong."""
    words = call(*parity, *MAIN_JOB).splitlines()
    counts = [line for line in words if line.startswith("rocm: ")]
    if not counts or not words[-1].startswith("ok: none of "):
        sys.exit(f"error: {place}: the main job printed no table:\n" + "\n".join(words[-5:]))
    print(f"{place}: {counts[0]}")
    # It can fail: a case whose spec is wrong.
    call(*parity, "specs", "export", ".")
    (folder / "op-specs/unary.toml").write_text("family = 'none'\n")
    if subprocess.run([str(part) for part in [*parity, *MAIN_JOB]], capture_output=True).returncode != 65:
        sys.exit(f"error: {place}: a broken spec of the working directory went unnoticed")
