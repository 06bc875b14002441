//! What is refused, in which words, and that a refusal launches nothing.

use rocm_backend::ops::{self, Binary, Compare, Unary, UnaryParam};
use rocm_backend::{DType, Device, DynBuffer, Error, View, ViewFault, ViewMut};

use crate::support::{another_device, device, flat};

#[test]
fn a_missing_kernel_is_named_with_its_dtype() {
    let device = device();
    let x = DynBuffer::zeros(&device, DType::I64, 2).unwrap();
    let x = flat(&x, &[2]);
    let answers = [
        (ops::unary(Unary::Exp, x), "uexp"),
        (ops::unary_param(UnaryParam::Powf, 2.0, x), "upowf"),
    ];
    for (answer, name) in answers {
        match answer.unwrap_err() {
            Error::Unsupported { op, dtype } => assert_eq!((op.as_str(), dtype), (name, DType::I64)),
            other => panic!("{name}: {other}"),
        }
    }
    assert_eq!(
        ops::unary(Unary::Exp, x).unwrap_err().to_string(),
        "rocm has no kernel for `uexp` on i64"
    );
    assert!(
        ops::unary(Unary::Copy, x).is_ok(),
        "a kernel that is there is found"
    );
}

#[test]
fn an_unsupported_dtype_is_told_even_for_no_elements() {
    let device = device();
    let x = DynBuffer::zeros(&device, DType::I64, 0).unwrap();
    assert!(matches!(
        ops::unary(Unary::Exp, flat(&x, &[0])),
        Err(Error::Unsupported { .. })
    ));
}

#[test]
fn a_view_that_leaves_its_buffer_is_refused_by_every_operation() {
    let device = device();
    let buffer = DynBuffer::zeros(&device, DType::F32, 6).unwrap();
    let mut target = DynBuffer::zeros(&device, DType::F32, 6).unwrap();
    let inside = View::new(&buffer, &[2, 3], &[3, 1]);
    let outside = inside.at(1);
    let refusals = [
        ops::unary(Unary::Neg, outside).map(drop),
        ops::unary_param(UnaryParam::Elu, 1.0, outside).map(drop),
        ops::affine(outside, 1.0, 0.0).map(drop),
        ops::binary(Binary::Add, outside, inside).map(drop),
        ops::binary(Binary::Add, inside, outside).map(drop),
        ops::compare(Compare::Eq, inside, outside).map(drop),
        ops::copy(outside, target.view_mut()),
        ops::copy(inside, ViewMut::contiguous(&mut target, &[2, 3]).at(1)),
        ops::fill(ViewMut::contiguous(&mut target, &[2, 3]).at(1), 1.0_f32),
    ];
    for (i, refusal) in refusals.into_iter().enumerate() {
        assert!(
            matches!(
                refusal,
                Err(Error::View {
                    offset: 1,
                    fault: ViewFault::Outside { element: 6, len: 6 },
                    ..
                })
            ),
            "operation {i}: {refusal:?}"
        );
    }
    assert!(ops::binary(Binary::Add, inside, inside).is_ok());
    assert!(ops::copy(inside, target.view_mut()).is_ok());
}

#[test]
fn a_strided_copy_past_the_end_is_refused() {
    let device = device();
    let buffer = DynBuffer::zeros(&device, DType::F32, 6).unwrap();
    let mut target = DynBuffer::zeros(&device, DType::F32, 6).unwrap();
    let transposed = View::new(&buffer, &[3, 2], &[1, 3]);
    assert!(matches!(
        ops::copy(transposed, ViewMut::contiguous(&mut target, &[6]).at(1)),
        Err(Error::View { .. })
    ));
    assert!(ops::copy(transposed, target.view_mut()).is_ok());
}

#[test]
fn operands_must_agree_in_shape_dtype_and_device() {
    let [one, two] = [device(), another_device()];
    let zeros = |device: &Device, dtype| DynBuffer::zeros(device, dtype, 6).unwrap();
    let (floats, ints, strangers) = (
        zeros(&one, DType::F32),
        zeros(&one, DType::I32),
        zeros(&two, DType::F32),
    );
    let six = flat(&floats, &[6]);
    let refusal = |other: View<'_>| ops::binary(Binary::Add, six, other).unwrap_err().to_string();
    assert_eq!(
        refusal(flat(&floats, &[5])),
        "badd: operands of [6] and [5], expected one shape"
    );
    assert_eq!(
        refusal(flat(&ints, &[6])),
        "badd: elements of i32 where f32 is expected"
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
    let mut buffer = DynBuffer::zeros(&device(), DType::F32, 6).unwrap();
    let refusal = ops::fill(buffer.view_mut(), 1.0_f64).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "const_set: elements of f64 where f32 is expected"
    );
}

#[test]
fn a_contiguous_view_of_many_dimensions_wants_strides() {
    let x = device().upload(&[1.0_f32, 2.0]).unwrap();
    let (dims, strides) = ([1, 1, 1, 1, 1, 1, 1, 1, 2], [1; 9]);
    assert!(ops::unary(Unary::Neg, View::contiguous(&x, &dims[1..])).is_ok());
    assert!(ops::unary(Unary::Neg, View::new(&x, &dims, &strides)).is_ok());
    let refusal = ops::unary(Unary::Neg, View::contiguous(&x, &dims)).unwrap_err();
    assert!(
        refusal
            .to_string()
            .contains("has more than 8 dimensions; give its strides"),
        "{refusal}"
    );
}

#[test]
fn a_buffer_is_typed_as_its_elements_are() {
    let x = DynBuffer::zeros(&device(), DType::F32, 3).unwrap();
    assert_eq!(x.download::<f32>().unwrap(), [0.0; 3]);
    assert!(matches!(
        x.download::<i32>(),
        Err(Error::DTypes {
            expected: DType::F32,
            found: DType::I32,
            ..
        })
    ));
    let mut typed = x.typed::<f32>().unwrap();
    assert!(matches!(
        typed.write(&[1.0]),
        Err(Error::Length {
            expected: 3,
            found: 1,
            ..
        })
    ));
    assert!(matches!(typed.read(&mut [0.0; 4]), Err(Error::Length { .. })));
    typed.write(&[1.0, 2.0, 3.0]).unwrap();
    assert_eq!(typed.try_clone().unwrap().download().unwrap(), [1.0, 2.0, 3.0]);
    assert!(typed.untyped().typed::<u8>().is_err());
}

#[test]
fn bytes_must_be_whole_elements() {
    let refusal = DynBuffer::from_bytes(&device(), DType::F64, &[0; 12]).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "bytes of whole elements of f64: 16 are needed, 12 were given"
    );
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
    match DynBuffer::uninit(&device, DType::U8, total + 1).unwrap_err() {
        Error::OutOfMemory {
            ordinal: 0,
            requested,
            ..
        } => assert_eq!(requested, total + 1),
        other => panic!("{other}"),
    }
    assert!(matches!(
        DynBuffer::uninit(&device, DType::F64, usize::MAX),
        Err(Error::TooLarge { .. })
    ));
    let x = DynBuffer::zeros(&device, DType::F32, 4).unwrap();
    assert!(ops::unary(Unary::Cos, flat(&x, &[4])).is_ok());
}
