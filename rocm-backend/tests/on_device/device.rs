//! Devices, their memory and their events.

use rocm_backend::ops::{self, Unary};
use rocm_backend::trace::Level;
use rocm_backend::{DType, DynBuffer};

use crate::support::{another_device, data, device, download, flat, upload};

#[test]
fn a_device_says_what_it_is() {
    let device = device();
    let info = device.info();
    assert!(info.target().starts_with("gfx"), "{}", info.target());
    assert!(
        !info.target().contains(':'),
        "features are no part of the target: {}",
        info.target()
    );
    assert!([32, 64].contains(&info.warp_size()));
    assert_eq!(
        device.to_string(),
        format!("rocm:0 ({}, {})", info.name(), info.target())
    );
    assert_eq!(
        Level::of(info.driver()) == Level::Hardware,
        !info.driver().is_software()
    );
}

#[test]
fn dropping_buffers_returns_their_memory() {
    // Far more than the tests that run beside this one have at any time.
    const SIZE: usize = 64 << 20;
    let device = device();
    let before = device.memory().unwrap();
    assert_eq!((before.live, before.buffers), (0, 0));
    let buffers: Vec<_> = (0..4)
        .map(|_| DynBuffer::uninit(&device, DType::F32, SIZE / 16).unwrap())
        .collect();
    let held = device.memory().unwrap();
    assert_eq!((held.live, held.buffers), (SIZE, 4));
    assert!(held.free + SIZE / 2 < before.free, "{before:?}, then {held:?}");
    drop(buffers);
    let dropped = device.memory().unwrap();
    assert_eq!((dropped.live, dropped.peak, dropped.buffers), (0, SIZE, 0));
    device.release_cached().unwrap();
    let after = device.memory().unwrap();
    assert_eq!(after.cached, 0);
    assert!(after.free > held.free + SIZE / 2, "{held:?}, then {after:?}");
}

#[test]
fn a_result_outlives_its_inputs_and_its_device_handle() {
    let host = data::<f32>(2);
    let result = {
        let device = another_device();
        let x = upload(&device, &host);
        ops::unary(Unary::Neg, flat(&x, &[host.len()])).unwrap()
    };
    let want: Vec<f32> = host.iter().map(|x| -x).collect();
    assert_eq!(download::<f32>(&result), want);
}

#[test]
fn an_event_is_done_once_it_was_waited_for() {
    let device = device();
    let start = device.record().unwrap();
    let x = upload(&device, &data::<f32>(2));
    let y = ops::unary(Unary::Exp, flat(&x, &[x.len()])).unwrap();
    let end = device.record().unwrap();
    end.synchronize().unwrap();
    assert!(end.is_done().unwrap());
    assert!(start.is_done().unwrap(), "what came before is done as well");
    assert!(end.since(&start).is_ok());
    assert_eq!(y.len(), x.len());
    let other = another_device().record().unwrap();
    assert!(end.since(&other).is_err(), "two devices have no common clock");
}
