//! `kernel-coverage.md`: which instructions of kernels a run of the ci tier executed on the software cards, and what it did not.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kernel_coverage::{Coverage, Kernel, Missed, Object};

/// Ranges of missed instructions that a kernel's row spells out.
const SPELLED: usize = 8;

/// The page, of what the ci tier executed, and of what it and the backend's own tests did.
pub(crate) fn render([cases, coverage]: &[Coverage; 2]) -> String {
    let mut page = "# Which instructions of kernels are executed\n\n\
        The software GPU notes what it executes while the ci tier runs on each card (`parity run --coverage`), and while the tests of \
        rocm-backend do ([`ROCM_COVERAGE`](../docs/environment.md)). An instruction counts where it can be reached from its kernel's \
        first one; padding does not. A branch that may be taken or not has two outcomes. Kernels of candle's that candle never launches, and ids of \
        dtypes that it does not take, no case reaches; the tests do. What neither executes, nothing checks.\n\n\
        | card | by | kernels | launched | instructions | executed | percent | outcomes of branches | seen |\n\
        |---|---|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    // Writing to a `String` does not fail.
    for (by, coverage) in [("cases", cases), ("cases and tests", coverage)] {
        for (target, sums) in coverage.targets() {
            let percent = sums.percent().unwrap_or_default();
            let _ = writeln!(
                page,
                "| {target} | {by} | {} | {} | {} | {} | {percent:.2} | {} | {} |",
                sums.kernels, sums.launched, sums.instructions, sums.executed, sums.outcomes, sums.seen
            );
        }
    }
    never_launched(&mut page, coverage);
    missed(&mut page, coverage);
    one_sided(&mut page, coverage);
    page
}

fn kernels(coverage: &Coverage) -> impl Iterator<Item = (&Object, &Kernel)> {
    let of = |object| -> Vec<(&Object, &Kernel)> { of_object(object).collect() };
    coverage.objects.iter().flat_map(of)
}

fn of_object(object: &Object) -> impl Iterator<Item = (&Object, &Kernel)> {
    object.kernels.iter().map(move |kernel| (object, kernel))
}

fn never_launched(page: &mut String, coverage: &Coverage) {
    let mut all: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (object, kernel) in kernels(coverage).filter(|(_, kernel)| !kernel.launched()) {
        all.entry(&kernel.name).or_default().push(&object.target);
    }
    page.push_str("\n## Kernels that no case and no test launches\n\n");
    if all.is_empty() {
        page.push_str("None.\n");
        return;
    }
    page.push_str("| kernel | cards |\n|---|---|\n");
    for (kernel, cards) in all {
        let _ = writeln!(page, "| `{kernel}` | {} |", cards.join(", "));
    }
}

/// Missed instructions that follow each other.
fn ranges(kernel: &Kernel) -> Vec<&[Missed]> {
    kernel
        .missed
        .chunk_by(|one, next| one.index + 1 == next.index)
        .collect()
}

fn missed(page: &mut String, coverage: &Coverage) {
    page.push_str("\n## Instructions that neither executes\n\nOf kernels that some case or test launches; places are byte offsets.\n\n");
    let mut rows: Vec<(&Object, &Kernel)> = kernels(coverage)
        .filter(|(_, kernel)| kernel.launched() && !kernel.missed.is_empty())
        .collect();
    if rows.is_empty() {
        page.push_str("None.\n");
        return;
    }
    rows.sort_by_key(|(object, kernel)| {
        (
            std::cmp::Reverse(kernel.missed.len()),
            &kernel.name,
            &object.target,
        )
    });
    page.push_str("| card | kernel | missed | of | where |\n|---|---|--:|--:|---|\n");
    for (object, kernel) in rows {
        let ranges = ranges(kernel);
        let mut places: Vec<String> = ranges
            .iter()
            .take(SPELLED)
            .filter_map(|range| place(object, kernel, range))
            .collect();
        if ranges.len() > SPELLED {
            places.push(format!("and {} more", ranges.len() - SPELLED));
        }
        let _ = writeln!(
            page,
            "| {} | `{}` | {} | {} | {} |",
            object.target,
            kernel.name,
            kernel.missed.len(),
            kernel.instructions,
            places.join("; ")
        );
    }
}

fn place(object: &Object, kernel: &Kernel, range: &[Missed]) -> Option<String> {
    let first = range.first()?;
    let count = match range.len() {
        1 => String::new(),
        count => format!(" and {} after it", count - 1),
    };
    let source = object.source(kernel, first.index);
    let source = source.map_or_else(String::new, |(file, line)| {
        let name = file.rsplit('/').next().unwrap_or(file);
        format!(" ({name}:{line})")
    });
    Some(format!("{:#x} `{}`{count}{source}", first.pc, first.text))
}

fn one_sided(page: &mut String, coverage: &Coverage) {
    page.push_str("\n## Branches that are always left the same way\n\n");
    let mut sums: BTreeMap<(&str, &str), [usize; 2]> = BTreeMap::new();
    for (object, kernel) in kernels(coverage).filter(|(_, kernel)| kernel.launched()) {
        for branch in kernel
            .one_sided
            .iter()
            .filter(|branch| branch.taken != branch.passed)
        {
            let mnemonic = branch.text.split(' ').next().unwrap_or_default();
            sums.entry((&object.target, mnemonic)).or_default()[usize::from(branch.taken)] += 1;
        }
    }
    if sums.is_empty() {
        page.push_str("None.\n");
        return;
    }
    page.push_str(
        "A branch over code that no active lane needs (`execz`) is never taken where every wave has a lane that needs it, and \
         nothing is computed wrong without it. `parity coverage` lists each with its place.\n\n\
         | card | branch | never taken | always taken |\n|---|---|--:|--:|\n",
    );
    for ((target, mnemonic), [never, always]) in sums {
        let _ = writeln!(page, "| {target} | `{mnemonic}` | {never} | {always} |");
    }
}

#[cfg(test)]
mod tests {
    use kernel_coverage::{Branch, Sums};

    use super::*;

    fn kernel(name: &str, missed: &[usize]) -> Kernel {
        let missed = missed.iter().map(|index| Missed {
            index: *index,
            pc: 4 * *index as i64,
            text: "v_mov_b32_e32 v0, v1".to_owned(),
        });
        Kernel {
            name: name.to_owned(),
            instructions: 10,
            branches: vec![2],
            missed: missed.collect(),
            one_sided: vec![Branch {
                index: 2,
                pc: 8,
                text: "s_cbranch_scc1 12".to_owned(),
                taken: false,
                passed: true,
            }],
            lines: vec![],
        }
    }

    #[test]
    fn the_page_names_what_was_missed_in_runs_and_nothing_else() {
        let mut coverage = Coverage::empty();
        coverage.objects.push(Object {
            id: "0".to_owned(),
            target: "gfx1100".to_owned(),
            files: vec![],
            kernels: vec![
                kernel("half", &[5, 6, 7, 9]),
                kernel("never", &(0..10).collect::<Vec<_>>()),
                kernel("whole", &[]),
            ],
        });
        let mut sums = Sums::default();
        kernels(&coverage).for_each(|(_, kernel)| sums.add(kernel));
        assert_eq!(sums.executed, 16);
        let mut none = coverage.clone();
        none.objects[0].kernels[0] = kernel("half", &[4, 5, 6, 7, 9]);
        let page = render(&[none, coverage]);
        assert!(
            page.contains("| gfx1100 | cases | 3 | 2 | 30 | 15 | 50.00 | 6 | 3 |"),
            "{page}"
        );
        assert!(
            page.contains("| gfx1100 | cases and tests | 3 | 2 | 30 | 16 | 53.33 | 6 | 3 |"),
            "{page}"
        );
        assert!(page.contains("| `never` | gfx1100 |"), "{page}");
        assert!(
            page.contains("| gfx1100 | `half` | 4 | 10 | 0x14 `v_mov_b32_e32 v0, v1` and 2 after it; 0x24"),
            "{page}"
        );
        assert!(!page.contains("`whole`"), "{page}");
        assert!(page.contains("| gfx1100 | `s_cbranch_scc1` | 2 | 0 |"), "{page}");
    }
}
