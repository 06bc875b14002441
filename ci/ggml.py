"""llama.cpp's comparison of its GPU with its CPU, which ci/rocm-programs runs."""
import os
import re
import shutil
import sys
import zipfile
from pathlib import Path

from debian import LIBRARIES, of_pypi
from runner import OURS

CYLLAMA = "cyllama-rocm==0.7.0"
# What others get wrong in cases whose names hold this, so that they must fail. CDNA3's numbers of 8 bits have a bias of 8 where those of NVFP4's scales
# have 7, so that `v_cvt_f32_fp8` gives half of a scale. The kernels of gfx942 halve it once more, as those of others must.
FAULTS_OF_GGML = {"gfx942": ("type_a=nvfp4,", "ggml halves NVFP4's scales twice: results are half of what is right")}
# Ops of ggml with thousands of cases, or with rocBLAS below: they get so many times as long as the others.
LONG = {"MUL_MAT": 12, "MUL_MAT_ID": 12, "FLASH_ATTN_EXT": 12, "OUT_PROD": 6, "CPY": 3, "SOFT_MAX": 3, "GET_ROWS": 3, "ROPE": 3}
# rocBLAS 6.4 of Debian has no kernels for gfx942, and ends the process with one of these. The cases of products that ggml's own kernels
# multiply are chosen by their names.
ROCBLAS_HAS_NO_KERNELS = r"TensileLibrary.* for GPU arch : gfx942|rocBLAS error from hip error code: 'hipErrorInvalidDeviceFunction'"
WITHOUT_ROCBLAS = {"MUL_MAT": "type_a=(?!b?f|iq1_m)", "MUL_MAT_ID": "type_a=(?!b?f|iq1_m)|n=1,"}


def ggml_backends(roots, card):
    """A folder with ggml's libraries for a card, from which test-backend-ops loads them. Debian's libggml-hip has no kernels for gfx942.
    The one of cyllama-rocm has, and is of the same version of ggml, 0.27.0; it finds Debian's libggml-base under the name it asks for."""
    debian = roots.get("ggml") / LIBRARIES
    if card != "gfx942":
        return debian / "ggml/backends0"
    folder = roots.cache / "ggml-cyllama"
    if not folder.exists():
        wheel = of_pypi(
            roots.cache, CYLLAMA, "--only-binary=:all:", "--python-version", "3.12", "--platform", "manylinux_2_31_x86_64", "--platform",
            "manylinux_2_35_x86_64",
        )
        part = roots.cache / "ggml-cyllama.part"
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir()
        with zipfile.ZipFile(wheel) as files:
            for name in files.namelist():
                if Path(name).name.startswith("libggml-hip-"):
                    (part / "libggml-hip.so").write_bytes(files.read(name))
                if Path(name).name.startswith("libggml-base-"):
                    (part / Path(name).name).symlink_to(debian / "libggml-base.so.0")
        for library in (debian / "ggml/backends0").glob("libggml-cpu-*.so"):
            (part / library.name).symlink_to(library)
        part.rename(folder)
    return folder


# The part of test-backend-ops that ci/rocm-programs --flipped runs: its ops, and the cases of them by their parameters.
PART = {
    "MUL_MAT": r"^type_a=(f16|q4_0|q8_0|q6_K|iq4_xs),type_b=f32,m=16,n=(1|16),k=256,bs=\[1,1\],nr=\[1,1\],per=\[0,1,2,3\]",
    "SOFT_MAX": r"ne=\[15,15,1,1\]",
    "RMS_NORM": r"ne=\[64,5,4,3\],v=0",
    "GELU_QUICK": r"ne_a=\[5,7,11,13\]",
    "ARGMAX": r"ne=\[32,513,",
    "SUM_ROWS": r"ne=\[10,5,4,3\]",
}


def ggml_test(roots, card):
    """The root of llama.cpp's tests, the program that compares ops, and the options of its runs on a card."""
    root, backends = roots.get("ggml"), ggml_backends(roots, card)
    environment = {**os.environ, "GGML_BACKEND_PATH": str(backends / "libggml-hip.so"), "GGML_NO_BACKTRACE": "1"}
    return root, root / "usr/libexec/x86_64-linux-gnu/ggml/test-backend-ops", {"cwd": backends, "env": environment}


def ggml_part(roots, runner, card):
    """A few ops of test-backend-ops, case by case. Some cases come twice."""
    root, test, options = ggml_test(roots, card)
    command = [root, card, test, "test", "-o", ",".join(PART), "-b", "ROCm0", "-p", "|".join(PART.values())]

    def results():
        _, text = runner.run(*command, limit=300, **options)
        right = {}
        for case, word in re.findall(r"^\s*(.*\)): .*?(OK|FAIL)$", text, re.M):
            right[case] = right.get(case, True) and word == "OK"
        return right

    return results


def ggml(roots, runner, table, cards, seconds, seam="hsa"):
    """llama.cpp's comparison of its GPU with its CPU, op by op, each for some seconds, those of `LONG` for longer."""
    for card in cards:
        root, test, options = ggml_test(roots, card)
        options["seam"] = seam
        _, text = runner.run(root, card, test, "--list-ops", **options)
        ops = sorted(set(re.findall(r"^\s*([A-Z][A-Z0-9_]+)$", text, re.M)))
        passed = failed = unsupported = finished = faults = 0
        bad, cut, counts, refused, fault = [], [], [], {}, FAULTS_OF_GGML.get(card, ("no case has this", ""))
        for op in ops:
            limit = seconds * LONG.get(op, 1)
            only = ["-p", WITHOUT_ROCBLAS[op]] if card == "gfx942" and op in WITHOUT_ROCBLAS else []
            code, text = runner.run(root, card, test, "test", "-o", op, "-b", "ROCm0", *only, limit=limit, **options)
            good = len(re.findall(r"\): OK$", text, re.M))
            wrong = re.findall(r"^\s*(.*\)): .*FAIL$", text, re.M)
            expected = [case for case in wrong if fault[0] in case]
            # One that is right is an entry to remove.
            removable = re.findall(rf"^\s*(.*{fault[0]}.*\)): OK$", text, re.M)
            faults, wrong = faults + len(expected), [case for case in wrong if case not in expected] + removable
            unsupported += len(re.findall(r"not supported", text))
            died = code not in (0, 124) and not wrong and not expected
            refusal = re.search(ROCBLAS_HAS_NO_KERNELS, text) if died else None
            finished += code != 124 and refusal is None
            passed += good
            failed += len(wrong) + (died and refusal is None)
            bad += wrong
            if refusal:
                refused.setdefault(refusal.group(0), []).append(f"{op} ({good:,})")
            elif died:
                reason = re.search(r"software GPU: (.*)|(rocBLAS error.*)|(ROCm error.*)|(.*GGML_ASSERT.*)", text)
                bad.append(f"{op}: exit {code}: {reason.group(0)[:300] if reason else ''}")
            if code == 124:
                cut.append(f"{op} ({good:,})" if limit == seconds else f"{op} ({good:,} in {limit} s)")
            counts.append(f"{op} {good:,}")
            print(f"  {op}: {good} OK, {len(wrong)} failed, exit {code}", flush=True)
        if not ops:
            sys.exit(f"test-backend-ops lists no ops: {text[-500:]}")
        rest = f"{len(ops)} ops, {finished} of them to their end in {seconds} s, or longer as noted; "
        rest += f"{unsupported} cases the library does not support"
        if seam == "hip":
            rest += "".join(f"; failed: `{entry}`" for entry in bad)
            table.add("`test-backend-ops` of llama.cpp", OURS, card, passed, failed, rest)
            continue
        library = f", library of {CYLLAMA}" if card == "gfx942" else ""
        table.add(f"llama.cpp `test-backend-ops`{library}", "6.4", card, passed, failed, rest)
        notes = [f"failed: `{entry}`" for entry in bad]
        notes += [f"{faults} cases of `{fault[0]}` fail, and must: {fault[1]}."] * (faults > 0)
        notes += [f"`{why}` ended, after so many right cases: {', '.join(ended)}." for why, ended in refused.items()]
        if card == "gfx942":
            filters = ", ".join(f"{op} with `-p '{only}'`" for op, only in WITHOUT_ROCBLAS.items())
            notes.append(f"without the cases that need rocBLAS: {filters}.")
        notes.append(f"cases of `test-backend-ops` that were right, by op: {', '.join(counts)}.")
        if cut:
            notes.append(f"not to their end in {seconds} s, with the cases that were right until then: {', '.join(cut)}.")
        table.notes += [(card, note) for note in notes]
