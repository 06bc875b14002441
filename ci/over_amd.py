"""What ci/rocm-programs needs to run `parity` itself over AMD's HIP runtime and libraries of another suite of Debian."""
import json
import os
import subprocess
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
    device, verdicts, served = counts(*recorded(program, root, runner, card, cache, repository))
    if device["level"] != "isa" or "over the software GPU" not in device["driver"]:
        sys.exit(f"parity takes the software card for another: {device}")
    agree = sum(verdicts[name] for name in AGREES)
    kinds = [f"{count:,} {verdict}" for verdict, count in verdicts.most_common()]
    kinds += [f"{count:,} computed by {library}" for library, count in served.most_common()]
    return agree, sum(verdicts.values()) - agree, ", ".join(kinds)


def recorded(program, root, runner, card, cache, repository, more=()):
    """The record of the ci tier over AMD's runtime, or ours without a root, and what it calls the card."""
    backend = f"rocm:hsa:{card}" if root else "rocm:system"
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        folder = Path(folder)
        record = folder / "run.json"
        asked = ["run", "--backend", backend, "--tier", "ci", "--format", "json", "--out", record, *more]
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
        return json.loads(record.read_text()), backend


def of_models(program, card, cache, repository, more):
    """The record of the ci tier with this workspace's models in the place of AMD's libraries, and what it calls the card."""
    backend = f"rocm:{card}"
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        record = Path(folder) / "run.json"
        own = {"ROCM_LIBRARIES": "model", "ROCM_KERNEL_CACHE": str(cache / "kernels")}
        asked = [str(program), "run", "--backend", backend, "--tier", "ci", "--format", "json", "--out", str(record), *more]
        done = subprocess.run(asked, env={**os.environ, **own}, cwd=repository, capture_output=True, text=True, check=False)
        if not record.exists():
            sys.exit(f"parity with models on {card} ends with {done.returncode}: {done.stderr[-2000:]}")
        return json.loads(record.read_text()), backend


def results(record, backend):
    """The result of each case of a backend, by the case's id."""
    number = [entry["backend"] for entry in record["backends"]].index(backend)
    return {case["id"]: case["results"][number] for case in record["cases"]}


def library(result):
    """The library of AMD's, or the model of it, that computed a result."""
    return next((name for name in OF_AMD if any(by.startswith(name.lower()) for by in result["served_by"])), None)


def held(models, real):
    """Models held to AMD's libraries, case by case, where both computed: of each library how many cases have the same error to its last digit,
    how many another one inside the limit, and which have another verdict."""
    found = {}
    for case, result in models.items():
        name = library(result)
        other = real.get(case)
        if name is None or other is None or library(other) != name:
            continue
        same, inside, differ = found.setdefault(name, ([], [], []))
        errors = [{key: value for key, value in (of["vs_oracle"] or {}).items() if key != "worst"} for of in [result, other]]
        if result["verdict"] != other["verdict"]:
            differ.append(case)
        else:
            (same if errors[0] == errors[1] else inside).append(case)
    return found


def with_a_wrong_model(models, real):
    """The cases of a model, one of each library with an error outside of its limit: what must be noticed."""
    wrong = dict(models)
    for name in OF_AMD:
        case = next((case for case, result in models.items() if library(result) == name == library(real.get(case, result))), None)
        if case:
            wrong[case] = {**models[case], "verdict": "fail"}
    return wrong


def models(program, root, runner, card, cache, repository, more):
    """Holds the models of rocBLAS, MIOpen and rocRAND to AMD's, on the cases of `more` that both compute: a row of the page for each library."""
    real = results(*recorded(program, root, runner, card, cache, repository, more))
    ours = results(*of_models(program, card, cache, repository, more))
    for name, (_, _, differ) in held(with_a_wrong_model(ours, real), real).items():
        if not differ:
            sys.exit(f"a wrong model of {name} is not noticed on {card}")
    rows = []
    for name, (same, inside, differ) in sorted(held(ours, real).items()):
        said = f"{len(same):,} with the same error to its last digit, {len(inside):,} with another inside the limit"
        said += "".join(f"; `{case}` has another verdict" for case in differ[:5])
        rows.append((name, len(same) + len(inside), len(differ), said))
    return rows
