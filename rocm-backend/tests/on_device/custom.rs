//! A caller's own kernels: compiled, loaded and launched; and everything about them that is refused, in which words.
#![expect(unsafe_code, reason = "launches kernels")]

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use float8::F8E4M3;
use half::{bf16, f16};
use kernel_build::{Compiler, Target};
use rocm_backend::{DType, Device, DriverKind, DynBuffer, Error, Launch, Module, Scalar};

use crate::support::{another_device, data, device, download, upload};

/// saxpy, and kernels that use what the prelude promises.
const SOURCE: &str = r#"
extern "C" __global__ void saxpy(size_t n, float a, const float *x, float *y) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
extern "C" __global__ void widths(bool a, unsigned char b, signed char c, unsigned short d, short e, unsigned f, int g,
                                  unsigned long h, long i, size_t j, _Float16 k, unsigned short l, float m, double n,
                                  unsigned char o, double *y) {
    double all[] = {double(a), double(b), double(c), double(d), double(e), double(f), double(g), double(h),
                    double(i), double(j), double(k), double(l), double(m), n, double(o)};
    for (int at = 0; at < 15; at++) y[at] = all[at];
}
extern "C" __global__ __launch_bounds__(64, 1) void turn(const float *x, float *y) {
    extern __shared__ float lds[];
    unsigned i = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned threads = blockDim.x * blockDim.y * blockDim.z;
    unsigned group = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    lds[i] = x[group * threads + i];
    __syncthreads();
    y[group * threads + i] = lds[threads - 1 - i] + expf(0.0f);
}
extern "C" __global__ void static_lds(int *y) {
    __shared__ int lds[256];
    lds[threadIdx.x] = y[0];
    __syncthreads();
    y[threadIdx.x] = lds[255 - threadIdx.x];
}
"#;

/// The same saxpy as stock clang takes it, without prelude: the metadata have no names of arguments.
const PLAIN: &str = r#"
extern "C" __attribute__((global)) void saxpy(unsigned long n, float a, const float *x, float *y) {
    for (unsigned long i = 0; i < n; i++) y[i] += a * x[i];
}
"#;

/// Code objects of [`PLAIN`] by stock clang, for the device's target and for another one.
fn plain(target: &str) -> Vec<u8> {
    static COMPILER: OnceLock<Compiler> = OnceLock::new();
    let compiler = COMPILER.get_or_init(|| Compiler::find().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("plain.hip");
    std::fs::write(&source, PLAIN).unwrap();
    let target = &Target::parse_list(target).unwrap()[0];
    std::fs::read(compiler.compile(&source, target, &[], dir.path()).unwrap()).unwrap()
}

fn module(device: &Device) -> Module {
    device.compile(SOURCE).unwrap()
}

/// Launches what is refused before it runs, or stays inside its buffers.
#[track_caller]
fn launch(launch: Launch<'_>) -> rocm_backend::Result<()> {
    // SAFETY: every launch of this file but the one that has a block of its own reaches no further than its buffers.
    unsafe { launch.launch() }
}

#[track_caller]
fn refused(answer: Launch<'_>, want: &str) {
    match launch(answer).unwrap_err() {
        error if error.is_invalid() => assert_eq!(error.to_string(), want),
        other => panic!("{other}"),
    }
}

#[test]
fn a_compiled_kernel_computes_on_buffers_from_any_element_on() {
    let device = device();
    let module = module(&device);
    let (x, before) = (data::<f32>(1), data::<f32>(2));
    let (dx, mut dy) = (upload(&device, &x), upload(&device, &before));
    let n = x.len() - 3;
    launch(
        module
            .kernel("saxpy")
            .unwrap()
            .grid(n.div_ceil(32))
            .workgroup(32)
            .arg(n)
            .arg(0.5_f32)
            .arg((&dx, 1))
            .arg((&mut dy, 3)),
    )
    .unwrap();
    let mut want = before;
    (0..n).for_each(|i| want[i + 3] += 0.5 * x[i + 1]);
    assert_eq!(download::<f32>(&dy), want);
}

#[test]
fn a_code_object_from_bytes_computes_the_same() {
    let device = device();
    let code = plain(device.info().target());
    // HIP's copy must not need the caller's alignment.
    let shifted = [&[0], code.as_slice()].concat();
    let module = device.load(&shifted[1..]).unwrap();
    assert_eq!(module.kernels().collect::<Vec<_>>(), ["saxpy"]);
    let x = upload(&device, &[1.0_f32, 2.0, 3.0]);
    let mut y = upload(&device, &[10.0_f32; 3]);
    let saxpy = module.kernel("saxpy").unwrap();
    launch(saxpy.arg(3_u64).arg(Scalar::F32(2.0)).arg(&x).arg(&mut y)).unwrap();
    // The kernel is still queued on hardware: the module waits for it.
    drop(module);
    assert_eq!(download::<f32>(&y), [12.0, 14.0, 16.0]);
}

#[test]
fn values_of_every_width_arrive_whole() {
    let device = device();
    let module = module(&device);
    let mut y = DynBuffer::zeros(&device, DType::F64, 15).unwrap();
    let widths = module.kernel("widths").unwrap();
    let widths = widths
        .arg(true)
        .arg(200_u8)
        .arg(-100_i8)
        .arg(60_000_u16)
        .arg(-30_000_i16);
    let widths = widths.arg(4_000_000_000_u32).arg(-2_000_000_000_i32);
    let widths = widths.arg(1_u64 << 60).arg(-(1_i64 << 60)).arg(1_usize << 40);
    let widths = widths.arg(f16::from_f32(0.5)).arg(bf16::from_f32(1.0));
    let widths = widths.arg(0.25_f32).arg(-1e300_f64).arg(F8E4M3::from_f32(1.0));
    launch(widths.arg(&mut y)).unwrap();
    let big = (1_u64 << 60) as f64;
    let bits = f64::from(bf16::from_f32(1.0).to_bits());
    let ints = [
        1.0,
        200.0,
        -100.0,
        6e4,
        -3e4,
        4e9,
        -2e9,
        big,
        -big,
        (1_u64 << 40) as f64,
    ];
    let want = [&ints[..], &[0.5, bits, 0.25, -1e300, 56.0]].concat();
    assert_eq!(download::<f64>(&y), want);
}

#[test]
fn all_three_dimensions_and_dynamic_lds_reach_the_kernel() {
    let device = device();
    let module = module(&device);
    let host: Vec<f32> = (0..24 * 12).map(|i| i as f32).collect();
    let x = upload(&device, &host);
    let mut y = DynBuffer::zeros(&device, DType::F32, host.len()).unwrap();
    let turn = module.kernel("turn").unwrap();
    let turn = turn.grid([3, 2, 2]).workgroup([4, 3, 2]).dynamic_lds(24 * 4);
    launch(turn.arg(&x).arg(&mut y)).unwrap();
    let want: Vec<f32> = host
        .chunks(24)
        .flat_map(|group| group.iter().rev().map(|x| x + 1.0))
        .collect();
    assert_eq!(download::<f32>(&y), want);
}

#[test]
fn a_wrong_argument_is_refused_by_place_and_name_with_both_sides() {
    let device = device();
    let module = module(&device);
    let (x, mut y) = (upload(&device, &[1.0_f32]), upload(&device, &[5.0_f32]));
    let saxpy = || module.kernel("saxpy").unwrap();
    refused(
        saxpy(),
        "saxpy: argument 1 (`n`): the kernel declares a value of 8 bytes; nothing was given",
    );
    refused(
        saxpy().arg(1_u32),
        "saxpy: argument 1 (`n`): the kernel declares a value of 8 bytes; u32, 4 bytes was given",
    );
    refused(
        saxpy().arg(1_u64).arg(2.0_f64),
        "saxpy: argument 2 (`a`): the kernel declares a value of 4 bytes; f64, 8 bytes was given",
    );
    refused(
        saxpy().arg(1_u64).arg(&x),
        "saxpy: argument 2 (`a`): the kernel declares a value of 4 bytes; a buffer of f32 was given",
    );
    refused(
        saxpy().arg(&mut y),
        "saxpy: argument 1 (`n`): the kernel declares a value of 8 bytes; a mutable buffer of f32 was given",
    );
    refused(
        saxpy().arg(1_u64).arg(2.0_f32).arg(0_u64),
        "saxpy: argument 3 (`x`): the kernel declares a pointer; u64, 8 bytes was given",
    );
    refused(
        saxpy().arg(1_u64).arg(2.0_f32).arg(&x),
        "saxpy: argument 4 (`y`): the kernel declares a pointer; nothing was given",
    );
    refused(
        saxpy().arg(1_u64).arg(2.0_f32).arg(&x).arg(&mut y).arg(7_u8),
        "saxpy: argument 5: the kernel declares 4 arguments; u8, 1 byte was given beyond",
    );
    refused(
        saxpy().arg(1_u64).arg(2.0_f32).arg((&x, 2)),
        "saxpy: argument 3 (`x`): element 2 of a buffer of 1 elements is asked for",
    );
    assert_eq!(download::<f32>(&y), [5.0], "a refusal launches nothing");
    launch(saxpy().arg(1_u64).arg(2.0_f32).arg(&x).arg(&mut y)).unwrap();
    assert_eq!(download::<f32>(&y), [7.0]);
}

#[test]
fn an_argument_whose_name_the_compiler_dropped_is_refused_by_place() {
    let device = device();
    let module = device.load(&plain(device.info().target())).unwrap();
    refused(
        module.kernel("saxpy").unwrap().arg(1_u64).arg(1_i16),
        "saxpy: argument 2: the kernel declares a value of 4 bytes; i16, 2 bytes was given",
    );
}

#[test]
fn a_buffer_of_another_device_is_refused() {
    let [here, there] = [device(), another_device()];
    let module = module(&here);
    let x = upload(&there, &[1.0_f32]);
    refused(
        module.kernel("saxpy").unwrap().arg(1_u64).arg(2.0_f32).arg(&x),
        "saxpy: argument 3 (`x`): the buffer lives on another device than the module, or on another handle of it",
    );
}

#[test]
fn a_shape_that_cannot_run_is_refused() {
    let device = device();
    let module = module(&device);
    let x = upload(&device, &data::<f32>(1));
    let mut y = upload(&device, &data::<f32>(1));
    refused(
        module.kernel("turn").unwrap().grid(0).arg(&x).arg(&mut y),
        "turn: a grid of [0, 1, 1] workgroups of [1, 1, 1] threads has no thread; HIP launches none",
    );
    refused(
        module
            .kernel("turn")
            .unwrap()
            .workgroup([8, 0])
            .arg(&x)
            .arg(&mut y),
        "turn: a grid of [1, 1, 1] workgroups of [8, 0, 1] threads has no thread; HIP launches none",
    );
    refused(
        module.kernel("turn").unwrap().workgroup(65).arg(&x).arg(&mut y),
        "turn: a workgroup of [65, 1, 1] threads; the kernel is compiled for 64 at most",
    );
    refused(
        module
            .kernel("turn")
            .unwrap()
            .workgroup([usize::MAX, 2])
            .arg(&x)
            .arg(&mut y),
        &format!(
            "turn: a workgroup of {:?} threads; the kernel is compiled for 64 at most",
            [usize::MAX, 2, 1]
        ),
    );
    let text = launch(module.kernel("turn").unwrap().grid(1 << 32).arg(&x).arg(&mut y))
        .unwrap_err()
        .to_string();
    assert!(text.ends_with("is more than HIP launches"), "{text}");
    let mut ints = DynBuffer::zeros(&device, DType::I32, 256).unwrap();
    refused(
        module
            .kernel("static_lds")
            .unwrap()
            .dynamic_lds(64 << 10)
            .arg(&mut ints),
        "static_lds: 65536 bytes of dynamic LDS and 1024 of the kernel's own; a workgroup has 65536",
    );
    let widest = module.kernel("static_lds").unwrap().dynamic_lds(63 << 10);
    launch(widest.workgroup(256).arg(&mut ints)).unwrap();
}

#[test]
fn an_unknown_kernel_is_refused_with_those_that_there_are() {
    let text = module(&device()).kernel("axpy").unwrap_err().to_string();
    assert_eq!(
        text,
        "the code object has no kernel `axpy`; it has saxpy, static_lds, turn, widths"
    );
}

#[test]
fn a_code_object_of_another_target_is_refused_by_both_names() {
    let device = device();
    let target = device.info().target();
    let other = if target == "gfx90a" { "gfx1030" } else { "gfx90a" };
    match device.load(&plain(other)).unwrap_err() {
        Error::CodeObject(text) => assert_eq!(
            text,
            format!("the code object is compiled for {other}, {device} executes {target}")
        ),
        error => panic!("{error}"),
    }
}

#[test]
fn bytes_that_are_no_code_object_are_refused() {
    let device = device();
    let whole = plain(device.info().target());
    for bytes in [&[], &whole[..100], &whole[..whole.len() - 1], &[0; 4096]] {
        let answer = device.load(bytes).map(drop);
        assert!(matches!(answer, Err(Error::CodeObject(_))), "{answer:?}");
    }
}

#[test]
fn source_that_does_not_compile_is_refused_with_its_line() {
    match device()
        .compile("\n\nextern \"C\" __global__ void k() { nonsense; }")
        .unwrap_err()
    {
        Error::Compile(text) => assert!(
            text.contains("kernel.hip:3:") && text.contains("nonsense"),
            "{text}"
        ),
        other => panic!("{other}"),
    }
}

#[test]
fn a_kernel_that_leaves_its_buffer_is_a_fault_of_the_software_gpu() {
    let device = device();
    if device.info().driver().kind() != DriverKind::Soft {
        return; // Hardware may end the process.
    }
    let module = module(&device);
    let (x, mut y) = (upload(&device, &[1.0_f32; 8]), upload(&device, &[1.0_f32; 4]));
    let saxpy = |n: usize, y: &mut DynBuffer| {
        let launch = module.kernel("saxpy").unwrap().workgroup(8);
        // SAFETY: with an `n` of 8 it leaves `y`, which the software GPU detects before anything is written there.
        unsafe { launch.arg(n).arg(1.0_f32).arg(&x).arg(y).launch() }
    };
    match saxpy(8, &mut y).unwrap_err() {
        Error::DeviceFault(text) => assert!(text.contains("saxpy"), "{text}"),
        other => panic!("{other}"),
    }
    saxpy(4, &mut y).unwrap();
}

/// Compiles a kernel that writes `number`, in a process whose cache is `cache`, and gives what it wrote.
#[track_caller]
fn number_by_child(cache: &Path, number: &str) -> String {
    let test = [
        "--exact",
        "custom::child_that_compiles_a_number",
        "--ignored",
        "--nocapture",
    ];
    let output = Command::new(std::env::current_exe().unwrap())
        .args(test)
        .env("ROCM_KERNEL_CACHE", cache)
        .env("NUMBER", number)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}");
    let written = text
        .split_once("wrote ")
        .and_then(|(_, rest)| rest.split('\n').next());
    written.unwrap().to_owned()
}

#[test]
#[ignore = "the child process of the test below"]
fn child_that_compiles_a_number() {
    let device = device();
    let number = std::env::var("NUMBER").unwrap();
    let source = format!("extern \"C\" __global__ void k(int *y) {{ *y = {number}; }}");
    let mut y = DynBuffer::zeros(&device, DType::I32, 1).unwrap();
    let module = device.compile(&source).unwrap();
    launch(module.kernel("k").unwrap().arg(&mut y)).unwrap();
    println!("wrote {}", download::<i32>(&y)[0]);
}

#[test]
fn compiled_code_is_kept_by_source_used_again_and_made_anew_when_broken() {
    let cache = tempfile::tempdir().unwrap();
    let kept = || -> Vec<_> {
        let entries = std::fs::read_dir(cache.path()).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    assert_eq!(number_by_child(cache.path(), "41"), "41");
    let [first] = &kept()[..] else {
        panic!("{:?}", kept())
    };
    assert_eq!(number_by_child(cache.path(), "42"), "42");
    assert_eq!(kept().len(), 2, "another source has another place");
    // Each other's code: only who takes what is kept writes the wrong number.
    let second = kept().into_iter().find(|path| path != first).unwrap();
    std::fs::copy(&second, first).unwrap();
    assert_eq!(number_by_child(cache.path(), "41"), "42");
    let whole = std::fs::read(first).unwrap();
    std::fs::write(first, &whole[..whole.len() / 2]).unwrap();
    assert_eq!(number_by_child(cache.path(), "41"), "41");
    assert_eq!(std::fs::read(first).unwrap().len(), whole.len());
}
