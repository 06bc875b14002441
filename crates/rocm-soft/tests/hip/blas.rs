//! The model of rocBLAS against products worked out by hand and against a loop, and what it refuses in which words.

use core::ffi::c_void;
use core::ptr;

use half::{bf16, f16};
use rocm_rs::rocblas::bindings as blas;
use rocm_rs::rocblas::bindings::{rocblas_datatype, rocblas_handle, rocblas_operation, rocblas_status};

use crate::call::{OK, call, malloc};

const SUCCESS: rocblas_status = blas::rocblas_status__rocblas_status_success;
const INVALID_HANDLE: rocblas_status = blas::rocblas_status__rocblas_status_invalid_handle;
const NOT_IMPLEMENTED: rocblas_status = blas::rocblas_status__rocblas_status_not_implemented;
const INVALID_POINTER: rocblas_status = blas::rocblas_status__rocblas_status_invalid_pointer;
const INVALID_SIZE: rocblas_status = blas::rocblas_status__rocblas_status_invalid_size;
const INVALID_VALUE: rocblas_status = blas::rocblas_status__rocblas_status_invalid_value;
const INTERNAL_ERROR: rocblas_status = blas::rocblas_status__rocblas_status_internal_error;
const NONE: rocblas_operation = blas::rocblas_operation__rocblas_operation_none;
const TRANSPOSE: rocblas_operation = blas::rocblas_operation__rocblas_operation_transpose;
const F16: rocblas_datatype = blas::rocblas_datatype__rocblas_datatype_f16_r;
const BF16: rocblas_datatype = blas::rocblas_datatype__rocblas_datatype_bf16_r;
const F32: rocblas_datatype = blas::rocblas_datatype__rocblas_datatype_f32_r;
const F64: rocblas_datatype = blas::rocblas_datatype__rocblas_datatype_f64_r;

/// `blas!(rocblas_destroy_handle(handle))`: what the function gives.
macro_rules! blas {
    ($name:ident($($argument:expr),* $(,)?)) => {{
        let witness = || {
            let declared: unsafe extern "C" fn($($crate::call::infer!($argument)),*) -> _ = blas::$name;
            declared
        };
        // SAFETY: the type is the declaration's, and the tests pass what rocBLAS asks for.
        unsafe { $crate::call::resolve(stringify!($name), witness)($($argument),*) }
    }};
}

fn handle() -> rocblas_handle {
    let mut handle = ptr::null_mut();
    assert_eq!(blas!(rocblas_create_handle(&mut handle)), SUCCESS);
    handle
}

/// Values as elements of `datatype`.
fn encode(datatype: rocblas_datatype, values: &[f64]) -> Vec<u8> {
    let bytes = |value: &f64| match datatype {
        F16 => f16::from_f32(*value as f32).to_le_bytes().to_vec(),
        BF16 => bf16::from_f32(*value as f32).to_le_bytes().to_vec(),
        F32 => (*value as f32).to_le_bytes().to_vec(),
        _ => value.to_le_bytes().to_vec(),
    };
    values.iter().flat_map(bytes).collect()
}

fn decode(datatype: rocblas_datatype, bytes: &[u8]) -> Vec<f64> {
    match datatype {
        F16 => bytes
            .as_chunks()
            .0
            .iter()
            .map(|b| f16::from_le_bytes(*b).to_f64())
            .collect(),
        BF16 => bytes
            .as_chunks()
            .0
            .iter()
            .map(|b| bf16::from_le_bytes(*b).to_f64())
            .collect(),
        F32 => bytes
            .as_chunks()
            .0
            .iter()
            .map(|b| f32::from_le_bytes(*b).into())
            .collect(),
        _ => bytes
            .as_chunks()
            .0
            .iter()
            .map(|b| f64::from_le_bytes(*b))
            .collect(),
    }
}

fn upload(datatype: rocblas_datatype, values: &[f64]) -> *mut c_void {
    let bytes = encode(datatype, values);
    let pointer = malloc(bytes.len());
    let kind = rocm_rs::hip::bindings::hipMemcpyKind_hipMemcpyHostToDevice;
    assert_eq!(
        call!(hipMemcpy(pointer, bytes.as_ptr().cast(), bytes.len(), kind)),
        OK
    );
    pointer
}

fn download(datatype: rocblas_datatype, pointer: *mut c_void, len: usize) -> Vec<f64> {
    let mut bytes = encode(datatype, &vec![0.0; len]);
    let kind = rocm_rs::hip::bindings::hipMemcpyKind_hipMemcpyDeviceToHost;
    assert_eq!(
        call!(hipMemcpy(bytes.as_mut_ptr().cast(), pointer, bytes.len(), kind)),
        OK
    );
    decode(datatype, &bytes)
}

/// A call in the making: 2x3 times 3x2, contiguous, C the same as D.
#[derive(Clone, Copy)]
struct Product {
    handle: rocblas_handle,
    operations: [rocblas_operation; 2],
    sizes: [i32; 3],
    alpha: Option<f64>,
    beta: Option<f64>,
    pointers: [*mut c_void; 4],
    types: [rocblas_datatype; 4],
    lds: [i32; 4],
    strides: [i64; 4],
    batch: i32,
    compute: rocblas_datatype,
}

impl Product {
    fn new(handle: rocblas_handle, a: *mut c_void, b: *mut c_void, c: *mut c_void) -> Product {
        Product {
            handle,
            operations: [NONE, NONE],
            sizes: [2, 2, 3],
            alpha: Some(1.0),
            beta: Some(0.0),
            pointers: [a, b, c, c],
            types: [F32; 4],
            lds: [2, 3, 2, 2],
            strides: [6, 6, 4, 4],
            batch: 1,
            compute: F32,
        }
    }

    fn run(&self) -> rocblas_status {
        let [alpha, beta] =
            [self.alpha, self.beta].map(|scalar| scalar.map(|value| encode(self.compute, &[value])));
        let pointer = |scalar: &Option<Vec<u8>>| {
            scalar
                .as_ref()
                .map_or(ptr::null(), |bytes| bytes.as_ptr().cast::<c_void>())
        };
        let Product {
            operations,
            sizes,
            pointers,
            types,
            lds,
            strides,
            ..
        } = *self;
        blas!(rocblas_gemm_strided_batched_ex(
            self.handle,
            operations[0],
            operations[1],
            sizes[0],
            sizes[1],
            sizes[2],
            pointer(&alpha),
            pointers[0].cast_const(),
            types[0],
            lds[0],
            strides[0],
            pointers[1].cast_const(),
            types[1],
            lds[1],
            strides[1],
            pointer(&beta),
            pointers[2].cast_const(),
            types[2],
            lds[2],
            strides[2],
            pointers[3],
            types[3],
            lds[3],
            strides[3],
            self.batch,
            self.compute,
            blas::rocblas_gemm_algo__rocblas_gemm_algo_standard,
            0,
            0,
        ))
    }
}

/// Column by column: 1 3 5 over 2 4 6.
const A: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
/// Column by column: 7 8 9, then 10 11 12.
const B: [f64; 6] = [7.0, 8.0, 9.0, 10.0, 11.0, 12.0];
/// Of A and B, worked out by hand.
const AB: [f64; 4] = [76.0, 100.0, 103.0, 136.0];

fn example(datatype: rocblas_datatype, c: &[f64]) -> Product {
    let mut product = Product::new(
        handle(),
        upload(datatype, &A),
        upload(datatype, &B),
        upload(datatype, c),
    );
    product.types = [datatype; 4];
    product.compute = if datatype == F64 { F64 } else { F32 };
    product
}

#[test]
fn matrices_are_column_major_in_every_type() {
    for datatype in [F16, BF16, F32, F64] {
        let product = example(datatype, &[f64::NAN; 4]);
        assert_eq!(product.run(), SUCCESS);
        assert_eq!(
            download(datatype, product.pointers[3], 4),
            AB,
            "a beta of 0 does not look at C"
        );
    }
}

#[test]
fn sixteen_bit_inputs_may_have_an_f32_result() {
    let mut product = example(F32, &[0.0; 4]);
    product.pointers[0] = upload(BF16, &A);
    product.pointers[1] = upload(BF16, &B);
    product.types = [BF16, BF16, F32, F32];
    assert_eq!(product.run(), SUCCESS);
    assert_eq!(download(F32, product.pointers[3], 4), AB);
}

#[test]
fn alpha_and_beta_scale_the_product_and_c() {
    let mut product = example(F32, &[1.0, 2.0, 3.0, 4.0]);
    (product.alpha, product.beta) = (Some(2.0), Some(-10.0));
    assert_eq!(product.run(), SUCCESS);
    assert_eq!(
        download(F32, product.pointers[3], 4),
        [142.0, 180.0, 176.0, 232.0]
    );

    let mut product = example(F32, &[1.0, 2.0, 3.0, 4.0]);
    (product.alpha, product.beta) = (Some(0.0), Some(3.0));
    product.pointers[0] = ptr::null_mut();
    assert_eq!(product.run(), SUCCESS, "an alpha of 0 does not look at A");
    assert_eq!(download(F32, product.pointers[3], 4), [3.0, 6.0, 9.0, 12.0]);

    let mut product = example(F32, &[1.0, 2.0, 3.0, 4.0]);
    (product.alpha, product.beta, product.sizes[2]) = (None, Some(2.0), 0);
    product.lds[1] = 1;
    assert_eq!(product.run(), SUCCESS, "without a k there is no use for alpha");
    assert_eq!(download(F32, product.pointers[3], 4), [2.0, 4.0, 6.0, 8.0]);
}

#[test]
fn operations_leading_dimensions_and_strides_say_where_elements_lie() {
    let (m, n, k, batch) = (3_usize, 4_usize, 5_usize, 3_usize);
    let value = |i: usize| ((i * 7) % 11) as f64 - 5.0;
    for operations in [
        [NONE, NONE],
        [TRANSPOSE, NONE],
        [NONE, TRANSPOSE],
        [TRANSPOSE, TRANSPOSE],
    ] {
        let (lds, strides) = ([7_usize, 6, 3, 5], [40_usize, 0, 12, 21]);
        let (a, b): (Vec<f64>, Vec<f64>) = (0..150).map(|i| (value(i), value(i + 3))).unzip();
        let product = Product {
            operations,
            sizes: [m as i32, n as i32, k as i32],
            pointers: [
                upload(F32, &a),
                upload(F32, &b),
                ptr::null_mut(),
                upload(F32, &[99.0; 70]),
            ],
            lds: lds.map(|ld| ld as i32),
            strides: strides.map(|stride| stride as i64),
            batch: batch as i32,
            ..example(F32, &[0.0; 4])
        };
        assert_eq!(product.run(), SUCCESS);
        let at = |values: &[f64], operand: usize, number: usize, row: usize, col: usize| {
            let (row, col) = if operations[operand] == NONE {
                (row, col)
            } else {
                (col, row)
            };
            values[number * strides[operand] + col * lds[operand] + row]
        };
        let mut want = vec![99.0; 70];
        for (number, col, row) in (0..batch)
            .flat_map(|number| (0..n).flat_map(move |col| (0..m).map(move |row| (number, col, row))))
        {
            want[number * strides[3] + col * lds[3] + row] = (0..k)
                .map(|i| at(&a, 0, number, row, i) * at(&b, 1, number, i, col))
                .sum();
        }
        assert_eq!(download(F32, product.pointers[3], 70), want, "{operations:?}");
    }
}

#[test]
fn what_rocblas_refuses_is_refused_with_its_status_and_writes_nothing() {
    type Change<'a> = &'a dyn Fn(&mut Product);
    let good = example(F32, &[5.0; 4]);
    let null = ptr::null_mut::<c_void>();
    let other = upload(F32, &[5.0; 4]);
    let integers = blas::rocblas_datatype__rocblas_datatype_i32_r;
    let changed = |change: Change<'_>| {
        let mut product = good;
        change(&mut product);
        product.run()
    };
    let refusals: &[(Change<'_>, rocblas_status)] = &[
        (&|p| p.handle = null.cast(), INVALID_HANDLE),
        (&|p| p.operations[1] = 7, INVALID_VALUE),
        (&|p| p.sizes[0] = -1, INVALID_SIZE),
        (&|p| p.batch = -1, INVALID_SIZE),
        (&|p| p.lds[0] = 1, INVALID_SIZE),
        (&|p| p.lds[1] = 2, INVALID_SIZE),
        (&|p| p.lds[3] = 1, INVALID_SIZE),
        (&|p| p.operations[0] = TRANSPOSE, INVALID_SIZE),
        (&|p| p.alpha = None, INVALID_POINTER),
        (&|p| p.beta = None, INVALID_POINTER),
        (&|p| p.pointers[0] = null, INVALID_POINTER),
        (&|p| p.pointers[1] = null, INVALID_POINTER),
        (&|p| p.pointers[3] = null, INVALID_POINTER),
        (&|p| (p.pointers[2], p.beta) = (null, Some(1.0)), INVALID_POINTER),
        (&|p| p.lds[2] = 4, INVALID_SIZE),
        (&|p| p.strides[3] = 8, INVALID_SIZE),
        (&|p| p.types[2] = F64, INVALID_VALUE),
        (&|p| p.types[1] = F64, NOT_IMPLEMENTED),
        (&|p| (p.types[2], p.pointers[2]) = (F64, other), NOT_IMPLEMENTED),
        (&|p| p.compute = F64, NOT_IMPLEMENTED),
        (&|p| p.compute = integers, NOT_IMPLEMENTED),
    ];
    for (i, (change, status)) in refusals.iter().enumerate() {
        assert_eq!(changed(change), *status, "refusal {i}");
    }
    assert_eq!(download(F32, good.pointers[3], 4), [5.0; 4]);
    let nothing = |p: &mut Product| (p.sizes[0], p.pointers) = (0, [null; 4]);
    assert_eq!(changed(&nothing), SUCCESS, "nothing to do");
    assert_eq!(good.run(), SUCCESS);
}

#[test]
fn memory_that_is_not_there_is_told_with_its_address() {
    let product = Product {
        strides: [100, 6, 4, 4],
        batch: 2,
        ..example(F32, &[0.0; 8])
    };
    assert_eq!(product.run(), INTERNAL_ERROR);
    let text = rocm_soft::take_fault().unwrap();
    let address = product.pointers[0].addr() + 400;
    assert!(text.contains(&format!("reads 8 bytes at {address:#x}")), "{text}");
}

#[test]
fn a_handle_lives_from_its_making_to_its_end() {
    let handle = handle();
    let mut stream = ptr::null_mut();
    assert_eq!(call!(hipStreamCreate(&mut stream)), OK);
    assert_eq!(blas!(rocblas_set_stream(handle, stream.cast())), SUCCESS);
    assert_eq!(
        blas!(rocblas_set_stream(handle, ptr::without_provenance_mut(0x1234))),
        INVALID_VALUE
    );
    let allowed = blas::rocblas_atomics_mode__rocblas_atomics_allowed;
    assert_eq!(blas!(rocblas_set_atomics_mode(handle, allowed)), SUCCESS);
    assert_eq!(blas!(rocblas_set_atomics_mode(handle, 9)), INVALID_VALUE);
    assert_eq!(blas!(rocblas_destroy_handle(handle)), SUCCESS);
    assert_eq!(blas!(rocblas_destroy_handle(handle)), INVALID_HANDLE);
    assert_eq!(blas!(rocblas_set_stream(handle, stream.cast())), INVALID_HANDLE);
    assert_eq!(blas!(rocblas_set_atomics_mode(handle, allowed)), INVALID_HANDLE);
    assert_eq!(blas!(rocblas_create_handle(ptr::null_mut())), INVALID_HANDLE);
    assert_eq!(call!(hipStreamDestroy(stream)), OK);
}

#[test]
fn a_status_has_the_name_of_its_constant() {
    let name = |status| {
        let text = blas!(rocblas_status_to_string(status));
        // SAFETY: a static C string.
        unsafe { core::ffi::CStr::from_ptr(text) }.to_str().unwrap()
    };
    assert_eq!(name(INVALID_SIZE), "rocblas_status_invalid_size");
    assert_eq!(name(SUCCESS), "rocblas_status_success");
    assert!(name(4711).contains("undefined"));
}
