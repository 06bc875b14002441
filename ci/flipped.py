"""The second negative control of ci/rocm-programs: a part of a suite, run once for each of some instructions whose results are wrong
wherever a kernel has them. A part that passes all the same does not look at what that instruction computes, and is named.

What is flipped is a bit that matters of every result (crates/gfx-emu/src/exec/flip.rs). The instructions are those that the part's own
kernels have, of each kind in turn the one that most of them have; one that nothing executed is not a control, and another is tried."""
import json
import re
import sys
import time

# A part that executes fewer is too small to say something.
AT_LEAST = 20
# Kinds of instructions, by what their mnemonics begin with. A mnemonic is of the first that it fits.
KINDS = {
    "comparisons": r"v_cmp|s_cmp|s_bitcmp",
    "conversions": r"v_cvt|s_cvt",
    "loads": r"(global|flat|buffer|scratch)_load|s_(buffer_)?load",
    "stores and atomics": r"(global|flat|buffer|scratch)_(store|atomic)",
    "the data share": r"ds_",
    "matrices": r"v_(wmma|mfma|smfmac|dot)",
    "roots, powers and quotients": r"v_(exp|log|rcp|rsq|sqrt|sin|cos|ldexp|div_|frexp|trunc|floor|ceil|rndne|fract)",
    "arithmetic of floats": r"v_\w+_(b?f16|f32|f64)$",
    "addresses": r"v_(lshlrev_b64|lshl_add_u64|add_co|addc_co|mad_u64|add_lshl|lshl_add|lshl_or)|s_(add_u32|addc|lshl_b64|mul)",
    "selections and moves": r"v_(dual_)?(cndmask|mov|perm|readlane|readfirstlane)|s_(cselect|mov)",
    "arithmetic of integers": r"[vs]_\w+_[iu](16|24|32|64)(_u24|_i24)?$",
    "bits": r"",
}
# What a part does not notice, and why that is right: of rocRAND by the disassembly of its kernels. One that it notices is an entry to remove.
UNNOTICED = {
    ("triton", "gfx942", "v_fma_f32"): "the remainder of a quotient, which corrects its last digit",
    ("triton", "gfx1100", "v_cmp_gt_f32"): "the largest element of a row, which cancels out of softmax",
    ("triton", "gfx1100", "v_dual_max_f32"): "the largest element of a row, which cancels out of softmax",
    ("triton", "gfx1100", "v_max3_f32"): "the largest element of a row, which cancels out of softmax",
    ("rocrand", "gfx1100", "v_cmp_eq_u32"): "carries within a generator's counter, which does not get so far; which of two like branches draws a number; whether sine or cosine is taken of a random angle",
    ("rocrand", "gfx1100", "ds_load_b32"): "the word that a generator drew, random with a bit flipped too",
    ("rocrand", "gfx1100", "ds_store_b128"): "the words that a generator drew, random with a bit flipped too, and its counter, which is not read again",
    ("ggml", "gfx1100", "v_dot4_i32_iu8"): "sums of products of whole numbers are off by one: by a simulation of `q4_0` a squared error of 2e-6 of the result's, of which ggml allows 5e-4",
    ("rocblas", "gfx1100", "ds_load_2addr_stride64_b32"): "sums pass twice through it, and a bit that is flipped twice is right",
}


def kind(mnemonic):
    """The kind of an instruction."""
    return next(name for name, pattern in KINDS.items() if re.match(pattern, mnemonic))


def in_turn(instructions):
    """Mnemonics, of each kind in turn the one that most kernels have."""
    queues = {name: [] for name in KINDS}
    for mnemonic in sorted(instructions, key=lambda name: (-instructions[name], name)):
        queues[kind(mnemonic)].append(mnemonic)
    while any(queues.values()):
        for queue in queues.values():
            if queue:
                yield queue.pop(0)


def control(name, card, part, runner, count):
    """Runs a part of a suite, which gives whether each of its tests passed, with nothing flipped and then with `count` instructions. What became
    of each that was flipped: `result`, `fault` or `no end` where that was noticed, `` where it was not."""
    started = time.monotonic()
    runner.begin_part(None)
    right = part()
    took, faults = time.monotonic() - started, runner.findings
    if not right or not all(right.values()):
        sys.exit(f"{name} on {card} fails with nothing flipped: {', '.join(test for test, passed in right.items() if not passed)}")
    print(f"{name} on {card}: {len(right)} tests pass in {took:.0f} s, {len(runner.instructions)} instructions leave a result", flush=True)
    found = {}
    for mnemonic in in_turn(runner.instructions):
        if len(found) == count:
            break
        runner.begin_part(mnemonic, limit=10 + 3 * took)
        results = part()
        if not runner.flipped:
            print(f"  {mnemonic}: nothing executed it", flush=True)
            continue
        wrong = [test for test in right if not results.get(test)]
        how = "fault" if runner.findings > faults else "no end" if runner.cut else "result"
        found[mnemonic] = how if wrong else ""
        print(f"  {mnemonic}: {runner.flipped:,} flipped, {len(wrong)} of {len(right)} tests fail{', ' + how if wrong else ''}", flush=True)
    runner.begin_part(None)
    return found


def complaints(name, card, found, count):
    """What is wrong with what became of the instructions."""
    known = {mnemonic for (suite, where, mnemonic) in UNNOTICED if (suite, where) == (name, card)}
    missed = [mnemonic for mnemonic, how in found.items() if not how]
    wrong = [f"no test of {name} on {card} fails though every result of {mnemonic} is flipped" for mnemonic in missed if mnemonic not in known]
    wrong += [f"{mnemonic} is noticed by {name} on {card}, and is listed as unnoticed" for mnemonic in known & set(found) - set(missed)]
    return wrong + [f"{name} on {card} executes {len(found)} instructions that leave a result, fewer than {AT_LEAST}"] * (len(found) < min(count, AT_LEAST))


def keep(name, card, found, kept, commit, date):
    """Keeps a row of the page."""
    counts = [sum(how == word for how in found.values()) for word in ["result", "fault", "no end"]]
    missed = [f"`{mnemonic}`{said(name, card, mnemonic)}" for mnemonic, how in found.items() if not how]
    row = [len(found), sum(counts), *counts, ", ".join(missed), f"{commit}, {date}"]
    names = ", ".join(f"`{mnemonic}`" for mnemonic in found)
    (kept / f"flipped-{name}-{card}.json").write_text(json.dumps({"row": row, "names": names}))


def said(name, card, mnemonic):
    why = UNNOTICED.get((name, card, mnemonic))
    return f" ({why})" if why else ""


def section(kept, page):
    """The lines of the page of reports/: what was kept, and of other suites and cards what the page has."""
    rows, names = {}, {}
    for line in page.splitlines():
        if row := re.match(r"\| `([\w-]+)` \| (gfx\w+) \| \d", line):
            rows[row.groups()] = line
        if note := re.match(r"- Flipped in ([\w-]+) on (gfx\w+): ", line):
            names[note.groups()] = line
    for file in kept.glob("flipped-*.json"):
        name, card = file.stem.removeprefix("flipped-").rsplit("-", 1)
        done = json.loads(file.read_text())
        rows[name, card] = f"| `{name}` | {card} | " + " | ".join(map(str, done["row"])) + " |"
        names[name, card] = f"- Flipped in {name} on {card}: {done['names']}."
    if not rows:
        return []
    return [
        "## With one instruction wrong",
        "",
        "`ci/rocm-programs --flipped` runs a part of a suite again for each of some instructions, every result of which has a bit flipped.",
        "A run in which no test fails is unnoticed. The others are told by a wrong result, by a fault of a kernel, or by a program that does not end.",
        "",
        "| Part of | Card | Instructions | Noticed | By a result | By a fault | By no end | Unnoticed | Commit |",
        "|---|---|---:|---:|---:|---:|---:|---|---|",
        *(rows[part] for part in sorted(rows)),
        "",
        *(names[part] for part in sorted(names)),
        "",
    ]
