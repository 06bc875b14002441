//! Matrix products: exactly, on whole numbers, in every layout; and within the bound of a sum's rounding errors on
//! others.

mod libraries;

use half::{bf16, f16};
use rocm_backend::{DType, Device, DynBuffer, Error, View, ops};

use crate::support::{Element, another_device, device, download, upload};

/// A float dtype of the host.
trait Float: Element {
    /// The distance from 1 to the next number.
    const EPSILON: f64;
    /// The smallest positive number.
    const TINY: f64;
    /// Half the distance from 1 to the next number of the type sums are taken in.
    const UNIT_OF_SUM: f64;
    fn round(value: f64) -> Self;
    fn value(self) -> f64;
}

macro_rules! floats {
    ($($host:ty, $epsilon:expr, $tiny:expr, $unit:expr, |$x:ident| $round:expr, |$y:ident| $value:expr;)*) => {$(
        impl Float for $host {
            const EPSILON: f64 = $epsilon;
            const TINY: f64 = $tiny;
            const UNIT_OF_SUM: f64 = $unit;
            fn round($x: f64) -> Self { $round }
            fn value(self) -> f64 { let $y = self; $value }
        }
    )*};
}

const UNIT_OF_F32: f64 = f32::EPSILON as f64 / 2.0;

floats! {
    bf16, 0.0078125, 1e-40, UNIT_OF_F32, |x| bf16::from_f32(x as f32), |x| x.to_f64();
    f16, 0.0009765625, 6e-8, UNIT_OF_F32, |x| f16::from_f32(x as f32), |x| x.to_f64();
    f32, f32::EPSILON as f64, 1e-45, UNIT_OF_F32, |x| x as f32, |x| x.into();
    f64, f64::EPSILON, 5e-324, f64::EPSILON / 2.0, |x| x, |x| x;
}

/// How a batch of matrices lies in its buffer.
#[derive(Debug, Clone)]
struct Layout {
    dims: Vec<usize>,
    strides: Vec<usize>,
    offset: usize,
}

/// How the rows and columns of a matrix lie.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Plane {
    RowMajor,
    ColumnMajor,
    /// Rows that are further apart than they are long.
    Padded,
    /// Neither rows nor columns are adjacent.
    Stepped,
    /// One row, again and again.
    SameRow,
    /// One column, again and again.
    SameColumn,
}

const PLANES: &[Plane] = &[
    Plane::RowMajor,
    Plane::ColumnMajor,
    Plane::Padded,
    Plane::Stepped,
    Plane::SameRow,
    Plane::SameColumn,
];

impl Layout {
    /// `rows` x `cols` matrices, as many as `batch` says, one behind the other but for dimensions in `repeated`.
    fn new(plane: Plane, batch: &[usize], repeated: &[usize], rows: usize, cols: usize) -> Layout {
        let (matrix, room) = match plane {
            Plane::RowMajor => ([cols, 1], rows * cols),
            Plane::ColumnMajor => ([1, rows], rows * cols),
            Plane::Padded => ([cols + 3, 1], rows * (cols + 3)),
            Plane::Stepped => ([2 * cols + 1, 2], rows * (2 * cols + 1)),
            Plane::SameRow => ([0, 1], cols),
            Plane::SameColumn => ([1, 0], rows),
        };
        let mut strides = vec![0; batch.len()];
        let mut apart = room + 2;
        for d in (0..batch.len()).rev() {
            if !repeated.contains(&d) {
                strides[d] = apart;
                apart *= batch[d];
            }
        }
        Layout {
            dims: [batch, &[rows, cols]].concat(),
            strides: [strides, matrix.to_vec()].concat(),
            offset: 3,
        }
    }

    fn plain(batch: &[usize], rows: usize, cols: usize) -> Layout {
        let dims = [batch, &[rows, cols]].concat();
        let strides = (1..=dims.len()).map(|d| dims[d..].iter().product()).collect();
        Layout {
            dims,
            strides,
            offset: 0,
        }
    }

    /// Elements of the smallest buffer.
    fn len(&self) -> usize {
        self.offset
            + self
                .dims
                .iter()
                .zip(&self.strides)
                .map(|(dim, stride)| dim.saturating_sub(1) * stride)
                .sum::<usize>()
            + 1
    }

    /// Where matrix `number` starts.
    fn start(&self, number: usize) -> usize {
        let (mut at, mut rest) = (self.offset, number);
        for d in (0..self.dims.len() - 2).rev() {
            at += rest % self.dims[d] * self.strides[d];
            rest /= self.dims[d];
        }
        at
    }

    fn view<'a>(&'a self, buffer: &'a DynBuffer) -> View<'a> {
        View::new(buffer, &self.dims, &self.strides).at(self.offset)
    }

    fn numbers(&self) -> (usize, usize, usize) {
        let [batch @ .., rows, cols] = self.dims.as_slice() else {
            panic!("no matrices")
        };
        (batch.iter().product(), *rows, *cols)
    }
}

/// One operand on host and device.
struct Operand<T> {
    layout: Layout,
    host: Vec<T>,
    buffer: DynBuffer,
}

impl<T: Float> Operand<T> {
    fn new(device: &Device, layout: Layout, value: impl Fn(usize) -> f64) -> Operand<T> {
        let host: Vec<T> = (0..layout.len()).map(|i| T::round(value(i))).collect();
        let buffer = upload(device, &host);
        Operand { layout, host, buffer }
    }

    fn view(&self) -> View<'_> {
        self.layout.view(&self.buffer)
    }
}

/// The sum of products behind each result, the sum of their magnitudes, and the result.
struct Answer<T> {
    exact: f64,
    magnitude: f64,
    got: T,
}

#[track_caller]
fn multiply<T: Float>(l: &Operand<T>, r: &Operand<T>) -> Vec<Answer<T>> {
    let ((b, m, k), (_, _, n)) = (l.layout.numbers(), r.layout.numbers());
    let out = ops::matmul(l.view(), r.view()).unwrap();
    let got: Vec<T> = download(&out);
    assert_eq!(got.len(), b * m * n);
    let mut answers = Vec::new();
    for (at, &got) in got.iter().enumerate() {
        let (number, row, col) = (at / (m * n), at / n % m, at % n);
        let [left, right] = [l, r].map(|operand| &operand.layout);
        let (mut exact, mut magnitude) = (0.0, 0.0);
        for i in 0..k {
            let x = l.host[left.start(number)
                + row * left.strides[left.dims.len() - 2]
                + i * left.strides[left.dims.len() - 1]];
            let y = r.host[right.start(number)
                + i * right.strides[right.dims.len() - 2]
                + col * right.strides[right.dims.len() - 1]];
            exact += x.value() * y.value();
            magnitude += (x.value() * y.value()).abs();
        }
        answers.push(Answer {
            exact,
            magnitude,
            got,
        });
    }
    answers
}

/// Small whole numbers: every product and every sum of them is exact in f32.
fn whole(seed: usize) -> impl Fn(usize) -> f64 {
    move |i| ((i * 7 + seed * 3 + i / 11) % 9) as f64 - 4.0
}

/// Numbers between -1 and 1 with full fractions.
fn fraction(seed: u64) -> impl Fn(usize) -> f64 {
    move |i| {
        let mixed = (i as u64 + 1)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .wrapping_add(seed);
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}

#[track_caller]
fn check_exact<T: Float>(device: &Device, left: Layout, right: Layout) {
    let what = format!("{} of {left:?} and {right:?}", T::DTYPE);
    let l = Operand::<T>::new(device, left, whole(1));
    let r = Operand::<T>::new(device, right, whole(2));
    for (at, answer) in multiply(&l, &r).iter().enumerate() {
        assert_eq!(answer.got, T::round(answer.exact), "{what}: result {at}");
    }
}

/// Sizes around those of the kernels' tiles, for m, n and k.
const SIZES: &[(usize, usize, usize)] = &[
    (1, 1, 1),
    (1, 64, 17),
    (65, 1, 63),
    (2, 129, 16),
    (127, 3, 65),
    (4, 4, 300),
    (5, 4, 15),
    (4, 5, 64),
    (5, 5, 5),
    (15, 16, 17),
    (16, 17, 15),
    (17, 15, 16),
    (31, 33, 32),
    (33, 31, 31),
    (63, 64, 65),
    (64, 65, 63),
    (64, 64, 64),
    (65, 63, 127),
    (97, 31, 1),
    (127, 129, 2),
    (129, 127, 33),
];

#[test]
fn products_of_whole_numbers_are_exact_at_every_size() {
    let device = device();
    for &(m, n, k) in SIZES {
        let layouts = || (Layout::plain(&[], m, k), Layout::plain(&[], k, n));
        let ((l, r), (l64, r64), (lh, rh), (lb, rb)) = (layouts(), layouts(), layouts(), layouts());
        check_exact::<f32>(&device, l, r);
        check_exact::<f64>(&device, l64, r64);
        check_exact::<f16>(&device, lh, rh);
        check_exact::<bf16>(&device, lb, rb);
    }
}

#[test]
fn rows_and_columns_may_lie_in_any_way() {
    let device = device();
    for (m, n, k) in [(66, 70, 33), (17, 9, 20), (3, 40, 50), (40, 2, 50), (40, 1, 5)] {
        for &left in PLANES {
            for &right in PLANES {
                let l = Layout::new(left, &[], &[], m, k);
                let r = Layout::new(right, &[], &[], k, n);
                check_exact::<f32>(&device, l, r);
            }
        }
    }
}

#[test]
fn operands_of_every_dtype_may_lie_in_any_way() {
    let device = device();
    for (m, n, k) in [(66, 70, 65), (5, 34, 9)] {
        // Each plane left and right, beside two others.
        for (i, &left) in PLANES.iter().enumerate() {
            for right in [PLANES[(i + 1) % PLANES.len()], PLANES[(i + 3) % PLANES.len()]] {
                let l = || Layout::new(left, &[], &[], m, k);
                let r = || Layout::new(right, &[], &[], k, n);
                check_exact::<bf16>(&device, l(), r());
                check_exact::<f16>(&device, l(), r());
                check_exact::<f64>(&device, l(), r());
            }
        }
    }
}

#[test]
fn batches_may_lie_in_any_way_and_repeat_matrices() {
    let device = device();
    let batches: &[(&[usize], &[usize])] = &[
        (&[3], &[]),
        (&[3], &[0]),
        (&[2, 3], &[]),
        (&[2, 3], &[0]),
        (&[2, 3], &[1]),
        (&[2, 3], &[0, 1]),
        (&[2, 1, 3], &[1]),
    ];
    for (m, n, k) in [(5, 6, 7), (66, 34, 18), (1, 9, 40), (9, 2, 40)] {
        for &(l_batch, l_repeated) in batches {
            for &(r_batch, r_repeated) in batches {
                // The two may split their batch differently, as long as there are as many matrices.
                if l_batch.iter().product::<usize>() == r_batch.iter().product() {
                    let l = Layout::new(Plane::RowMajor, l_batch, l_repeated, m, k);
                    let r = Layout::new(Plane::ColumnMajor, r_batch, r_repeated, k, n);
                    check_exact::<f32>(&device, l, r);
                }
            }
        }
        let mut crossed = Layout::new(Plane::RowMajor, &[3, 2], &[], m, k);
        crossed.dims.swap(0, 1);
        crossed.strides.swap(0, 1);
        check_exact::<f32>(&device, crossed, Layout::plain(&[2, 3], k, n));
    }
}

#[test]
fn a_matrix_that_every_matrix_of_a_contiguous_batch_meets_is_multiplied_as_one() {
    let device = device();
    for (m, n, k) in [(1, 70, 40), (3, 9, 17), (20, 5, 16)] {
        let l = Layout::plain(&[2, 5], m, k);
        let r = Layout::new(Plane::RowMajor, &[2, 5], &[0, 1], k, n);
        check_exact::<f32>(&device, l, r);
    }
}

#[test]
fn a_batch_larger_than_a_grid_is_computed_to_its_last_matrix() {
    const BATCH: usize = 65_537;
    let device = device();
    let l = Layout::plain(&[BATCH], 5, 1);
    let r = Layout::plain(&[BATCH], 1, 5);
    check_exact::<f32>(&device, l, r);
}

/// Whether `got` may be the computed sum of `terms` products whose exact sum is `exact` and whose magnitudes sum to
/// `magnitude`: Higham's bound for a sum in any order, then one rounding to the dtype.
fn is_within_bound<T: Float>(got: T, exact: f64, magnitude: f64, terms: usize) -> bool {
    let n = terms as f64 * T::UNIT_OF_SUM;
    let sum = n / (1.0 - n) * magnitude;
    let rounding = (exact.abs() + sum) * T::EPSILON / 2.0 + T::TINY;
    // The reference itself is a sum in f64.
    let reference = terms as f64 * f64::EPSILON * magnitude;
    (got.value() - exact).abs() <= sum + rounding + reference
}

#[track_caller]
fn check_bound<T: Float>(device: &Device, (m, n, k): (usize, usize, usize)) {
    let l = Operand::<T>::new(device, Layout::plain(&[], m, k), fraction(11));
    let r = Operand::<T>::new(
        device,
        Layout::new(Plane::ColumnMajor, &[], &[], k, n),
        fraction(23),
    );
    for (at, answer) in multiply(&l, &r).iter().enumerate() {
        assert!(
            is_within_bound(answer.got, answer.exact, answer.magnitude, k),
            "{} {m}x{k} times {k}x{n}, result {at}: {:?} for {}",
            T::DTYPE,
            answer.got,
            answer.exact
        );
    }
}

#[test]
fn sums_stay_within_the_bound_of_their_rounding_errors() {
    let device = device();
    for size in [(70, 40, 129), (3, 30, 1000), (50, 1, 1000), (9, 9, 2000)] {
        check_bound::<bf16>(&device, size);
        check_bound::<f16>(&device, size);
        check_bound::<f32>(&device, size);
        check_bound::<f64>(&device, size);
    }
}

#[test]
fn the_bound_finds_a_sum_that_lacks_a_term_and_one_taken_in_16_bits() {
    let x: Vec<f16> = (0..500).map(|i| f16::round(fraction(5)(i))).collect();
    let exact: f64 = x.iter().map(|x| x.value()).sum();
    let magnitude: f64 = x.iter().map(|x| x.value().abs()).sum();
    let fine = |got: f64| is_within_bound(f16::round(got), exact, magnitude, x.len());
    assert!(fine(exact));
    assert!(!fine(exact - 0.5), "a term is missing");
    let in_f16 = x
        .iter()
        .fold(f16::ZERO, |sum, &x| f16::round(sum.value() + x.value()));
    assert!(!fine(in_f16.value()), "{in_f16} for {exact}");
}

#[test]
fn sixteen_bit_products_are_summed_in_f32() {
    let device = device();
    // 4096 ones: f16 would stop at 2048, bf16 at 256.
    let ones = |dtype| {
        let len = 5 * 4096;
        let one = match dtype {
            DType::F16 => f16::ONE.to_le_bytes(),
            _ => bf16::ONE.to_le_bytes(),
        };
        DynBuffer::from_bytes(&device, dtype, &one.repeat(len)).unwrap()
    };
    for dtype in [DType::F16, DType::BF16] {
        let ones = ones(dtype);
        for columns in [1, 5] {
            let (l, r) = (Layout::plain(&[], 5, 4096), Layout::plain(&[], 4096, columns));
            let out = ops::matmul(l.view(&ones), r.view(&ones)).unwrap();
            let bytes = out.download_bytes().unwrap();
            let got: Vec<f32> = bytes
                .chunks_exact(2)
                .map(|bytes| match dtype {
                    DType::F16 => f16::read(bytes).to_f32(),
                    _ => bf16::read(bytes).to_f32(),
                })
                .collect();
            assert_eq!(got, vec![4096.0; 5 * columns], "{dtype}");
        }
    }
}

#[test]
fn subnormal_operands_count_as_what_they_are() {
    let device = device();
    let of = |device: &Device, x: f32, dtype| match dtype {
        DType::F16 => DynBuffer::from_bytes(device, dtype, &f16::from_f32(x).to_le_bytes().repeat(9 * 40)),
        _ => DynBuffer::from_bytes(device, dtype, &bf16::from_f32(x).to_le_bytes().repeat(9 * 40)),
    };
    // The smallest number of each, 40 times, brought back by a power of two.
    for (dtype, tiny, factor) in [
        (DType::F16, 2.0_f32.powi(-24), 2.0_f32.powi(10)),
        (DType::BF16, 2.0_f32.powi(-133), 2.0_f32.powi(120)),
    ] {
        let [l, r] = [tiny, factor].map(|x| of(&device, x, dtype).unwrap());
        let (left, right) = (Layout::plain(&[], 9, 40), Layout::plain(&[], 40, 9));
        let out = ops::matmul(left.view(&l), right.view(&r)).unwrap();
        let want = 40.0 * tiny * factor;
        match dtype {
            DType::F16 => assert_eq!(download::<f16>(&out), [f16::from_f32(want); 81]),
            _ => assert_eq!(download::<bf16>(&out), [bf16::from_f32(want); 81]),
        }
    }
}

#[test]
fn a_product_that_is_not_a_number_spoils_its_row_and_column_alone() {
    let device = device();
    for (m, n, k) in [(70, 40, 33), (40, 2, 33), (2, 40, 33)] {
        let mut host = vec![1.0_f32; m * k];
        host[k + 5] = f32::NAN; // row 1
        host[k - 1] = f32::INFINITY; // row 0
        let l = upload(&device, &host);
        let r = upload(&device, &vec![1.0_f32; k * n]);
        let (left, right) = (Layout::plain(&[], m, k), Layout::plain(&[], k, n));
        let out = ops::matmul(left.view(&l), right.view(&r)).unwrap();
        for (at, got) in download::<f32>(&out).into_iter().enumerate() {
            match at / n {
                0 => assert_eq!(got, f32::INFINITY),
                1 => assert!(got.is_nan()),
                _ => assert_eq!(got, k as f32, "row {}", at / n),
            }
        }
    }
}

#[test]
fn without_a_k_results_are_zero_and_without_m_n_or_b_there_are_none() {
    let device = device();
    let stale = DynBuffer::from_bytes(&device, DType::F32, &1.0_f32.to_le_bytes().repeat(64)).unwrap();
    drop(stale);
    let x = DynBuffer::zeros(&device, DType::F32, 64).unwrap();
    let product = |b: usize, m: usize, n: usize, k: usize| {
        let (l, r) = (Layout::plain(&[b], m, k), Layout::plain(&[b], k, n));
        download::<f32>(&ops::matmul(l.view(&x), r.view(&x)).unwrap())
    };
    assert_eq!(product(2, 5, 6, 0), vec![0.0; 60]);
    for (b, m, n) in [(0, 2, 3), (2, 0, 3), (2, 3, 0)] {
        assert!(product(b, m, n, 4).is_empty());
        assert!(product(b, m, n, 0).is_empty());
    }
}

#[test]
fn operands_that_do_not_fit_together_are_refused() {
    let [one, two] = [device(), another_device()];
    let zeros = |device: &Device, dtype| DynBuffer::zeros(device, dtype, 24).unwrap();
    let (x, doubles, ints, stranger) = (
        zeros(&one, DType::F32),
        zeros(&one, DType::F64),
        zeros(&one, DType::I64),
        zeros(&two, DType::F32),
    );
    let (l, r) = (Layout::plain(&[2], 3, 4), Layout::plain(&[2], 4, 2));
    assert!(ops::matmul(l.view(&x), r.view(&x)).is_ok());
    let refusal = |l: View<'_>, r: View<'_>| match ops::matmul(l, r) {
        Err(error) if error.is_invalid() => error.to_string(),
        other => panic!("{other:?}"),
    };

    for wrong in [
        Layout::plain(&[2], 3, 2),
        Layout::plain(&[3], 4, 2),
        Layout::plain(&[], 4, 2),
        Layout::plain(&[1], 4, 2),
    ] {
        let text = refusal(l.view(&x), wrong.view(&x));
        assert!(
            text.starts_with("matmul: [2, 3, 4] and [") && text.contains("are not as many matrices"),
            "{text}"
        );
    }
    let flat = Layout {
        dims: vec![4],
        strides: vec![1],
        offset: 0,
    };
    assert!(refusal(flat.view(&x), r.view(&x)).contains("[4] and [2, 4, 2] are not as many matrices"));
    let mut short = l.clone();
    short.strides.pop();
    assert!(refusal(short.view(&x), r.view(&x)).contains("has not one stride for each dimension"));
    let mut outside = r.clone();
    outside.offset = 9;
    assert!(refusal(l.view(&x), outside.view(&x)).contains("reaches element 24 of a buffer of 24"));
    assert!(refusal(l.view(&x), r.view(&doubles)).contains("elements of f64 where f32 is expected"));
    assert!(refusal(l.view(&x), r.view(&stranger)).contains("not on one device"));
    match ops::matmul(l.view(&ints), r.view(&ints)) {
        Err(Error::Unsupported { op, dtype }) => assert_eq!((op.as_str(), dtype), ("matmul", DType::I64)),
        other => panic!("{other:?}"),
    }
    let endless = Layout {
        dims: vec![usize::MAX, 1],
        strides: vec![0, 0],
        offset: 0,
    };
    let row = Layout {
        dims: vec![1, 2],
        strides: vec![0, 0],
        offset: 0,
    };
    let text = refusal(endless.view(&x), row.view(&x));
    assert!(text.contains("more elements than can be counted"), "{text}");
}
