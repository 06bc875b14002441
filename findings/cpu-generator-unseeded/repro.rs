//! What candle does today: the CPU's random numbers cannot be repeated.

use candle_core::Device::Cpu;

use crate::support::refuses;

#[test]
fn repro() {
    refuses(Cpu.set_seed(1), "cannot seed the CPU rng");
}
