//! Digests of tensors: of an output, which is its name in a bundle, and of the inputs of a case.

use parity_model::HostTensor;
use sha2::{Digest, Sha256};

/// Hex digits of a tensor's digest: 128 bits, enough that no two outputs of any bundle meet by accident.
const TENSOR: usize = 32;

/// Hex digits of the digest of a case's inputs, which only has to tell that a generator of values has changed.
const INPUTS: usize = 16;

/// The digest of one tensor: dtype, shape and bytes.
pub(crate) fn of_tensor(tensor: &HostTensor) -> String {
    let mut hash = Sha256::new();
    add(&mut hash, tensor);
    hex(&hash.finalize(), TENSOR)
}

/// The digest of the base tensors of a case.
pub(crate) fn of_inputs(inputs: &[HostTensor]) -> String {
    let mut hash = Sha256::new();
    for input in inputs {
        add(&mut hash, input);
    }
    hex(&hash.finalize(), INPUTS)
}

/// The whole SHA-256 of a file.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes), 64)
}

/// Each length comes before what it counts, so that two different lists of tensors never feed in the same bytes.
fn add(hash: &mut Sha256, tensor: &HostTensor) {
    hash.update(tensor.dtype.name().as_bytes());
    hash.update((tensor.shape.len() as u64).to_le_bytes());
    for extent in &tensor.shape {
        hash.update((*extent as u64).to_le_bytes());
    }
    hash.update((tensor.bytes.len() as u64).to_le_bytes());
    hash.update(&tensor.bytes);
}

fn hex(hash: &[u8], digits: usize) -> String {
    let mut text: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    text.truncate(digits);
    text
}
