//! What is refused, in which words, and that a refusal launches nothing.

use rocm_backend::{DType, Device, Error, Scalar, View, ops};

use crate::support::{device, flat};

#[test]
fn a_missing_kernel_is_named_with_its_dtype() {
    let device = device();
    let x = device.zeros(DType::I64, 2).unwrap();
    let x = flat(&x, &[2]);
    let answers = [
        (ops::unary("uexp", x), "uexp"),
        (ops::unary("unosuch", x), "unosuch"),
        (ops::unary_param("upowf", 2.0, x), "upowf"),
        // Names of other families: their kernels take other arguments.
        (ops::unary("upowf", x), "upowf"),
        (ops::binary("eq", x, x), "eq"),
        (ops::compare("badd", x, x), "badd"),
    ];
    for (answer, name) in answers {
        match answer.unwrap_err() {
            Error::Unsupported { op, dtype } => assert_eq!((op.as_str(), dtype), (name, DType::I64)),
            other => panic!("{name}: {other}"),
        }
    }
    assert_eq!(
        ops::unary("uexp", x).unwrap_err().to_string(),
        "rocm has no kernel for `uexp` on i64"
    );
    assert!(ops::unary("ucopy", x).is_ok(), "a kernel that is there is found");
}

#[test]
fn an_unsupported_dtype_is_told_even_for_no_elements() {
    let device = device();
    let x = device.zeros(DType::I64, 0).unwrap();
    assert!(matches!(
        ops::unary("uexp", flat(&x, &[0])),
        Err(Error::Unsupported { .. })
    ));
}

#[test]
fn a_view_that_leaves_its_buffer_is_refused_by_every_operation() {
    let device = device();
    let buffer = device.zeros(DType::F32, 6).unwrap();
    let mut target = device.zeros(DType::F32, 6).unwrap();
    let inside = View {
        buffer: &buffer,
        dims: &[2, 3],
        strides: &[3, 1],
        offset: 0,
    };
    let outside = View { offset: 1, ..inside };
    let refusals = [
        ops::unary("uneg", outside).map(drop),
        ops::unary_param("uelu", 1.0, outside).map(drop),
        ops::affine(outside, 1.0, 0.0).map(drop),
        ops::binary("badd", outside, inside).map(drop),
        ops::binary("badd", inside, outside).map(drop),
        ops::compare("eq", inside, outside).map(drop),
        ops::copy_strided(outside, &mut target, 0),
        ops::copy_strided(inside, &mut target, 1),
        ops::fill(&mut target, &[2, 3], &[3, 1], 1, Scalar::F32(1.0)),
    ];
    for (i, refusal) in refusals.into_iter().enumerate() {
        assert!(
            matches!(refusal, Err(Error::Invalid(_))),
            "operation {i}: {refusal:?}"
        );
    }
    assert!(ops::binary("badd", inside, inside).is_ok());
    assert!(ops::copy_strided(inside, &mut target, 0).is_ok());
}

#[test]
fn a_strided_copy_past_the_end_is_refused() {
    let device = device();
    let buffer = device.zeros(DType::F32, 6).unwrap();
    let mut target = device.zeros(DType::F32, 6).unwrap();
    let transposed = View {
        buffer: &buffer,
        dims: &[3, 2],
        strides: &[1, 3],
        offset: 0,
    };
    assert!(matches!(
        ops::copy_strided(transposed, &mut target, 1),
        Err(Error::Invalid(_))
    ));
    assert!(ops::copy_strided(transposed, &mut target, 0).is_ok());
}

#[test]
fn operands_must_agree_in_shape_dtype_and_device() {
    let [one, two] = [device(), device()];
    let zeros = |device: &Device, dtype| device.zeros(dtype, 6).unwrap();
    let (floats, ints, strangers) = (
        zeros(&one, DType::F32),
        zeros(&one, DType::I32),
        zeros(&two, DType::F32),
    );
    let six = flat(&floats, &[6]);
    let refusal = |other: View<'_>| ops::binary("badd", six, other).unwrap_err().to_string();
    assert_eq!(
        refusal(flat(&floats, &[5])),
        "badd: the operands are not of one shape"
    );
    assert_eq!(
        refusal(flat(&ints, &[6])),
        "badd: the operands are not of one dtype"
    );
    assert_eq!(
        refusal(flat(&strangers, &[6])),
        "badd: the buffers are not on one device"
    );
    assert!(!one.same(&two));
    assert!(one.same(floats.device()));
}

#[test]
fn a_value_must_be_of_the_buffers_dtype() {
    let mut buffer = device().zeros(DType::F32, 6).unwrap();
    let refusal = ops::fill(&mut buffer, &[6], &[1], 0, Scalar::F64(1.0)).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "const_set: a value of f64 for a buffer of f32"
    );
}

#[test]
fn bytes_must_be_whole_elements() {
    let refusal = device().upload(DType::F64, &[0; 12]).unwrap_err();
    assert_eq!(refusal.to_string(), "12 bytes are not whole elements of f64");
}

#[test]
fn a_device_that_is_not_there_is_refused_with_the_number_of_those_that_are() {
    let count = Device::count().unwrap();
    let refusal = Device::new(count).unwrap_err().to_string();
    assert!(
        refusal.starts_with(&format!("there is no ROCm device {count}")),
        "{refusal}"
    );
    assert!(refusal.ends_with(&format!("has {count}")), "{refusal}");
    assert!(Device::new(usize::MAX).is_err());
}

#[test]
fn more_memory_than_there_is_is_refused_and_the_device_goes_on() {
    let device = device();
    let total = device.memory().unwrap().total;
    match device.uninit(DType::U8, total + 1).unwrap_err() {
        Error::OutOfMemory {
            ordinal: 0,
            requested,
            ..
        } => assert_eq!(requested, total + 1),
        other => panic!("{other}"),
    }
    assert!(matches!(
        device.uninit(DType::F64, usize::MAX),
        Err(Error::Invalid(_))
    ));
    let x = device.zeros(DType::F32, 4).unwrap();
    assert!(ops::unary("ucos", flat(&x, &[4])).is_ok());
}
