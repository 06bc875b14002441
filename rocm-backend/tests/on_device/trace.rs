//! What a device says it has executed.

use rocm_backend::ops::{self, Unary};
use rocm_backend::trace::Level;
use rocm_backend::{DType, DynBuffer, View, trace};

use crate::support::{data, device, upload};

#[test]
fn a_device_tells_each_thing_it_executed_once_and_by_which_path() {
    let device = device();
    let x = upload::<f32>(&device, &data::<f32>(1));
    trace::take(&device);
    let of = |strides: &[usize]| {
        let view = View::new(&x, &[4, 5], strides);
        ops::unary(Unary::Exp, view).unwrap();
        let steps = trace::take(&device);
        steps.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(of(&[5, 1]), ["uexp_f32:contiguous"]);
    assert_eq!(of(&[1, 4]), ["uexp_f32:strided"]);
    assert_eq!(trace::take(&device), [], "what was told is not told again");

    let copy = x.try_clone().unwrap();
    copy.try_clone().unwrap();
    let steps = trace::take(&device);
    let names: Vec<_> = steps.iter().map(|step| &*step.by).collect();
    assert_eq!(names, ["hipMemcpyAsync"], "twice, and told once");
    let isa = device.info().driver().is_software();
    assert_eq!(steps[0].level, if isa { Level::Isa } else { Level::Hardware });
}

#[test]
fn what_launches_nothing_and_transfers_with_the_host_leave_no_trace() {
    let device = device();
    let empty = DynBuffer::zeros(&device, DType::F32, 0).unwrap();
    let view = View::new(&empty, &[0, 3], &[3, 1]);
    ops::unary(Unary::Exp, view).unwrap();
    upload::<f32>(&device, &data::<f32>(1)).download_bytes().unwrap();
    assert_eq!(trace::take(&device), []);
}
