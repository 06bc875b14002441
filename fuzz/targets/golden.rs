//! Golden bundles: any manifest, entries and values make a bundle or are refused, with an error that names the file. The digests
//! of what was mutated are made right, so that the readers that come after them are reached.
#![no_main]

use std::{fs, io::Write, path::Path, sync::LazyLock};

use flate2::{Compression, write::GzEncoder};
use libfuzzer_sys::fuzz_target;
use parity_golden::{Bundle, Manifest};
use parity_model::{CaseId, HostTensor, Outcome};
use sha2::{Digest, Sha256};

/// Between the entries and the values of an input. An input without it is a manifest.
const BETWEEN: &[u8] = b"\n====\n";

static DIR: LazyLock<tempfile::TempDir> =
    LazyLock::new(|| tempfile::tempdir().expect("a folder for the bundle's files"));

fuzz_target!(|input: &[u8]| {
    let dir = DIR.path();
    match input.windows(BETWEEN.len()).position(|here| here == BETWEEN) {
        None => put(dir, "manifest.json", input),
        Some(end) => bundle(dir, &input[..end], &input[end + BETWEEN.len()..]),
    }
    match Bundle::open(dir) {
        Err(error) => assert!(error.to_string().contains(&*dir.to_string_lossy()), "{error}"),
        Ok(bundle) => ask(&bundle),
    }
});

fn put(dir: &Path, name: &str, bytes: &[u8]) {
    fs::write(dir.join(name), bytes).expect("a file of the bundle");
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Writes a file, compressed; its digest.
fn packed(dir: &Path, name: &str, bytes: &[u8]) -> String {
    let mut packer = GzEncoder::new(Vec::new(), Compression::none());
    let packed = packer.write_all(bytes).and_then(|()| packer.finish());
    let packed = packed.expect("memory can be written to");
    put(dir, name, &packed);
    hex(&packed)
}

/// Writes a bundle of these files, whose manifest counts and signs what they seem to hold.
fn bundle(dir: &Path, entries: &[u8], values: &[u8]) {
    let cases = entries
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .count();
    let tensors = safetensors::SafeTensors::deserialize(values).map_or(0, |stored| stored.len());
    let manifest = serde_json::json!({
        "version": parity_golden::MANIFEST_VERSION,
        "backend": {"backend": "b", "device": "d", "level": "isa", "driver": "", "target": ""},
        "recorded": "", "parity_version": "", "candle_version": "", "commit": null, "seed": 0, "specs": "",
        "cases": cases,
        "values": tensors,
        "entries_sha256": packed(dir, "entries.jsonl.gz", entries),
        "values_sha256": packed(dir, "values.safetensors.gz", values),
    });
    let manifest: Manifest = serde_json::from_value(manifest).expect("a manifest");
    let text = serde_json::to_string_pretty(&manifest).expect("text");
    let body = text.trim_end_matches(['\n', '}']);
    let sealed = format!("{body},\n  \"sha256\": \"{}\"\n}}\n", hex(text.as_bytes()));
    put(dir, "manifest.json", sealed.as_bytes());
}

/// A bundle answers for a case, or says why it does not; what it hands out is whole.
fn ask(bundle: &Bundle) {
    let id: CaseId = "unary/neg:f32:[2]:contiguous:any"
        .parse()
        .expect("the id of a case");
    let answer = HostTensor {
        dtype: parity_model::DType::F32,
        shape: vec![2],
        bytes: vec![0; 8],
    };
    if let Ok(Outcome::Ran(value)) = bundle.outcome(&id, &[answer.clone()], &answer) {
        assert_eq!(value.bytes.len(), value.len() * value.dtype.size());
    }
    let _ = bundle.fits(0, "");
    assert!(bundle.orphans(&Default::default()).len() <= bundle.manifest().cases);
}
