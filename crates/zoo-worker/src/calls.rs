//! Calls of a network that another program made, out of a file of safetensors.

use std::{collections::BTreeMap, path::Path};

use candle_core::{Device, Result, Tensor, bail};

/// A call: the other program's inputs and results by name, on the CPU.
#[derive(Debug, Default)]
pub(crate) struct RecordedCall {
    pub(crate) inputs: Vec<(String, Tensor)>,
    pub(crate) outputs: Vec<(String, Tensor)>,
}

/// The first calls of a file.
pub(crate) fn load(path: &Path, count: usize) -> Result<Vec<RecordedCall>> {
    let tensors: BTreeMap<_, _> = candle_core::safetensors::load(path, &Device::Cpu)?
        .into_iter()
        .collect();
    let mut calls: Vec<RecordedCall> = vec![];
    calls.resize_with(count, RecordedCall::default);
    for (key, tensor) in tensors {
        let mut parts = key.splitn(3, '/');
        let call = parts.next().and_then(|call| call.parse::<usize>().ok());
        match (call, parts.next(), parts.next()) {
            (Some(call), _, _) if call >= count => {}
            (Some(call), Some("input"), Some(name)) => calls[call].inputs.push((name.to_owned(), tensor)),
            (Some(call), Some("output"), Some(name)) => {
                calls[call].outputs.push((name.to_owned(), tensor));
            }
            _ => bail!(
                "{}: `{key}` is neither CALL/input/NAME nor CALL/output/NAME",
                path.display()
            ),
        }
    }
    match calls.iter().position(|call| call.outputs.is_empty()) {
        Some(call) => bail!("{}: call {call} of {count} has no outputs", path.display()),
        None => Ok(calls),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn stored(keys: &[&str]) -> Result<Vec<RecordedCall>> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("calls.safetensors");
        let tensor = |key: &&str| ((*key).to_owned(), Tensor::new(&[1f32], &Device::Cpu).unwrap());
        let tensors: HashMap<_, _> = keys.iter().map(tensor).collect();
        candle_core::safetensors::save(&tensors, &path)?;
        load(&path, 2)
    }

    #[test]
    fn calls_have_their_inputs_and_results_in_the_order_of_their_numbers() {
        let keys = [
            "1/output/y",
            "0/input/x",
            "0/input/h/0",
            "0/output/y",
            "2/output/y",
        ];
        let calls = stored(&keys).unwrap();
        let names = |of: &[(String, Tensor)]| of.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&calls[0].inputs), ["h/0", "x"]);
        assert_eq!(names(&calls[0].outputs), ["y"]);
        assert_eq!(names(&calls[1].outputs), ["y"]);
        assert_eq!(calls.len(), 2);
    }

    #[test]
    fn a_call_that_is_not_there_and_a_tensor_of_another_name_are_errors() {
        let missing = stored(&["0/output/y"]).unwrap_err().to_string();
        assert!(missing.contains("call 1 of 2 has no outputs"), "{missing}");
        let other = stored(&["0/result/y"]).unwrap_err().to_string();
        assert!(other.contains("`0/result/y` is neither"), "{other}");
    }
}
