//! A folder of code objects serves where there is no compiler. The child process has no PATH, and a clang that is nowhere.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use kernel_build::Target;

const FOLDER: &str = "PREBUILT_TEST_FOLDER";

/// A test of this file in a process of its own, which finds its folder in `FOLDER`.
fn child(test: &str) -> Command {
    let mut child = Command::new(std::env::current_exe().expect("a running test has a program"));
    child.args(["--exact", test, "--ignored", "--nocapture"]);
    child
}

#[track_caller]
fn passes(child: &mut Command) {
    let output = child.output().expect("the program of this test starts again");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
fn code_objects_are_taken_as_they_are_without_a_compiler() {
    let folder = tempfile::tempdir().unwrap();
    let (kernels, objects) = (folder.path().join("kernels"), folder.path().join("objects"));
    fs::create_dir_all(&kernels).unwrap();
    fs::create_dir_all(&objects).unwrap();
    for name in ["fill.hip", "sort.hip", "sort_nvidia.hip", "shared.h"] {
        fs::write(kernels.join(name), "extern int x;").unwrap();
    }
    for name in [
        "fill.gfx1100",
        "sort.gfx1100",
        "fill.gfx942",
        "sort.gfx942",
        "other.gfx906",
    ] {
        fs::write(objects.join(format!("{name}.hsaco")), b"\x7fELF..").unwrap();
    }
    passes(
        child("child_without_a_compiler")
            .env_clear()
            .env("ROCM_CLANG", "/nowhere/clang++")
            .env("ROCM_PREBUILT_KERNELS", &objects)
            .env(FOLDER, folder.path()),
    );
}

#[test]
#[ignore = "the child process of this file's other test"]
fn child_without_a_compiler() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let (kernels, objects) = (folder.join("kernels"), folder.join("objects"));
    let targets = |list| Target::parse_list(list).unwrap();

    let refused = kernel_build::build(&kernels, &[], &folder, 1).unwrap_err();
    assert!(
        refused.contains("name their targets, such as ROCM_TARGETS=gfx1100"),
        "{refused}"
    );
    // As the environment says.
    let built = kernel_build::build(&kernels, &targets("gfx1100,gfx942"), &folder, 1).unwrap();
    let found: Vec<_> = built
        .code_objects
        .iter()
        .map(|object| (object.target.as_str(), object.module.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            ("gfx1100", "fill"),
            ("gfx1100", "sort"),
            ("gfx942", "fill"),
            ("gfx942", "sort")
        ]
    );
    assert!(built.code_objects.iter().all(|object| object.path.is_file()));

    let refusal =
        |targets: &[Target], objects: &Path| kernel_build::prebuilt(&kernels, targets, objects).unwrap_err();
    let text = refusal(&targets("gfx1100,gfx90a"), &objects);
    for name in ["fill.gfx90a.hsaco", "sort.gfx90a.hsaco", "--example compile"] {
        assert!(text.contains(name), "{name} in {text}");
    }
    assert!(!text.contains("gfx1100"), "{text}");
    fs::write(objects.join("fill.gfx942.hsaco"), "not one").unwrap();
    assert!(refusal(&targets("gfx942"), &objects).contains("fill.gfx942.hsaco is not an ELF file"));
    assert!(refusal(&targets("gfx942"), Path::new("/nowhere")).contains("cannot read /nowhere"));

    // NVIDIA's are text, and some are theirs alone.
    for name in ["fill", "sort", "sort_nvidia"] {
        fs::write(
            objects.join(format!("{name}.sm_80.ptx")),
            "//\n// by clang\n\n.version 8.0\n.target sm_80\n",
        )
        .unwrap();
    }
    let ptx = kernel_build::prebuilt(&kernels, &targets("sm_80"), &objects).unwrap();
    let modules: Vec<_> = ptx
        .code_objects
        .iter()
        .map(|object| object.module.as_str())
        .collect();
    assert_eq!(modules, ["fill", "sort", "sort_nvidia"]);
    assert!(
        ptx.code_objects
            .iter()
            .all(|object| object.path.extension().unwrap() == "ptx")
    );
    assert!(refusal(&targets("sm_90"), &objects).contains("sort.sm_90.ptx"));
    fs::write(objects.join("sort.sm_80.ptx"), b"\x7fELF..").unwrap();
    assert!(refusal(&targets("sm_80"), &objects).contains("sort.sm_80.ptx is not PTX"));

    // The compiler would have been missed.
    let text = kernel_build::compile(&kernels, &targets("gfx1100"), &folder, 1).unwrap_err();
    assert!(text.contains("/nowhere/clang++"), "{text}");
}

#[test]
fn without_nvidias_library_its_targets_are_refused_with_how_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["fill.hip", "shared.h"] {
        fs::write(folder.path().join(name), "extern int x;").unwrap();
    }
    passes(
        child("child_without_a_cuda_toolkit")
            .env("CUDA_HOME", "/nowhere/cuda")
            .env_remove("CUDA_PATH")
            .env_remove("ROCM_PREBUILT_KERNELS")
            .env(FOLDER, folder.path()),
    );
}

#[test]
#[ignore = "the child process of this file's other test"]
fn child_without_a_cuda_toolkit() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let targets = Target::parse_list("sm_80").unwrap();
    match kernel_build::compile(&folder, &targets, &folder, 1) {
        Err(text) => {
            for part in [
                "/nowhere/cuda",
                "nvvm/libdevice/libdevice.10.bc",
                "ci/cuda-toolkit",
            ] {
                assert!(text.contains(part), "{part} in {text}");
            }
        }
        // A toolkit that is installed where installers put it serves.
        Ok(built) => assert!(
            built
                .toolchain
                .iter()
                .any(|file| file.ends_with("libdevice.10.bc"))
        ),
    }
}
