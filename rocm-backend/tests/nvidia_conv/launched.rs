//! What a stand-in for NVIDIA's driver, built here with `cc`, is asked to launch. Nothing is computed.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

use std::fs;
use std::path::Path;
use std::process::Command;

use rocm_backend::ops::{self, Window};
use rocm_backend::{DType, Device, DynBuffer, View, trace};

const BEGIN: &str = "<<launched ";
const END: &str = " launched>>";

/// A convolution of packed f32 images, with padding that keeps their size, of weights that begin so many elements into their buffer.
struct Case {
    x: &'static [usize],
    kernel: &'static [usize],
    offset: usize,
    launches: &'static str,
}

const CASES: [Case; 5] = [
    Case {
        x: &[2, 32, 8, 8],
        kernel: &[128, 32, 1, 1],
        offset: 0,
        launches: "conv_128_f32",
    },
    Case {
        x: &[2, 8, 100],
        kernel: &[24, 8, 5],
        offset: 4,
        launches: "conv_64_f32",
    },
    // Four weights are read at once: from where they are aligned, and of windows of whole fours.
    Case {
        x: &[2, 8, 100],
        kernel: &[24, 8, 5],
        offset: 1,
        launches: "conv1d_f32",
    },
    Case {
        x: &[2, 7, 8, 8],
        kernel: &[24, 7, 3, 3],
        offset: 0,
        launches: "conv2d_f32",
    },
    // Short sums.
    Case {
        x: &[2, 4, 8, 8],
        kernel: &[24, 4, 1, 1],
        offset: 0,
        launches: "conv2d_f32",
    },
];

impl Case {
    fn launched(&self, device: &Device) -> String {
        let packed = |dims: &[usize]| -> Vec<usize> {
            (0..dims.len()).map(|d| dims[d + 1..].iter().product()).collect()
        };
        let count = |dims: &[usize]| dims.iter().product::<usize>();
        let x = DynBuffer::zeros(device, DType::F32, count(self.x)).unwrap();
        let kernel = DynBuffer::zeros(device, DType::F32, self.offset + count(self.kernel)).unwrap();
        let (x_strides, kernel_strides) = (packed(self.x), packed(self.kernel));
        let x = View::new(&x, self.x, &x_strides);
        let kernel = View::new(&kernel, self.kernel, &kernel_strides).at(self.offset);
        let window = Window {
            padding: self.kernel[2] / 2,
            ..Window::default()
        };
        drop(trace::take(device));
        match self.x.len() {
            3 => ops::conv1d(x, kernel, window),
            _ => ops::conv2d(x, kernel, window),
        }
        .unwrap();
        let steps = trace::take(device);
        let kernels = steps.iter().filter(|step| step.by.starts_with("conv"));
        kernels.map(|step| step.by.to_string()).collect()
    }
}

#[test]
fn nvidias_matrix_cores_get_the_convolutions_that_they_can_take() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/rocm-nvidia/tests/libcuda.c");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&folder.path().join("libcuda.so.1"), &source])
        .status()
        .unwrap();
    assert!(built.success(), "cc could not build the stand-in library");
    // None of NVIDIA's libraries, on a machine that has them as on one that has none.
    let libraries = [rocm_nvidia::BLAS_LIBRARIES, rocm_nvidia::DNN_LIBRARIES];
    for name in libraries.concat() {
        let broken = "no ELF file, but long enough to be read as the header of one.....";
        fs::write(folder.path().join(name), broken).unwrap();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "launched::child_that_convolves",
            "--ignored",
            "--nocapture",
        ])
        .env("LD_LIBRARY_PATH", folder.path())
        .env("ROCM_DRIVER", "nvidia")
        .env_remove("ROCM_LIBRARIES")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}\n{errors}");
    let (_, rest) = text.split_once(BEGIN).unwrap();
    let launched: Vec<&str> = rest.split_once(END).unwrap().0.split(' ').collect();
    assert_eq!(launched, CASES.map(|case| case.launches));
}

#[test]
#[ignore = "the child process of this file's other test"]
fn child_that_convolves() {
    let device = Device::new(0).unwrap();
    let launched: Vec<String> = CASES.iter().map(|case| case.launched(&device)).collect();
    println!("{BEGIN}{}{END}", launched.join(" "));
}
