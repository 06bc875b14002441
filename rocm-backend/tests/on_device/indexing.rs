//! Elements chosen by ids, compared with the host's own walk: elements as bytes, tensors by coordinates.

mod refused;

use float8::F8E4M3;
use half::{bf16, f16};
use rocm_backend::{DType, Device, DynBuffer, Result, View, ViewMut, ops};

use crate::support::{Element, device, download, flat, upload};

const ID_DTYPES: [DType; 5] = [DType::U8, DType::U32, DType::I16, DType::I32, DType::I64];
/// An id that means "no element"; [`id_bytes`] makes it the greatest of its dtype.
const NONE: i64 = i64::MAX;

fn id_bytes(dtype: DType, id: i64) -> Vec<u8> {
    match dtype {
        DType::U8 => vec![u8::try_from(id).unwrap_or(u8::MAX)],
        DType::U32 => u32::try_from(id).unwrap_or(u32::MAX).to_le_bytes().into(),
        DType::I16 => i16::try_from(id).unwrap_or(i16::MAX).to_le_bytes().into(),
        DType::I32 => i32::try_from(id).unwrap_or(i32::MAX).to_le_bytes().into(),
        _ => id.to_le_bytes().into(),
    }
}

macro_rules! numbers {
    ($($dtype:ident $host:ty, |$n:ident| $from:expr, |$a:ident, $b:ident| $sum:expr;)*) => {
        /// A small whole number of a dtype.
        fn number(dtype: DType, n: i32) -> Vec<u8> {
            match dtype {
                $(DType::$dtype => { let $n = n; let x: $host = $from; x.to_le_bytes().to_vec() })*
                DType::F8E4M3 => vec![F8E4M3::from_f32(n as f32).to_bits()],
            }
        }

        /// The sum in the dtype, rounded or wrapped.
        fn add(dtype: DType, a: &[u8], b: &[u8]) -> Vec<u8> {
            match dtype {
                $(DType::$dtype => {
                    let [$a, $b] = [a, b].map(|x| <$host>::from_le_bytes(x.try_into().unwrap()));
                    $sum.to_le_bytes().to_vec()
                })*
                DType::F8E4M3 => vec![(F8E4M3::from_bits(a[0]) + F8E4M3::from_bits(b[0])).to_bits()],
            }
        }
    };
}

numbers! {
    U8 u8, |n| n as u8, |a, b| a.wrapping_add(b);
    U32 u32, |n| n as u32, |a, b| a.wrapping_add(b);
    I16 i16, |n| n as i16, |a, b| a.wrapping_add(b);
    I32 i32, |n| n, |a, b| a.wrapping_add(b);
    I64 i64, |n| n.into(), |a, b| a.wrapping_add(b);
    BF16 bf16, |n| bf16::from_f32(n as f32), |a, b| a + b;
    F16 f16, |n| f16::from_f32(n as f32), |a, b| a + b;
    F32 f32, |n| n as f32, |a, b| a + b;
    F64 f64, |n| n.into(), |a, b| a + b;
}

/// How a tensor lies in its buffer.
#[derive(Debug, Clone, Copy)]
enum Lie {
    Plain,
    Shifted,
    Reversed,
    Stepped,
}

const LIES: [Lie; 4] = [Lie::Plain, Lie::Shifted, Lie::Reversed, Lie::Stepped];

/// A tensor on the device, and its elements in row-major order on the host.
struct Tensor {
    buffer: DynBuffer,
    dims: Vec<usize>,
    strides: Vec<usize>,
    offset: usize,
    elements: Vec<Vec<u8>>,
}

impl Tensor {
    fn new(device: &Device, dtype: DType, dims: &[usize], lie: Lie, elements: Vec<Vec<u8>>) -> Tensor {
        let mut strides = vec![0; dims.len()];
        let (mut step, offset) = match lie {
            Lie::Plain | Lie::Reversed => (1, 0),
            Lie::Shifted => (1, 3),
            Lie::Stepped => (2, 1),
        };
        let mut order: Vec<usize> = (0..dims.len()).rev().collect();
        if matches!(lie, Lie::Reversed) {
            order.reverse();
        }
        for d in order {
            strides[d] = step;
            step *= dims[d];
        }
        let mut tensor = Tensor {
            buffer: DynBuffer::zeros(device, dtype, 0).unwrap(),
            dims: dims.to_vec(),
            strides,
            offset,
            elements,
        };
        let places: Vec<usize> = coordinates(dims).iter().map(|at| tensor.place(at)).collect();
        let len = places.iter().max().map_or(0, |last| last + 3);
        let mut all = vec![vec![0xa5; dtype.size_in_bytes()]; len];
        for (place, element) in places.into_iter().zip(&tensor.elements) {
            all[place].clone_from(element);
        }
        tensor.buffer = DynBuffer::from_bytes(device, dtype, &all.concat()).unwrap();
        tensor
    }

    fn numbers(device: &Device, dtype: DType, dims: &[usize], lie: Lie, seed: i32) -> Tensor {
        let len: usize = dims.iter().product();
        let elements = (0..len as i32)
            .map(|i| number(dtype, (i * 7 + seed) % 13))
            .collect();
        Tensor::new(device, dtype, dims, lie, elements)
    }

    /// Ids below `size`, some of them twice, every fifth none: a byte of 255, which is none, is a position from 256 elements on. What each
    /// id names comes along.
    fn ids(device: &Device, dtype: DType, dims: &[usize], lie: Lie, size: usize) -> (Tensor, Vec<i64>) {
        let len: usize = dims.iter().product();
        let ids: Vec<i64> = (0..len)
            .map(|i| {
                if i % 5 == 3 || size == 0 {
                    NONE
                } else {
                    ((i * 11 + i / 3) % size.min(255)) as i64
                }
            })
            .collect();
        let elements = ids.iter().map(|&id| id_bytes(dtype, id)).collect();
        let named = |id| {
            if dtype == DType::U8 && size > 255 && id == NONE {
                255
            } else {
                id
            }
        };
        let ids = ids.into_iter().map(named).collect();
        (Tensor::new(device, dtype, dims, lie, elements), ids)
    }

    fn place(&self, at: &[usize]) -> usize {
        self.offset
            + at.iter()
                .zip(&self.strides)
                .map(|(i, stride)| i * stride)
                .sum::<usize>()
    }

    fn view(&self) -> View<'_> {
        View::new(&self.buffer, &self.dims, &self.strides).at(self.offset)
    }
}

/// All coordinates of a shape, in row-major order.
fn coordinates(dims: &[usize]) -> Vec<Vec<usize>> {
    dims.iter().fold(vec![vec![]], |heads, &dim| {
        let tails = |head: &Vec<usize>| {
            let head = head.clone();
            (0..dim)
                .map(move |i| head.iter().copied().chain([i]).collect())
                .collect::<Vec<_>>()
        };
        heads.iter().flat_map(tails).collect()
    })
}

/// The number of the element at `at` in a shape.
fn number_of(at: &[usize], dims: &[usize]) -> usize {
    at.iter().zip(dims).fold(0, |number, (i, dim)| number * dim + i)
}

fn with(dims: &[usize], dim: usize, size: usize) -> Vec<usize> {
    let mut dims = dims.to_vec();
    dims[dim] = size;
    dims
}

/// What reading `x` gives: for each coordinate of the result, the element at that coordinate but for its id along `dim`.
fn read(x: &Tensor, dim: usize, result: &[usize], id: impl Fn(&[usize]) -> i64) -> Vec<Vec<u8>> {
    let zero = vec![0; x.buffer.dtype().size_in_bytes()];
    let element = |at: Vec<usize>| match id(&at) {
        NONE => zero.clone(),
        id => x.elements[number_of(&with(&at, dim, id as usize), &x.dims)].clone(),
    };
    coordinates(result).into_iter().map(element).collect()
}

/// What writing `src` to `dst` gives, in the order of the source's elements.
fn write(
    dst: &Tensor,
    src: &Tensor,
    dim: usize,
    id: impl Fn(&[usize]) -> i64,
    update: impl Fn(&[u8], &[u8]) -> Vec<u8>,
) -> Vec<Vec<u8>> {
    let mut out = dst.elements.clone();
    for (at, element) in coordinates(&src.dims).into_iter().zip(&src.elements) {
        let id = id(&at);
        if id != NONE {
            let to = &mut out[number_of(&with(&at, dim, id as usize), &dst.dims)];
            *to = update(to, element);
        }
    }
    out
}

fn elements(buffer: &DynBuffer) -> Vec<Vec<u8>> {
    let size = buffer.dtype().size_in_bytes();
    buffer
        .download_bytes()
        .unwrap()
        .chunks_exact(size)
        .map(<[u8]>::to_vec)
        .collect()
}

/// One combination to try.
#[derive(Debug, Clone, Copy)]
struct Case<'a> {
    ids: DType,
    values: DType,
    dims: &'a [usize],
    dim: usize,
    count: usize,
    lie: Lie,
}

const SHAPES: &[(&[usize], usize, usize)] = &[
    (&[1], 0, 1),
    (&[5], 0, 33),
    (&[300], 0, 65), // the u8 id 255 names element 255
    (&[255], 0, 65), // the u8 id 255 names no element
    (&[4, 6], 0, 7),
    (&[4, 6], 1, 7),
    (&[3, 5, 4], 1, 31),
    (&[2, 3, 2, 3], 2, 5),
    (&[1, 257, 1], 1, 255),
    (&[33, 3, 9], 1, 2),
    (&[3, 1023], 0, 2),
    (&[0, 3], 1, 4),
    (&[2, 3, 0], 1, 4),
    (&[3, 0], 1, 4), // nothing to choose from: every id is none
    (&[4, 3], 1, 0),
];

/// Every pair of dtypes in one shape, then every shape and layout with one pair.
fn for_cases(check: impl Fn(&Device, Case<'_>)) {
    let device = device();
    for ids in ID_DTYPES {
        for &values in DType::ALL {
            let dims = &[3, 5, 4];
            let lie = Lie::Plain;
            check(
                &device,
                Case {
                    ids,
                    values,
                    dims,
                    dim: 1,
                    count: 7,
                    lie,
                },
            );
        }
    }
    for &(dims, dim, count) in SHAPES {
        for lie in LIES {
            for ids in [DType::U8, DType::I64] {
                check(
                    &device,
                    Case {
                        ids,
                        values: DType::F32,
                        dims,
                        dim,
                        count,
                        lie,
                    },
                );
            }
        }
    }
}

#[test]
fn index_select_reads_the_elements_the_ids_name() {
    for_cases(|device, case| {
        let Case {
            dims,
            dim,
            count,
            lie,
            ..
        } = case;
        let x = Tensor::numbers(device, case.values, dims, lie, 1);
        let size = dims[dim];
        let (ids, host) = Tensor::ids(device, case.ids, &[count], lie, size);
        let out = ops::index_select(x.view(), ids.view(), dim).unwrap();
        let want = read(&x, dim, &with(dims, dim, count), |at| host[at[dim]]);
        assert_eq!(elements(&out), want, "{case:?}");
    });
}

#[test]
fn gather_reads_an_element_for_each_id() {
    for_cases(|device, case| {
        let Case {
            dims,
            dim,
            count,
            lie,
            ..
        } = case;
        let x = Tensor::numbers(device, case.values, dims, lie, 2);
        let shape = with(dims, dim, count);
        let (ids, host) = Tensor::ids(device, case.ids, &shape, lie, dims[dim]);
        let out = ops::gather(x.view(), ids.view(), dim).unwrap();
        let want = read(&x, dim, &shape, |at| host[number_of(at, &shape)]);
        assert_eq!(elements(&out), want, "{case:?}");
    });
}

/// A workgroup brings rows of 16 KiB to LDS, in packs and what is left of them, where more ids than half of their elements ask for it.
#[test]
fn long_rows_of_many_ids_are_read_whole() {
    let device = device();
    for &values in DType::ALL {
        let size = 16_384 / values.size_in_bytes() + 37;
        let count = size / 2 + 9;
        let x = Tensor::numbers(&device, values, &[3, size], Lie::Plain, 1);
        for dtype in ID_DTYPES {
            let (ids, host) = Tensor::ids(&device, dtype, &[count], Lie::Plain, size);
            let out = ops::index_select(x.view(), ids.view(), 1).unwrap();
            let want = read(&x, 1, &[3, count], |at| host[at[1]]);
            assert!(elements(&out) == want, "{values} by {dtype}");
        }
    }
}

#[test]
fn gather_with_fewer_ids_than_elements_reads_at_the_coordinates_of_the_ids() {
    let device = device();
    for (dims, shape, dim) in [
        ([4, 3, 5], [2, 3, 5], 1),
        ([4, 3, 5], [4, 2, 3], 1),
        ([4, 3, 5], [3, 2, 6], 2),
        ([4, 3, 5], [9, 1, 2], 0),
    ] {
        for lie in LIES {
            let x = Tensor::numbers(&device, DType::I32, &dims, lie, 3);
            let (ids, host) = Tensor::ids(&device, DType::U32, &shape, lie, dims[dim]);
            let out = ops::gather(x.view(), ids.view(), dim).unwrap();
            let want = read(&x, dim, &shape, |at| host[number_of(at, &shape)]);
            assert_eq!(elements(&out), want, "{dims:?} by {shape:?} along {dim}, {lie:?}");
        }
    }
}

type Scatter = fn(ViewMut<'_>, View<'_>, View<'_>, usize) -> Result<()>;

/// Runs a scatter in a target with neighbours before and behind, which must stay.
fn check_scatter(device: &Device, case: Case<'_>, op: Scatter, update: impl Fn(&[u8], &[u8]) -> Vec<u8>) {
    let Case {
        dims,
        dim,
        count,
        lie,
        ..
    } = case;
    let mut dst = Tensor::numbers(device, case.values, dims, Lie::Shifted, 4);
    let shape = with(dims, dim, count);
    let src = Tensor::numbers(device, case.values, &shape, lie, 5);
    let (ids, host) = Tensor::ids(device, case.ids, &shape, lie, dims[dim]);
    let result = write(&dst, &src, dim, |at| host[number_of(at, &shape)], update);
    let mut want = elements(&dst.buffer);
    let (from, len) = (dst.offset.min(want.len()), result.len());
    want.splice(from..from + len, result);
    let target = ViewMut::new(&mut dst.buffer, dims, &dst.strides).at(dst.offset);
    op(target, ids.view(), src.view(), dim).unwrap();
    assert_eq!(elements(&dst.buffer), want, "{case:?}");
}

#[test]
fn scatter_set_keeps_the_last_element_of_a_place() {
    for_cases(|device, case| check_scatter(device, case, ops::scatter_set, |_, x| x.to_vec()));
}

#[test]
fn scatter_add_set_adds_up_the_elements_of_a_place() {
    for_cases(|device, case| {
        check_scatter(device, case, ops::scatter_add_set, |sum, x| {
            add(case.values, sum, x)
        });
    });
}

#[test]
fn index_add_adds_up_the_slices_of_a_place() {
    for_cases(|device, case| {
        let Case {
            dims,
            dim,
            count,
            lie,
            ..
        } = case;
        let x = Tensor::numbers(device, case.values, dims, lie, 6);
        let src = Tensor::numbers(device, case.values, &with(dims, dim, count), lie, 7);
        let (ids, host) = Tensor::ids(device, case.ids, &[count], lie, dims[dim]);
        let out = ops::index_add(x.view(), ids.view(), src.view(), dim).unwrap();
        let want = write(
            &x,
            &src,
            dim,
            |at| host[at[dim]],
            |sum, x| add(case.values, sum, x),
        );
        assert_eq!(elements(&out), want, "{case:?}");
        assert_eq!(
            elements(&x.buffer),
            elements(&Tensor::numbers(device, case.values, dims, lie, 6).buffer)
        );
    });
}

/// `init` plus `terms`, one after the other, by index_add and by scatter_add_set.
fn sums<T: Element>(device: &Device, init: T, terms: &[T]) -> [T; 2] {
    let (x, src) = (upload(device, &[init]), upload(device, terms));
    let ids = DynBuffer::zeros(device, DType::U8, terms.len()).unwrap();
    let len = [terms.len()];
    let added = ops::index_add(flat(&x, &[1]), flat(&ids, &len), flat(&src, &len), 0).unwrap();
    let mut dst = upload(device, &[init]);
    let target = dst.view_mut();
    ops::scatter_add_set(target, flat(&ids, &len), flat(&src, &len), 0).unwrap();
    [added, dst].map(|buffer| download::<T>(&buffer)[0])
}

#[test]
fn sums_are_rounded_after_each_element_in_the_order_of_the_source() {
    let device = device();
    let ones = vec![f16::ONE; 2100];
    assert_eq!(sums(&device, f16::ZERO, &ones), [f16::from_f32(2048.0); 2]);
    let ones = vec![bf16::ONE; 300];
    assert_eq!(sums(&device, bf16::ZERO, &ones), [bf16::from_f32(256.0); 2]);
    assert_eq!(sums(&device, 0.0_f32, &[1e8, 1.0, -1e8]), [0.0; 2]);
    assert_eq!(sums(&device, 0.0_f32, &[1e8, -1e8, 1.0]), [1.0; 2]);
    assert_eq!(sums(&device, 250_u8, &[3, 4]), [1; 2]);
    assert_eq!(sums(&device, i16::MAX, &[1, 1]), [i16::MIN + 1; 2]);
}
