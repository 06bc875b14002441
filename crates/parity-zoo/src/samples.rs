//! A device and an op for tests.

use parity_model::record::BackendInfo;
use zoo_protocol::Watched;

/// A software card.
pub(crate) fn device() -> BackendInfo {
    BackendInfo {
        backend: "rocm:gfx1100".to_owned(),
        device: "a card".to_owned(),
        level: "isa".to_owned(),
        driver: "a driver".to_owned(),
        target: String::new(),
        host: None,
        selector: None,
    }
}

/// An op of two elements, with the distances of the device's and of the CPU's result.
pub(crate) fn op(name: &str, device: f64, cpu: f64) -> Watched {
    Watched {
        op: name.to_owned(),
        form: String::new(),
        params: vec![],
        inputs: vec![vec![2]],
        strides: vec![vec![1]],
        offsets: vec![0],
        dtypes: vec!["f32".to_owned()],
        elements: 2,
        device,
        cpu,
        scale: 1.0,
        drift: None,
        magnitude: 1.0,
        digest: String::new(),
        skipped: None,
    }
}
