//! A software card with the code objects of the benchmarks on it.

use std::path::{Path, PathBuf};

use gfx_emu::{CodeObject, Compiling, Dispatch, LaunchOptions, LaunchStats, Memory, Placement};
use kernel_build::{Compiler, Target};

/// The cards: waves of 32 lanes, waves of 64.
pub(crate) const TARGETS: [&str; 2] = ["gfx1100", "gfx942"];

/// Kernel files, from the repository's root.
const SOURCES: [&str; 6] = [
    "rocm-backend/kernels/unary.hip",
    "rocm-backend/kernels/binary.hip",
    "rocm-backend/kernels/reduce.hip",
    "rocm-backend/kernels/quantized.hip",
    "rocm-backend/kernels/gemm.hip",
    "crates/gfx-emu/benches/speed/kernels.hip",
];

/// A device memory with all code objects of one target in it.
pub(crate) struct Card {
    target: &'static str,
    objects: Vec<(CodeObject, Placement)>,
    memory: Memory,
}

impl Card {
    /// Compiles what is not compiled yet, loads and places it.
    pub(crate) fn new(target: &'static str) -> Card {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("speed");
        std::fs::create_dir_all(&out).unwrap();
        let compiler = Compiler::find().unwrap();
        let targets = Target::parse_list(target).unwrap();
        let mut memory = Memory::new(1 << 30);
        let objects = SOURCES.map(|source| {
            let path = compiler.compile(&root.join(source), &targets[0], &[], &out);
            let code = CodeObject::load(&std::fs::read(path.unwrap()).unwrap()).unwrap();
            let placement = code.place(&mut memory).unwrap();
            (code, placement)
        });
        Card {
            target,
            objects: objects.into(),
            memory,
        }
    }

    /// The target's name.
    pub(crate) fn name(&self) -> &'static str {
        self.target
    }

    /// Lanes of a wave.
    pub(crate) fn lanes(&self) -> u64 {
        if self.target == "gfx1100" { 32 } else { 64 }
    }

    /// A new allocation with these bytes in it.
    pub(crate) fn upload(&mut self, bytes: &[u8]) -> u64 {
        let address = self.memory.alloc(bytes.len() as u64).unwrap();
        self.memory.write(address, bytes).unwrap();
        address
    }

    /// `count` bytes from `address` on.
    pub(crate) fn download(&self, address: u64, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.memory.read(address, &mut bytes).unwrap();
        bytes
    }

    /// Runs a kernel to its end.
    pub(crate) fn launch(
        &self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        kernarg: &[u8],
        compiling: Compiling,
    ) -> LaunchStats {
        let found = self
            .objects
            .iter()
            .find_map(|(code, placement)| Some((code, placement, code.kernel(kernel)?)));
        let (code, placement, kernel) = found.unwrap();
        let dispatch = Dispatch {
            kernel,
            placement: *placement,
            grid,
            block,
            dynamic_lds: 0,
            kernarg,
        };
        let options = LaunchOptions {
            compiling,
            ..LaunchOptions::default()
        };
        gfx_emu::launch(code, &dispatch, &self.memory, &options).unwrap()
    }
}
