//! A launch: a kernel, its sizes, and the bytes of its arguments. Its packet and its kernarg segment are made when it runs.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, OnceLock};

use gfx_emu::{ArgKind, Kernel, KernelArg, Limits};
use rocm_rs::hip::bindings as hip;
use soft_runtime::card::target;
use soft_runtime::pools::Pool;
use soft_runtime::runtime::Runtime;
use soft_runtime::{host, launch};

use crate::error::{self, INVALID_VALUE, Result};
use crate::hostcall::{self, Asking};
use crate::module::KernelFunction;

/// Bytes of the place of a packet and its arguments, and where those begin.
const SLOT: u64 = 64 << 10;
const ARGUMENTS: u64 = 256;
/// HIP's launches have three dimensions.
const DIMENSIONS: u16 = 3;
/// A kernel dispatch that waits for what is before it in its queue.
const DISPATCH: u16 = 2 | 1 << 8;

thread_local! {
    /// The place for the launches of a thread, once it has one: it runs one at a time.
    static PLACE: Cell<u64> = const { Cell::new(0) };
}

/// How large a launch is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Work-items in x, y, z.
    pub(crate) items: [u32; 3],
    /// Work-items of a workgroup.
    pub(crate) block: [u32; 3],
    /// Bytes of LDS beyond what the kernel declares.
    pub(crate) lds: u32,
}

impl Shape {
    /// Of workgroups and their size.
    pub(crate) fn of_blocks(grid: [u32; 3], block: [u32; 3], lds: u32) -> Result<Shape> {
        let mut items = [0; 3];
        for (dim, items) in items.iter_mut().enumerate() {
            *items = grid[dim]
                .checked_mul(block[dim])
                .ok_or(hip::hipError_t_hipErrorInvalidConfiguration)?;
        }
        Ok(Shape { items, block, lds })
    }

    /// Of work-items. Compilers' kernels count on whole workgroups, unless told otherwise; so does AMD's runtime.
    pub(crate) fn of_items(items: [u32; 3], block: [u32; 3], lds: u32) -> Result<Shape> {
        let whole = items
            .iter()
            .zip(block)
            .all(|(items, block)| items.checked_rem(block) == Some(0));
        whole.then_some(Shape { items, block, lds }).ok_or(INVALID_VALUE)
    }
}

/// A launch that was accepted.
pub(crate) struct Launch {
    pub(crate) function: Arc<KernelFunction>,
    pub(crate) shape: Shape,
    arguments: Vec<u8>,
    /// The address of each argument, once the program asked.
    addresses: OnceLock<Vec<usize>>,
}

impl Launch {
    /// The addresses of its arguments, which stay as long as it does.
    pub(crate) fn parameters(&self) -> Result<&[usize]> {
        let kernel = self.function.kernel()?;
        Ok(self.addresses.get_or_init(|| {
            let start = self.arguments.as_ptr().expose_provenance();
            let offsets = kernel.explicit_args().map(|argument| argument.offset as usize);
            offsets.map(|offset| start.wrapping_add(offset)).collect()
        }))
    }

    /// Checks the sizes as HIP does, before anything runs.
    pub(crate) fn new(function: Arc<KernelFunction>, shape: Shape, arguments: Vec<u8>) -> Result<Launch> {
        let kernel = function.kernel()?;
        let limits = Limits::of(target(function.card()));
        let block: u64 = shape.block.iter().map(|side| u64::from(*side)).product();
        if shape.items.contains(&0) || block == 0 || block > u64::from(limits.workgroup_size) {
            return Err(hip::hipError_t_hipErrorInvalidConfiguration);
        }
        if block > u64::from(kernel.max_workgroup_size) {
            return Err(hip::hipError_t_hipErrorLaunchFailure);
        }
        let lds = u64::from(kernel.descriptor.group_segment_size) + u64::from(shape.lds);
        if lds > u64::from(limits.lds) {
            return Err(INVALID_VALUE);
        }
        Ok(Launch {
            function,
            shape,
            arguments,
            addresses: OnceLock::new(),
        })
    }

    /// Runs it to its end.
    pub(crate) fn carry_out(&self, runtime: &'static Runtime) -> Result {
        let place = match PLACE.get() {
            0 => {
                let pools = runtime.pools().allocate(Pool::HostFine, SLOT);
                let place = pools.map_err(error::of)?;
                PLACE.set(place);
                place
            }
            place => place,
        };
        let kernel = self.function.kernel()?;
        let kernarg = self.kernarg(runtime, kernel)?;
        let is_service = |argument: &KernelArg| matches!(argument.kind, ArgKind::HiddenOther(_));
        let asking = kernel.args.iter().any(is_service).then(Asking::begin);
        let object = self.function.descriptor(kernel);
        let bytes = [
            self.packet(kernel, place + ARGUMENTS, object).as_slice(),
            &kernarg,
        ]
        .concat();
        store(place, &bytes)?;
        let ran = launch::packet(runtime, place).map_err(error::of);
        drop(asking);
        ran
    }

    /// The kernarg segment, with the hidden arguments.
    fn kernarg(&self, runtime: &'static Runtime, kernel: &Kernel) -> Result<Vec<u8>> {
        let mut bytes = vec![0; kernel.kernarg_size as usize];
        for (to, from) in bytes.iter_mut().zip(&self.arguments) {
            *to = *from;
        }
        for argument in kernel.args.iter().filter(|argument| argument.kind.is_hidden()) {
            let range = argument.offset as usize..(argument.offset + argument.size) as usize;
            let Some(place) = bytes.get_mut(range) else {
                continue;
            };
            let service = hostcall::argument(runtime, self.function.card_number(), &argument.kind)?;
            let value = service
                .unwrap_or_else(|| self.hidden(&argument.kind))
                .to_le_bytes();
            place.fill(0);
            for (to, from) in place.iter_mut().zip(value) {
                *to = from;
            }
        }
        Ok(bytes)
    }

    /// The value of a hidden argument.
    fn hidden(&self, kind: &ArgKind) -> u64 {
        let Shape { items, block, lds } = self.shape;
        let at = |sizes: [u32; 3], dim: &u8| sizes.get(usize::from(*dim)).copied().unwrap_or(1);
        match kind {
            // A partial workgroup is not among them.
            ArgKind::HiddenBlockCount(dim) => u64::from(at(items, dim) / at(block, dim)),
            ArgKind::HiddenGroupSize(dim) => u64::from(at(block, dim)),
            ArgKind::HiddenRemainder(dim) => u64::from(at(items, dim) % at(block, dim)),
            ArgKind::HiddenGridDims => u64::from(DIMENSIONS),
            ArgKind::HiddenDynamicLdsSize => u64::from(lds),
            // Apertures are in registers on these cards; offsets are OpenCL's; the rest are services that are not offered, or padding.
            ArgKind::HiddenGlobalOffset(_)
            | ArgKind::HiddenPrivateBase
            | ArgKind::HiddenSharedBase
            | ArgKind::HiddenOther(_)
            | ArgKind::ByValue
            | ArgKind::GlobalBuffer
            | ArgKind::DynamicSharedPointer
            | ArgKind::Other(_) => 0,
        }
    }

    /// The dispatch packet, and what fills the room up to the arguments.
    fn packet(&self, kernel: &Kernel, kernarg: u64, object: u64) -> [u8; ARGUMENTS as usize] {
        let Shape { items, block, lds } = self.shape;
        let descriptor = &kernel.descriptor;
        let mut packet = [0; ARGUMENTS as usize];
        let mut put = |at: usize, value: &[u8]| packet[at..at + value.len()].copy_from_slice(value);
        put(0, &DISPATCH.to_le_bytes());
        put(2, &DIMENSIONS.to_le_bytes());
        for dim in 0..3 {
            put(4 + 2 * dim, &(block[dim] as u16).to_le_bytes());
            put(12 + 4 * dim, &items[dim].to_le_bytes());
        }
        put(24, &descriptor.private_segment_size.to_le_bytes());
        put(28, &(descriptor.group_segment_size + lds).to_le_bytes());
        put(32, &object.to_le_bytes());
        put(40, &kernarg.to_le_bytes());
        packet
    }
}

/// Puts bytes into host memory that kernels see.
fn store(place: u64, bytes: &[u8]) -> Result {
    let arena = host::arena().ok_or(hip::hipError_t_hipErrorOutOfMemory)?;
    let words: Option<&[AtomicU32]> = (bytes.len() as u64 <= SLOT)
        .then(|| arena.words(place, bytes.len() as u64))
        .flatten();
    for (word, bytes) in words.ok_or(INVALID_VALUE)?.iter().zip(bytes.chunks(4)) {
        let mut value = [0; 4];
        value[..bytes.len()].copy_from_slice(bytes);
        word.store(u32::from_le_bytes(value), SeqCst);
    }
    Ok(())
}
