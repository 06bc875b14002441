"""What ci/rocm-programs needs to run `parity` itself over AMD's HIP runtime and libraries of another suite of Debian."""
import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from runner import library_path

LINKER = b"/lib64/ld-linux-x86-64.so.2\0"
# Verdicts that do not fail a run, and AMD's libraries, whose functions begin with their names.
AGREES = ["pass", "error-parity", "reference-suspect", "known-failure"]
OF_AMD = ["rocBLAS", "MIOpen", "rocRAND"]


def of_root(program, linker, folder):
    """A copy of a program that starts by another dynamic linker, and whose own children do, too."""
    (folder / "ld.so").symlink_to(linker)
    code, name = program.read_bytes(), bytes(folder / "ld.so")
    at = code.find(LINKER)
    if at < 0 or len(name) >= len(LINKER):
        sys.exit(f"{program}: its dynamic linker cannot be made {folder / 'ld.so'}")
    copy = folder / program.name
    copy.write_bytes(code[:at] + name.ljust(len(LINKER), b"\0") + code[at + len(LINKER) :])
    copy.chmod(0o755)
    return copy


def counts(record, backend):
    """Of a record of parity: the entry of a backend, how often each verdict is, and how many cases each library of AMD's computed."""
    number = [entry["backend"] for entry in record["backends"]].index(backend)
    results = [case["results"][number] for case in record["cases"]]
    served = Counter(
        name for result in results for name in OF_AMD if any(by.startswith(name.lower()) for by in result["served_by"])
    )
    return record["backends"][number], Counter(result["verdict"] for result in results), served


def ci_tier(program, root, runner, card, cache, repository):
    """Runs the ci tier on a software card below AMD's runtime: cases that agree, cases that do not, and of which kind they are. Kernels are
    compiled by hipRTC. Without a root it is this workspace's HIP runtime that they are over, and the machine's clang compiles."""
    backend = f"rocm:hsa:{card}" if root else "rocm:system"
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        folder = Path(folder)
        record = folder / "run.json"
        asked = ["run", "--backend", backend, "--tier", "ci", "--format", "json", "--out", record]
        own = {"ROCM_KERNEL_CACHE": cache / "kernels", "HOME": runner.work}
        if root:
            # clang of this machine does not start over the root's libraries, and MIOpen's kernel of poolings includes HIP's header.
            own |= {"ROCM_CLANG": folder / "none", "CPATH": root / "usr/include"}
        environment = {**os.environ, **{name: str(value) for name, value in own.items()}}
        options = {"limit": 3600, "env": environment, "cwd": repository}
        if root:
            copy = of_root(program, root / "usr/lib64/ld-linux-x86-64.so.2", folder)
            # `timeout`, which is of this machine too, starts it: the root's libraries are the copy's alone.
            code, text = runner.by_itself(card, ["env", f"LD_LIBRARY_PATH={library_path(root)}", copy, *asked], **options)
        else:
            code, text = runner.exec(card, [program, *asked], seam="hip", **options)
        if not record.exists():
            sys.exit(f"parity on {card} ends with {code}: {text[-2000:]}")
        device, verdicts, served = counts(json.loads(record.read_text()), backend)
    if device["level"] != "isa" or "over the software GPU" not in device["driver"]:
        sys.exit(f"parity takes the software card for another: {device}")
    agree = sum(verdicts[name] for name in AGREES)
    kinds = [f"{count:,} {verdict}" for verdict, count in verdicts.most_common()]
    kinds += [f"{count:,} computed by {library}" for library, count in served.most_common()]
    return agree, sum(verdicts.values()) - agree, ", ".join(kinds)
