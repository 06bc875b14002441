//! Which driver a process gets for which `ROCM_DRIVER`, against stand-in libraries built here with `cc`.
//!
//! The choice is made once a process, so each test asks a child: this file's own ignored test. Every child gets a
//! `ROCM_PATH`, whose library is the first to load and therefore decides, so a machine's own ROCm plays no part.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;
use std::path::Path;
use std::process::Command;

use rocm_backend::trace::Level;
use rocm_backend::{Device, Error, driver};
use tempfile::TempDir;

const BEGIN: &str = "<<driver ";
const END: &str = " driver>>";

#[test]
#[ignore = "the child process of this file's other tests"]
fn child_that_asks_for_its_driver() {
    let tell = || match driver() {
        Ok(info) => {
            let count = Device::count().map_or_else(|error| error.to_string(), |count| count.to_string());
            let passed_over: Vec<_> = info.passed_over().iter().map(ToString::to_string).collect();
            format!(
                "{:?}, {info}, level {}, devices {count}, passed over {passed_over:?}, rocBLAS {}",
                info.kind(),
                Level::of(info),
                info.rocblas()
            )
        }
        Err(Error::Driver { reason, tried }) => {
            let tried: Vec<_> = tried.iter().map(ToString::to_string).collect();
            format!("refused: {reason}, tried {tried:?}")
        }
        Err(Error::Environment(unknown)) => format!("refused: {unknown}"),
        Err(other) => format!("unexpected: {other}"),
    };
    let answer = tell();
    println!("{BEGIN}{answer}{END}");
    assert_eq!(tell(), answer, "a process has one driver");
}

/// What the child says under `ROCM_DRIVER=driver` (unset for `None`) with `rocm` as its ROCm.
fn ask(driver: Option<&str>, rocm: &Path) -> String {
    ask_for(driver, None, rocm)
}

/// The same under `ROCM_LIBRARIES=libraries`.
fn ask_for(driver: Option<&str>, libraries: Option<&str>, rocm: &Path) -> String {
    answer_of(
        driver,
        libraries,
        rocm,
        &mut Command::new(std::env::current_exe().unwrap()),
    )
}

/// The same with a folder in which the dynamic linker looks first.
fn ask_nvidia(folder: &Path) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.env("LD_LIBRARY_PATH", folder);
    answer_of(Some("nvidia"), None, folder, &mut child)
}

fn answer_of(driver: Option<&str>, libraries: Option<&str>, rocm: &Path, child: &mut Command) -> String {
    child.args([
        "--exact",
        "child_that_asks_for_its_driver",
        "--ignored",
        "--nocapture",
    ]);
    child.env("ROCM_PATH", rocm);
    for (variable, value) in [("ROCM_DRIVER", driver), ("ROCM_LIBRARIES", libraries)] {
        match value {
            Some(value) => child.env(variable, value),
            None => child.env_remove(variable),
        };
    }
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let (_, rest) = text.split_once(BEGIN).unwrap();
    rest.split_once(END).unwrap().0.to_owned()
}

/// A ROCm whose `libamdhip64.so.7` is `source`, compiled.
fn rocm(source: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("lib")).unwrap();
    add(&folder, "libamdhip64.so.7", source);
    folder
}

/// Adds a library to a ROCm.
fn add(rocm: &TempDir, library: &str, source: &str) {
    add_linked(rocm, library, source, &[]);
}

/// The same, with more flags for the linker.
fn add_linked(rocm: &TempDir, library: &str, source: &str, flags: &[&str]) {
    let (c, lib) = (rocm.path().join("library.c"), rocm.path().join("lib"));
    fs::write(&c, source).unwrap();
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-w", "-o"])
        .args([&lib.join(library), &c])
        .args(flags)
        .current_dir(&lib)
        .status()
        .unwrap();
    assert!(built.success(), "cc could not build the stand-in library");
}

/// A ROCm with every HIP function the software device has, each returning `status`, but for those in `own`.
fn library(status: u32, own: &str) -> TempDir {
    rocm(&functions(status, own))
}

/// Their source.
fn functions(status: u32, own: &str) -> String {
    let mut source = format!(
        "const char *hipGetErrorName(int e) {{ return \"hipErrorNoDevice\"; }}\n\
         const char *hipGetErrorString(int e) {{ return \"no ROCm-capable device is detected\"; }}\n{own}\n"
    );
    for name in rocm_soft::symbols() {
        if !source.contains(&format!("{name}(")) {
            source += &format!("unsigned {name}(void) {{ return {status}; }}\n");
        }
    }
    source
}

fn library_with_three_devices() -> TempDir {
    library(
        0,
        "unsigned hipGetDeviceCount(int *count) { *count = 3; return 0; }\n\
         unsigned hipRuntimeGetVersion(int *version) { *version = 70152802; return 0; }",
    )
}

/// The name by which AMD's runtime asks for its driver.
const HSA: &str = "libhsa-runtime64.so.1";
/// A library of that name that is this workspace's, as a file beside it.
const OURS: &str = "ours.so";

/// A ROCm whose HIP runtime has the devices of the libhsa-runtime64 that it is linked with, and finds ROCr's beside itself: that has none.
fn rocm_over_hsa(more: &str) -> TempDir {
    let rocm = rocm("");
    let soname = format!("-Wl,-soname,{HSA}");
    let counts = |count: u32| format!("int hsa_count(void) {{ return {count}; }}\n");
    add_linked(&rocm, HSA, &counts(0), &[&soname]);
    let ours = counts(3) + "unsigned hsa_soft_gpu(void) { return 3; }";
    add_linked(&rocm, OURS, &ours, &[&soname]);
    let hip = functions(
        0,
        "int hsa_count(void);\n\
         unsigned hipGetDeviceCount(int *count) { *count = hsa_count(); return 0; }\n\
         unsigned hipRuntimeGetVersion(int *version) { *version = 70152802; return 0; }",
    );
    let linked = [HSA, "-Wl,-rpath,$ORIGIN"];
    add_linked(&rocm, "libamdhip64.so.7", &(hip + more), &linked);
    rocm
}

/// What the child says under `ROCM_DRIVER=hsa` with this file as this workspace's libhsa-runtime64.
fn ask_hsa(rocm: &TempDir, hsa: &str) -> String {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.env("ROCM_HSA_LIBRARY", rocm.path().join("lib").join(hsa));
    answer_of(Some("hsa"), None, rocm.path(), &mut child)
}

#[track_caller]
fn assert_says(answer: &str, parts: &[&str]) {
    for part in parts {
        assert!(answer.contains(part), "`{part}` is missing in: {answer}");
    }
}

#[test]
fn a_library_with_a_device_is_taken() {
    let rocm = library_with_three_devices();
    for driver in [None, Some("auto"), Some("system")] {
        let answer = ask(driver, rocm.path());
        assert_says(
            &answer,
            &[
                "System, HIP 7.1.52802 (",
                "libamdhip64.so.7)",
                "level hardware",
                "devices 3",
            ],
        );
    }
}

#[test]
fn soft_does_not_look_for_a_library() {
    let answer = ask(Some("soft"), library_with_three_devices().path());
    assert_says(
        &answer,
        &["Soft, software ROCm", "level isa", "devices 1", "passed over []"],
    );
}

#[test]
fn a_library_without_a_device_counts_as_no_rocm() {
    let rocm = library(100, "");
    let why = ["libamdhip64.so.7: has no device", "hipErrorNoDevice (100)"];

    let auto = ask(None, rocm.path());
    assert_says(&auto, &["Soft, ", "level isa", "devices 1"]);
    assert_says(&auto, &why);

    let system = ask(Some("system"), rocm.path());
    assert_says(&system, &["refused: ROCM_DRIVER=system", "ROCM_DRIVER=soft"]);
    assert_says(&system, &why);
}

#[test]
fn a_library_that_lacks_symbols_is_refused_by_their_names() {
    let rocm = rocm("unsigned hipInit(unsigned flags) { return 0; }");
    let system = ask(Some("system"), rocm.path());
    assert_says(
        &system,
        &[
            "refused: ",
            "it lacks ",
            "hipModuleLaunchKernel",
            "hipGetDevicePropertiesR0600",
        ],
    );
    assert!(!system.contains("hipInit"), "it has hipInit: {system}");
    assert!(
        !system.contains("hipStreamQuery"),
        "an optional symbol is not a reason: {system}"
    );
    assert_says(&ask(Some("auto"), rocm.path()), &["Soft, ", "it lacks "]);
}

#[test]
fn the_rocblas_beside_the_runtime_is_taken_unless_libraries_are_not_wanted() {
    let rocm = library_with_three_devices();
    let answer = ask(Some("system"), rocm.path());
    assert_says(&answer, &["rocBLAS none (", "lib/librocblas.so.5"]);

    let functions = rocm_soft::symbols()
        .iter()
        .filter(|name| name.starts_with("rocblas_"));
    let source: String = functions
        .map(|name| format!("unsigned {name}(void) {{ return 0; }}\n"))
        .collect();
    add(
        &rocm,
        "librocblas.so.4",
        "unsigned rocblas_create_handle(void) { return 0; }",
    );
    let answer = ask(Some("system"), rocm.path());
    assert_says(
        &answer,
        &[
            "rocBLAS none (",
            "librocblas.so.4 lacks ",
            "rocblas_gemm_strided_batched_ex",
        ],
    );

    add(&rocm, "librocblas.so.5", &source);
    let answer = ask(Some("system"), rocm.path());
    assert_says(&answer, &["level hardware", "rocBLAS /", "lib/librocblas.so.5"]);
    let answer = ask_for(Some("system"), Some("native"), rocm.path());
    assert_says(
        &answer,
        &[
            "libamdhip64.so.7), no libraries",
            "rocBLAS none (ROCM_LIBRARIES=native)",
        ],
    );
    let answer = ask_for(Some("system"), Some("model"), rocm.path());
    assert_says(
        &answer,
        &["refused: ROCM_LIBRARIES=model is for the software device"],
    );
}

#[test]
fn the_software_device_has_a_model_of_rocblas_only_when_asked() {
    let rocm = library_with_three_devices();
    let answer = ask(Some("soft"), rocm.path());
    assert_says(&answer, &["level isa", "rocBLAS none ("]);
    let answer = ask_for(Some("soft"), Some("model"), rocm.path());
    assert_says(
        &answer,
        &[
            "libraries modelled on the host, level model",
            "rocBLAS a model on the host",
        ],
    );
}

#[test]
fn amds_runtime_has_the_software_gpu_below_it_where_that_is_asked_for() {
    let rocm = rocm_over_hsa("");
    let taken = [
        "System, HIP 7.1.52802 (",
        "libamdhip64.so.7) over the software GPU",
        "level isa",
        "devices 3",
        "rocBLAS none (",
    ];
    assert_says(&ask_hsa(&rocm, OURS), &taken);
    // As `gfx exec` starts a program: the library is there before the first call.
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.env("LD_PRELOAD", rocm.path().join("lib").join(OURS));
    child.env("ROCM_HSA_LIBRARY", "/nowhere/libhsa_runtime64.so");
    let answer = answer_of(Some("hsa"), None, rocm.path(), &mut child);
    assert_says(&answer, &taken);
    // Nobody else gets it: ROCr has no device here.
    assert_says(
        &ask(Some("system"), rocm.path()),
        &["refused: ", "found no device"],
    );
}

#[test]
fn what_is_missing_for_amds_runtime_over_the_software_gpu_is_told_and_nothing_else_is_taken() {
    let rocm = rocm_over_hsa("");
    let answer = ask_hsa(&rocm, "absent.so");
    let ours = [
        "refused: ROCM_DRIVER=hsa: libhsa_runtime64.so is not found; `cargo build --release -p hsa-soft` makes it",
        "ROCM_HSA_LIBRARY names it elsewhere. Looked at: /",
        "/lib/absent.so",
    ];
    assert_says(&answer, &ours);
    fs::write(rocm.path().join("lib/broken.so"), "no ELF file").unwrap();
    let answer = ask_hsa(&rocm, "broken.so");
    assert_says(
        &answer,
        &[
            "refused: ROCM_DRIVER=hsa: ",
            "/lib/broken.so could not be loaded: ",
        ],
    );

    // AMD's runtime, which is there and has no device.
    let none = library(100, "");
    fs::copy(
        rocm.path().join("lib").join(OURS),
        none.path().join("lib").join(OURS),
    )
    .unwrap();
    let amds = [
        "refused: ROCM_DRIVER=hsa: AMD's HIP runtime has no device over the software GPU",
        "older than the card",
        "libamdhip64.so.7: has no device",
        "hipErrorNoDevice (100)",
    ];
    assert_says(&ask_hsa(&none, OURS), &amds);
}

#[test]
fn what_is_not_amds_runtime_over_this_workspaces_library_is_refused() {
    let not_amds = rocm_over_hsa("unsigned hip_soft_gpu(void) { return 1; }");
    let wrong = ["refused: ROCM_DRIVER=hsa: ", "is this workspace's and not AMD's"];
    assert_says(&ask_hsa(&not_amds, OURS), &wrong);

    let rocm = rocm_over_hsa("");
    let soname = format!("-Wl,-soname,{HSA}");
    add_linked(&rocm, "other.so", "int hsa_count(void) { return 1; }", &[&soname]);
    let wrong = [
        "refused: ROCM_DRIVER=hsa: ",
        "/lib/other.so is not this workspace's libhsa-runtime64",
    ];
    assert_says(&ask_hsa(&rocm, "other.so"), &wrong);
}

#[test]
fn an_unknown_driver_is_refused_with_the_known_ones() {
    let answer = ask(Some("cuda"), Path::new("/nowhere"));
    assert_says(
        &answer,
        &["refused: ROCM_DRIVER=cuda is not one of auto, system, hsa, soft, nvidia"],
    );
}

#[test]
#[cfg(not(feature = "nvidia"))]
fn without_its_feature_the_nvidia_driver_says_how_to_build_it() {
    let folder = tempfile::tempdir().unwrap();
    let answer = ask_nvidia(folder.path());
    assert_says(
        &answer,
        &[
            "refused: this program cannot use NVIDIA's driver",
            "`--features nvidia`",
            "ci/cuda-toolkit",
        ],
    );
}

#[test]
#[cfg(feature = "nvidia")]
fn without_its_library_the_nvidia_driver_says_what_it_looked_for() {
    let folder = tempfile::tempdir().unwrap();
    // No library, on a machine that has one as on one that has none.
    fs::write(
        folder.path().join("libcuda.so.1"),
        "no ELF file, but long enough to be read as the header of one.....",
    )
    .unwrap();
    let answer = ask_nvidia(folder.path());
    assert_says(
        &answer,
        &[
            "refused: no NVIDIA driver: libcuda.so.1 not found or not usable (",
            "ROCM_DRIVER",
        ],
    );
}

#[test]
#[cfg(feature = "nvidia")]
fn the_nvidia_driver_is_taken_where_it_is_asked_for_and_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/rocm-nvidia/tests/libcuda.c");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&folder.path().join("libcuda.so.1"), &source])
        .status()
        .unwrap();
    assert!(built.success(), "cc could not build the stand-in library");
    // None of NVIDIA's libraries, on a machine that has them as on one that has none.
    let libraries = [
        rocm_nvidia::BLAS_LIBRARIES,
        rocm_nvidia::DNN_LIBRARIES,
        rocm_nvidia::RAND_LIBRARIES,
    ];
    for name in libraries.concat() {
        let broken = "no ELF file, but long enough to be read as the header of one.....";
        fs::write(folder.path().join(name), broken).unwrap();
    }
    let answer = ask_nvidia(folder.path());
    assert_says(
        &answer,
        &[
            "Nvidia, HIP on NVIDIA 13.1.0 (libcuda.so.1), level hardware, devices 2",
            "rocBLAS none (libcublas.so.13: ",
            "; libcublas.so.12: ",
        ],
    );
    // The newest that loads serves in rocBLAS's place, and is told.
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/rocm-nvidia/tests/libcublas.c");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&folder.path().join("libcublas.so.12"), &source])
        .status()
        .unwrap();
    assert!(built.success(), "cc could not build the stand-in library");
    let answer = ask_nvidia(folder.path());
    assert_says(
        &answer,
        &[
            "HIP on NVIDIA 13.1.0 (libcuda.so.1), products by libcublas.so.12, level hardware",
            "rocBLAS libcublas.so.12",
        ],
    );
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.env("LD_LIBRARY_PATH", folder.path());
    let answer = answer_of(Some("auto"), None, Path::new("/nonexistent"), &mut child);
    assert!(!answer.contains("NVIDIA"), "{answer}");
}
