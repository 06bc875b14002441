//! Copies and fills that AMD's HIP runtime makes by kernels of its own, done by the host instead.
//!
//! The runtime compiles these kernels itself, from source that it has as text. What they do is known from that source and from
//! comparisons with the kernels. Everything of a launch that is not known for certain is left to the emulator: another name or
//! other arguments, ranges that overlap, an address out of bounds, a grid that leaves gaps.

use gfx_emu::{Access, ArgKind, Kernel, LaunchStats, Limits, Memory};

/// Bytes of a dispatch packet.
const PACKET: usize = 64;
/// Bytes that are copied at once.
const PART: u64 = 1 << 20;
/// Bytes that a pattern may have.
const PATTERN: u64 = 1024;
/// Lines that a copy of boxes may have.
const LINES: u64 = 1 << 20;

/// What an argument is: its kind and bytes.
type Form = (ArgKind, u32);
const POINTER: Form = (ArgKind::GlobalBuffer, 8);
const HALF: Form = (ArgKind::ByValue, 4);
const WIDE: Form = (ArgKind::ByValue, 8);
const BOX: Form = (ArgKind::ByValue, 32);

/// Does what a kernel does, or nothing.
type Serve = fn(&BlitLaunch<'_>) -> Option<()>;
/// A kernel: its name, what the caller's arguments are, and what does the same.
type Served = (&'static str, &'static [Form], Serve);

/// The kernels. HIP 7.2 adds the size of a workgroup to arguments.
const SERVED: [Served; 7] = [
    (
        "copyBuffer",
        &[POINTER, POINTER, WIDE, HALF, HALF, WIDE, HALF],
        copy,
    ),
    (
        "copyBuffer",
        &[POINTER, POINTER, WIDE, HALF, HALF, WIDE, HALF, HALF],
        copy,
    ),
    (
        "fillBufferAligned",
        &[POINTER, POINTER, HALF, HALF, WIDE, HALF],
        fill,
    ),
    (
        "fillBufferAligned",
        &[POINTER, POINTER, HALF, HALF, WIDE, HALF, HALF],
        fill,
    ),
    (
        "fillBufferAligned2D",
        &[
            POINTER, POINTER, POINTER, POINTER, POINTER, HALF, WIDE, WIDE, WIDE, WIDE,
        ],
        fill_lines,
    ),
    ("copyBufferRect", &[POINTER, POINTER, BOX, BOX, BOX], |call| {
        copy_box(call, Some(1))
    }),
    (
        "copyBufferRectAligned",
        &[POINTER, POINTER, BOX, BOX, BOX],
        |call| copy_box(call, None),
    ),
];

/// Does what the kernel of the packet at an address does; `None`, and nothing done, where it is not one of these.
pub(crate) fn serve(kernel: &Kernel, packet: u64, memory: &Memory) -> Option<LaunchStats> {
    let name = kernel.name.strip_prefix("__amd_rocclr_")?;
    let same = |arguments: &[Form]| {
        let own = kernel.explicit_args().map(|own| (&own.kind, own.size));
        own.eq(arguments.iter().map(|(kind, size)| (kind, *size)))
    };
    let found = SERVED
        .iter()
        .find(|(known, arguments, _)| *known == name && same(arguments));
    let (_, _, body) = found?;
    body(&BlitLaunch::read(kernel, packet, memory)?)?;
    Some(LaunchStats::default())
}

/// A launch: its sizes and its arguments.
struct BlitLaunch<'a> {
    kernel: &'a Kernel,
    memory: &'a Memory,
    items: [u32; 3],
    block: [u32; 3],
    arguments: Vec<u8>,
}

/// Reads a number of some bytes at an offset.
fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let mut wide = [0; 8];
    wide.get_mut(..size)?
        .copy_from_slice(bytes.get(at..at.checked_add(size)?)?);
    Some(u64::from_le_bytes(wide))
}

impl<'a> BlitLaunch<'a> {
    /// `None` where the packet is not one whose work-items count on from 0.
    fn read(kernel: &'a Kernel, packet: u64, memory: &'a Memory) -> Option<BlitLaunch<'a>> {
        let mut bytes = [0; PACKET];
        memory.read(packet, &mut bytes).ok()?;
        let field = |at: usize, size: usize| number(&bytes, at, size);
        let dimensions = (field(2, 2)? & 3) as usize;
        let (mut items, mut block) = ([1; 3], [1; 3]);
        for dim in 0..dimensions {
            block[dim] = field(4 + 2 * dim, 2)? as u32;
            items[dim] = field(12 + 4 * dim, 4)? as u32;
        }
        let workgroup: u64 = block.iter().copied().map(u64::from).product();
        let whole = dimensions > 0 && !items.contains(&0) && workgroup > 0;
        if !whole || workgroup > u64::from(Limits::DEVICE.workgroup_size) {
            return None;
        }
        let address = field(40, 8)?;
        memory
            .check(address, kernel.kernarg_size.into(), Access::Load)
            .ok()?;
        let mut arguments = vec![0; kernel.kernarg_size as usize];
        memory.read(address, &mut arguments).ok()?;
        let call = BlitLaunch {
            kernel,
            memory,
            items,
            block,
            arguments,
        };
        call.counts_from_0().then_some(call)
    }

    /// Whether the hidden arguments say what the packet says.
    fn counts_from_0(&self) -> bool {
        self.kernel.args.iter().all(|argument| {
            let wanted = match argument.kind {
                ArgKind::HiddenGlobalOffset(_) => Some(0),
                ArgKind::HiddenGroupSize(dim) => self.block.get(usize::from(dim)).copied(),
                ArgKind::HiddenBlockCount(dim) => {
                    let dim = usize::from(dim);
                    self.items
                        .get(dim)
                        .zip(self.block.get(dim))
                        .map(|(items, block)| items / block)
                }
                _ => return true,
            };
            let found = number(&self.arguments, argument.offset as usize, argument.size as usize);
            found.is_some() && found == wanted.map(u64::from)
        })
    }

    /// The number of an argument.
    fn argument(&self, index: usize) -> Option<u64> {
        let argument = self.kernel.args.get(index)?;
        number(&self.arguments, argument.offset as usize, argument.size as usize)
    }

    /// The four numbers of an argument.
    fn numbers(&self, index: usize) -> Option<[u64; 4]> {
        let at = self.kernel.args.get(index)?.offset as usize;
        let part = |part: usize| number(&self.arguments, at + 8 * part, 8);
        Some([part(0)?, part(1)?, part(2)?, part(3)?])
    }

    /// The work-items in x, where there is one dimension, and the argument at `size` is the workgroup's, where the kernel has it.
    fn line(&self, size: usize) -> Option<u64> {
        let plain = self.items[1..] == [1, 1];
        let told = match self.kernel.explicit_args().nth(size) {
            Some(_) => self.argument(size)? == u64::from(self.block[0]),
            None => true,
        };
        (plain && told).then(|| self.items[0].into())
    }

    /// Whether a range can be read, or written, as a whole.
    fn within(&self, address: u64, bytes: u64, access: Access) -> Option<()> {
        self.memory.check(address, bytes, access).ok()
    }

    /// Copies a range that was checked.
    fn copy(&self, target: u64, source: u64, bytes: u64) -> Option<()> {
        for done in (0..bytes).step_by(PART as usize) {
            let part = PART.min(bytes - done);
            self.memory.copy(target + done, source + done, part).ok()?;
        }
        Some(())
    }
}

/// Whether two ranges have no byte in common.
fn apart((a, bytes_a): (u64, u64), (b, bytes_b): (u64, u64)) -> Option<()> {
    let (end_a, end_b) = (a.checked_add(bytes_a)?, b.checked_add(bytes_b)?);
    (end_a <= b || end_b <= a).then_some(())
}

/// Source, target, bytes, how many of them at the end are copied one by one, bytes of an element, where the elements end, and
/// elements from one of a work-item to its next.
fn copy(call: &BlitLaunch<'_>) -> Option<()> {
    let (source, target, size) = (call.argument(0)?, call.argument(1)?, call.argument(2)?);
    let (rest, end, stride) = (call.argument(3)?, call.argument(5)?, call.argument(6)?);
    let element = if call.argument(4)? == 16 { 16 } else { 4 };
    if !(1..=call.line(7)?).contains(&stride) {
        return None;
    }
    let elements = end.saturating_sub(target).checked_next_multiple_of(element)?;
    let from = size.checked_sub(rest)?;
    let span = elements.max(if rest == 0 { 0 } else { size });
    apart((source, span), (target, span))?;
    for (start, bytes) in [(0, elements), (from, rest)] {
        call.within(source.checked_add(start)?, bytes, Access::Load)?;
        call.within(target.checked_add(start)?, bytes, Access::Store)?;
    }
    call.copy(target, source, elements)?;
    call.copy(target + from, source + from, rest)
}

/// Target, pattern, elements of the pattern, bytes of an element, where it ends, and elements from one pattern of a work-item to its
/// next.
fn fill(call: &BlitLaunch<'_>) -> Option<()> {
    let (target, pattern, length) = (call.argument(0)?, call.argument(1)?, call.argument(2)?);
    let (element, end, stride) = (call.argument(3)?, call.argument(4)?, call.argument(5)?);
    let element = if [16, 8, 4, 2].contains(&element) {
        element
    } else {
        1
    };
    let items = call.line(6)?;
    let bytes = length
        .checked_mul(element)
        .filter(|bytes| (1..=PATTERN).contains(bytes))?;
    if items.checked_mul(length)? != stride {
        return None;
    }
    let patterns = end.saturating_sub(target).div_ceil(bytes);
    fill_by(call, pattern, bytes, &[(target, patterns)])
}

/// Writes a pattern so many times at each place.
fn fill_by(call: &BlitLaunch<'_>, pattern: u64, bytes: u64, places: &[(u64, u64)]) -> Option<()> {
    for (target, patterns) in places {
        let filled = patterns.checked_mul(bytes)?;
        apart((pattern, bytes), (*target, filled))?;
        call.within(*target, filled, Access::Store)?;
    }
    call.within(pattern, bytes, Access::Load)?;
    let mut copy = vec![0; bytes as usize];
    call.memory.read(pattern, &mut copy).ok()?;
    let mut places = places.iter().filter(|(_, patterns)| *patterns > 0);
    places.try_for_each(|(target, patterns)| call.memory.fill(*target, &copy, *patterns).ok())
}

/// The target as bytes and as elements of 2, 4 and 8 bytes, of which the largest that is given counts; the pattern, its elements,
/// then in elements: where the first line begins, their width, how many, and from line to line.
fn fill_lines(call: &BlitLaunch<'_>) -> Option<()> {
    let targets = [(3, 8), (2, 4), (1, 2), (0, 1)];
    let mut targets = targets
        .into_iter()
        .map(|(index, bytes)| Some((call.argument(index)?, bytes)));
    let (target, element) = targets.find(|target| target.is_none_or(|(at, _)| at != 0))??;
    let (pattern, length, origin) = (call.argument(4)?, call.argument(5)?, call.argument(6)?);
    let (width, height, pitch) = (call.argument(7)?, call.argument(8)?, call.argument(9)?);
    let grid = [width, height, 1];
    let reached = grid
        .iter()
        .zip(call.items)
        .all(|(size, items)| *size <= items.into());
    // A pattern of more elements would overlap its neighbour's.
    if !reached || call.items[2] != 1 || length != 1 || height > LINES || width == 0 {
        return None;
    }
    let mut places = Vec::new();
    for line in 0..height {
        let at = line
            .checked_mul(pitch)?
            .checked_add(origin)?
            .checked_mul(element)?;
        places.push((target.checked_add(at)?, width));
    }
    fill_by(call, pattern, element, &places)
}

/// In elements: from line to line, from layer to layer, and where the first begins.
type Lines = [u64; 4];

/// Offset of the first byte of a line, in bytes.
fn offset([pitch, slice, first, _]: Lines, y: u64, z: u64, element: u64) -> Option<u64> {
    let (lines, layers) = (y.checked_mul(pitch)?, z.checked_mul(slice)?);
    lines
        .checked_add(layers)?
        .checked_add(first)?
        .checked_mul(element)
}

/// Source, target, the lines of each, and how many elements, lines and layers; then their bytes, where `element` does not say.
fn copy_box(call: &BlitLaunch<'_>, element: Option<u64>) -> Option<()> {
    let (source, target) = (call.argument(0)?, call.argument(1)?);
    let (from, to) = (call.numbers(2)?, call.numbers(3)?);
    let [width, height, depth, bytes] = call.numbers(4)?;
    let element = element.unwrap_or(if bytes == 16 { 16 } else { 4 });
    let sizes = [width, height, depth];
    let reached = sizes
        .iter()
        .zip(call.items)
        .all(|(size, items)| (1..=u64::from(items)).contains(size));
    let layer = to[0].checked_mul(height - 1)?.checked_add(width)?;
    let overlap = height > 1 && to[0] < width || depth > 1 && to[1] < layer;
    if !reached || overlap || height.checked_mul(depth)? > LINES {
        return None;
    }
    let span = |base: u64, lines: Lines| {
        let first = offset(lines, 0, 0, element)?;
        let last = offset(lines, height - 1, depth - 1, element)?.checked_add(width.checked_mul(element)?)?;
        Some((base.checked_add(first)?, last - first))
    };
    let (read, written) = (span(source, from)?, span(target, to)?);
    apart(read, written)?;
    call.within(read.0, read.1, Access::Load)?;
    call.within(written.0, written.1, Access::Store)?;
    for z in 0..depth {
        for y in 0..height {
            let (to, from) = (offset(to, y, z, element)?, offset(from, y, z, element)?);
            call.copy(target + to, source + from, width * element)?;
        }
    }
    Some(())
}
