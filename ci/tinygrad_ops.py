"""tinygrad's own tests of its operations, which its package lacks, for ci/rocm-programs: `test_ops.py` of a checkout of its repository,
run with the package's tinygrad. Each test compares results and gradients with PyTorch's on the CPU."""
import hashlib
import re

from runner import FAULTS_OF_OTHERS

# Seconds that a process may take, and a test that is its first.
LIMIT = 1200
# A test, the first line of its documentation and what it printed, which may stand before unittest's word.
TESTS = r"(?ms)^(test_\w+) \(test_ops\.(\w+)\.[^)]*\)(?:\n[^\n]*)? \.\.\. (.*?)(?=\ntest_\w+ \(|\n={20}|\n-{20}|\Z)"
WORD = r"(ok|FAIL|ERROR|skipped|expected failure)(?: ['\"][^\n]*)?\s*$"


def names(text):
    """The tests of the file, as unittest calls them."""
    found, name = [], None
    for line in text.splitlines():
        if of_class := re.match(r"class (\w+)\(", line):
            name = of_class[1]
        elif test := re.match(r"  def (test_\w+)\(", line):
            found.append(f"test_ops.{name}.{test[1]}")
    return list(dict.fromkeys(found))


def said(text):
    """The tests that ended, with unittest's word for each, and the exceptions that ended those that did not pass."""
    words, reasons, name = {}, {}, None
    for test, of_class, rest in re.findall(TESTS, text):
        if word := re.search(WORD, rest):
            words[f"test_ops.{of_class}.{test}"] = word[1]
    for line in text.splitlines():
        if found := re.match(r"(?:ERROR|FAIL): (test_\w+) \(test_ops\.(\w+)\.", line):
            name = f"test_ops.{found[2]}.{found[1]}"
        elif name and re.match(r"([A-Za-z_][\w.]*)?(Error|Exception|Interrupt): ", f"{line} "):
            # One exception may follow from another: the last one counts.
            reasons[name] = " ".join(line.split())[:160]
    return words, reasons


def run(tests, process):
    """Every test's word and the reasons. `process` runs unittest on some tests: its exit code and what it printed. A test that no process
    finishes, though it is its first, is called `cut off`; the others of that process are run by another."""
    words, reasons, left = {}, {}, list(tests)
    while left:
        code, text = process(left)
        ended, why = said(text)
        words.update(ended)
        reasons.update(why)
        rest = [test for test in left if test not in ended]
        if rest and (not ended or rest[0] == left[0]):
            # Nothing came of the first: it took all the time, or it ended the process.
            words[rest[0]] = "cut off"
            reasons[rest[0]] = f"no result, exit code {code}"
            rest = rest[1:]
        left = rest
    return words, reasons


def version(file):
    """What a file of a Git repository is called there, shortened."""
    data = file.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()[:8]


def tinygrad_ops(table, card, folder, python, package):
    """A row of the table: the tests of a card. `python` runs the root's Python on a card, with more folders to import from and variables.
    What fails on tinygrad's device for the host as well is not a fault of a GPU, and is counted apart."""
    file = next(path for path in [folder / "test/backend/test_ops.py", folder / "test/test_ops.py"] if path.exists())

    def process(tests, **variables):
        return python(card, [file.parent, folder], "-m", "unittest", "-v", *tests, limit=LIMIT, **variables)

    words, reasons = run(names(file.read_text()), process)
    failed = [test for test, word in words.items() if word in ["FAIL", "ERROR", "cut off"]]
    # unittest says why at the end, which a process whose time was over did not reach.
    again, why = run([test for test in failed if test not in reasons], process)
    words.update(again)
    reasons.update(why)
    failed = [test for test in failed if words[test] in ["FAIL", "ERROR", "cut off"]]
    on_host, why_there = run(failed, lambda tests: process(tests, DEV="CPU"))
    without = [test for test in failed if on_host[test] in ["FAIL", "ERROR"] and why_there.get(test) == reasons.get(test)]
    # What is a fault of others must fail.
    faults = {test: FAULTS_OF_OTHERS[card, name] for test in words if (card, name := test.rsplit(".", 1)[1]) in FAULTS_OF_OTHERS}
    passing = [test for test in faults if words[test] == "ok"]
    failed = [test for test in failed if test not in without and test not in faults] + passing
    count = [sum(word == each for word in words.values()) for each in ["ok", "expected failure", "skipped"]]
    rest = [f"{count[2]} skipped"] * bool(count[2])
    rest += [f"{test.rsplit('.', 1)[1]} fails on tinygrad's device for the host as well ({reasons.get(test)})" for test in without]
    rest += [f"{test.rsplit('.', 1)[1]}: {why}" for test, why in faults.items() if test not in passing]
    rest += [f"{test.rsplit('.', 1)[1]}: {'passes' if test in passing else reasons.get(test)}" for test in failed]
    name = f"`test_ops` of tinygrad's repository ({version(file)}), tinygrad {package}"
    table.add(name, "6.4", card, count[0] + count[1], len(failed), "; ".join(rest).replace("|", "/"))
