//! Coverage as text and as lcov's tracefile.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::file::{Coverage, Kernel, Object, Sums};

/// Figures of targets and kernels, with every instruction that was not executed and every branch of which an outcome is
/// missing. Of kernels that were not launched, the names alone.
pub fn text(coverage: &Coverage) -> String {
    let mut page = String::new();
    // Writing to a `String` does not fail.
    for (target, sums) in coverage.targets() {
        let _ = writeln!(page, "{target}: {}", words(&sums));
    }
    for object in &coverage.objects {
        for kernel in &object.kernels {
            let mut sums = Sums::default();
            sums.add(kernel);
            let (target, name) = (&object.target, &kernel.name);
            let _ = write!(
                page,
                "{target} {name}: {} of {} instructions, {} of {} outcomes",
                sums.executed, sums.instructions, sums.seen, sums.outcomes
            );
            if !kernel.launched() {
                page.push_str("; never launched\n");
                continue;
            }
            page.push('\n');
            details(&mut page, object, kernel);
        }
    }
    page
}

/// What is missing of a kernel.
fn details(page: &mut String, object: &Object, kernel: &Kernel) {
    let place = |index: usize| match object.source(kernel, index) {
        Some((file, line)) => format!("  {file}:{line}"),
        None => String::new(),
    };
    for missed in &kernel.missed {
        let source = place(missed.index);
        let _ = writeln!(
            page,
            "    {:#06x} never executed: {}{source}",
            missed.pc, missed.text
        );
    }
    for branch in kernel
        .one_sided
        .iter()
        .filter(|branch| branch.taken || branch.passed)
    {
        let outcome = if branch.taken { "always" } else { "never" };
        let source = place(branch.index);
        let _ = writeln!(
            page,
            "    {:#06x} {outcome} taken: {}{source}",
            branch.pc, branch.text
        );
    }
}

/// Figures in a line.
pub fn words(sums: &Sums) -> String {
    let percent = sums
        .percent()
        .map_or_else(|| "none".to_owned(), |percent| format!("{percent:.2} %"));
    format!(
        "{} of {} kernels launched, {} of {} instructions executed ({percent}), {} of {} outcomes of branches seen",
        sums.launched, sums.kernels, sums.executed, sums.instructions, sums.seen, sums.outcomes
    )
}

/// What lcov knows of a source file.
#[derive(Default)]
struct Source {
    /// Instructions of a line, and those that were executed.
    lines: BTreeMap<u64, (usize, usize)>,
    /// Line, outcome and whether it was seen, of each branch.
    branches: Vec<(u64, [bool; 2])>,
    /// Kernels that begin in the file: line and whether they were launched.
    kernels: BTreeMap<String, (u64, bool)>,
}

/// A tracefile of lcov, by source line: how many of a line's instructions were executed, and the outcomes of its branches. It
/// is empty where the kernels were compiled without line tables.
pub fn lcov(coverage: &Coverage) -> String {
    let mut sources: BTreeMap<&str, Source> = BTreeMap::new();
    for object in &coverage.objects {
        for kernel in &object.kernels {
            trace(object, kernel, &mut sources);
        }
    }
    let mut page = String::new();
    for (file, source) in sources {
        let _ = writeln!(page, "TN:\nSF:{file}");
        for (name, (line, _)) in &source.kernels {
            let _ = writeln!(page, "FN:{line},{name}");
        }
        for (name, (_, launched)) in &source.kernels {
            let _ = writeln!(page, "FNDA:{},{name}", u8::from(*launched));
        }
        let hit = source.kernels.values().filter(|(_, launched)| *launched).count();
        let _ = writeln!(page, "FNF:{}\nFNH:{hit}", source.kernels.len());
        let mut seen = 0;
        for (block, (line, outcomes)) in source.branches.iter().enumerate() {
            for (number, outcome) in outcomes.iter().enumerate() {
                let _ = writeln!(page, "BRDA:{line},{block},{number},{}", u8::from(*outcome));
                seen += usize::from(*outcome);
            }
        }
        let _ = writeln!(page, "BRF:{}\nBRH:{seen}", 2 * source.branches.len());
        for (line, (_, executed)) in &source.lines {
            let _ = writeln!(page, "DA:{line},{executed}");
        }
        let hit = source
            .lines
            .values()
            .filter(|(_, executed)| *executed > 0)
            .count();
        let _ = writeln!(page, "LF:{}\nLH:{hit}\nend_of_record", source.lines.len());
    }
    page
}

fn trace<'a>(object: &'a Object, kernel: &Kernel, sources: &mut BTreeMap<&'a str, Source>) {
    let missed: std::collections::BTreeSet<usize> = kernel.missed.iter().map(|missed| missed.index).collect();
    let mut index = 0;
    for &(count, file, line) in &kernel.lines {
        let range = index..index + count;
        index += count;
        let Some(file) = object.files.get(file).filter(|_| line > 0) else {
            continue;
        };
        let source = sources.entry(file).or_default();
        if range.start == 0 {
            let begin = (line, kernel.launched());
            let known = source.kernels.entry(kernel.name.clone()).or_insert(begin);
            known.1 |= kernel.launched();
        }
        let executed = count - missed.range(range.clone()).count();
        let sums = source.lines.entry(line).or_default();
        sums.0 += count;
        sums.1 += executed;
        for branch in kernel.branches.iter().filter(|branch| range.contains(branch)) {
            let half = kernel.one_sided.iter().find(|half| half.index == *branch);
            let outcomes = half.map_or([true, true], |half| [half.taken, half.passed]);
            source.branches.push((line, outcomes));
        }
    }
}
