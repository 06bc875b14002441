//! What launches note of what they execute, and kernels with a fault planted.

use gfx_emu::{Dispatch, LaunchOptions, Listed, Mutation, MutationKind, covered};

use crate::support::{Arg::*, Device, on_each_target};

/// Uniform branches: the compiler keeps them as branches of the wave.
const BRANCHY: &str = "KERNEL branchy(unsigned* out, unsigned n) {
  if (n > 100) {
    for (unsigned i = 0; i < n; ++i) out[i] = n / (i + 1);
  } else {
    out[tid(0)] = 7;
  }
}";

const NOTING: LaunchOptions = LaunchOptions {
    max_wave_instructions: 1_000_000,
    max_time: None,
    sanitize: false,
    lds_as_card: false,
    cover: true,
    count: false,
    flip: None,
    compiling: gfx_emu::Compiling::Auto,
};

fn launch(device: &Device, out: u64, n: u32, options: &LaunchOptions) {
    let block = [32, 1, 1];
    device
        .launch_with("branchy", [1; 3], block, 0, &[Ptr(out), U32(n)], options)
        .unwrap();
}

fn listing(device: &Device, kernel: &str) -> Vec<Listed> {
    device.code.listing(device.code.kernel(kernel).unwrap()).unwrap()
}

fn marks(device: &Device, kernel: &str) -> Option<Vec<u8>> {
    device.code.take_marks(device.code.kernel(kernel).unwrap())
}

fn a_branch_that_is_never_taken_and_the_code_behind_it_are_told(target: &str) {
    let mut device = Device::with_flags(target, "cover_branchy", BRANCHY, &["-gline-tables-only"]);
    let out = device.upload(&[0; 200]);
    launch(&device, out, 3, &NOTING);
    let lines = listing(&device, "branchy");
    let few = marks(&device, "branchy").unwrap();
    assert_eq!(few.len(), lines.len());
    let one_sided = |marks: &[u8]| {
        let branches = lines.iter().zip(marks).filter(|(line, _)| line.conditional);
        let half = |mark: u8| mark & (covered::TAKEN | covered::PASSED) != covered::TAKEN | covered::PASSED;
        branches.filter(|(_, mark)| half(**mark)).count()
    };
    let missed: Vec<&Listed> = lines
        .iter()
        .zip(&few)
        .filter(|(_, mark)| **mark & covered::EXECUTED == 0)
        .map(|(line, _)| line)
        .collect();
    assert!(missed.len() > 5 && one_sided(&few) > 0, "{few:?}");
    // Each line is the one that a fault there would name.
    let kernel = device.code.kernel("branchy").unwrap();
    for line in &lines {
        let named = device.code.source_line(kernel, line.pc as usize);
        let told = line.source.as_ref().map(|(file, line)| format!("{file}:{line}"));
        // With the directory of its file before it.
        assert_eq!(told.is_some(), named.is_some(), "{line:?}");
        assert!(
            told.unwrap_or_default().ends_with(&named.unwrap_or_default()),
            "{line:?}"
        );
    }
    // The loop has a line of its own, which nothing else is of.
    let executed = lines
        .iter()
        .zip(&few)
        .filter(|(_, mark)| **mark & covered::EXECUTED != 0);
    let executed: Vec<_> = executed.filter_map(|(line, _)| line.source.clone()).collect();
    let alone = missed
        .iter()
        .filter_map(|line| line.source.clone())
        .filter(|source| source.0.ends_with(".hip") && !executed.contains(source));
    assert!(alone.count() > 2, "{missed:?}");
    // What was told is forgotten; the other way executes the rest.
    assert_eq!(marks(&device, "branchy"), None);
    launch(&device, out, 150, &NOTING);
    let many = marks(&device, "branchy").unwrap();
    let both: Vec<u8> = few.iter().zip(&many).map(|(a, b)| a | b).collect();
    let left = both.iter().filter(|mark| **mark & covered::EXECUTED == 0).count();
    assert!(left < missed.len(), "{left} of {}", missed.len());
    assert!(one_sided(&both) < one_sided(&few));
}

fn the_sanitizer_sees_the_same_instructions(target: &str) {
    let mut device = Device::on(target, "cover_sanitized", BRANCHY);
    let out = device.upload(&[0; 200]);
    for n in [3, 150] {
        launch(&device, out, n, &NOTING);
        let plain = marks(&device, "branchy").unwrap();
        let watched = LaunchOptions {
            sanitize: true,
            ..NOTING
        };
        launch(&device, out, n, &watched);
        assert_eq!(marks(&device, "branchy").unwrap(), plain, "n = {n}");
    }
}

fn nothing_is_noted_unless_it_is_asked_for(target: &str) {
    let mut device = Device::on(target, "cover_off", BRANCHY);
    let out = device.upload(&[0; 200]);
    launch(&device, out, 3, &LaunchOptions::default());
    assert_eq!(marks(&device, "branchy"), None);
}

const SUM: &str = "KERNEL sum(unsigned* out, const unsigned* a, const unsigned* b) {
  out[tid(0)] = a[tid(0)] + b[tid(0)];
}";

/// What a kernel computes of 7 and 5, with a mutation or without.
fn computed(device: &Device, [out, a, b]: [u64; 3], mutation: Option<&Mutation>) -> Option<u32> {
    let right = device.code.kernel("sum").unwrap();
    let patched = mutation.map(|mutation| device.code.patched(right, &mutation.patch).unwrap());
    let kernarg: Vec<u8> = [out, a, b]
        .iter()
        .flat_map(|address| address.to_le_bytes())
        .collect();
    let dispatch = Dispatch {
        kernel: patched.as_ref().unwrap_or(right),
        placement: device.placement,
        grid: [1; 3],
        block: [32, 1, 1],
        dynamic_lds: 0,
        kernarg: &kernarg,
    };
    device.memory.write(out, &[0; 128]).unwrap();
    gfx_emu::launch(&device.code, &dispatch, &device.memory, &NOTING).ok()?;
    let found = device.download(out, 32);
    Some(found[31])
}

fn a_planted_difference_is_computed_and_a_dropped_wait_changes_nothing(target: &str) {
    let mut device = Device::on(target, "mutant_sum", SUM);
    let (a, b) = (device.upload(&[7; 32]), device.upload(&[5; 32]));
    let buffers = [device.upload(&[0; 32]), a, b];
    assert_eq!(computed(&device, buffers, None), Some(12));
    let mutations = device.code.mutations(device.code.kernel("sum").unwrap()).unwrap();
    let lines = listing(&device, "sum");
    let (mut differences, mut waits, mut stores) = (0, 0, 0);
    for mutation in &mutations {
        assert!(lines.iter().any(|line| line.pc == mutation.pc), "{mutation:?}");
        assert_ne!(mutation.before, mutation.after);
        let found = computed(&device, buffers, Some(mutation));
        let is_sum = mutation.before.contains("add") && mutation.after.contains("sub");
        match mutation.kind {
            MutationKind::Operation
                if is_sum && found.is_some_and(|sum| sum == 2 || sum == 2_u32.wrapping_neg()) =>
            {
                differences += 1;
            }
            MutationKind::Wait => {
                assert_eq!(found, Some(12), "{mutation:?}");
                assert!(mutation.kind.equivalent().is_some());
                waits += 1;
            }
            MutationKind::Store => {
                assert_eq!(found, Some(0), "{mutation:?}");
                stores += 1;
            }
            _ => assert!(mutation.kind.equivalent().is_none()),
        }
    }
    assert!(differences == 1 && waits > 0 && stores == 1, "{mutations:#?}");
}

on_each_target! {
    a_branch_that_is_never_taken_and_the_code_behind_it_are_told
    the_sanitizer_sees_the_same_instructions
    nothing_is_noted_unless_it_is_asked_for
    a_planted_difference_is_computed_and_a_dropped_wait_changes_nothing
}
