//! What is assumed of the launches of a kernel.

use code_object::ArgKind;

use super::value::low;
use crate::code::Kernel;

/// Bits of the address space that programs have.
const ADDRESS_BITS: u32 = 47;
/// Work-items of the largest workgroup that any kernel is launched with.
const MOST_ITEMS: u32 = 1024;
/// Bits of a size, where sizes are declared to be small.
pub(super) const SIZE_BITS: u32 = 31;

/// The launches of a kernel.
#[derive(Clone, Debug)]
pub(super) struct Launches<'a> {
    pub(super) kernel: &'a Kernel,
    /// Where the arguments are that are below 2^31, in the kernarg segment.
    sizes: Vec<u32>,
    /// Work-items are below 2^31 in each dimension.
    few: bool,
}

impl<'a> Launches<'a> {
    /// All that are possible.
    pub(super) fn any(kernel: &'a Kernel) -> Launches<'a> {
        Launches {
            kernel,
            sizes: vec![],
            few: false,
        }
    }

    /// Those whose sizes ([`Kernel::leading_numbers`]) and work-items are below 2^31.
    pub(super) fn small(kernel: &'a Kernel) -> Launches<'a> {
        let sizes = kernel.leading_numbers().collect();
        Launches {
            kernel,
            sizes,
            few: true,
        }
    }

    /// The most work-items in a dimension, where that is declared.
    pub(super) fn most_work_items(&self) -> Option<u64> {
        self.few.then_some(low(SIZE_BITS))
    }

    /// The highest work-item id of a workgroup. A launch of more work-items than the kernel is made for is refused.
    pub(super) fn last_item(&self) -> u64 {
        u64::from(self.kernel.max_workgroup_size.clamp(1, MOST_ITEMS)) - 1
    }

    /// The bits of a dword of the kernarg segment that are zero.
    pub(super) fn zeros_of_argument(&self, offset: u64) -> u64 {
        let of_items = 64 - (self.last_item() + 1).leading_zeros();
        let mut zeros = !low(32);
        for byte in 0..4 {
            let place = offset + byte;
            let holds = |arg: &&code_object::Arg| {
                (u64::from(arg.offset)..u64::from(arg.offset) + u64::from(arg.size)).contains(&place)
            };
            let Some(arg) = self.kernel.args.iter().find(holds) else {
                continue;
            };
            let bits = match arg.kind {
                ArgKind::GlobalBuffer => ADDRESS_BITS,
                ArgKind::HiddenGroupSize(_) | ArgKind::HiddenRemainder(_) => of_items,
                ArgKind::HiddenBlockCount(_) => 31,
                ArgKind::HiddenGridDims => 2,
                _ if self.sizes.contains(&arg.offset) => SIZE_BITS,
                _ => 64,
            };
            let first = 8 * (place - u64::from(arg.offset)) as u32;
            let clear = !low(bits) >> first.min(63) & 0xff;
            zeros |= clear << (8 * byte);
        }
        zeros
    }
}

impl Kernel {
    /// Where the arguments of 64 bits are, in the kernarg segment, that come before the first pointer; of a kernel that begins with a
    /// pointer, all that are none. By the convention of many libraries these are sizes: numbers of elements, of dimensions, of rows.
    pub fn leading_numbers(&self) -> impl Iterator<Item = u32> + '_ {
        let is_number = |arg: &code_object::Arg| arg.kind == ArgKind::ByValue;
        let begins = self.args.first().is_some_and(is_number);
        let numbers = self.args.iter().take_while(move |arg| !begins || is_number(arg));
        let numbers = numbers.filter(move |arg| is_number(arg) && arg.size == 8);
        numbers.map(|arg| arg.offset)
    }

    /// The first of [`Kernel::leading_numbers`] that is not below 2^31 in a launch with these arguments: where it is, and the number.
    pub fn large_number(&self, kernarg: &[u8]) -> Option<(u32, u64)> {
        self.leading_numbers().find_map(|offset| {
            let bytes = kernarg.get(offset as usize..offset as usize + 8)?;
            let number = u64::from_le_bytes(bytes.try_into().ok()?);
            (number > low(SIZE_BITS)).then_some((offset, number))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{BARE_KERNEL, CodeObject};
    use crate::target::Target;

    /// Where the sizes are of a kernel with these arguments, `p` a pointer, `n` a number of 64 bits and `i` one of 32.
    fn sizes(arguments: &str) -> Vec<u32> {
        let end = 0xbfb0_0000_u32.to_le_bytes();
        let code = CodeObject::bare(Target::Gfx1100, &end, 0, 0, 0).unwrap();
        let mut kernel = code.kernel(BARE_KERNEL).unwrap().with_program(None);
        let arg = |(place, letter): (usize, char)| code_object::Arg {
            name: None,
            offset: 8 * place as u32,
            size: if letter == 'i' { 4 } else { 8 },
            kind: match letter {
                'p' => ArgKind::GlobalBuffer,
                _ => ArgKind::ByValue,
            },
        };
        kernel.args = arguments.chars().enumerate().map(arg).collect();
        kernel.leading_numbers().collect()
    }

    #[test]
    fn sizes_come_before_pointers_or_after_them() {
        assert_eq!(sizes("ninpnn"), [0, 16]);
        assert_eq!(sizes("ppnin"), [16, 32]);
        assert_eq!(sizes("ppi"), []);
        // What comes after a pointer may be a number of any kind, where sizes come before.
        assert_eq!(sizes("ipnn"), []);
    }
}
