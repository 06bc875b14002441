//! Copies between devices and between handles of one, on software devices: two cards of different wave sizes in one process.
//! The environment chooses them, once a process, so each test asks a child: an ignored test of this file.

use std::process::Command;

use rocm_backend::{Buffer, DType, Device, View, ops};

/// Runs the ignored test `name` in a process of its own, on two software cards of a few
/// megabytes.
#[track_caller]
fn run(name: &str, allocator: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture"])
        .env("ROCM_DRIVER", "soft")
        .env("ROCM_SOFT_DEVICES", "gfx1100,gfx942")
        .env("ROCM_SOFT_MEMORY", "64MiB")
        .env("ROCM_ALLOCATOR", allocator)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn upload(device: &Device, host: &[f32]) -> Buffer {
    let bytes: Vec<u8> = host.iter().flat_map(|x| x.to_le_bytes()).collect();
    device.upload(DType::F32, &bytes).unwrap()
}

fn download(buffer: &Buffer) -> Vec<f32> {
    let bytes = buffer.download().unwrap();
    bytes
        .as_chunks()
        .0
        .iter()
        .map(|x| f32::from_le_bytes(*x))
        .collect()
}

fn negated(x: &Buffer) -> Buffer {
    let view = View {
        buffer: x,
        dims: &[x.len()],
        strides: &[1],
        offset: 0,
    };
    ops::unary("uneg", view).unwrap()
}

/// Negates on `from`, copies, drops what was copied, and negates there: the numbers are what they were.
#[track_caller]
fn goes_round(from: &Device, to: &Device, len: usize, call: &str) {
    let host: Vec<f32> = (0..len).map(|i| i as f32 - 3.0).collect();
    let _ = to.take_trace();
    let copy = negated(&upload(from, &host)).copy_to(to).unwrap();
    // What the source gave back may serve at once.
    drop(upload(from, &vec![f32::NAN; len]));
    assert!(copy.device().same(to));
    let there = negated(&copy);
    assert_eq!(download(&there), host, "{from} to {to}");
    let trace: Vec<_> = to.take_trace().iter().map(ToString::to_string).collect();
    assert_eq!(
        trace.iter().any(|step| step == call),
        len > 0,
        "{call} in {trace:?}"
    );
}

#[test]
fn a_buffer_is_copied_to_another_card_and_between_handles_of_one() {
    for allocator in ["caching", "exact"] {
        run("child_that_copies_between_devices", allocator);
    }
}

#[test]
#[ignore = "the child process of a test of this file"]
fn child_that_copies_between_devices() {
    let [one, other] = [0, 1].map(|ordinal| Device::new(ordinal).unwrap());
    assert_eq!([&one, &other].map(|device| device.info().warp_size()), [32, 64]);
    for len in [0, 1, 77, 5000] {
        goes_round(&one, &other, len, "hipMemcpyPeerAsync");
        goes_round(&other, &one, len, "hipMemcpyPeerAsync");
        goes_round(&one, &Device::new(0).unwrap(), len, "hipMemcpyAsync");
        goes_round(&one, &one.clone(), len, "hipMemcpyAsync");
    }
    for device in [&one, &other] {
        assert_eq!(device.memory().unwrap().live, 0);
    }
}

#[test]
fn threads_that_change_between_cards_reach_the_one_they_mean() {
    run("child_whose_threads_change_between_cards", "caching");
}

#[test]
#[ignore = "the child process of a test of this file"]
fn child_whose_threads_change_between_cards() {
    // HIP keeps the current device a thread; a call that forgot to set it would reach the other card's memory.
    let devices = [0, 1].map(|ordinal| Device::new(ordinal).unwrap());
    std::thread::scope(|scope| {
        for first in 0..4 {
            let devices = &devices;
            scope.spawn(move || {
                for turn in 0..8 {
                    let (here, there) = (&devices[(first + turn) % 2], &devices[(first + turn + 1) % 2]);
                    let host = vec![(first * 8 + turn) as f32; 65];
                    let x = upload(here, &host);
                    let y = negated(&upload(there, &host));
                    assert_eq!(download(&negated(&y)), host);
                    assert_eq!(download(&negated(&negated(&x)).copy_to(there).unwrap()), host);
                }
            });
        }
    });
}

#[test]
fn a_card_without_room_for_the_copy_says_so_and_the_source_stays() {
    run("child_whose_other_card_is_full", "caching");
}

#[test]
#[ignore = "the child process of a test of this file"]
fn child_whose_other_card_is_full() {
    let [one, other] = [0, 1].map(|ordinal| Device::new(ordinal).unwrap());
    let x = upload(&one, &[1.0, 2.0]);
    let free = other.memory().unwrap().free;
    let full = other.uninit(DType::U8, free).unwrap();
    let error = x.copy_to(&other).unwrap_err().to_string();
    assert!(error.contains("device 1 is out of memory"), "{error}");
    drop(full);
    assert_eq!(download(&x.copy_to(&other).unwrap()), [1.0, 2.0]);
    assert_eq!(download(&x), [1.0, 2.0]);
}
