//! Runs of contiguous elements, which kernels take in packs of 16 bytes: of every length around a pack's and a
//! workgroup's, from every place in a pack, with other places for the other operands. What is before and behind a run
//! stays as it was.

use half::{bf16, f16};
use rocm_backend::ops::{self, Binary, Compare, Reduce, Unary};
use rocm_backend::{DType, DynBuffer, Scalar, View, ViewMut};

use crate::support::{Element, device, download, upload};

/// Lengths of runs; a pack has 2 to 16 elements.
const LENGTHS: &[usize] = &[1, 2, 3, 8, 15, 17, 31, 33, 65, 130, 257, 1030];
/// Places of first elements.
const PLACES: &[usize] = &[0, 1, 3, 4, 8, 15];
/// Elements that no run reaches.
const ROOM: usize = 1100;

fn run<'a>(buffer: &'a DynBuffer, offset: usize, length: &'a [usize; 1]) -> View<'a> {
    View::new(buffer, length, &[1]).at(offset)
}

fn numbers<T: Element>(seed: i32) -> Vec<T> {
    (0..ROOM as i32)
        .map(|i| T::small((i * 7 + seed) % 19 - 9))
        .collect()
}

/// Calls `check` with every length, and with places that lie differently in their packs.
fn each_run(mut check: impl FnMut(usize, [usize; 3])) {
    for (i, &length) in LENGTHS.iter().enumerate() {
        for (j, &place) in PLACES.iter().enumerate() {
            check(length, [place, PLACES[(i + j) % 6], PLACES[(i + 2 * j + 1) % 6]]);
        }
    }
}

fn check_maps<T: Element>(relu: impl Fn(T) -> T, smaller: impl Fn(T, T) -> T) {
    let device = device();
    let hosts = [numbers::<T>(1), numbers::<T>(5)];
    let [x, y] = hosts.each_ref().map(|host| upload(&device, host));
    each_run(|length, [at, beside, _]| {
        let what = format!("{}: {length} elements from {at} and {beside}", T::DTYPE);
        let dims = [length];
        let [l, r] = [&hosts[0][at..at + length], &hosts[1][beside..beside + length]];
        let got: Vec<T> = download(&ops::unary(Unary::Relu, run(&x, at, &dims)).unwrap());
        let want: Vec<T> = l.iter().map(|&x| relu(x)).collect();
        assert_eq!(got, want, "urelu, {what}");
        let both = |op| ops::binary(op, run(&x, at, &dims), run(&y, beside, &dims)).unwrap();
        let pairs = || l.iter().zip(r);
        let want: Vec<T> = pairs().map(|(&x, &y)| smaller(x, y)).collect();
        assert_eq!(download::<T>(&both(Binary::Minimum)), want, "bminimum, {what}");
        let less = ops::compare(Compare::Lt, run(&x, at, &dims), run(&y, beside, &dims)).unwrap();
        let want: Vec<u8> = pairs().map(|(x, y)| u8::from(x < y)).collect();
        assert_eq!(download::<u8>(&less), want, "lt, {what}");
    });
}

macro_rules! for_every_dtype {
    ($check:ident) => {
        $check::<u8>(|x| x, |x, y| x.min(y));
        $check::<u32>(|x| x, |x, y| x.min(y));
        $check::<i16>(|x| x.max(0), |x, y| x.min(y));
        $check::<i32>(|x| x.max(0), |x, y| x.min(y));
        $check::<i64>(|x| x.max(0), |x, y| x.min(y));
        $check::<f32>(|x| x.max(0.0), |x, y| x.min(y));
        $check::<f64>(|x| x.max(0.0), |x, y| x.min(y));
        $check::<f16>(|x| x.max(f16::ZERO), |x, y| x.min(y));
        $check::<bf16>(|x| x.max(bf16::ZERO), |x, y| x.min(y));
    };
}

#[test]
fn maps_of_runs_of_any_length_and_place_equal_a_host_loop() {
    for_every_dtype!(check_maps);
}

#[test]
fn casts_of_runs_of_any_length_and_place_keep_small_numbers() {
    let device = device();
    let signs: Vec<i32> = (0..ROOM as i32).map(|i| i % 9).collect();
    let source = upload(&device, &signs);
    let mut turn = 0;
    for &from in DType::ALL {
        let x = ops::cast(run(&source, 0, &[ROOM]), from).unwrap();
        for &to in DType::ALL {
            each_run(|length, [at, ..]| {
                turn += 1;
                if turn % 7 > 0 {
                    return; // each pair has others of them
                }
                let y = ops::cast(run(&x, at, &[length]), to).unwrap();
                let back: Vec<i32> = download(&ops::cast(run(&y, 0, &[length]), DType::I32).unwrap());
                assert_eq!(back, signs[at..at + length], "{from} to {to}, {length} from {at}");
            });
        }
    }
}

#[test]
fn choices_of_runs_of_any_length_and_place_equal_a_host_loop() {
    let device = device();
    let (t, f) = (numbers::<f16>(3), numbers::<f16>(8));
    let conditions = numbers::<i16>(2);
    let all = [upload(&device, &t), upload(&device, &f)];
    let wide = upload(&device, &conditions);
    for cond in [DType::U8, DType::U32, DType::I16, DType::I64] {
        let chooser = ops::cast(run(&wide, 0, &[ROOM]), cond).unwrap();
        each_run(|length, [at, of_t, of_f]| {
            let dims = [length];
            let views = [run(&all[0], of_t, &dims), run(&all[1], of_f, &dims)];
            let got: Vec<f16> =
                download(&ops::where_cond(run(&chooser, at, &dims), views[0], views[1]).unwrap());
            let want = (0..length).map(|i| {
                if conditions[at + i] != 0 {
                    t[of_t + i]
                } else {
                    f[of_f + i]
                }
            });
            assert_eq!(
                got,
                want.collect::<Vec<_>>(),
                "{cond}, {length} from {at}, {of_t}, {of_f}"
            );
        });
    }
}

#[test]
fn what_is_written_in_place_leaves_what_is_around_it() {
    let device = device();
    for (dtype, value) in [
        (DType::U8, Scalar::U8(7)),
        (DType::I16, Scalar::I16(7)),
        (DType::F32, Scalar::F32(7.0)),
        (DType::I64, Scalar::I64(7)),
    ] {
        let small: Vec<i16> = numbers(4);
        let source = upload(&device, &small);
        each_run(|length, [at, ..]| {
            let mut target = ops::cast(run(&source, 0, &[ROOM]), dtype).unwrap();
            let before: Vec<i32> = download(&ops::cast(run(&target, 0, &[ROOM]), DType::I32).unwrap());
            ops::fill(ViewMut::contiguous(&mut target, &[length]).at(at), value).unwrap();
            let mut want = before;
            want[at..at + length].fill(7);
            let got: Vec<i32> = download(&ops::cast(run(&target, 0, &[ROOM]), DType::I32).unwrap());
            assert_eq!(got, want, "{dtype}: {length} from {at}");
        });
    }
}

#[test]
fn rows_are_copied_in_packs_and_one_by_one() {
    let device = device();
    let host: Vec<i16> = (0..ROOM as i16).collect();
    let source = upload(&device, &host);
    for (rows, row_len, from, to) in [
        (5, 16, (32, 0), (24, 8)), // whole packs, aligned
        (5, 16, (32, 1), (24, 8)), // from between two
        (5, 16, (32, 0), (24, 3)), // to between two
        (5, 16, (33, 0), (24, 8)), // rows that begin differently
        (5, 17, (32, 0), (24, 8)), // rows that end within one
        (9, 24, (24, 5), (24, 2)), // one run
        (1, 129, (0, 3), (0, 11)), // one row
    ] {
        let mut target = upload(&device, &vec![-1_i16; ROOM]);
        let mut want = vec![-1_i16; ROOM];
        for row in 0..rows {
            let [f, t]: [usize; 2] = [from.1 + row * from.0, to.1 + row * to.0];
            want[t..t + row_len].copy_from_slice(&host[f..f + row_len]);
        }
        ops::copy2d(
            View::new(&source, &[rows, row_len], &[from.0, 1]).at(from.1),
            ViewMut::new(&mut target, &[rows, row_len], &[to.0, 1]).at(to.1),
        )
        .unwrap();
        assert_eq!(
            download::<i16>(&target),
            want,
            "{rows} rows of {row_len}, {from:?} to {to:?}"
        );
    }
}

#[test]
fn rows_of_any_length_and_place_are_summed_and_have_their_extremes() {
    let device = device();
    let host = numbers::<f16>(6);
    let x = upload(&device, &host);
    each_run(|length, [at, ..]| {
        if length > ROOM / 3 {
            return;
        }
        let dims = [2, length];
        let view = View::contiguous(&x, &dims).at(at);
        let rows = [0, 1].map(|row| host[at + row * length..][..length].to_vec());
        let sums: Vec<f16> = download(&ops::reduce(Reduce::Sum, view, &[1]).unwrap());
        let want = rows
            .each_ref()
            .map(|row| f16::from_f32(row.iter().map(|x| x.to_f32()).sum()));
        assert_eq!(sums, want, "sums of {length} from {at}");
        let places: Vec<u32> = download(&ops::reduce(Reduce::ArgMax, view, &[1]).unwrap());
        let want = rows.each_ref().map(|row| {
            let best = row.iter().fold(f16::MIN, |best, &x| best.max(x));
            row.iter().position(|&x| x == best).unwrap() as u32
        });
        assert_eq!(places, want, "places of {length} from {at}");
    });
}
