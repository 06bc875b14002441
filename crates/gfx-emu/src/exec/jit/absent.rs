//! Hosts for which nothing is compiled.

use super::super::host::Host;
use super::Left;
use crate::fp::Mode;
use crate::isa::Program;
use crate::wave::{Group, Wave};

/// There is none.
#[derive(Debug)]
pub(super) enum CompiledProgram {}

impl CompiledProgram {
    pub(super) fn place(&self, _: usize) -> Option<u32> {
        match *self {}
    }

    pub(super) fn run<H: Host, const W: usize>(
        &self,
        _: H,
        _: &mut Wave<W>,
        _: &mut Group<'_>,
        _: &Program,
        _: (u32, Mode),
        _: (&mut u64, &mut u16),
    ) -> Left {
        match *self {}
    }
}

pub(super) fn is_possible() -> bool {
    false
}

pub(super) fn compile(_: &Program) -> Option<CompiledProgram> {
    None
}
