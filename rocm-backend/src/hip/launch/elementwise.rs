//! Element-wise launches, fills and row copies: results in row-major order, one thread a result.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

use std::sync::Arc;

use super::{Args, Grid, PACK, common_context, layout};
use crate::kernel::{Family, Kernel};
use crate::view::{self, Region};
use crate::{Buffer, DType, Error, Result, Scalar, module};

/// Runs an element-wise kernel over regions of one shape; its results go to `out`, from element `out_offset` on.
pub(crate) fn map(
    kernel: Kernel,
    leading: &[Scalar],
    inputs: &[Region<'_>],
    out: &mut Buffer,
    out_offset: usize,
    trailing: &[Scalar],
) -> Result<()> {
    let invalid = |what: &str| Err(Error::Invalid(format!("{}: {what}", kernel.name)));
    let [first, ..] = inputs else {
        return invalid("has no input");
    };
    if (leading.len(), inputs.len(), trailing.len()) != kernel.family.arity() {
        return invalid("is called with another family's arguments");
    }
    let dtype = first.buffer().dtype();
    let out_dtype = if kernel.family == Family::Compare {
        DType::U8
    } else {
        dtype
    };
    if inputs.iter().any(|input| input.buffer().dtype() != dtype)
        || leading.iter().chain(trailing).any(|value| value.dtype() != dtype)
        || out.dtype() != out_dtype
    {
        return invalid("the operands are not of one dtype");
    }
    if inputs.iter().any(|input| input.dims() != first.dims()) {
        return invalid("the operands are not of one shape");
    }
    let context = common_context(kernel.name, inputs.iter().map(Region::buffer).chain([&*out]))?;
    view::check(kernel.name, out.len(), &[first.numel()], &[1], out_offset)?;

    let function = module::function(&context, kernel, dtype)?;
    if first.numel() == 0 {
        return Ok(());
    }
    let strides: Vec<&[usize]> = inputs.iter().map(Region::strides).collect();
    let (num_dims, table) = layout(&context, first.dims(), &strides)?;
    let mut args = Args::default();
    args.walk(first.numel(), num_dims, table.as_ref())
        .scalars(leading);
    for input in inputs {
        args.element(input.buffer(), input.offset());
    }
    args.element(out, out_offset).scalars(trailing);
    let grid = Grid::over_packs(first.numel(), table.is_none(), &[dtype, out_dtype]);
    // SAFETY: the arguments are the family's, checked above to be of the kernel's dtype. Regions lie inside their
    // buffers, and `out` has room for `numel` results. `table` lives to the end of this function.
    unsafe { args.submit(kernel.name, &context, &function, grid) }
}

/// Stores `value` in every element of a view of `out`.
pub(crate) fn const_set(
    out: &mut Buffer,
    dims: &[usize],
    strides: &[usize],
    offset: usize,
    value: Scalar,
) -> Result<()> {
    let kernel = Kernel::CONST_SET;
    if value.dtype() != out.dtype() {
        return Err(Error::Invalid(format!(
            "{}: a value of {} for a buffer of {}",
            kernel.name,
            value.dtype(),
            out.dtype()
        )));
    }
    let numel = view::check(kernel.name, out.len(), dims, strides, offset)?;
    let context = Arc::clone(out.memory().context());
    let function = module::function(&context, kernel, out.dtype())?;
    if numel == 0 {
        return Ok(());
    }
    let (num_dims, table) = layout(&context, dims, &[strides])?;
    let mut args = Args::default();
    args.walk(numel, num_dims, table.as_ref())
        .scalars(&[value])
        .element(out, offset);
    let grid = Grid::over_packs(numel, table.is_none(), &[out.dtype()]);
    // SAFETY: the arguments are the family's, of the kernel's dtype; the view was checked to stay inside `out`.
    // `table` lives to the end of this function.
    unsafe { args.submit(kernel.name, &context, &function, grid) }
}

/// Rows of adjacent elements whose first elements lie a stride apart, in a buffer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rows {
    pub(crate) offset: usize,
    pub(crate) stride: usize,
}

/// Copies `rows` rows of `row_len` elements.
pub(crate) fn copy2d(
    [rows, row_len]: [usize; 2],
    source: &Buffer,
    from: Rows,
    out: &mut Buffer,
    to: Rows,
) -> Result<()> {
    let kernel = Kernel::COPY2D;
    if source.dtype() != out.dtype() {
        return Err(Error::Invalid(format!(
            "{}: from {} to {}",
            kernel.name,
            source.dtype(),
            out.dtype()
        )));
    }
    let dims = [rows, row_len];
    let numel = view::check(kernel.name, source.len(), &dims, &[from.stride, 1], from.offset)?;
    view::check(kernel.name, out.len(), &dims, &[to.stride, 1], to.offset)?;
    let context = common_context(kernel.name, [source, &*out].into_iter())?;
    let function = module::function(&context, kernel, out.dtype())?;
    let mut args = Args::default();
    args.element(source, from.offset).element(out, to.offset);
    for number in [rows, row_len, from.stride, to.stride] {
        let number = u32::try_from(number).map_err(|_| {
            Error::Invalid(format!(
                "{}: {number} rows, elements or stride; kernels count in 32 bits",
                kernel.name
            ))
        })?;
        args.int(number);
    }
    let bytes = out.dtype().size_in_bytes();
    // Whether the kernel will take packs is for it to find out, from the addresses; it strides over any grid.
    let in_packs = [row_len, from.stride, to.stride]
        .iter()
        .all(|count| (count * bytes).is_multiple_of(PACK));
    let grid = Grid::over_packs(numel, rows == 1 || in_packs, &[out.dtype()]);
    // SAFETY: the arguments are the family's (32-bit numbers in the low halves of their words), and both sets of
    // rows were checked to stay inside their buffers.
    unsafe { args.submit(kernel.name, &context, &function, grid) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, driver};

    /// Runs `uneg_f32` from 4 elements to 4 elements, told that there are `told`.
    fn negate(device: &Device, told: usize) -> Result<Vec<u8>> {
        let x = device.upload(DType::F32, &1.0_f32.to_le_bytes().repeat(4))?;
        let out = device.zeros(DType::F32, 4)?;
        let kernel = Kernel::find(Family::Unary, "uneg", DType::F32)?;
        let function = module::function(device.context(), kernel, DType::F32)?;
        let mut args = Args::default();
        args.walk(told, 0, None).element(&x, 0).element(&out, 0);
        // SAFETY: the arguments are the family's. The software device faults before it leaves an allocation, so a
        // number too large is safe there, and only there.
        unsafe { args.submit(kernel.name, device.context(), &function, Grid::over(told)) }?;
        out.download()
    }

    #[test]
    fn a_kernel_that_leaves_its_memory_is_an_error_that_says_where() {
        let device = Device::of(driver::soft_for_tests(), 0).unwrap();
        assert_eq!(
            negate(&device, 4).unwrap(),
            (-1.0_f32).to_le_bytes().repeat(4),
            "within its memory"
        );
        match negate(&device, 5).unwrap_err() {
            Error::DeviceFault(text) => assert!(text.contains("uneg_f32"), "{text}"),
            other => panic!("{other}"),
        }
        assert!(negate(&device, 4).is_ok(), "the software device goes on");
    }
}
