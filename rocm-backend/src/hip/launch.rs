//! Launches kernels: lays out their arguments, checks that they may run, submits them.
//!
//! The files beside this one hold one safe function for each shape of signature (custom.rs holds the launch of a caller's
//! own kernel instead, which is not safe). Each is safe because the kernel's name
//! is the function's own, the arguments are those the kernel declares, regions were checked to lie inside their
//! buffers, and what is left is the kernels' own sources in `kernels/`, which the tests run under the software GPU's
//! bounds checks.
#![expect(unsafe_code, reason = "submits kernels with the addresses of their arguments")]

pub(crate) mod attention;
pub(crate) mod cast;
pub(crate) mod conv;
mod custom;
#[cfg(test)]
mod cut_tests;
pub(crate) mod elementwise;
pub(crate) mod indexing;
pub(crate) mod matmul;
pub(crate) mod moe;
pub(crate) mod norm;
pub(crate) mod paged;
mod pieces;
pub(crate) mod quantized;
pub(crate) mod random;
pub(crate) mod reduce;
pub(crate) mod rope;
pub(crate) mod sort;
pub(crate) mod ternary;
mod turned;
pub(crate) mod upsample;

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use rocm_rs::hip::bindings;

use super::context::{Context, LayoutTable};
use super::module::LoadedKernel;
use super::status::check;
use crate::trace::Level;
use crate::trace::Walk;
use crate::{DType, DriverKind, DynBuffer, Error, Result, Scalar, view};

/// Threads in a workgroup of an element-wise launch: eight waves of 32 or four of 64, within every AMD GPU's limit of
/// 1024.
const BLOCK: usize = 256;
/// Lanes of the widest wave. A launch of fewer threads than a workgroup has whole waves only.
const WAVE: usize = 64;
/// Bytes that a thread moves at once where elements are contiguous, as `kernels/packs.h` has it.
const PACK: usize = 16;
/// Workgroups of an element-wise launch at most. Kernels stride over the grid, so more would not reach further; and
/// HIP wants grid times block below 2^32.
/// On an H200 threads that take eight packs one after the other move more bytes a second than eight times as many threads.
const MAX_GRID: usize = 1 << 13;

/// On the software GPU, of workgroups beyond as many in a dimension, one takes the work of up to so many. Two are the fewest by which it
/// shows that a workgroup has a number, and with three of them one takes a second turn.
const AT_LEAST: usize = 2;
const TURNS: usize = 4;

/// Whether the software GPU counts what launches cost.
fn counts() -> bool {
    #[cfg(feature = "soft")]
    return rocm_soft::trial::is_counting();
    #[cfg(not(feature = "soft"))]
    false
}

/// The shape of a launch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    /// Workgroups in x, y and z.
    pub(crate) blocks: [usize; 3],
    /// Threads of a workgroup in x, y and z.
    pub(crate) threads: [usize; 3],
    /// Dynamic LDS of a workgroup, in bytes.
    pub(crate) lds: usize,
    /// Whether the kernel strides over the grid, so that fewer workgroups do the same.
    strides: bool,
}

impl Grid {
    /// One thread a result for kernels that stride over the grid, however many results there are.
    pub(crate) fn over(results: usize) -> Grid {
        let threads = results.clamp(1, BLOCK).next_multiple_of(WAVE);
        Grid::of(results.div_ceil(BLOCK), threads).striding()
    }

    /// A workgroup for each of what is numbered in three dimensions, as `for_groups` of `kernels/workgroup.h` strides over it.
    pub(crate) fn in_space([across, down, deep]: [usize; 3], threads: usize) -> Grid {
        let across = across.min(MAX_GRID);
        let down = down.min((MAX_GRID / across.max(1)).max(1));
        let deep = deep.min((MAX_GRID / (across * down).max(1)).max(1));
        Grid::new([across, down, deep], [threads, 1, 1]).striding()
    }

    /// As [`Grid::over`], for kernels that take elements of `dtypes` in packs where that is possible: one thread a
    /// pack.
    pub(crate) fn over_packs(results: usize, in_packs: bool, dtypes: &[DType]) -> Grid {
        match in_packs {
            true => Grid::over(results.div_ceil(pack_len(dtypes))),
            false => Grid::over(results),
        }
    }

    /// A one-dimensional grid.
    pub(crate) fn of(blocks: usize, threads: usize) -> Grid {
        Grid::new([blocks, 1, 1], [threads, 1, 1])
    }

    /// Workgroups and their threads in x, y and z, without dynamic LDS, of a kernel that does not stride.
    pub(crate) fn new(blocks: [usize; 3], threads: [usize; 3]) -> Grid {
        Grid {
            blocks,
            threads,
            lds: 0,
            strides: false,
        }
    }

    /// The same of a kernel that strides over the grid.
    pub(crate) fn striding(self) -> Grid {
        let [across, down, deep] = self.blocks;
        Grid {
            blocks: [across.min(MAX_GRID), down, deep],
            strides: true,
            ..self
        }
    }

    /// The grid for a device: on the software GPU a kernel that strides does so, which takes millions of elements on a card.
    fn fitting(self, context: &Context) -> Grid {
        let fewer = |blocks: usize| blocks.min(blocks.div_ceil(TURNS).max(AT_LEAST));
        let tested = Grid {
            blocks: self.blocks.map(fewer),
            ..self
        };
        for_device(context, self, if self.strides { tested } else { self })
    }

    fn is_empty(&self) -> bool {
        self.blocks.contains(&0)
    }

    /// The numbers as HIP takes them; a launch that HIP would refuse is an error here.
    fn checked(&self, kernel: &str) -> Result<([c_uint; 3], [c_uint; 3], c_uint)> {
        let Grid {
            blocks, threads, lds, ..
        } = *self;
        let block: usize = threads.iter().product();
        let fits = |blocks: usize, threads: usize| {
            blocks
                .checked_mul(threads)
                .is_some_and(|all| all < 1 << 32 && blocks < 1 << 31)
        };
        let allowed = (1..=1024).contains(&block)
            && lds <= 64 << 10
            && blocks.iter().zip(threads).all(|(&b, t)| fits(b, t));
        if !allowed {
            return Err(Error::Launch {
                kernel: kernel.to_owned(),
                reason: format!(
                    "a grid of {blocks:?} workgroups of {threads:?} threads with {lds} bytes of LDS is more than HIP \
                     launches"
                ),
            });
        }
        Ok((
            blocks.map(|n| n as c_uint),
            threads.map(|n| n as c_uint),
            lds as c_uint,
        ))
    }
}

/// Bytes of scratch memory that an operation takes at once; it does larger work in parts.
pub(crate) fn scratch_bytes(context: &Context) -> usize {
    for_device(context, 128 << 20, 64 << 10)
}

/// What a card has, or the software GPU: there sizes are small from which on an op works in parts, so that tests see parts. What
/// launches cost is counted of a card's sizes.
pub(crate) fn for_device<S>(context: &Context, card: S, tested: S) -> S {
    match context.info().driver().kind() {
        DriverKind::Soft if !counts() => tested,
        DriverKind::Soft | DriverKind::System | DriverKind::Nvidia => card,
    }
}

/// Arguments that most kernels have at most: for as many a launch asks for memory once.
const FEW_ARGS: usize = 16;

/// Kernel arguments in the making, eight bytes each: none is larger, and HIP copies from each as many as the kernel
/// declares, from the low end.
#[derive(Debug)]
pub(crate) struct Args {
    words: Vec<u64>,
    /// Whether any table is there; none where the kernel takes none.
    walk: Option<Walk>,
}

impl Default for Args {
    fn default() -> Args {
        Args {
            words: Vec::with_capacity(FEW_ARGS),
            walk: None,
        }
    }
}

impl Args {
    /// A `size_t` or `i64`, or an address.
    pub(crate) fn size(&mut self, value: usize) -> &mut Args {
        self.words.push(value as u64);
        self
    }

    /// A value's bytes, from the low end.
    pub(crate) fn word(&mut self, word: u64) -> &mut Args {
        self.words.push(word);
        self
    }

    /// A 32-bit number, signed or not: both have the same low half.
    pub(crate) fn int(&mut self, value: u32) -> &mut Args {
        self.words.push(value.into());
        self
    }

    /// A `float`.
    pub(crate) fn f32(&mut self, value: f32) -> &mut Args {
        self.int(value.to_bits())
    }

    /// A `double`.
    pub(crate) fn f64(&mut self, value: f64) -> &mut Args {
        self.words.push(value.to_bits());
        self
    }

    /// Values of a dtype.
    pub(crate) fn scalars(&mut self, values: &[Scalar]) -> &mut Args {
        self.words.extend(
            values
                .iter()
                .map(|value| u64::from_ne_bytes(value.to_kernel_arg())),
        );
        self
    }

    /// The address of element `offset`. Offsets are counted in elements everywhere but here.
    pub(crate) fn element(&mut self, buffer: &DynBuffer, offset: usize) -> &mut Args {
        let byte_offset = offset * buffer.dtype().size_in_bytes();
        self.size(buffer.memory().block().address() + byte_offset)
    }

    /// The address of a table of dims and strides; null for none. The table must live until the launch is submitted.
    pub(crate) fn table(&mut self, table: Option<&LayoutTable>) -> &mut Args {
        let walk = table.map_or(Walk::Contiguous, |_| Walk::Strided);
        self.walk = self.walk.max(Some(walk));
        self.size(table.map_or(0, |table| match table {
            LayoutTable::Kept(block) => block.address(),
            LayoutTable::Once(memory) => memory.block().address(),
        }))
    }

    /// `numel`, `num_dims` and `info`. The table must live until the launch is submitted.
    pub(crate) fn walk(&mut self, numel: usize, dims: usize, table: Option<&LayoutTable>) -> &mut Args {
        self.size(numel).size(dims).table(table)
    }

    /// Submits `function` over `grid`; of no workgroup, nothing. `kernel` names it in an error.
    ///
    /// # Safety
    /// The arguments are those `function` declares, in order, and it stays inside the memory they name.
    pub(crate) unsafe fn submit(
        &mut self,
        kernel: &str,
        context: &Context,
        function: &LoadedKernel,
        grid: Grid,
    ) -> Result<()> {
        if grid.is_empty() {
            return Ok(());
        }
        let (blocks, threads, lds) = grid.fitting(context).checked(kernel)?;
        context.bind()?;
        let (mut few, mut many) = ([std::ptr::null_mut(); FEW_ARGS], Vec::new());
        let params: &mut [*mut c_void] = match few.get_mut(..self.words.len()) {
            Some(few) => few,
            None => {
                many.resize(self.words.len(), std::ptr::null_mut());
                &mut many
            }
        };
        for (param, word) in params.iter_mut().zip(&mut self.words) {
            *param = (&raw mut *word).cast();
        }
        // SAFETY: `params` points to one live word an argument; HIP copies them before it returns. Grid and block
        // are within HIP's limits and not zero. The rest is the caller's promise.
        check("hipModuleLaunchKernel", unsafe {
            bindings::hipModuleLaunchKernel(
                function.raw(),
                blocks[0],
                blocks[1],
                blocks[2],
                threads[0],
                threads[1],
                threads[2],
                lds,
                context.stream().raw(),
                params.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        })?;
        #[cfg(test)]
        context.count_launch();
        let level = Level::of_kernels(context.info().driver());
        context.ledger().trace(function.symbol(), self.walk, level);
        Ok(())
    }
}

/// Elements of a pack: as many as it holds of the widest of the dtypes that are moved together.
pub(crate) fn pack_len(dtypes: &[DType]) -> usize {
    let widest = dtypes.iter().map(|dtype| dtype.size_in_bytes()).max();
    PACK / widest.unwrap_or(PACK)
}

/// As [`layout`], and whether the kernel takes `len` elements at a time: all operands are contiguous, or rows are whole packs and
/// each operand moves along them by one element or by none, as `Walk::has_packs` of `kernels/layout.h` has it.
pub(crate) fn layout_in_packs(
    context: &Arc<Context>,
    dims: &[usize],
    operands: &[&[usize]],
    len: usize,
) -> Result<(usize, Option<LayoutTable>, bool)> {
    let Some(mut words) = view::layout_table(dims, operands) else {
        return Ok((dims.len(), None, true));
    };
    let num_dims = words.len() / (1 + operands.len());
    // The last word of the sizes, then the last of each operand's strides.
    let mut last = words.chunks_exact(num_dims.max(1)).filter_map(|list| list.last());
    let whole = last.next().is_some_and(|row| row.is_multiple_of(len as u64));
    let in_packs = whole && last.all(|stride| *stride <= 1);
    append_divisors(&mut words, num_dims);
    Ok((num_dims, Some(context.layout_table(words)?), in_packs))
}

/// How many dimensions a kernel walks, and their table in device memory.
pub(crate) fn layout(
    context: &Arc<Context>,
    dims: &[usize],
    operands: &[&[usize]],
) -> Result<(usize, Option<LayoutTable>)> {
    match view::layout_table(dims, operands) {
        None => Ok((dims.len(), None)),
        Some(mut words) => {
            let num_dims = words.len() / (1 + operands.len());
            append_divisors(&mut words, num_dims);
            Ok((num_dims, Some(context.layout_table(words)?)))
        }
    }
}

/// What kernels divide by the first `count` words of a table with, behind its strides.
fn append_divisors(words: &mut Vec<u64>, count: usize) {
    for d in 0..count {
        words.push(view::divisor(words[d] as usize));
    }
}

/// The numbers of `lists`, one list after the other, in device memory: dims and strides as they are, for kernels that
/// cannot do with [`layout`]'s merged dimensions. Behind them what the kernel divides by each of `divided` with, and `more`.
pub(crate) fn table(
    context: &Arc<Context>,
    lists: &[&[usize]],
    divided: &[usize],
    more: &[u64],
) -> Result<LayoutTable> {
    let words = lists.iter().flat_map(|list| list.iter().map(|&n| n as u64));
    let divisors = divided.iter().map(|&size| view::divisor(size));
    context.layout_table(words.chain(divisors).chain(more.iter().copied()).collect())
}

/// The context all of `buffers` live in.
pub(crate) fn common_context<'a>(
    op: &str,
    mut buffers: impl Iterator<Item = &'a DynBuffer>,
) -> Result<Arc<Context>> {
    let first = buffers.next().map(|buffer| buffer.memory().context());
    match first {
        Some(context) if buffers.all(|buffer| Arc::ptr_eq(context, buffer.memory().context())) => {
            Ok(Arc::clone(context))
        }
        _ => Err(Error::Devices { op: op.to_owned() }),
    }
}
