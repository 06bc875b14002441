//! The functions of the operations that need no more than a wave's registers and cannot fail, by number: the executor calls
//! them without asking what they are.
//!
//! What an operation computes is in [`crate::isa::ops`]; the modules that apply it enter it here.

use std::marker::PhantomData;

use super::host::Host;
use super::{salu, valu, vector};
use crate::fp::Mode;
use crate::isa::{Inst, OPS};
use crate::wave::Wave;

/// Executes one instruction. [`Wave::active`] is set, and so are the staged sources.
pub(super) type WaveFunction<H, const W: usize> = fn(H, &mut Wave<W>, &Inst, Mode);

/// The table for waves of `W` lanes on a kind of host.
struct Table<H, const W: usize>(PhantomData<H>);

impl<H: Host, const W: usize> Table<H, W> {
    const FUNCTIONS: &'static [WaveFunction<H, W>; OPS] =
        &vector::enter(salu::enter(valu::enter([|_, _, _, _| {}; OPS])));
}

/// Executes an instruction whose unit [`crate::isa::Unit::is_tabled`].
#[inline(always)]
pub(super) fn execute<H: Host, const W: usize>(host: H, wave: &mut Wave<W>, inst: &Inst, mode: Mode) {
    Table::<H, W>::FUNCTIONS[inst.op as usize](host, wave, inst, mode);
}
