//! What a card is, as far as programs ask: what HSA's agents and HIP's devices say of themselves.

use gfx_emu::Target;
use rocm_env::Card;

/// The processor of a card.
pub fn target(card: Card) -> Target {
    match card {
        Card::Gfx1100 => Target::Gfx1100,
        Card::Gfx1151 => Target::Gfx1151,
        Card::Gfx1200 => Target::Gfx1200,
        Card::Gfx1201 => Target::Gfx1201,
        Card::Gfx1030 => Target::Gfx1030,
        Card::Gfx942 => Target::Gfx942,
        Card::Gfx950 => Target::Gfx950,
        Card::Gfx90a => Target::Gfx90a,
        Card::Gfx1250 => Target::Gfx1250,
    }
}

/// What a card is, as far as programs ask.
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    /// Lanes of a wave, as the card's kernels are compiled by default.
    pub lanes: u32,
    /// Compute units.
    pub units: u32,
    /// SIMDs of a compute unit.
    pub simds: u32,
    /// Waves of a compute unit.
    pub waves: u32,
    /// The number of PCI by which the kernel driver knows the chip.
    pub chip: u32,
    /// AMD's number for the family of chips.
    pub family: u32,
    /// The highest clock, in MHz.
    pub clock: u32,
    /// What follows the processor's name in the name of its instruction set.
    pub features: &'static str,
    /// The name for users.
    pub name: &'static str,
}

/// What programs are told of a card.
pub fn traits(card: Card) -> Traits {
    match card {
        Card::Gfx1100 => Traits {
            lanes: 32,
            units: 96,
            simds: 2,
            waves: 32,
            chip: 0x744c,
            family: 145,
            clock: 2500,
            features: "",
            name: "software gfx1100",
        },
        Card::Gfx1151 => Traits {
            lanes: 32,
            units: 40,
            simds: 2,
            waves: 32,
            chip: 0x1586,
            family: 150,
            clock: 2900,
            features: "",
            name: "software gfx1151",
        },
        Card::Gfx1200 => Traits {
            lanes: 32,
            units: 32,
            simds: 2,
            waves: 32,
            chip: 0x7590,
            family: 152,
            clock: 3130,
            features: "",
            name: "software gfx1200",
        },
        Card::Gfx1201 => Traits {
            lanes: 32,
            units: 64,
            simds: 2,
            waves: 32,
            chip: 0x7550,
            family: 152,
            clock: 2970,
            features: "",
            name: "software gfx1201",
        },
        Card::Gfx1030 => Traits {
            lanes: 32,
            units: 80,
            simds: 2,
            waves: 32,
            chip: 0x73bf,
            family: 143,
            clock: 2250,
            features: "",
            name: "software gfx1030",
        },
        Card::Gfx942 => Traits {
            lanes: 64,
            units: 304,
            simds: 4,
            waves: 32,
            chip: 0x74a1,
            family: 141,
            clock: 2100,
            features: ":sramecc+:xnack-",
            name: "software gfx942",
        },
        Card::Gfx950 => Traits {
            lanes: 64,
            units: 256,
            simds: 4,
            waves: 32,
            chip: 0x75a0,
            family: 141,
            clock: 2200,
            features: ":sramecc+:xnack-",
            name: "software gfx950",
        },
        // Units and clock are those of the kernel driver's topology in public logs, waves LLVM's; the numbers of chip and family are not known.
        Card::Gfx1250 => Traits {
            lanes: 32,
            units: 256,
            simds: 4,
            waves: 64,
            chip: 0,
            family: 0,
            clock: 2400,
            features: "",
            name: "software gfx1250",
        },
        Card::Gfx90a => Traits {
            lanes: 64,
            units: 104,
            simds: 4,
            waves: 32,
            chip: 0x7408,
            family: 141,
            clock: 1700,
            features: ":sramecc+:xnack-",
            name: "software gfx90a",
        },
    }
}

/// The name of a card's instruction set.
pub fn isa_name(card: Card) -> String {
    format!("amdgcn-amd-amdhsa--{}{}", card.word(), traits(card).features)
}
