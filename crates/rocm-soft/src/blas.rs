//! A host model of rocBLAS: handles, and general products of matrices, as rocBLAS documents them. No code of an AMD
//! library is executed: a result is this host's arithmetic, and says nothing of rocBLAS's own rounding errors.
//!
//! Matrices are column-major. The order of checks, and which status a refusal has, are rocBLAS 5's. Pointers to scalars
//! are to host memory, as for a new handle. Not modelled, and `rocblas_status_not_implemented`: products of integers
//! and of complex numbers, and those computed in f16.

use half::{bf16, f16};
use rocm_rs::rocblas::bindings as blas;
use rocm_rs::rocblas::bindings::{
    rocblas_atomics_mode, rocblas_datatype, rocblas_int, rocblas_operation, rocblas_status, rocblas_stride,
};

use crate::handles::HandleKind;
use crate::library::{Objects, Reach, status_names};

/// The result of a rocBLAS function before it becomes a status.
pub(crate) type Result<T = ()> = core::result::Result<T, rocblas_status>;

const INVALID_HANDLE: rocblas_status = blas::rocblas_status__rocblas_status_invalid_handle;
const NOT_IMPLEMENTED: rocblas_status = blas::rocblas_status__rocblas_status_not_implemented;
const INVALID_POINTER: rocblas_status = blas::rocblas_status__rocblas_status_invalid_pointer;
const INVALID_SIZE: rocblas_status = blas::rocblas_status__rocblas_status_invalid_size;
const INVALID_VALUE: rocblas_status = blas::rocblas_status__rocblas_status_invalid_value;
const INTERNAL_ERROR: rocblas_status = blas::rocblas_status__rocblas_status_internal_error;

/// Living handles and the stream of each.
static HANDLES: Objects<usize> = Objects::new(HandleKind::Blas);

const REACH: Reach<rocblas_status> = Reach {
    who: "rocblas_gemm_strided_batched_ex",
    missing: INTERNAL_ERROR,
    outside: INTERNAL_ERROR,
};

fn with_handle<T>(handle: usize, f: impl FnOnce(&mut usize) -> T) -> Result<T> {
    HANDLES.with(handle, f).ok_or(INVALID_HANDLE)
}

/// A handle of the null stream.
pub(crate) fn create_handle() -> Result<usize> {
    REACH.device()?;
    Ok(HANDLES.insert(0))
}

pub(crate) fn destroy_handle(handle: usize) -> Result {
    HANDLES.remove(handle).map(drop).ok_or(INVALID_HANDLE)
}

/// Streams execute at submission, so that the stream is checked and kept, and changes nothing.
pub(crate) fn set_stream(handle: usize, stream: usize) -> Result {
    with_handle(handle, |_| ())?;
    REACH.device()?.check_stream(stream).map_err(|_| INVALID_VALUE)?;
    with_handle(handle, |kept| *kept = stream)
}

/// The model never adds atomically, so that every mode gives the same results.
pub(crate) fn set_atomics_mode(handle: usize, mode: rocblas_atomics_mode) -> Result {
    with_handle(handle, |_| ())?;
    match mode {
        blas::rocblas_atomics_mode__rocblas_atomics_not_allowed
        | blas::rocblas_atomics_mode__rocblas_atomics_allowed => Ok(()),
        _ => Err(INVALID_VALUE),
    }
}

status_names! {
    rocblas_status, blas, "rocblas_status__", otherwise c"<undefined rocblas_status value>":
    rocblas_status__rocblas_status_success rocblas_status__rocblas_status_invalid_handle
    rocblas_status__rocblas_status_not_implemented rocblas_status__rocblas_status_invalid_pointer
    rocblas_status__rocblas_status_invalid_size rocblas_status__rocblas_status_memory_error
    rocblas_status__rocblas_status_internal_error rocblas_status__rocblas_status_perf_degraded
    rocblas_status__rocblas_status_size_query_mismatch rocblas_status__rocblas_status_size_increased
    rocblas_status__rocblas_status_size_unchanged rocblas_status__rocblas_status_invalid_value
    rocblas_status__rocblas_status_continue rocblas_status__rocblas_status_check_numerics_fail
    rocblas_status__rocblas_status_excluded_from_build rocblas_status__rocblas_status_arch_mismatch
}

/// A scalar that C hands in by pointer, of the compute type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar {
    /// A null pointer.
    Null,
    /// A number.
    Value(f64),
    /// Of a compute type that is not modelled.
    Unread,
}

/// The matrices of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrices {
    /// Of the first one in device memory; 0 for none.
    pub(crate) address: u64,
    pub(crate) datatype: rocblas_datatype,
    /// Elements between columns.
    pub(crate) ld: rocblas_int,
    /// Elements between matrices.
    pub(crate) stride: rocblas_stride,
}

/// `rocblas_gemm_strided_batched_ex`: D = alpha op(A) op(B) + beta C for each matrix of a batch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gemm {
    pub(crate) handle: usize,
    /// What is done to A and B.
    pub(crate) operations: [rocblas_operation; 2],
    pub(crate) m: rocblas_int,
    pub(crate) n: rocblas_int,
    pub(crate) k: rocblas_int,
    pub(crate) alpha: Scalar,
    pub(crate) a: Matrices,
    pub(crate) b: Matrices,
    pub(crate) beta: Scalar,
    pub(crate) c: Matrices,
    pub(crate) d: Matrices,
    pub(crate) batch_count: rocblas_int,
    pub(crate) compute_type: rocblas_datatype,
}

impl Gemm {
    /// Checks the call as rocBLAS does; says whether there is anything to compute.
    fn check(&self) -> Result<bool> {
        let Gemm {
            m, n, k, a, b, c, d, ..
        } = self;
        with_handle(self.handle, |_| ())?;
        let known = |operation: &rocblas_operation| {
            matches!(
                *operation,
                blas::rocblas_operation__rocblas_operation_none
                    | blas::rocblas_operation__rocblas_operation_transpose
                    | blas::rocblas_operation__rocblas_operation_conjugate_transpose
            )
        };
        if !self.operations.iter().all(known) {
            return Err(INVALID_VALUE);
        }
        if [m, n, k, &self.batch_count].into_iter().any(|size| *size < 0) {
            return Err(INVALID_SIZE);
        }
        let [rows_of_a, rows_of_b] = [(m, k), (k, n)];
        let [rows_of_a, rows_of_b] = [
            if self.is_plain(0) {
                rows_of_a.0
            } else {
                rows_of_a.1
            },
            if self.is_plain(1) {
                rows_of_b.0
            } else {
                rows_of_b.1
            },
        ];
        if c.ld < *m || d.ld < *m || a.ld < *rows_of_a || b.ld < *rows_of_b {
            return Err(INVALID_SIZE);
        }
        if *m == 0 || *n == 0 || self.batch_count == 0 {
            return Ok(false);
        }
        if (*k > 0 && self.alpha == Scalar::Null) || self.beta == Scalar::Null || d.address == 0 {
            return Err(INVALID_POINTER);
        }
        let is_used = |scalar: Scalar| matches!(scalar, Scalar::Value(value) if value != 0.0);
        if (c.address == 0 && is_used(self.beta))
            || (*k > 0 && (a.address == 0 || b.address == 0) && is_used(self.alpha))
        {
            return Err(INVALID_POINTER);
        }
        if c.address == d.address {
            if c.ld != d.ld {
                return Err(INVALID_SIZE);
            }
            if c.datatype != d.datatype {
                return Err(INVALID_VALUE);
            }
            if c.stride != d.stride {
                return Err(INVALID_SIZE);
            }
        }
        Ok(true)
    }

    /// Whether A (0) or B (1) is taken as it is.
    fn is_plain(&self, operand: usize) -> bool {
        self.operations[operand] == blas::rocblas_operation__rocblas_operation_none
    }
}

/// Runs the product.
pub(crate) fn gemm_strided_batched_ex(gemm: &Gemm) -> Result {
    if !gemm.check()? {
        return Ok(());
    }
    let Gemm { a, b, c, d, .. } = gemm;
    let (inputs, outputs) = (Element::of(a.datatype), Element::of(d.datatype));
    if a.datatype != b.datatype || c.datatype != d.datatype {
        return Err(NOT_IMPLEMENTED);
    }
    match (gemm.compute_type, inputs, outputs) {
        (blas::rocblas_datatype__rocblas_datatype_f64_r, Some(Element::F64), Some(Element::F64)) => {
            compute::<f64>(gemm, Element::F64, Element::F64)
        }
        (blas::rocblas_datatype__rocblas_datatype_f32_r, Some(inputs), Some(outputs))
            if inputs != Element::F64 && (outputs == inputs || outputs == Element::F32) =>
        {
            compute::<f32>(gemm, inputs, outputs)
        }
        _ => Err(NOT_IMPLEMENTED),
    }
}

/// What a matrix consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F16,
    BF16,
    F32,
    F64,
}

impl Element {
    fn of(datatype: rocblas_datatype) -> Option<Element> {
        match datatype {
            blas::rocblas_datatype__rocblas_datatype_f16_r => Some(Element::F16),
            blas::rocblas_datatype__rocblas_datatype_bf16_r => Some(Element::BF16),
            blas::rocblas_datatype__rocblas_datatype_f32_r => Some(Element::F32),
            blas::rocblas_datatype__rocblas_datatype_f64_r => Some(Element::F64),
            _ => None,
        }
    }

    pub(crate) fn size(self) -> usize {
        match self {
            Element::F16 | Element::BF16 => 2,
            Element::F32 => 4,
            Element::F64 => 8,
        }
    }
}

/// A type that is computed in.
pub(crate) trait Real: Copy {
    const ZERO: Self;
    fn of(value: f64) -> Self;
    /// `self * factor + addend`, rounded once.
    fn fused(self, factor: Self, addend: Self) -> Self;
    /// From an element's bytes. f64 elements are for f64.
    fn decode(element: Element, bytes: &[u8]) -> Self;
    /// To an element's bytes, rounded once.
    fn encode(self, element: Element, bytes: &mut Vec<u8>);
}

fn narrow(element: Element, bytes: &[u8]) -> f32 {
    match (element, bytes) {
        (Element::F16, &[a, b]) => f16::from_le_bytes([a, b]).to_f32(),
        (Element::BF16, &[a, b]) => bf16::from_le_bytes([a, b]).to_f32(),
        (_, &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]),
        _ => f32::NAN,
    }
}

impl Real for f32 {
    const ZERO: f32 = 0.0;

    fn of(value: f64) -> f32 {
        value as f32
    }

    fn fused(self, factor: f32, addend: f32) -> f32 {
        self.mul_add(factor, addend)
    }

    fn decode(element: Element, bytes: &[u8]) -> f32 {
        narrow(element, bytes)
    }

    fn encode(self, element: Element, bytes: &mut Vec<u8>) {
        match element {
            Element::F16 => bytes.extend(f16::from_f32(self).to_le_bytes()),
            Element::BF16 => bytes.extend(bf16::from_f32(self).to_le_bytes()),
            Element::F32 | Element::F64 => bytes.extend(self.to_le_bytes()),
        }
    }
}

impl Real for f64 {
    const ZERO: f64 = 0.0;

    fn of(value: f64) -> f64 {
        value
    }

    fn fused(self, factor: f64, addend: f64) -> f64 {
        self.mul_add(factor, addend)
    }

    fn decode(element: Element, bytes: &[u8]) -> f64 {
        match bytes.try_into() {
            Ok(bytes) => f64::from_le_bytes(bytes),
            Err(_) => narrow(element, bytes).into(),
        }
    }

    fn encode(self, _: Element, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_le_bytes());
    }
}

impl Matrices {
    /// The address of column `col` of matrix `number`.
    fn column(&self, element: Element, number: usize, col: usize) -> u64 {
        let size = element.size() as i64;
        let elements = (number as i64)
            .wrapping_mul(self.stride)
            .wrapping_add((col as i64).wrapping_mul(self.ld.into()));
        self.address.wrapping_add_signed(elements.wrapping_mul(size))
    }

    /// Column `col`, of `rows` elements, of matrix `number`.
    fn read<R: Real>(&self, element: Element, number: usize, col: usize, rows: usize) -> Result<Vec<R>> {
        let bytes = REACH.read(self.column(element, number, col), rows * element.size())?;
        let elements = bytes.chunks_exact(element.size());
        Ok(elements.map(|bytes| R::decode(element, bytes)).collect())
    }
}

/// An operand of `rows` x `cols` after its operation, row by row.
fn operand<R: Real>(
    matrices: &Matrices,
    plain: bool,
    element: Element,
    number: usize,
    [rows, cols]: [usize; 2],
) -> Result<Vec<R>> {
    if !plain {
        // Its stored columns are the rows that are asked for.
        let columns = (0..rows).map(|col| matrices.read(element, number, col, cols));
        return Ok(columns.collect::<Result<Vec<Vec<R>>>>()?.concat());
    }
    let mut by_rows = vec![R::ZERO; rows * cols];
    for col in 0..cols {
        for (row, value) in matrices.read(element, number, col, rows)?.into_iter().enumerate() {
            by_rows[row * cols + col] = value;
        }
    }
    Ok(by_rows)
}

fn compute<R: Real>(gemm: &Gemm, inputs: Element, outputs: Element) -> Result {
    let [m, n, k, batch] =
        [gemm.m, gemm.n, gemm.k, gemm.batch_count].map(|size| size.unsigned_abs() as usize);
    let value = |scalar| match scalar {
        Scalar::Value(value) => value,
        Scalar::Null | Scalar::Unread => 0.0,
    };
    let (alpha, beta) = (value(gemm.alpha), value(gemm.beta));
    // BLAS does not look at A and B when they are multiplied by zero, nor at C.
    let k = if alpha == 0.0 { 0 } else { k };
    for number in 0..batch {
        let a: Vec<R> = operand(
            &gemm.a,
            gemm.is_plain(0),
            inputs,
            number,
            [m * usize::from(k > 0), k],
        )?;
        // B by its columns: those of op(B) are the rows of op(B) transposed.
        let b: Vec<R> = operand(
            &gemm.b,
            !gemm.is_plain(1),
            inputs,
            number,
            [n * usize::from(k > 0), k],
        )?;
        for col in 0..n {
            let c: Vec<R> = match beta {
                0.0 => vec![R::ZERO; m],
                _ => gemm.c.read(outputs, number, col, m)?,
            };
            let mut bytes = Vec::with_capacity(m * outputs.size());
            for (row, c) in c.into_iter().enumerate() {
                let pairs = a[row * k..][..k].iter().zip(&b[col * k..][..k]);
                let sum = pairs.fold(R::ZERO, |sum, (&a, &b)| a.fused(b, sum));
                let addend = if beta == 0.0 {
                    R::ZERO
                } else {
                    R::of(beta).fused(c, R::ZERO)
                };
                let result = if k == 0 {
                    addend
                } else {
                    R::of(alpha).fused(sum, addend)
                };
                result.encode(outputs, &mut bytes);
            }
            REACH.write(gemm.d.column(outputs, number, col), &bytes)?;
        }
    }
    Ok(())
}
