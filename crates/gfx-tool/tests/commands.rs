//! The `gfx` command on a compiled kernel: what it prints, and what it says when it cannot.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on should stop where it stands"
)]

#[path = "../../gfx-emu/tests/launch_kernels/compile.rs"]
mod compile;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use compile::compile;

const SOURCE: &str = r#"
extern "C" __attribute__((global)) void scale(float* x, float by, unsigned n) {
    unsigned i = __builtin_amdgcn_workgroup_id_x() * 32 + __builtin_amdgcn_workitem_id_x();
    if (i < n) x[i] *= by;
}
extern "C" __attribute__((global)) void wait(volatile unsigned* x) {
    while (*x == 0) {}
}
extern "C" __attribute__((global)) void reach(unsigned* x) {
    x[__builtin_amdgcn_workitem_id_x()] = x[__builtin_amdgcn_workitem_id_x() + 1];
}
"#;

/// The code object.
static OBJECT: LazyLock<PathBuf> = LazyLock::new(|| {
    let name = format!("gfx-tool-{}.hsaco", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, compile("gfx-tool", "gfx1100", SOURCE, &["-O2"])).unwrap();
    path
});

fn gfx(args: &[&str]) -> Output {
    let mut all = vec![args[0], OBJECT.to_str().unwrap()];
    all.extend(&args[1..]);
    Command::new(env!("CARGO_BIN_EXE_gfx"))
        .args(all)
        .output()
        .unwrap()
}

#[track_caller]
fn prints(args: &[&str]) -> String {
    let output = gfx(args);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn refuses(args: &[&str], words: &str) {
    let output = gfx(args);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains(words), "{text}");
}

const SCALE: [&str; 7] = ["--kernel", "scale", "--grid", "2", "--block", "32", "--arg"];

#[test]
fn a_run_shows_the_buffer_and_what_was_executed() {
    let args = [
        &["run"][..],
        &SCALE,
        &["buf:f32:40:iota", "--arg", "f32:0.5", "--arg", "u32:33"],
    ]
    .concat();
    let text = prints(&args);
    assert!(
        text.contains("argument 0:\n     0  0 0.5 1 1.5 2 2.5 3 3.5\n"),
        "{text}"
    );
    // The last seven elements are not the kernel's.
    assert!(text.contains("    32  16 33 34 35 36 37 38 39\n"), "{text}");
    assert!(text.contains("2 waves, "), "{text}");
}

#[test]
fn an_output_file_gets_the_bytes() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("gfx-out-{}", std::process::id()));
    let out = format!("0:{}", file.display());
    let args = [
        &["run"][..],
        &SCALE,
        &["buf:f32:2:3", "--arg", "f32:-1", "--arg", "u32:2", "--out", &out],
    ]
    .concat();
    let text = prints(&args);
    assert!(!text.contains("argument 0"), "{text}");
    assert_eq!(
        std::fs::read(&file).unwrap(),
        [0, 0, 0x40, 0xc0, 0, 0, 0x40, 0xc0]
    );
    std::fs::remove_file(file).unwrap();
}

#[test]
fn a_disassembly_has_offsets_words_and_text() {
    let text = prints(&["disasm", "--kernel", "scale"]);
    assert!(
        text.contains("gfx1100") && text.contains("scale:") && !text.contains("reach:"),
        "{text}"
    );
    let last = text.lines().find(|line| line.contains("s_endpgm")).unwrap();
    assert!(last.contains("bfb00000"), "{last}");
}

#[test]
fn a_trace_has_each_instruction_and_the_registers_it_changed() {
    let args = [
        &["trace"][..],
        &SCALE,
        &[
            "buf:f32:64:iota",
            "--arg",
            "f32:2",
            "--arg",
            "u32:64",
            "--workgroup",
            "1",
        ],
    ]
    .concat();
    let text = prints(&args);
    assert!(text.trim_end().ends_with("s_endpgm"), "{text}");
    // Lane 0 of the second workgroup loads and doubles element 32.
    let product = text.split("v_mul_f32").nth(1).unwrap();
    assert!(
        product
            .lines()
            .nth(1)
            .unwrap()
            .contains(&format!("0:{:#x}", 64f32.to_bits())),
        "{text}"
    );
    let cut = prints(&[&args[..], &["--limit", "2"]].concat());
    assert_eq!(
        cut.lines().filter(|line| !line.starts_with("    ")).count(),
        1,
        "{cut}"
    );
    assert!(cut.contains("more instructions"), "{cut}");
}

#[test]
fn what_is_wrong_is_said() {
    refuses(&["run"], "--kernel is needed; there are reach, scale");
    refuses(&["run", "--kernel", "none"], "no kernel `none`");
    refuses(&["run", "--kernel", "scale"], "takes 3 arguments, 0 are given");
    let with = |arguments: [&'static str; 3]| {
        let [x, by, n] = arguments;
        [&["run"][..], &SCALE, &[x, "--arg", by, "--arg", n]].concat()
    };
    refuses(
        &with(["buf:f32:2:zero", "f64:1", "u32:2"]),
        "argument 1 of kernel `scale` has 4 bytes, 8 are given",
    );
    refuses(&with(["buf:f32:2:zero", "f32:one", "u32:2"]), "`one`");
    refuses(
        &[
            "run",
            "--kernel",
            "reach",
            "--block",
            "8",
            "--arg",
            "buf:u32:8:iota",
        ],
        "past the end of the allocation",
    );
    refuses(
        &[
            "trace",
            "--kernel",
            "reach",
            "--arg",
            "buf:u32:8:iota",
            "--wave",
            "1",
        ],
        "wave 1",
    );
}

#[test]
fn the_sanitizer_is_asked_for() {
    let args = [
        "run",
        "--kernel",
        "reach",
        "--block",
        "4",
        "--arg",
        "buf:u32:5:unwritten",
    ];
    prints(&args);
    refuses(&[&args[..], &["--sanitize"]].concat(), "never written");
}

#[test]
fn a_kernel_that_does_not_end_is_stopped_by_its_limits() {
    let run = |content: &str, limit: [&str; 2]| {
        let buffer = format!("buf:u32:1:{content}");
        gfx(&["run", "--kernel", "wait", "--arg", &buffer, limit[0], limit[1]])
    };
    for (limit, words) in [
        (["--max-instructions", "5000"], "executed 5000 instructions"),
        (["--timeout", "0.2"], "ran for more than 200 ms"),
    ] {
        let stopped = run("0", limit);
        let text = String::from_utf8(stopped.stderr).unwrap();
        assert!(!stopped.status.success() && text.contains(words), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        // One that ends is not stopped.
        assert!(run("1", limit).status.success());
    }
    for limit in [
        ["--max-instructions", "0"],
        ["--timeout", "0"],
        ["--timeout", "soon"],
    ] {
        let text = String::from_utf8(run("1", limit).stderr).unwrap();
        assert!(text.contains("expected is a"), "{text}");
    }
}

#[test]
fn a_file_without_an_end_is_read_no_further_than_it_can_be_right() {
    let zero = [
        &["run"][..],
        &SCALE,
        &["buf:f32:100:@/dev/zero", "--arg", "f32:1", "--arg", "u32:3"],
    ]
    .concat();
    refuses(
        &zero,
        "argument 0: /dev/zero has more bytes than the buffer, which has 400",
    );
    let null = [
        &["run"][..],
        &SCALE,
        &["buf:f32:100:@/dev/null", "--arg", "f32:1", "--arg", "u32:3"],
    ]
    .concat();
    refuses(&null, "/dev/null has 0 bytes, the buffer 400");
}

#[test]
fn bare_code_is_disassembled_for_the_target_that_is_named() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("gfx-bare-{}", std::process::id()));
    // s_endpgm, an unknown word, s_endpgm, another unknown word, and an instruction without the literal that it needs.
    let words: [u32; 5] = [0xbf81_0000, 0xffff_ffff, 0xbf81_0000, 0xbe80_7f00, 0xbe80_00ff];
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    std::fs::write(&file, bytes).unwrap();
    let run = |more: &[&str]| {
        let path = file.to_str().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_gfx"))
            .args(["disasm", path])
            .args(more)
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    };
    let text = run(&["--target", "gfx942"]);
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert_eq!(
        lines,
        [
            "0  bf810000                    s_endpgm",
            "4  ffffffff                    ; unknown instruction at pc 0x4: encoding ffffffff bf810000",
            "8  bf810000                    s_endpgm",
            "c  be807f00                    ; unknown instruction at pc 0xc: encoding be807f00 be8000ff",
            "10  be8000ff                    ; the code ends at pc 0x10 without s_endpgm, or a branch leaves it",
        ],
        "{text}"
    );
    assert!(run(&[]).contains("needs --target"));
    assert!(run(&["--target", "gfx1"]).contains("there are gfx1100"));
    std::fs::remove_file(&file).unwrap();
}
