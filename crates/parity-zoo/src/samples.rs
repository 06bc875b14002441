//! A device, an op and a record for tests.

use parity_model::record::BackendInfo;
use zoo_protocol::{Dtype, Watched};

use crate::record::{ModelResult, ModelVerdict, Record, VERSION};

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

/// A record of one card with a model for each of the verdicts: `m0`, `m1` ..
pub(crate) fn record(verdicts: &[ModelVerdict]) -> Record {
    let result = |(place, verdict): (usize, &ModelVerdict)| ModelResult {
        model: format!("m{place}"),
        architecture: "llama".to_owned(),
        dtype: Dtype::F32,
        backend: device().backend,
        level: "isa".to_owned(),
        verdict: *verdict,
        message: None,
        reference: "f64".to_owned(),
        outputs: 1,
        worst: None,
        error: Some(1e-6),
        own: Some(1e-6),
        limit: Some(1e-5),
        same_argmax: Some(true),
        text: None,
        other: None,
        fallbacks: vec![],
        kernels: 1,
        parameters: 1,
        seconds: 1.0,
        cpu_seconds: 1.0,
    };
    Record {
        zoo_version: VERSION,
        candle_version: "0.11.1".to_owned(),
        seed: 0,
        seconds: 1.0,
        backends: vec![device()],
        missing: 0,
        results: verdicts.iter().enumerate().map(result).collect(),
    }
}
