//! What serves a product: this crate's kernels, rocBLAS, or the host's model of it.

use rocm_backend::trace::Level;
use rocm_backend::{Device, Library, trace};

use super::{Layout, Plane, check_exact};
use crate::support::device;

/// What served products of `device`, and how often.
fn served(device: &Device) -> Vec<(&'static str, Level, u64)> {
    let served = trace::served(device)
        .into_iter()
        .inspect(|served| assert_eq!(served.op, "matmul"));
    served
        .map(|served| (served.by, served.level, served.times))
        .collect()
}

#[test]
fn a_device_tells_what_served_its_products() {
    let device = device();
    assert_eq!(served(&device), []);
    check_exact::<f32>(&device, Layout::plain(&[], 8, 9), Layout::plain(&[], 9, 7));
    check_exact::<f32>(
        &device,
        Layout::plain(&[], 8, 9),
        Layout::new(Plane::ColumnMajor, &[], &[], 9, 7),
    );
    check_exact::<f32>(&device, Layout::plain(&[], 8, 9), Layout::plain(&[], 9, 1));
    // No library takes these as they lie.
    check_exact::<f32>(
        &device,
        Layout::new(Plane::SameRow, &[], &[], 8, 9),
        Layout::plain(&[], 9, 7),
    );
    check_exact::<f32>(
        &device,
        Layout::new(Plane::Stepped, &[], &[], 8, 9),
        Layout::plain(&[], 9, 2),
    );

    let driver = device.info().driver();
    let kernels = if driver.is_software() {
        Level::Isa
    } else {
        Level::Hardware
    };
    let library = "rocblas_gemm_strided_batched_ex";
    let want = match driver.rocblas() {
        Library::Absent(_) => vec![("gemm", kernels, 3), ("gemv", kernels, 2)],
        Library::System(_) => vec![("gemm", kernels, 1), ("gemv", kernels, 1), (library, kernels, 3)],
        Library::Model => vec![
            ("gemm", kernels, 1),
            ("gemv", kernels, 1),
            (library, Level::Model, 3),
        ],
    };
    assert_eq!(served(&device), want);
}

/// The other tests of products, in a process of their own with `ROCM_LIBRARIES=libraries` on the software device.
fn with_libraries(libraries: &str) -> String {
    let child = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["matmul::", "--skip", "in_a_process_of_their_own"])
        .env("ROCM_DRIVER", "soft")
        .env("ROCM_LIBRARIES", libraries)
        .output()
        .unwrap();
    String::from_utf8_lossy(&child.stdout).into_owned()
}

#[test]
fn products_in_a_process_of_their_own_are_right_through_the_model_of_rocblas_too() {
    let text = with_libraries("model");
    assert!(text.contains("test result: ok. 14 passed"), "{text}");
    let text = with_libraries("no such word");
    let refused = ["ROCM_LIBRARIES", "no such word", "one of auto, native, model"];
    assert!(refused.iter().all(|words| text.contains(words)), "{text}");
}
