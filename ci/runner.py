"""Runs programs of a root of Debian's packages by `gfx exec`, and counts what passed; for ci/rocm-programs."""
import json
import os
import pty
import re
import subprocess
import tempfile
from pathlib import Path

from debian import LIBRARIES

# What the page calls this workspace's libamdhip64, with no file of AMD's below a program but its own libraries.
OURS = "ours"
# What others get wrong, so that the program cannot pass on a card either. It must fail: one that passes is an entry to remove.
# clang 19 compiles the loop of `__ockl_dm_alloc` that takes a slab with `s_cbranch_scc1` below `s_and_saveexec_b32` and
# `s_cbranch_execz`. There SCC is always 1, so that the loop's compare-and-swap is never reached. -O1 and clang 21 are right.
# Of half floats LLVM 21.1, which hipRTC 6.4 of Debian is, takes the lower half of a register for the upper: examples/hip-ctest/halves.hip.
# tinygrad takes every processor whose name is not exactly `gfx942` for RDNA3, also `gfx942:sramecc+:xnack-`, as HIP names it, and
# gfx90a; the matrix instructions that it then writes do not compile.
FAULTS_OF_OTHERS = {
    ("gfx1100", "malloc, -O2"): "clang 19 compiles `malloc` to a loop that does not end",
    ("gfx1100", "halves, hipRTC 6.4, -O3"): "LLVM 21.1 takes the lower half of a register for the upper",
    ("gfx1100", "halves, hipRTC 6.4, -O1"): "LLVM 21.1 takes the lower half of a register for the upper",
    ("gfx942", "test_hgemm"): "tinygrad takes the card for RDNA3",
    ("gfx942", "test_gemm_fp16"): "tinygrad takes the card for RDNA3",
    ("gfx90a", "test_hgemm"): "tinygrad takes the card for RDNA3",
}

# What is added up of what ran, and what the library's reports call it.
OF_REPORTS = {"launches": "launches", "wave_instructions": "instructions", "seconds": "seconds"}
# Instructions after which a wave is stopped where one is wrong: no kernel that is right takes so many.
MOST_INSTRUCTIONS = 20_000_000


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def on_a_terminal(command, **options):
    """Runs a command whose output is a terminal: its exit code and what it printed. Into a pipe C programs write whole blocks, and
    what a program has not written when its time is over is lost."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, **options) as running:
        os.close(theirs)
        text = bytearray()
        while True:
            try:
                part = os.read(ours, 1 << 16)
            except OSError:
                # Linux's end of a terminal whose last writer is gone.
                break
            if not part:
                break
            text += part
        os.close(ours)
    return running.returncode, text.decode(errors="replace").replace("\r\n", "\n")


def library_path(root):
    """Where the libraries of a root lie."""
    return ":".join(str(root / part) for part in [LIBRARIES, f"{LIBRARIES}/blas", f"{LIBRARIES}/lapack", "usr/lib"])


class Runner:
    """Runs programs of a root by `gfx exec`."""

    def __init__(self, gfx, work):
        self.gfx, self.work = gfx, work
        self.report = work / f"report-{os.getpid()}.json"
        self.totals = {}
        self.begin_part(None)

    def begin_part(self, flip, limit=None):
        """The programs from here on get an instruction wrong, and at most so many seconds. What they had of it is counted anew."""
        self.flip, self.limit = flip, limit
        self.flipped, self.findings, self.cut, self.instructions = 0, 0, 0, {}

    def run(self, root, card, program, *arguments, **options):
        """Exit code (124 past the limit, in seconds) and everything printed. Without a root the program is one of this machine, over this
        workspace's libamdhip64."""
        if root is None:
            return self.exec(card, [program, *arguments], seam="hip", **options)
        linker = root / LIBRARIES / "ld-linux-x86-64.so.2"
        return self.exec(card, [linker, "--library-path", library_path(root), program, *arguments], **options)

    def exec(self, card, command, limit=120, sanitize=False, seam="hsa", **options):
        """The same of a command."""
        report = self.report
        report.unlink(missing_ok=True)
        flags = ["--card", card, "--seam", seam, "--report", report, *(["--sanitize"] if sanitize else [])]
        if self.flip:
            # What is wrong may be how often a loop is run.
            flags += ["--flip", self.flip, "--max-instructions", MOST_INSTRUCTIONS, "--timeout", self.limit / 2]
            limit = min(limit, self.limit)
        gfx = [self.gfx, "exec", *flags, "--", "timeout", limit]
        code, text = on_a_terminal([str(part) for part in [*gfx, *command]], **options)
        if report.exists():
            total, ran = self.total(card), json.loads(report.read_text())
            for key, value in ran["total"].items():
                if key in total:
                    total[key] += value
            self.flipped += ran["flipped"]
            self.findings += ran["findings"]
            for mnemonic, kernels in ran["instructions"].items():
                self.instructions[mnemonic] = self.instructions.get(mnemonic, 0) + kernels
        self.cut += code == 124
        return code, plain(text)

    def by_itself(self, card, command, env, limit=120, **options):
        """The same of a program that puts this workspace's libhsa-runtime64 below AMD's runtime by itself, as `ROCM_DRIVER=hsa` has it."""
        with tempfile.TemporaryDirectory(dir=self.work) as reports:
            ours = {"ROCM_HSA_LIBRARY": str(self.gfx.parent / "libhsa_runtime64.so"), "ROCM_SOFT_REPORT": reports}
            code, text = on_a_terminal(["timeout", str(limit), *map(str, command)], env={**env, **ours}, **options)
            total = self.total(card)
            for report in Path(reports).glob("*.json"):
                for kernel in json.loads(report.read_text())["kernels"]:
                    for key, counted in OF_REPORTS.items():
                        total[key] += kernel[counted]
        return code, plain(text)

    def total(self, card):
        """What ran on a card so far."""
        return self.totals.setdefault(card, dict.fromkeys(OF_REPORTS, 0))


class Table:
    """Suites with their counts, and notes on what ran on a card."""

    def __init__(self):
        self.rows, self.notes = [], []

    def add(self, suite, runtime, card, passed, failed, rest=""):
        self.rows.append((suite, runtime, card, passed, failed, rest))
        print(f"{suite} | {runtime} | {card} | {passed} passed, {failed} failed{' | ' + rest if rest else ''}", flush=True)

    def add_named(self, suite, runtime, card, results, said=""):
        """A suite whose tests have names, with whether each passed. What is a fault of others must fail, and is not counted as failed."""
        faults = {test: why for (where, test), why in FAULTS_OF_OTHERS.items() if where == card and test in results}
        failed = [test for test, passed in results.items() if passed == (test in faults)]
        rest = [*[said] * bool(said), *failed, *(f"{test}: {why}" for test, why in faults.items() if test not in failed)]
        self.add(suite, runtime, card, sum(results.values()), len(failed), "; ".join(rest))
