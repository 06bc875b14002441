//! A device memory with one code object in it, and launches with plain arguments.

use gfx_emu::{CodeObject, Dispatch, LaunchError, LaunchOptions, LaunchStats, Memory, Placement};

use crate::compile::{WAVE64, compile};

/// A loaded code object and a device memory with its image.
pub(crate) struct Device {
    pub(crate) code: CodeObject,
    pub(crate) placement: Placement,
    pub(crate) memory: Memory,
}

impl Device {
    /// Compiles for gfx1100, loads and places.
    pub(crate) fn new(name: &str, source: &str) -> Device {
        Device::on("gfx1100", name, source)
    }

    /// Compiles for a target, loads and places.
    pub(crate) fn on(target: &str, name: &str, source: &str) -> Device {
        Device::with_flags(target, name, source, &[])
    }

    /// Compiles for a target with more flags, loads and places.
    pub(crate) fn with_flags(target: &str, name: &str, source: &str, flags: &[&str]) -> Device {
        let code = CodeObject::load(&compile(name, target, source, flags)).unwrap();
        let mut memory = Memory::new(1 << 30);
        memory.track_writes();
        let placement = code.place(&mut memory).unwrap();
        Device {
            code,
            placement,
            memory,
        }
    }

    /// Lanes of a wave.
    pub(crate) fn lanes(&self) -> u64 {
        let kernel = self.code.kernels().next().unwrap();
        kernel.descriptor.wavefront_size() as u64
    }

    /// Allocates words that nobody has written.
    pub(crate) fn fresh(&mut self, len: u64) -> u64 {
        self.memory.alloc(4 * len).unwrap()
    }

    /// Allocates exactly `data` and copies it in.
    pub(crate) fn upload(&mut self, data: &[u32]) -> u64 {
        let address = self.memory.alloc(4 * data.len() as u64).unwrap();
        let bytes: Vec<u8> = data.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.memory.write(address, &bytes).unwrap();
        address
    }

    pub(crate) fn download(&self, address: u64, len: usize) -> Vec<u32> {
        let mut bytes = vec![0; 4 * len];
        self.memory.read(address, &mut bytes).unwrap();
        bytes
            .as_chunks::<4>()
            .0
            .iter()
            .map(|v| u32::from_le_bytes(*v))
            .collect()
    }

    /// Launches under the sanitizer.
    pub(crate) fn launch(
        &self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        args: &[Arg],
    ) -> Result<LaunchStats, LaunchError> {
        let options = LaunchOptions {
            sanitize: true,
            ..LaunchOptions::default()
        };
        self.launch_with(kernel, grid, block, 0, args, &options)
    }

    pub(crate) fn launch_with(
        &self,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_lds: u32,
        args: &[Arg],
        options: &LaunchOptions,
    ) -> Result<LaunchStats, LaunchError> {
        let kernel = self.code.kernel(kernel).unwrap();
        let kernarg = kernarg(args);
        let dispatch = Dispatch {
            kernel,
            placement: self.placement,
            grid,
            block,
            dynamic_lds,
            kernarg: &kernarg,
        };
        gfx_emu::launch(&self.code, &dispatch, &self.memory, options)
    }
}

/// A kernel argument.
#[derive(Clone, Copy)]
pub(crate) enum Arg {
    Ptr(u64),
    U32(u32),
}

/// Lays arguments out as a C struct does.
fn kernarg(args: &[Arg]) -> Vec<u8> {
    let mut bytes: Vec<u8> = Vec::new();
    for arg in args {
        match arg {
            Arg::Ptr(value) => {
                bytes.resize(bytes.len().next_multiple_of(8), 0);
                bytes.extend(value.to_le_bytes());
            }
            Arg::U32(value) => bytes.extend(value.to_le_bytes()),
        }
    }
    bytes
}

/// Lanes of the waves of a target's kernels.
pub(crate) fn lanes(target: &str) -> u32 {
    if target.starts_with("gfx1") && !target.ends_with(WAVE64) {
        32
    } else {
        64
    }
}

/// Runs each test on each card that is executed.
macro_rules! on_each_target {
    ($($name:ident)*) => {
        mod gfx1100 {
            $(#[test] fn $name() { super::$name("gfx1100"); })*
        }
        mod gfx1100_wave64 {
            $(#[test] fn $name() { super::$name("gfx1100-wave64"); })*
        }
        mod gfx1201 {
            $(#[test] fn $name() { super::$name("gfx1201"); })*
        }
        mod gfx1201_wave64 {
            $(#[test] fn $name() { super::$name("gfx1201-wave64"); })*
        }
        mod gfx1030 {
            $(#[test] fn $name() { super::$name("gfx1030"); })*
        }
        mod gfx1030_wave64 {
            $(#[test] fn $name() { super::$name("gfx1030-wave64"); })*
        }
        mod gfx942 {
            $(#[test] fn $name() { super::$name("gfx942"); })*
        }
        mod gfx90a {
            $(#[test] fn $name() { super::$name("gfx90a"); })*
        }
    };
}
pub(crate) use on_each_target;
