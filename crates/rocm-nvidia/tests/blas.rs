//! rocBLAS's entry points over stand-ins for NVIDIA's driver and cuBLAS (libcuda.c, libcublas.c), compiled here with `cc`: what
//! each asks of cuBLAS, and that a product comes out as rocBLAS documents it. No GPU is needed. One test, as a process has
//! one of each library.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(unsafe_code, reason = "calls C functions by their addresses")]

#[path = "mock/function.rs"]
mod function;
mod mock;

use std::ffi::{CStr, c_char, c_uint, c_void};
use std::path::Path;
use std::process::Command;
use std::ptr;

use function::function;
use mock::Mock;
use rocm_nvidia::Missing;
use rocm_rs::rocblas::bindings as rocblas;
use rocm_rs::rocblas::bindings::{rocblas_datatype, rocblas_handle, rocblas_operation, rocblas_status};

const SUCCESS: rocblas_status = rocblas::rocblas_status__rocblas_status_success;
const INVALID_HANDLE: rocblas_status = rocblas::rocblas_status__rocblas_status_invalid_handle;
const NOT_IMPLEMENTED: rocblas_status = rocblas::rocblas_status__rocblas_status_not_implemented;
const INVALID_VALUE: rocblas_status = rocblas::rocblas_status__rocblas_status_invalid_value;
const NONE: rocblas_operation = rocblas::rocblas_operation__rocblas_operation_none;
const TRANSPOSE: rocblas_operation = rocblas::rocblas_operation__rocblas_operation_transpose;
const F16: rocblas_datatype = rocblas::rocblas_datatype__rocblas_datatype_f16_r;
const F32: rocblas_datatype = rocblas::rocblas_datatype__rocblas_datatype_f32_r;
const F64: rocblas_datatype = rocblas::rocblas_datatype__rocblas_datatype_f64_r;
const BF16: rocblas_datatype = rocblas::rocblas_datatype__rocblas_datatype_bf16_r;

type OfHandle = unsafe extern "C" fn(rocblas_handle) -> rocblas_status;
type Create = unsafe extern "C" fn(*mut rocblas_handle) -> rocblas_status;
type SetStream = unsafe extern "C" fn(rocblas_handle, rocblas::hipStream_t) -> rocblas_status;
type SetMode = unsafe extern "C" fn(rocblas_handle, c_uint) -> rocblas_status;
type Text = unsafe extern "C" fn(rocblas_status) -> *const c_char;
type GemmEx = unsafe extern "C" fn(
    rocblas_handle,
    rocblas_operation,
    rocblas_operation,
    i32,
    i32,
    i32,
    *const c_void,
    *const c_void,
    rocblas_datatype,
    i32,
    i64,
    *const c_void,
    rocblas_datatype,
    i32,
    i64,
    *const c_void,
    *const c_void,
    rocblas_datatype,
    i32,
    i64,
    *mut c_void,
    rocblas_datatype,
    i32,
    i64,
    i32,
    rocblas_datatype,
    c_uint,
    i32,
    u32,
) -> rocblas_status;

fn create() -> (rocblas_status, rocblas_handle) {
    let mut handle = ptr::null_mut();
    let create = function!(rocblas::rocblas_create_handle: Create);
    // SAFETY: a live place for a handle.
    let status = unsafe { create(&raw mut handle) };
    (status, handle)
}

fn destroy(handle: rocblas_handle) -> rocblas_status {
    let destroy = function!(rocblas::rocblas_destroy_handle: OfHandle);
    // SAFETY: any pointer will do: the function compares it with the handles that exist, and does not follow it.
    unsafe { destroy(handle) }
}

fn set_stream(handle: rocblas_handle, stream: usize) -> rocblas_status {
    let set_stream = function!(rocblas::rocblas_set_stream: SetStream);
    // SAFETY: as above; the stand-in looks at no stream.
    unsafe { set_stream(handle, ptr::without_provenance_mut(stream)) }
}

fn set_atomics_mode(handle: rocblas_handle, mode: c_uint) -> rocblas_status {
    let set_mode = function!(rocblas::rocblas_set_atomics_mode: SetMode);
    // SAFETY: as above.
    unsafe { set_mode(handle, mode) }
}

/// Numbers of a type of rocBLAS's, as bytes.
#[derive(Clone)]
struct Numbers(rocblas_datatype, Vec<u8>);

impl Numbers {
    fn new(ty: rocblas_datatype, numbers: impl Iterator<Item = i32>) -> Numbers {
        let bytes = numbers.flat_map(|number| match ty {
            F64 => f64::from(number).to_le_bytes().to_vec(),
            F32 => (number as f32).to_le_bytes().to_vec(),
            F16 => half::f16::from_f32(number as f32).to_le_bytes().to_vec(),
            BF16 => half::bf16::from_f32(number as f32).to_le_bytes().to_vec(),
            _ => panic!("{ty} is none of the test's types"),
        });
        Numbers(ty, bytes.collect())
    }

    fn at(&self, i: usize) -> f64 {
        let bytes = |len: usize| &self.1[i * len..][..len];
        match self.0 {
            F64 => f64::from_le_bytes(bytes(8).try_into().unwrap()),
            F32 => f32::from_le_bytes(bytes(4).try_into().unwrap()).into(),
            F16 => half::f16::from_le_bytes(bytes(2).try_into().unwrap()).into(),
            _ => half::bf16::from_le_bytes(bytes(2).try_into().unwrap()).into(),
        }
    }
}

/// `m`x`k` times `k`x`n`, by columns, in two pairs of matrices; places are further apart than they must be.
struct Product {
    ty: rocblas_datatype,
    operations: [rocblas_operation; 2],
    sizes: [i32; 3],
    lds: [i32; 3],
    strides: [i64; 3],
    alpha: f64,
    beta: f64,
}

impl Product {
    fn new(ty: rocblas_datatype, operations: [rocblas_operation; 2]) -> Product {
        Product {
            ty,
            operations,
            sizes: [3, 4, 5],
            lds: [7, 9, 4],
            strides: [50, 60, 20],
            alpha: 1.0,
            beta: 0.0,
        }
    }

    fn operands(&self) -> [Numbers; 3] {
        let numbers = |seed: i32| Numbers::new(self.ty, (0..120).map(move |i| (i * 5 + seed) % 7 - 3));
        [numbers(1), numbers(2), numbers(3)]
    }

    /// Calls rocBLAS; C is `c`, where that is not the result itself.
    fn run(&self, handle: rocblas_handle, result: &mut Numbers, c: Option<&Numbers>) -> rocblas_status {
        let [a, b, _] = self.operands();
        let ([m, n, k], [lda, ldb, ldd], [stride_a, stride_b, stride_d]) =
            (self.sizes, self.lds, self.strides);
        let compute = if self.ty == F64 { F64 } else { F32 };
        let scalar = |value: f64| match compute {
            F64 => value.to_le_bytes(),
            _ => (u64::from((value as f32).to_bits())).to_le_bytes(),
        };
        let (alpha, beta) = (scalar(self.alpha), scalar(self.beta));
        let d: *mut c_void = result.1.as_mut_ptr().cast();
        let c = c.map_or(d.cast_const(), |c| c.1.as_ptr().cast());
        let gemm = function!(rocblas::rocblas_gemm_strided_batched_ex: GemmEx);
        // SAFETY: all pointers are live, and the numbers are as many as sizes and strides reach to. A handle may be none.
        unsafe {
            gemm(
                handle,
                self.operations[0],
                self.operations[1],
                m,
                n,
                k,
                alpha.as_ptr().cast(),
                a.1.as_ptr().cast(),
                self.ty,
                lda,
                stride_a,
                b.1.as_ptr().cast(),
                self.ty,
                ldb,
                stride_b,
                beta.as_ptr().cast(),
                c,
                self.ty,
                ldd,
                stride_d,
                d,
                self.ty,
                ldd,
                stride_d,
                2,
                compute,
                0,
                0,
                0,
            )
        }
    }

    /// What rocBLAS documents: D = alpha op(A) op(B) + beta C.
    fn want(&self) -> Numbers {
        let [a, b, mut d] = self.operands();
        let [m, n, k] = self.sizes;
        let [lda, ldb, ldd] = self.lds;
        let at = |numbers: &Numbers, operand: usize, number: usize, row: i32, col: i32, ld: i32| {
            let (row, col) = if self.operations[operand] == NONE {
                (row, col)
            } else {
                (col, row)
            };
            numbers.at((row + col * ld) as usize + number * self.strides[operand] as usize)
        };
        let size = d.1.len() / 120;
        for number in 0..2 {
            for (row, col) in (0..m).flat_map(|row| (0..n).map(move |col| (row, col))) {
                let products =
                    (0..k).map(|i| at(&a, 0, number, row, i, lda) * at(&b, 1, number, i, col, ldb));
                let place = (row + col * ldd) as usize + number * self.strides[2] as usize;
                let sum = self.alpha * products.sum::<f64>() + self.beta * d.at(place);
                let bytes = Numbers::new(self.ty, [sum as i32].into_iter()).1;
                d.1[place * size..][..size].copy_from_slice(&bytes);
            }
        }
        d
    }

    fn check(&self, handle: rocblas_handle) {
        let [.., mut got] = self.operands();
        assert_eq!(self.run(handle, &mut got, None), SUCCESS);
        assert_eq!(got.1, self.want().1, "{} {:?}", self.ty, self.operations);
    }
}

#[test]
fn each_entry_point_asks_cublas_for_the_same_thing() {
    let folder = tempfile::tempdir().unwrap();
    without_cublas(folder.path());
    let driver = Mock::compile(folder.path(), "libcuda.c", rocm_nvidia::LIBRARY);
    let library = Mock::compile(folder.path(), "libcublas.c", rocm_nvidia::BLAS_LIBRARIES[0]);
    rocm_nvidia::load(&driver).unwrap();
    rocm_nvidia::load_blas(&library).unwrap();
    let [driver, mock] = [driver, library].map(|path| Mock::load(&path));
    handles(&driver, &mock);
    products(&mock);
    refusals(&mock);
}

fn without_cublas(folder: &Path) {
    let absent = rocm_nvidia::load_blas(&folder.join(rocm_nvidia::BLAS_LIBRARIES[0])).unwrap_err();
    assert!(
        absent.to_string().contains("cannot open shared object file"),
        "{absent}"
    );
    // A library that is none of NVIDIA's: it is refused, with what it lacks.
    let other = folder.join("other.so");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-x", "c", "/dev/null", "-o"])
        .arg(&other)
        .status();
    assert!(built.unwrap().success());
    let Err(Missing::Functions(names)) = rocm_nvidia::load_blas(&other) else {
        panic!("a library without functions serves");
    };
    assert!(names.contains(&"cublasGemmStridedBatchedEx"), "{names:?}");
    assert_eq!(create(), (INVALID_HANDLE, ptr::null_mut()));
}

fn handles(driver: &Mock, mock: &Mock) {
    // Sums keep their precision, and the workspace is the handle's own.
    let (status, handle) = create();
    assert_eq!(status, SUCCESS);
    assert_eq!(mock.calls(), ["cublasCreate_v2", "cublasSetMathMode 901 16"]);
    assert!(driver.calls().contains(&"cuMemAlloc_v2 33554432".to_owned()));
    // A stream takes the workspace away, so that it is set after it.
    assert_eq!(set_stream(handle, 0x500), SUCCESS);
    assert_eq!(
        mock.calls(),
        [
            "cublasSetStream_v2 901 500",
            "cublasSetWorkspace_v2 901 1 33554432"
        ]
    );
    for (mode, number) in [
        (rocblas::rocblas_atomics_mode__rocblas_atomics_not_allowed, 0),
        (rocblas::rocblas_atomics_mode__rocblas_atomics_allowed, 1),
    ] {
        assert_eq!(set_atomics_mode(handle, mode), SUCCESS);
        assert_eq!(mock.calls(), [format!("cublasSetAtomicsMode 901 {number}")]);
    }
    assert_eq!(set_atomics_mode(handle, 7), INVALID_VALUE);
    assert!(mock.calls().is_empty());
    driver.calls();
    assert_eq!(destroy(handle), SUCCESS);
    assert_eq!(mock.calls(), ["cublasDestroy_v2 901"]);
    assert_eq!(driver.calls(), ["cuMemFree_v2"]);
    // What is not a handle any more is told, and cuBLAS does not get it.
    assert_eq!(
        (destroy(handle), set_stream(handle, 0)),
        (INVALID_HANDLE, INVALID_HANDLE)
    );
    assert_eq!(set_atomics_mode(ptr::null_mut(), 0), INVALID_HANDLE);
    assert!(mock.calls().is_empty());
    // A handle that cannot be finished is given back.
    mock.fail(c"cublasSetMathMode", 15);
    assert_eq!(create(), (NOT_IMPLEMENTED, ptr::null_mut()));
    assert_eq!(
        rocm_nvidia::take_detail().as_deref(),
        Some("cublasSetMathMode: CUBLAS_STATUS_NOT_SUPPORTED (15)")
    );
    assert_eq!(
        mock.calls(),
        [
            "cublasCreate_v2",
            "cublasSetMathMode 902 16",
            "cublasDestroy_v2 902"
        ]
    );
    driver.fail(c"cuMemAlloc_v2", 2);
    assert_eq!(
        create(),
        (
            rocblas::rocblas_status__rocblas_status_memory_error,
            ptr::null_mut()
        )
    );
    assert_eq!(mock.calls(), ["cublasCreate_v2", "cublasDestroy_v2 903"]);
}

fn products(mock: &Mock) {
    let (_, handle) = create();
    mock.calls();
    // cudaDataType and cublasComputeType_t: f32 is f32 and not TF32, 16-bit floats are summed in f32.
    for (ty, number, compute) in [(F32, 0, 68), (F16, 2, 68), (BF16, 14, 68), (F64, 1, 70)] {
        for operations in [
            [NONE, NONE],
            [TRANSPOSE, NONE],
            [NONE, TRANSPOSE],
            [TRANSPOSE, TRANSPOSE],
        ] {
            let product = Product::new(ty, operations);
            product.check(handle);
            let [a, b] = operations.map(|operation| u8::from(operation == TRANSPOSE));
            let call = format!(
                "cublasGemmStridedBatchedEx 904 {a} {b} (3 4 5) {number} 7 50, {number} 9 60, {number} 4 20, 2 of {compute} by -1"
            );
            assert_eq!(mock.calls(), [call]);
        }
    }
    // The negative control: what comes out depends on the operations, and on which operand they are of.
    let wants =
        [[NONE, NONE], [TRANSPOSE, NONE], [NONE, TRANSPOSE]].map(|both| Product::new(F32, both).want().1);
    assert!(wants[0] != wants[1] && wants[0] != wants[2] && wants[1] != wants[2]);
    let mut scaled = Product::new(F32, [NONE, TRANSPOSE]);
    (scaled.alpha, scaled.beta) = (2.0, -3.0);
    scaled.check(handle);
    // One matrix for all of a batch.
    let mut shared = Product::new(F16, [TRANSPOSE, NONE]);
    shared.strides[0] = 0;
    shared.check(handle);
    mock.calls();
    assert_eq!(destroy(handle), SUCCESS);
    mock.calls();
}

fn refusals(mock: &Mock) {
    let (_, handle) = create();
    mock.calls();
    let product = Product::new(F32, [NONE, NONE]);
    let [_, other, mut result] = product.operands();
    let before = result.1.clone();
    // cuBLAS has no D beside C; with a beta of 0 nobody reads C.
    let mut beside = Product::new(F32, [NONE, NONE]);
    beside.beta = 1.0;
    assert_eq!(beside.run(handle, &mut result, Some(&other)), NOT_IMPLEMENTED);
    assert_eq!((&result.1, mock.calls().len()), (&before, 0));
    assert_eq!(product.run(handle, &mut result, Some(&other)), SUCCESS);
    assert_eq!(result.1, product.want().1);
    mock.calls();
    // A size below 0 and an operation that is none are told before cuBLAS sees them.
    let mut negative = Product::new(F32, [NONE, NONE]);
    negative.sizes[2] = -1;
    assert_eq!(
        negative.run(handle, &mut result, None),
        rocblas::rocblas_status__rocblas_status_invalid_size
    );
    assert_eq!(
        Product::new(F32, [NONE, 99]).run(handle, &mut result, None),
        INVALID_VALUE
    );
    assert_eq!(product.run(ptr::null_mut(), &mut result, None), INVALID_HANDLE);
    let mut empty = Product::new(F32, [NONE, NONE]);
    empty.sizes[0] = 0;
    assert_eq!(empty.run(handle, &mut result, None), SUCCESS);
    assert!(mock.calls().is_empty());
    // What cuBLAS refuses is refused with its word for it; what it has no kernel for is left to others.
    let mut narrow = Product::new(F32, [NONE, NONE]);
    narrow.lds[0] = 2;
    assert_eq!(narrow.run(handle, &mut result, None), INVALID_VALUE);
    let detail = rocm_nvidia::take_detail().unwrap();
    assert_eq!(
        detail,
        "cublasGemmStridedBatchedEx: CUBLAS_STATUS_INVALID_VALUE (7)"
    );
    mock.fail(c"cublasGemmStridedBatchedEx", 15);
    assert_eq!(product.run(handle, &mut result, None), NOT_IMPLEMENTED);
    mock.fail(c"cublasGemmStridedBatchedEx", 13);
    let failed = product.run(handle, &mut result, None);
    assert_eq!(failed, rocblas::rocblas_status__rocblas_status_internal_error);
    let text = function!(rocblas::rocblas_status_to_string: Text);
    // SAFETY: takes any number and gives a static C string.
    let text = unsafe { CStr::from_ptr(text(failed)) };
    assert_eq!(text, c"rocblas_status_internal_error");
    assert_eq!(destroy(handle), SUCCESS);
}
