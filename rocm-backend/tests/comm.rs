//! Several devices that work together, on software devices: three cards in one process. The environment chooses them, once a
//! process, so each test asks a child: an ignored test of this file.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

#[path = "support/child.rs"]
mod child;

use rocm_backend::comm::{Group, Reduction};
use rocm_backend::ops::{self, Unary};
use rocm_backend::{Buffer, DType, Device, DynBuffer, Element, Error, View, trace};

/// Runs the ignored test `name` on three software cards.
#[track_caller]
fn run(name: &str, variables: &[(&str, &str)]) {
    let cards = ("ROCM_SOFT_DEVICES", "gfx1100,gfx942,gfx1100");
    child::run(name, &[&[cards], variables].concat());
}

const RANKS: usize = 3;

fn group() -> Group {
    let devices: Vec<Device> = (0..RANKS).map(|ordinal| Device::new(ordinal).unwrap()).collect();
    Group::new(&devices).unwrap()
}

/// Rank r's elements: `of(r, i)` for each i.
fn parts<T: Element>(group: &Group, len: usize, of: impl Fn(usize, usize) -> T) -> Vec<Buffer<T>> {
    let part = |(rank, device): (usize, &Device)| {
        let host: Vec<T> = (0..len).map(|i| of(rank, i)).collect();
        device.upload(&host).unwrap()
    };
    group.devices().iter().enumerate().map(part).collect()
}

fn views<T: Element>(parts: &[Buffer<T>]) -> Vec<View<'_>> {
    parts.iter().map(|part| part.view()).collect()
}

#[track_caller]
fn all_are<T: Element + PartialEq + std::fmt::Debug>(found: &[DynBuffer], wanted: &[T]) {
    assert_eq!(found.len(), RANKS);
    for (rank, found) in found.iter().enumerate() {
        assert_eq!(found.device().ordinal(), rank);
        assert_eq!(found.download::<T>().unwrap(), wanted, "rank {rank}");
    }
}

#[test]
fn every_rank_gets_the_join_of_all() {
    run("child_that_reduces", &[]);
    run("child_that_reduces", &[("ROCM_SANITIZE", "1")]);
}

#[test]
#[ignore = "the child process of a test of this file"]
fn child_that_reduces() {
    let group = group();
    let of = |rank: usize, i: usize| (rank * 10 + i) as f32 + 0.5;
    let floats = parts(&group, 4, of);
    type Join = fn([f32; 3]) -> f32;
    let joins: [(Reduction, Join); 5] = [
        (Reduction::Sum, |[a, b, c]| a + b + c),
        (Reduction::Product, |[a, b, c]| a * b * c),
        (Reduction::Max, |[a, b, c]| a.max(b).max(c)),
        (Reduction::Min, |[a, b, c]| a.min(b).min(c)),
        (Reduction::Mean, |[a, b, c]| (a + b + c) / 3.0),
    ];
    for (reduction, join) in joins {
        let wanted: Vec<f32> = (0..4).map(|i| join([of(0, i), of(1, i), of(2, i)])).collect();
        all_are(&group.all_reduce(reduction, &views(&floats)).unwrap(), &wanted);
    }
    // After what was submitted to each stream before, and before what is submitted next.
    let negated: Vec<DynBuffer> = floats
        .iter()
        .map(|part| ops::unary(Unary::Neg, part.view()).unwrap())
        .collect();
    let sums = group.all_reduce(
        Reduction::Sum,
        &negated.iter().map(|part| part.view()).collect::<Vec<_>>(),
    );
    let back: Vec<DynBuffer> = sums
        .unwrap()
        .iter()
        .map(|sum| ops::unary(Unary::Neg, sum.view()).unwrap())
        .collect();
    all_are(&back, &[31.5_f32, 34.5, 37.5, 40.5]);
    // A transposed part is copied; whole numbers wrap.
    let whole = parts(&group, 4, |rank, i| i64::MAX - (rank + i) as i64);
    let turned: Vec<View<'_>> = whole
        .iter()
        .map(|part| View::new(part, &[2, 2], &[1, 2]))
        .collect();
    let sum = |i: i64| {
        (i64::MAX - i)
            .wrapping_add(i64::MAX - i - 1)
            .wrapping_add(i64::MAX - i - 2)
    };
    all_are(
        &group.all_reduce(Reduction::Sum, &turned).unwrap(),
        &[0, 2, 1, 3].map(sum),
    );
    for device in group.devices() {
        let steps = trace::take(device);
        let step = steps.iter().find(|step| &*step.by == "ncclAllReduce").unwrap();
        assert_eq!(step.level, trace::Level::Model, "no AMD library was executed");
    }
}

#[test]
fn ranks_gather_scatter_broadcast_and_send() {
    run("child_that_moves", &[]);
}

#[test]
#[ignore = "the child process of a test of this file"]
fn child_that_moves() {
    let group = group();
    let numbers = parts(&group, 3, |rank, i| (rank * 100 + i) as u32);
    let gathered = group.all_gather(&views(&numbers)).unwrap();
    all_are(&gathered, &[0_u32, 1, 2, 100, 101, 102, 200, 201, 202]);

    let shares = group.reduce_scatter(Reduction::Sum, &views(&numbers)).unwrap();
    for (rank, share) in shares.iter().enumerate() {
        assert_eq!(
            share.download::<u32>().unwrap(),
            [300 + 3 * rank as u32],
            "rank {rank}"
        );
    }
    all_are(
        &group.broadcast(1, numbers[1].view()).unwrap(),
        &[100_u32, 101, 102],
    );
    let last_two = View::new(&numbers[2], &[2], &[1]).at(1);
    let sent = group.send(2, 0, last_two).unwrap();
    assert_eq!(
        (sent.device().ordinal(), sent.download::<u32>().unwrap()),
        (0, vec![201, 202])
    );

    // What only moves is of any dtype.
    let short = parts(&group, 2, |rank, i| (rank * 2 + i) as i16);
    all_are(
        &group.all_gather(&views(&short)).unwrap(),
        &[0_i16, 1, 2, 3, 4, 5],
    );
    let none = parts::<f32>(&group, 0, |_, _| 0.0);
    all_are::<f32>(&group.all_reduce(Reduction::Sum, &views(&none)).unwrap(), &[]);
}

#[test]
fn what_does_not_fit_is_refused_in_words() {
    run("child_that_is_refused", &[]);
    run("child_without_libraries", &[("ROCM_LIBRARIES", "native")]);
}

#[test]
#[ignore = "the child process of a test of this file"]
fn child_that_is_refused() {
    let group = group();
    let x = parts(&group, 4, |_, _| 1.0_f32);
    let views = views(&x);
    let other = group.devices()[1].zeros::<f64>(4).unwrap();
    let sum = |parts: &[View<'_>]| group.all_reduce(Reduction::Sum, parts);
    let short = parts(&group, 4, |_, _| 1_i16);
    let twice = [group.devices()[0].clone(), Device::new(0).unwrap()];
    let refusals: [(Result<(), Error>, &str); 9] = [
        (sum(&views[..2]).map(drop), "all_reduce: 2 parts for 3 ranks"),
        (
            sum(&[views[0], views[2], views[1]]).map(drop),
            "all_reduce: the buffers are not on one device",
        ),
        (
            sum(&[views[0], other.view(), views[2]]).map(drop),
            "all_reduce: elements of f64 where f32 is expected",
        ),
        (
            sum(&[views[0], View::new(&x[1], &[2], &[1]), views[2]]).map(drop),
            "all_reduce: parts of shapes [4] and [2]",
        ),
        (
            sum(&short.iter().map(|part| part.view()).collect::<Vec<_>>()).map(drop),
            "rocm has no kernel for `all_reduce` on i16",
        ),
        (
            group.reduce_scatter(Reduction::Sum, &views).map(drop),
            "reduce_scatter: 4 elements for 3 ranks",
        ),
        (
            group.broadcast(3, views[0]).map(drop),
            "broadcast: there is no rank 3 of 3",
        ),
        (
            group.send(1, 1, views[1]).map(drop),
            "send: rank 1 is to send to itself",
        ),
        (Group::new(&twice).map(drop), "comm: device 0 is to be two ranks"),
    ];
    for (found, wanted) in refusals {
        assert_eq!(found.unwrap_err().to_string(), wanted);
    }
    assert_eq!(
        Group::new(&[]).unwrap_err().to_string(),
        "comm: a group needs a device"
    );
    // The last rank is refused, and no other one waits for it.
    let captured = group.devices()[2].capture(|| sum(&views).map(drop));
    let words = captured.err().unwrap().to_string();
    assert_eq!(
        words,
        "capture of a graph: work of several devices cannot be part of it"
    );
    assert_eq!(x[0].dtype(), DType::F32);
    assert_eq!(
        sum(&views).unwrap()[2].download::<f32>().unwrap(),
        [3.0; 4],
        "the group works on"
    );
}

#[test]
#[ignore = "the child process of a test of this file"]
fn child_without_libraries() {
    let devices = [Device::new(0).unwrap(), Device::new(1).unwrap()];
    let words = Group::new(&devices).unwrap_err().to_string();
    assert_eq!(
        words,
        "no library carries buffers between devices: ROCM_LIBRARIES=native"
    );
}
