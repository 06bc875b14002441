"""The tests of AMD's own libraries that ci/rocm-programs runs: rocRAND, rocBLAS, hipBLASLt and MIOpen."""
import mmap
import os
import re
import shutil
import sys

# What others get wrong in tests, by what a test's name, a line end and its output hold.
# MIOpen's kernel `SoftMaxBlock` reduces twice through the same word of LDS. A wave that is early stores the second result before another
# has read the first: `gfx exec --sanitize` names both instructions. Debian's patch `0002-remove-assembly-code-integration` of MIOpen
# leaves out the kernels in assembly. The tests of `Conv2d` throw in a thread, which ends the program before it prints why: by gdb at
# `__cxa_throw`, "Failed to load kernel source: conv1x1wrw.s" and the like. Debian builds MIOpen without composable kernels, as well:
# libMIOpen has no name of their namespace, and with `MIOPEN_LOG_LEVEL=5` it says "No supported fusion solvers found".
FAULTS_OF_MIOPEN = {
    r"^Smoke/GPU_(Fwd_Mha|MhaForward)_FP32\.": "MIOpen's `SoftMaxBlock` has a race",
    r"Failed to load kernel source: \S+\.s\b": "Debian's package has no kernels in assembly",
    r"^Smoke/GPU_Conv2d(Tuning_BFP16|TuningDynamicXdlops_FP(16|32)|(Tuning|Single)AsmBwdWrw_B?FP(16|32)) exit 134\n": "a thread throws, as Debian's package has no kernels in assembly",
    r"(?s)^Smoke/GPU_(ConvBiasResAddActivation_fwd_\w+\..*failed condition: status != miopenStatusSuccess"
    r"|KernelTuningNetTestConvHipIgemmGroup\w+\..*Expected: \(perf_config\.ToString\(\)\) != )": "Debian's package has no composable kernels",
}
# Debian's softmax, layer norm and largest value for gfx90a use ten registers and declare eight before the accumulation registers. The
# software GPU refuses such a kernel; what a card gives it is not written down.
FAULTS_OF_HIPBLASLT = {"gfx90a": {r"^ExtOpTest": "refused, the kernels name v9, but declare 8 vector registers"}}

# The cards that Debian's package of that ROCm has no kernels of rocRAND for. No package of Debian's has them for gfx950.
ROCRAND_LACKS = {"6.4": ["gfx1151", "gfx1200", "gfx1201", "gfx942"]}


def rocrand(roots, runner, table, cards, runtimes, limit):
    """rocRAND's tests of its device functions, over each of `runtimes`, which has its root. Those of its host functions pass where no
    kernel runs, and are left out."""
    for runtime, card in [(runtime, card) for runtime in runtimes for card in cards if card not in ROCRAND_LACKS.get(runtime, [])]:
        root, counts = roots.get(runtimes[runtime]), Gtest({})
        tests = sorted((root / "usr/libexec/rocm/librocrand1-tests").glob("test_rocrand_kernel_*"))
        for test in tests:
            counts.add(test.name, *runner.run(root, card, test, limit=limit))
        rest = f"{len(tests)} programs, {counts.ended} of them to their end in {limit} s{counts.rest()}"
        table.add("rocRAND `test_rocrand_kernel_*`", runtime, card, counts.passed, counts.failed, rest)


# rocblas-test's file of cases: a head with the layout of a case, then cases of one size. Function and category are C strings in them.
ROCBLAS_HEAD, ROCBLAS_CASE, ROCBLAS_FUNCTION, ROCBLAS_CATEGORY = 592, 576, 0, 128


def rocblas_cases(file):
    """The cases of the category `quick` in rocBLAS's file, by function, without those that only pass bad arguments; and its head."""
    with open(file, "rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as cases:
        if cases[:8] != b"rocBLAS\0" or cases[ROCBLAS_HEAD - 8 : ROCBLAS_HEAD] != b"ROCblas\0" or (len(cases) - ROCBLAS_HEAD) % ROCBLAS_CASE:
            sys.exit(f"{file}: not the layout of rocBLAS 4.4's cases, which this script knows")
        found = {}
        for at in range(ROCBLAS_HEAD, len(cases), ROCBLAS_CASE):
            category, function = (cases[at + part : at + part + 64].split(b"\0")[0].decode() for part in (ROCBLAS_CATEGORY, ROCBLAS_FUNCTION))
            if category == "quick" and not function.endswith("_bad_arg"):
                found.setdefault(function, []).append(cases[at : at + ROCBLAS_CASE])
        return cases[:ROCBLAS_HEAD], found


def rocblas(roots, runner, table, cards, each, limit):
    """rocBLAS's own tests against its host reference: of every function up to `each` quick cases, evenly over its list; a tenth of
    them on gfx90a."""
    root = roots.get("rocblas")
    head, functions = rocblas_cases(root / "usr/share/librocblas4-tests/data/rocblas_gtest.data")
    test, data = root / "usr/libexec/rocm/librocblas4-tests/rocblas-test", runner.work / "rocblas.data"
    environment = {**os.environ, "GTEST_LISTENER": "PASS_LINE_IN_LOG"}
    for card in cards:
        share = 10 if card == "gfx90a" else 1
        counts, before = Gtest({}), runner.total(card)["launches"]
        for function, cases in sorted(functions.items()):
            count = min(len(cases), max(each // share, 1))
            data.write_bytes(head + b"".join(cases[at * len(cases) // count] for at in range(count)))
            ran = runner.run(root, card, test, "--data", data, "--gtest_filter=*quick*", limit=limit, env=environment, cwd=test.parent)
            counts.add(function, *ran)
        launches = runner.total(card)["launches"] - before
        rest = f"{len(functions)} functions, {counts.ended} of them to their end in {limit} s, {launches:,} launches{counts.rest()}"
        table.add("rocBLAS `rocblas-test`", "6.4", card, counts.passed, counts.failed, rest)


# The functions of the part of rocBLAS that ci/rocm-programs --flipped runs, and how many cases of each.
ROCBLAS_PART = "axpy scal dot nrm2 asum iamax copy rot gemv ger symv tbmv trsv gemm gemm_ex trsm geam syrk".split()
ROCBLAS_PART_CASES = 3


def rocblas_part(roots, runner, card):
    """A few cases of some of rocBLAS's functions, in one process."""
    root = roots.get("rocblas")
    head, functions = rocblas_cases(root / "usr/share/librocblas4-tests/data/rocblas_gtest.data")
    test, data = root / "usr/libexec/rocm/librocblas4-tests/rocblas-test", runner.work / "rocblas-part.data"
    cases = [functions[name] for name in ROCBLAS_PART]
    chosen = [of[at * len(of) // ROCBLAS_PART_CASES] for of in cases for at in range(ROCBLAS_PART_CASES)]
    data.write_bytes(head + b"".join(chosen))
    environment = {**os.environ, "GTEST_LISTENER": "PASS_LINE_IN_LOG"}
    command = [root, card, test, "--data", data, "--gtest_filter=*quick*"]
    return lambda: by_name(runner.run(*command, limit=300, env=environment, cwd=test.parent)[1])


def rocrand_part(roots, runner, card):
    """One of rocRAND's programs over ROCm 7.2."""
    root = roots.get("exp")
    test = root / "usr/libexec/rocm/librocrand1-tests/test_rocrand_kernel_philox4x32_10"
    return lambda: by_name(runner.run(root, card, test, limit=300)[1])


def by_name(text):
    """Whether each test of a program that uses GoogleTest passed."""
    return {name: word == "       OK" for word, name in re.findall(r"^\[(       OK|  FAILED ) ?\] (\S+?),? .*\(\d+ ms\)$", text, re.M)}


class Gtest:
    """The counts of programs that use GoogleTest. `faults` are patterns of tests that fail by a fault of others, with the fault: of the
    name and the output of a test. Such tests are counted apart."""

    def __init__(self, faults):
        self.passed, self.failed, self.ended, self.bad = 0, 0, 0, []
        self.faults, self.found = faults, dict.fromkeys(faults, 0)

    def add(self, name, code, text):
        """Counts the tests of a run, and names what is wrong of it."""
        said = dict(re.findall(r"(?ms)^\[ RUN      \] (\S+)$(.*?)(?=^\[)", text))
        wrong = [test.split(", where ")[0] for test in re.findall(r"^\[  FAILED  \] (.*) \(\d+ ms\)$", text, re.M)]
        if code not in (0, 124) and not wrong:
            reason = re.search(r"software GPU: (.*)", text)
            wrong = [f"{name} exit {code}{': ' + reason.group(1)[:200] if reason else ''}"]
            said = {wrong[0]: text}
        for test in wrong:
            fault = next((pattern for pattern in self.faults if re.search(pattern, f"{test}\n{said.get(test, '')}")), None)
            if fault:
                self.found[fault] += 1
            else:
                self.bad.append(test)
        self.passed += len(re.findall(r"^\[       OK \]", text, re.M))
        self.failed = len(self.bad)
        self.ended += code != 124

    def rest(self):
        """What is said of the faults and of the tests that failed beside them."""
        found = [f"{count} tests fail: {self.faults[fault]}" for fault, count in self.found.items() if count]
        return "".join(f"; {entry}" for entry in found + self.bad)


# What is run of hipblaslt-test, as its filters of names, and the part that ci/rocm-programs --flipped runs.
HIPBLASLT = ["*/smoke_*", "*/quick_*", "ExtOpTest*"]
HIPBLASLT_PART = [
    "*/smoke_matmul_smoke_*_r_TN_16_16_16_*", "*/smoke_matmul_bias_gelu_smoke_*_r_gelu_NN_32_32_32_*",
    "*/smoke_matmul_gemm_i8_dst_i32_*_sigmoid_NT_*", "ExtOpTest/*Success/1",
]


def hipblaslt_test(roots):
    """The root of hipBLASLt's own tests, the program with its file of cases, and where it runs."""
    root = roots.get("hipblaslt")
    test = root / "usr/libexec/rocm/libhipblaslt1-tests/hipblaslt-test"
    data = next(root.glob("usr/share/hipblaslt/*/test/hipblaslt_gtest.data"))
    return root, [test, "--data", data], test.parent


def hipblaslt(roots, runner, table, cards, limit):
    """hipBLASLt's own tests against its host reference: the categories `smoke` and `quick` of its products, and softmax, layer norm and
    the largest absolute value. Half of those of its transforms pass where no kernel runs, and they are left out."""
    root, test, folder = hipblaslt_test(roots)
    for card in cards:
        counts, before = Gtest(FAULTS_OF_HIPBLASLT.get(card, {})), runner.total(card)["launches"]
        for only in HIPBLASLT:
            counts.add(only, *runner.run(root, card, *test, f"--gtest_filter={only}", limit=limit, cwd=folder))
        launches = runner.total(card)["launches"] - before
        filters = " ".join(f"`{only}`" for only in HIPBLASLT)
        rest = f"{filters}, {counts.ended} of them to their end in {limit} s, {launches:,} launches"
        rest += counts.rest()
        table.add("hipBLASLt `hipblaslt-test`", "7.2", card, counts.passed, counts.failed, rest)


def hipblaslt_part(roots, runner, card):
    """Small products of floats and of integers, softmax, layer norm and the largest absolute value, in one process."""
    root, test, folder = hipblaslt_test(roots)
    command = [root, card, *test, f"--gtest_filter={':'.join(HIPBLASLT_PART)}"]
    return lambda: by_name(runner.run(*command, limit=300, cwd=folder)[1])


# The suites of the part of MIOpen that ci/rocm-programs --flipped runs: each is over in seconds.
MIOPEN_PART = [
    "VecAddTest_FP32", "Lrn_FP32", "PReLU_bwd_FP32", "Kthvalue_fwd_FP32", "MultiMarginLoss_FP32", "unaryTensorOps_FP32", "Dropout_FP32",
    "UnitTestConvSolverDirectNaiveFwd_FP32", "UnitTestConvSolverGemmFwd1x1_0_1Fwd_FP32",
]


def miopen_test(roots, runner, card):
    """The root of MIOpen's tests, the program, and an environment with no kernel of an earlier run."""
    root, home = roots.get("miopen"), runner.work / f"miopen-{card}"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    # Kernels that draw random numbers include rocRAND's headers.
    environment = {**os.environ, "HOME": str(home), "TMPDIR": str(home), "CPATH": str(root / "usr/include")}
    return root, root / "usr/libexec/rocm/libmiopen1-tests/miopen_gtest", environment


def miopen(roots, runner, table, cards, limit):
    """MIOpen's smoke tests. MIOpen compiles its kernels while it runs, by HIP's runtime compiler: none is kept from one run to the next."""
    for card in cards:
        root, test, environment = miopen_test(roots, runner, card)
        _, text = runner.run(root, card, test, "--gtest_list_tests")
        # Tests of the driver start a program that would have to be installed. The large ones of two dimensions end no test in 12 s.
        suites = [suite for suite in re.findall(r"^(Smoke/GPU_\w+)\.", text, re.M) if not re.search("MIOpenDriver|Large.*2D", suite)]
        counts, before = Gtest(FAULTS_OF_MIOPEN), runner.total(card)["launches"]
        for suite in suites:
            code, text = runner.run(root, card, test, f"--gtest_filter={suite}.*", limit=limit, env=environment)
            was = counts.passed, counts.failed
            counts.add(suite, code, text)
            print(f"  {suite}: {counts.passed - was[0]} OK, {counts.failed - was[1]} failed, exit {code}", flush=True)
        launches = runner.total(card)["launches"] - before
        rest = f"{len(suites)} suites, {counts.ended} of them to their end in {limit} s, {launches:,} launches"
        rest += counts.rest()
        table.add("MIOpen `miopen_gtest`", "7.2", card, counts.passed, counts.failed, rest)


def miopen_part(roots, runner, card):
    """Small suites of MIOpen in one process, over kernels that the run with nothing wrong has compiled."""
    root, test, environment = miopen_test(roots, runner, card)
    only = ":".join(f"Smoke/GPU_{suite}.*" for suite in MIOPEN_PART)
    return lambda: by_name(runner.run(root, card, test, f"--gtest_filter={only}", limit=300, env=environment)[1])
