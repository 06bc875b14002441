//! What the units of a card do in a clock, and which of them a kernel keeps busy longest: a roofline in clocks of the whole card.
//!
//! The figures are those of AMD's product pages and white papers, by name at each card. They are peaks. A kernel that is bounded
//! by a unit here is not slower than that unit allows; whether it is as fast depends on latencies, on the caches' content and on how
//! full the card is, none of which is modelled.

use parity_model::record::KernelCost;

/// What a card does in a clock when every unit is busy.
#[derive(Clone, Copy, Debug)]
pub struct Card {
    /// The target whose code it executes.
    pub target: &'static str,
    /// The product.
    pub name: &'static str,
    /// Compute units.
    pub units: f64,
    /// SIMDs of a compute unit.
    pub simds: f64,
    /// Lanes of vector arithmetic of a SIMD and clock.
    pub lanes: f64,
    /// Clocks that 64-bit floating point takes for one of 32 bits.
    pub double: f64,
    /// Bytes of device memory of the card and clock: bandwidth over clock rate.
    pub memory: f64,
    /// Bytes of a line of the vector cache.
    pub line: f64,
    /// Bytes of the vector cache of a compute unit and clock.
    pub cache: f64,
    /// Scalar instructions of a compute unit and clock.
    pub scalar: f64,
}

/// Clocks that transcendental functions and products of 32-bit integers take for one of a sum: a quarter of the lanes have such a
/// unit (RDNA3 and CDNA3 ISA documents; LLVM's `WriteTrans32` and `WriteIntMul` of `SISchedule.td`).
const QUARTER: f64 = 4.0;

/// The cards that are counted for.
pub const CARDS: [Card; 8] = [
    // Radeon RX 7900 XTX: 96 compute units at 2.5 GHz, 960 GB/s (product page). "RDNA" white paper: two SIMDs of 32 lanes and two scalar
    // units a compute unit, lines of 128 bytes, one a clock. A sixteenth of the rate in 64 bits.
    Card {
        target: "gfx1100",
        name: "Radeon RX 7900 XTX",
        units: 96.0,
        simds: 2.0,
        lanes: 32.0,
        double: 16.0,
        memory: 384.0,
        line: 128.0,
        cache: 128.0,
        scalar: 2.0,
    },
    // Radeon 8060S of Ryzen AI Max+ 395: 40 compute units at 2.9 GHz, 256 bits of LPDDR5X-8000, 256 GB/s (product page). The units of RDNA3.
    Card {
        target: "gfx1151",
        name: "Radeon 8060S",
        units: 40.0,
        simds: 2.0,
        lanes: 32.0,
        double: 16.0,
        memory: 88.0,
        line: 128.0,
        cache: 128.0,
        scalar: 2.0,
    },
    // Radeon RX 9060 XT: 32 compute units at 3.13 GHz, 128 bits of GDDR6 at 20 Gbps, 320 GB/s (product page). The units of RDNA3.
    Card {
        target: "gfx1200",
        name: "Radeon RX 9060 XT",
        units: 32.0,
        simds: 2.0,
        lanes: 32.0,
        double: 16.0,
        memory: 102.0,
        line: 128.0,
        cache: 128.0,
        scalar: 2.0,
    },
    // Radeon RX 9070 XT: 64 compute units at 2.97 GHz, 256 bits of GDDR6 at 20 Gbps, 640 GB/s (product page). The units of RDNA3.
    Card {
        target: "gfx1201",
        name: "Radeon RX 9070 XT",
        units: 64.0,
        simds: 2.0,
        lanes: 32.0,
        double: 16.0,
        memory: 215.0,
        line: 128.0,
        cache: 128.0,
        scalar: 2.0,
    },
    // Radeon RX 6900 XT: 80 compute units at 2.25 GHz, 256 bits of GDDR6 at 16 Gbps, 512 GB/s (as reviews give them). The units of RDNA3, as far as
    // they are counted here.
    Card {
        target: "gfx1030",
        name: "Radeon RX 6900 XT",
        units: 80.0,
        simds: 2.0,
        lanes: 32.0,
        double: 16.0,
        memory: 228.0,
        line: 128.0,
        cache: 128.0,
        scalar: 2.0,
    },
    // Instinct MI300X: 304 compute units at 2.1 GHz, 5.3 TB/s (product page). "CDNA 3" white paper: four SIMDs of 16 lanes and one scalar
    // unit a compute unit, the full rate in 64 bits, lines of 128 bytes, 64 bytes a clock.
    Card {
        target: "gfx942",
        name: "Instinct MI300X",
        units: 304.0,
        simds: 4.0,
        lanes: 16.0,
        double: 1.0,
        memory: 2524.0,
        line: 128.0,
        cache: 64.0,
        scalar: 1.0,
    },
    // Instinct MI350X: 256 compute units at 2.2 GHz, 8 TB/s (product page). "CDNA 4" white paper: units as above, half the rate of matrices in
    // 64 bits.
    Card {
        target: "gfx950",
        name: "Instinct MI350X",
        units: 256.0,
        simds: 4.0,
        lanes: 16.0,
        double: 1.0,
        memory: 3636.0,
        line: 128.0,
        cache: 64.0,
        scalar: 1.0,
    },
    // One of the two dies of an Instinct MI250X: 110 compute units at 1.7 GHz, 1.6 TB/s (product page). "CDNA 2" white paper: as above,
    // with lines of 64 bytes.
    Card {
        target: "gfx90a",
        name: "Instinct MI250X, one die",
        units: 110.0,
        simds: 4.0,
        lanes: 16.0,
        double: 1.0,
        memory: 964.0,
        line: 64.0,
        cache: 64.0,
        scalar: 1.0,
    },
];

/// A part of a card that can be busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardPart {
    /// Device memory: lines that the launch touches, each once.
    Memory,
    /// The vector caches: lines of each request, and private memory.
    Cache,
    /// Vector arithmetic.
    Vector,
    /// Matrix cores.
    Matrix,
    /// LDS.
    Share,
    /// Scalar arithmetic and scalar loads.
    Scalar,
}

impl CardPart {
    /// All of them.
    pub const ALL: [CardPart; 6] = [
        CardPart::Memory,
        CardPart::Cache,
        CardPart::Vector,
        CardPart::Matrix,
        CardPart::Share,
        CardPart::Scalar,
    ];

    /// Words for tables.
    pub fn name(self) -> &'static str {
        match self {
            CardPart::Memory => "device memory",
            CardPart::Cache => "vector cache",
            CardPart::Vector => "vector ALU",
            CardPart::Matrix => "matrix cores",
            CardPart::Share => "LDS",
            CardPart::Scalar => "scalar ALU",
        }
    }
}

/// Which part of a card a kernel keeps busy longest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The part.
    pub part: CardPart,
    /// Clocks of the whole card that it needs at least.
    pub clocks: f64,
    /// The part after it, and its clocks over those of the first.
    pub next: (CardPart, f64),
}

impl Card {
    /// The card that executes code for a target such as `gfx942` or `gfx942:sramecc+`.
    pub fn of(target: &str) -> Option<&'static Card> {
        let name = target.split(':').next();
        CARDS.iter().find(|card| Some(card.target) == name)
    }

    /// Clocks of the whole card that a part needs at least for the launches of a kernel.
    pub fn clocks(&self, part: CardPart, kernel: &KernelCost) -> f64 {
        let counter = |name| kernel.counter(name) as f64;
        match part {
            CardPart::Memory => counter("launch_lines") * self.line / self.memory,
            CardPart::Cache => {
                let bytes = counter("lines") * self.line + counter("scratch_bytes");
                bytes / (self.units * self.cache)
            }
            CardPart::Vector => {
                let slow = QUARTER * (counter("transcendental") + counter("multiply"));
                let instructions = counter("valu") + slow + self.double * counter("double");
                instructions * f64::from(kernel.lanes) / (self.units * self.simds * self.lanes)
            }
            CardPart::Matrix => counter("matrix_cycles") / (self.units * self.simds),
            CardPart::Share => counter("lds_cycles") / self.units,
            CardPart::Scalar => (counter("salu") + counter("smem")) / (self.units * self.scalar),
        }
    }

    /// What bounds a kernel; `None` of one that did nothing that is counted.
    pub fn bound(&self, kernel: &KernelCost) -> Option<Bound> {
        let mut parts = CardPart::ALL.map(|part| (part, self.clocks(part, kernel)));
        // Stable: of equals the first of the list comes first.
        parts.sort_by(|a, b| b.1.total_cmp(&a.1));
        let [(part, clocks), (second, next), ..] = parts;
        (clocks > 0.0).then(|| Bound {
            part,
            clocks,
            next: (second, next / clocks),
        })
    }

    /// Clocks that kernels need at least which run one after the other.
    pub fn total(&self, kernels: &[KernelCost]) -> f64 {
        let clocks = |kernel| self.bound(kernel).map_or(0.0, |bound| bound.clocks);
        kernels.iter().map(clocks).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cost::page::tests::kernel;

    #[test]
    fn the_part_that_needs_most_clocks_bounds() {
        let card = Card::of("gfx1100").unwrap();
        // A gigabyte in lines: 2^23 of 128 bytes, 384 bytes a clock.
        let moving = kernel(&[("launch_lines", 1 << 23), ("lines", 1 << 23), ("valu", 1 << 20)]);
        let bound = card.bound(&moving).unwrap();
        assert_eq!(bound.part, CardPart::Memory);
        assert!((bound.clocks - f64::from(1 << 30) / 384.0).abs() < 1e-6);
        assert_eq!(bound.next.0, CardPart::Cache);
        // 96 caches of a line a clock, against three lines of memory.
        assert!((bound.next.1 - 3.0 / 96.0).abs() < 1e-9);
        // 32 lanes on 96 × 2 × 32: an instruction is 1/192 of a clock, a slow one four of them.
        let computing = kernel(&[("valu", 192), ("transcendental", 192), ("double", 12)]);
        let bound = card.bound(&computing).unwrap();
        assert_eq!((bound.part, bound.clocks), (CardPart::Vector, 6.0));
        assert_eq!(card.total(&[computing.clone(), computing]), 12.0);
        assert_eq!(card.bound(&kernel(&[])), None);
    }

    #[test]
    fn conflicts_make_the_lds_the_bound() {
        let card = Card::of("gfx942:sramecc+").unwrap();
        let good = kernel(&[("valu", 3040), ("lds_cycles", 304)]);
        assert_eq!(card.bound(&good).unwrap().part, CardPart::Vector);
        let bad = kernel(&[("valu", 3040), ("lds_cycles", 304 * 32)]);
        assert_eq!(card.bound(&bad).unwrap().part, CardPart::Share);
        assert!(Card::of("sm_90").is_none());
    }
}
