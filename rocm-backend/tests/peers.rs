//! Copies between devices and between handles of one, on software devices: two cards of different wave sizes in one process.
//! The environment chooses them, once a process, so each test asks a child: an ignored test of this file.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

#[path = "support/child.rs"]
mod child;

use rocm_backend::ops::{self, Unary};
use rocm_backend::{Buffer, Device, Error, trace};

/// Runs the ignored test `name` on two software cards of a few megabytes.
#[track_caller]
fn run(name: &str, allocator: &str) {
    let cards = [
        ("ROCM_SOFT_DEVICES", "gfx1100,gfx942"),
        ("ROCM_SOFT_MEMORY", "64MiB"),
        ("ROCM_ALLOCATOR", allocator),
    ];
    child::run(name, &cards);
}

fn negated(x: &Buffer<f32>) -> Buffer<f32> {
    ops::unary(Unary::Neg, x.view()).unwrap().typed().unwrap()
}

/// Negates on `from`, copies, drops what was copied, and negates there: the numbers are what they were.
#[track_caller]
fn goes_round(from: &Device, to: &Device, len: usize, call: &str) {
    let host: Vec<f32> = (0..len).map(|i| i as f32 - 3.0).collect();
    trace::take(to);
    let copy = negated(&from.upload(&host).unwrap()).copy_to(to).unwrap();
    // What the source gave back may serve at once.
    drop(from.upload(&vec![f32::NAN; len]).unwrap());
    assert!(copy.device().same(to));
    let there = negated(&copy);
    assert_eq!(there.download().unwrap(), host, "{from} to {to}");
    let trace: Vec<_> = trace::take(to).iter().map(ToString::to_string).collect();
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
                    let x = here.upload(&host).unwrap();
                    let y = negated(&there.upload(&host).unwrap());
                    assert_eq!(negated(&y).download().unwrap(), host);
                    let twice = negated(&negated(&x)).copy_to(there).unwrap();
                    assert_eq!(twice.download().unwrap(), host);
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
    let x = one.upload(&[1.0_f32, 2.0]).unwrap();
    let free = other.memory().unwrap().free;
    let full = other.uninit::<u8>(free).unwrap();
    let error = x.copy_to(&other).unwrap_err().to_string();
    assert!(error.contains("device 1 is out of memory"), "{error}");
    drop(full);
    assert_eq!(x.copy_to(&other).unwrap().download().unwrap(), [1.0, 2.0]);
    assert_eq!(x.download().unwrap(), [1.0, 2.0]);
}

#[test]
fn a_buffer_is_handed_to_another_stream_of_its_card_and_to_no_other_card() {
    for allocator in ["caching", "exact"] {
        run("child_that_hands_buffers_over", allocator);
    }
}

#[test]
#[ignore = "the child process of a test of this file"]
fn child_that_hands_buffers_over() {
    let one = Device::new(0).unwrap();
    let (beside, other) = (one.new_stream().unwrap(), Device::new(1).unwrap());
    assert!(!one.same(&beside) && one.ordinal() == beside.ordinal());
    for len in [0, 3, 5000] {
        let host: Vec<f32> = (0..len).map(|i| i as f32 - 3.0).collect();
        let x = negated(&one.upload(&host).unwrap());
        trace::take(&beside);
        let held = one.memory().unwrap().live;
        let x = x.move_to(&beside).unwrap();
        assert_eq!(trace::take(&beside), [], "no byte is copied");
        assert_eq!(
            (one.memory().unwrap().live, beside.memory().unwrap().live),
            (0, held)
        );
        assert!(x.device().same(&beside));
        assert_eq!(negated(&x).download().unwrap(), host);
        let back = x.move_to(&one).unwrap().move_to(&one).unwrap();
        assert!(matches!(back.move_to(&other), Err(Error::Devices { .. })));
        assert_eq!(one.memory().unwrap().live, 0, "what was refused is given up");
    }
    // An order without a buffer, across cards too.
    let event = one.record().unwrap();
    other.wait(&event).unwrap();
    other.synchronize().unwrap();
    assert!(event.is_done().unwrap());
}
