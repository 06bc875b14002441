//! `parity bench` on software GPUs, and `parity gate --cost`: what is counted is the same every time, and a kernel that became slow is
//! refused by the counter that shows it.

use std::{fs, path::Path};

use kernel_build::Target;
use serde_json::Value;

use crate::common::parity;

/// 128 times 64 elements: what [`KERNEL`] writes here needs a multiple of 64.
const CASE: &str = "unary/affine(2,-1):f32:[8,1024]:contiguous:uniform(-2,2)";

/// candle's kernel for x times a number plus another, as a person writes it: `PLACE(i)` is the element that work-item i is given.
const KERNEL: &str = r#"
#define COUNT(name) __builtin_amdgcn_##name##_x()
extern "C" __attribute__((global)) void affine_f32(
    unsigned long n, unsigned long dims, const unsigned long *info, const float *in, float *out, float mul, float add) {
    const unsigned group = COUNT(workgroup_size), me = COUNT(workitem_id);
    const unsigned all = COUNT(grid_size);
    PREPARE
    for (unsigned first = 0; first < n; first += all) {
        const unsigned i = first + COUNT(workgroup_id) * group + me;
        STEP
    }
}
"#;

/// Neighbours have neighbours' elements.
const ROWS: [&str; 2] = ["", "if (i < n) { out[i] = in[i] * mul + add; }"];
/// Neighbours have elements that lie 64 apart.
const STRIDED: [&str; 2] = [
    "const unsigned rows = n / 64;",
    "const unsigned at = i % rows * 64 + i / rows; if (i < n) { out[at] = in[at] * mul + add; }",
];
/// By way of LDS, in rows of PITCH words: each work-item writes what its neighbour read.
const TILE: [&str; 2] = [
    "__attribute__((shared)) static float tile[256 * PITCH];",
    "if (i < n) { tile[me * PITCH] = in[i]; }
     __builtin_amdgcn_fence(__ATOMIC_RELEASE, \"workgroup\");
     __builtin_amdgcn_s_barrier();
     __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"workgroup\");
     if (i < n) { out[i ^ 1] = tile[(me ^ 1) * PITCH] * mul + add; }
     __builtin_amdgcn_fence(__ATOMIC_RELEASE, \"workgroup\");
     __builtin_amdgcn_s_barrier();
     __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"workgroup\");",
];

/// Compiles a version of [`KERNEL`] for gfx1100 and counts what [`CASE`] costs with it; the record's file.
fn counted(dir: &Path, name: &str, [prepare, step]: [&str; 2], pitch: u32) -> String {
    let at = |what: &str| dir.join(format!("{name}-{what}"));
    let (sources, objects, record) = (at("kernels"), at("objects"), at("cost.json"));
    fs::create_dir(&sources).unwrap();
    fs::create_dir(&objects).unwrap();
    let source = KERNEL.replace("PREPARE", prepare).replace("STEP", step);
    let source = source.replace("PITCH", &pitch.to_string());
    fs::write(sources.join("affine.hip"), source).unwrap();
    // A folder of kernels has headers, on which compiled kernels that are kept depend.
    fs::write(sources.join("none.h"), "").unwrap();
    let targets = Target::parse_list("gfx1100").unwrap();
    kernel_build::compile(&sources, &targets, &objects, 1).unwrap();
    let record = record.to_str().unwrap().to_owned();
    let args = [
        "bench",
        "--backend",
        "rocm:gfx1100",
        "--case",
        CASE,
        "--format",
        "json",
        "--out",
        &record,
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let objects = objects.to_str().unwrap();
    parity(&args, root, &[("ROCM_CODE_OBJECTS", objects)]).exits(0);
    record
}

/// A counter of the one kernel of a record.
fn counter(record: &str, name: &str) -> u64 {
    let record: Value = serde_json::from_str(&fs::read_to_string(record).unwrap()).unwrap();
    let kernels = record["rows"][0]["results"][0]["kernels"].as_array().unwrap();
    assert_eq!(kernels.len(), 1, "{kernels:?}");
    assert_eq!(kernels[0]["kernel"], "affine_f32");
    kernels[0]["counters"][name].as_u64().unwrap()
}

#[test]
fn an_uncoalesced_loop_is_refused_against_the_record_of_the_good_one() {
    let dir = tempfile::tempdir().unwrap();
    let good = counted(dir.path(), "good", ROWS, 1);
    let slow = counted(dir.path(), "slow", STRIDED, 1);
    // 8192 elements: a load and a store for each of 256 waves, of a line each, or of a line for each of 32 lanes.
    for (record, lines) in [(&good, 2 * 256), (&slow, 2 * 256 * 32)] {
        assert_eq!(counter(record, "vmem_load"), 256);
        assert_eq!(counter(record, "vmem_store"), 256);
        assert_eq!(counter(record, "useful_bytes"), 2 * 4 * 8192);
        assert_eq!(counter(record, "lines"), lines);
        assert_eq!(
            counter(record, "launch_lines"),
            512,
            "the same elements in the end"
        );
    }
    let run = parity(&["gate", &slow, "--cost", &good], dir.path(), &[]).exits(100);
    let line = "unary/affine(2,-1):f32:[8,1024] on rocm:gfx1100: lines 512 before, 16384 now (+3100.0 %)";
    assert!(
        run.stdout.contains("BLOCKED") && run.stdout.contains(line),
        "{}",
        run.stdout
    );
    parity(
        &["gate", &good, "--cost", &good, "--tolerance", "0"],
        dir.path(),
        &[],
    )
    .exits(0);
    let run = parity(&["gate", &good, "--cost", &slow], dir.path(), &[]).exits(0);
    assert!(
        run.stdout.contains("PASS: no counter of 1 rows and devices"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_bank_conflict_is_refused_against_the_record_of_the_padded_tile() {
    let dir = tempfile::tempdir().unwrap();
    let padded = counted(dir.path(), "padded", TILE, 33);
    let slow = counted(dir.path(), "slow", TILE, 32);
    // A store and a load for each of 256 waves: a clock each, or one for each lane.
    for (record, clocks) in [(&padded, 512), (&slow, 512 * 32)] {
        assert_eq!(counter(record, "lds"), 512);
        assert_eq!(counter(record, "lds_cycles"), clocks);
        assert_eq!(counter(record, "lds_conflicts"), clocks - 512);
    }
    let run = parity(&["gate", &slow, "--cost", &padded], dir.path(), &[]).exits(100);
    assert!(
        run.stdout.contains("lds_conflicts 0 before, 15872 now"),
        "{}",
        run.stdout
    );
}

/// Three rows of the default list, on two cards.
fn record(dir: &Path, name: &str, threads: &str) -> String {
    let file = dir.join(name).to_str().unwrap().to_owned();
    let args = [
        "bench",
        "--backend",
        "rocm:gfx1100,rocm:gfx942",
        "--ops",
        "exp,softmax_last_dim",
        "--dtypes",
        "f16",
        "--format",
        "json",
        "--out",
        &file,
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    parity(&args, root, &[("RAYON_NUM_THREADS", threads)]).exits(0);
    file
}

#[test]
fn a_record_is_the_same_to_the_last_byte_whatever_the_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let (one, many) = (record(dir.path(), "one", "1"), record(dir.path(), "many", "5"));
    let text = fs::read_to_string(&one).unwrap();
    assert_eq!(text, fs::read_to_string(&many).unwrap());
    for (format, want) in [
        ("text", "waves/SIMD"),
        ("csv", "case,device,kernel,"),
        ("markdown", "| row | kernel |"),
    ] {
        let args = ["bench", "--render", &one, "--format", format];
        let page = parity(&args, dir.path(), &[]).exits(0).stdout;
        assert!(
            page.contains(want) && page.contains("rocm:gfx942"),
            "{format}: {page}"
        );
    }
    let args = ["bench", "--render", &one, "--format", "json"];
    assert_eq!(parity(&args, dir.path(), &[]).exits(0).stdout, text);
    // A row that vanished is refused, by name.
    let mut less: Value = serde_json::from_str(&text).unwrap();
    let gone = less["rows"].as_array_mut().unwrap().remove(0);
    let gone = gone["case"]
        .as_str()
        .unwrap()
        .rsplit_once(':')
        .unwrap()
        .0
        .to_owned();
    fs::write(&many, less.to_string()).unwrap();
    let run = parity(&["gate", &many, "--cost", &one], dir.path(), &[]).exits(100);
    let label = gone.trim_end_matches(":contiguous");
    assert!(
        run.stdout
            .contains(&format!("{label} on rocm:gfx942: the row is gone")),
        "{}",
        run.stdout
    );
    parity(&["gate", &one, "--cost", &many], dir.path(), &[]).exits(0);
    let json = parity(
        &["gate", &many, "--cost", &one, "--format", "json"],
        dir.path(),
        &[],
    )
    .exits(100);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    let mut worse = json["worse"].as_array().unwrap().iter().filter_map(Value::as_str);
    assert!(worse.any(|line| line.contains("the row is gone")), "{json}");
}

#[test]
fn under_the_sanitizer_nothing_is_counted_and_that_is_said() {
    let dir = tempfile::tempdir().unwrap();
    let args = ["bench", "--backend", "rocm:gfx1100", "--case", CASE];
    let run = parity(&args, dir.path(), &[("ROCM_SANITIZE", "1")]).exits(0);
    assert!(
        run.stdout.contains("nothing is counted under the sanitizer"),
        "{}",
        run.stdout
    );
}

#[test]
fn what_is_no_record_of_counters_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("times.json").to_str().unwrap().to_owned();
    fs::write(&file, "{\"version\": 1}").unwrap();
    let gate = |args: &[&str]| {
        parity(
            &[&["gate", &file, "--cost", &file], args].concat(),
            dir.path(),
            &[],
        )
    };
    gate(&[])
        .exits(65)
        .complains("no record of counters; `parity bench --backend rocm:gfx1100");
    gate(&["--tolerance", "-1"]).exits(64);
    gate(&["--min", "99"]).exits(64);
    fs::write(&file, "{\"kind\": \"cost\", \"version\": 9}").unwrap();
    gate(&[]).exits(65).complains("version 9, expected 1");
    parity(&["gate", &file], dir.path(), &[])
        .exits(64)
        .complains("--min");
    let args = ["gate", &file, "--min", "99", "--tolerance", "1"];
    parity(&args, dir.path(), &[])
        .exits(64)
        .complains("--tolerance needs --cost");
}
