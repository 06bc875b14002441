//! `where`: for each dtype of condition and values, the operand that the condition chooses, bit for bit.

use rocm_backend::{DType, Device, DynBuffer, Error, ops};

use crate::support::{LEN, WALKS, Walk, device, flat};

const CONDITIONS: &[DType] = &[DType::U8, DType::U32, DType::I16, DType::I32, DType::I64];

/// Elements whose bytes are all different from their neighbours'.
fn values(dtype: DType, len: usize, seed: usize) -> Vec<u8> {
    let bytes = 0..len * dtype.size_in_bytes();
    bytes.map(|i| (i * 37 + i / 256 + seed * 101) as u8).collect()
}

/// Zeros, ones, and numbers of which a single byte, low or high, is not zero.
fn conditions(dtype: DType, len: usize) -> Vec<u8> {
    let size = dtype.size_in_bytes();
    let mut bytes = vec![0; len * size];
    for i in (0..len).filter(|i| i % 3 != 0) {
        bytes[i * size + i % size] = if i % 2 == 0 { 1 } else { 0x80 };
    }
    bytes
}

/// What the device must give for operands walked so.
fn expected(cond: &[bool], t: &[u8], f: &[u8], size: usize, walks: [&Walk; 3]) -> Vec<u8> {
    let places = |walk: &Walk| {
        let mut places = Vec::new();
        walk.visit(|at| places.push(at));
        places
    };
    let [cond_at, t_at, f_at] = walks.map(places);
    let chosen = cond_at.iter().zip(t_at.iter().zip(&f_at)).map(|(&c, (&i, &j))| {
        if cond[c] {
            &t[i * size..][..size]
        } else {
            &f[j * size..][..size]
        }
    });
    chosen.flatten().copied().collect()
}

fn check(device: &Device, condition: DType, dtype: DType, len: usize, walks: &[Walk]) {
    let (cond, t, f) = (
        conditions(condition, len),
        values(dtype, len, 1),
        values(dtype, len, 2),
    );
    let truth: Vec<bool> = cond
        .chunks(condition.size_in_bytes())
        .map(|bytes| bytes.iter().any(|&byte| byte != 0))
        .collect();
    let upload = |dtype, bytes: &[u8]| DynBuffer::from_bytes(device, dtype, bytes).unwrap();
    let (c, x, y) = (upload(condition, &cond), upload(dtype, &t), upload(dtype, &f));
    for walk in walks {
        let same_shape = |other: &&Walk| other.dims == walk.dims && !std::ptr::eq(*other, walk);
        let other = walks.iter().find(same_shape).unwrap_or(walk);
        for walks in [
            [walk, walk, walk],
            [other, walk, walk],
            [walk, other, walk],
            [walk, walk, other],
        ] {
            let got = ops::where_cond(walks[0].view(&c), walks[1].view(&x), walks[2].view(&y)).unwrap();
            assert_eq!(got.dtype(), dtype);
            assert_eq!(
                got.download_bytes().unwrap(),
                expected(&truth, &t, &f, dtype.size_in_bytes(), walks),
                "where_{condition}_{dtype} on {walks:?}"
            );
        }
    }
}

#[test]
fn where_takes_the_chosen_element_on_every_layout() {
    let device = device();
    for &condition in CONDITIONS {
        for &dtype in DType::ALL {
            check(&device, condition, dtype, LEN, WALKS);
        }
    }
}

/// More packs than the grid has threads, of rows that lie apart and of rows of one element.
#[test]
fn where_of_two_packs_a_thread_takes_the_chosen_elements() {
    const ROWS: usize = 2600;
    let device = device();
    let apart: [&[usize]; 2] = [&[24, 1], &[1, 0]];
    let walks = apart.map(|strides| Walk {
        dims: &[ROWS, 16],
        strides,
        offset: 0,
    });
    for &condition in CONDITIONS {
        for &dtype in DType::ALL {
            check(&device, condition, dtype, ROWS * 24, &walks);
        }
    }
}

#[test]
fn where_reaches_the_last_element_of_a_long_tensor() {
    let device = device();
    for len in [31, 32, 33, 255, 256, 257, 1023, 1025, 20_013] {
        let cond = conditions(DType::U8, len);
        let (t, f) = (values(DType::U32, len, 1), values(DType::U32, len, 2));
        let upload = |dtype, bytes: &[u8]| DynBuffer::from_bytes(&device, dtype, bytes).unwrap();
        let (c, x, y) = (
            upload(DType::U8, &cond),
            upload(DType::U32, &t),
            upload(DType::U32, &f),
        );
        let dims = [len];
        let got = ops::where_cond(flat(&c, &dims), flat(&x, &dims), flat(&y, &dims)).unwrap();
        let want: Vec<u8> = (0..len)
            .flat_map(|i| {
                if cond[i] != 0 {
                    &t[4 * i..][..4]
                } else {
                    &f[4 * i..][..4]
                }
            })
            .copied()
            .collect();
        assert_eq!(got.download_bytes().unwrap(), want, "{len} elements");
    }
}

#[test]
fn operands_of_where_that_do_not_fit_together_are_refused() {
    let device = device();
    let zeros = |dtype| DynBuffer::zeros(&device, dtype, 6).unwrap();
    let (bytes, floats, doubles) = (zeros(DType::U8), zeros(DType::F32), zeros(DType::F64));
    let (cond, six, other) = (flat(&bytes, &[6]), flat(&floats, &[6]), flat(&doubles, &[6]));
    let five = flat(&floats, &[5]);
    let outside = six.at(1);
    let refusal = |cond, t, f| ops::where_cond(cond, t, f).unwrap_err();

    let chosen_by_floats = refusal(six, other, other);
    assert!(matches!(chosen_by_floats, Error::Unsupported { .. }));
    assert_eq!(
        chosen_by_floats.to_string(),
        "rocm has no kernel for `where_f32` on f64"
    );
    assert_eq!(
        refusal(cond, six, other).to_string(),
        "where: elements of f64 where f32 is expected"
    );
    for (t, f) in [(six, five), (five, six), (five, five)] {
        assert_eq!(
            refusal(cond, t, f).to_string(),
            "where: the operands are not of one shape"
        );
    }
    for (t, f) in [(six, outside), (outside, six)] {
        assert!(refusal(cond, t, f).is_invalid());
    }
    assert!(ops::where_cond(cond, six, six).is_ok());
}
