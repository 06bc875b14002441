//! The table of variables: a row each. What a type of values is, and how text becomes one, is in `values`.

use std::{env, ffi::OsString};

use crate::values::Value;
use crate::{
    About, Activations, Allocation, Bytes, Card, Cards, Driver, Entry, Fallback, File, Folder, Instructions,
    Jit, KernelCache, Libraries, Log, Mnemonic, Place, Program, Seconds, Switch, Targets, Variable,
};

macro_rules! variables {
    ($($static:ident: $type:ty = $name:literal, $default:literal, $readers:literal, $building:literal, $does:literal;)*) => {
        $(
            #[doc = concat!("`", $name, "`: ", $does)]
            pub static $static: Variable<$type> = Variable::new(About {
                name: $name,
                does: $does,
                form: <$type as Value>::form,
                default: $default,
                readers: $readers,
                building: $building,
            });
        )*

        /// The names, for whoever sets a variable for a program that they start.
        pub mod names {
            $(
                #[doc = concat!("Of [`", stringify!($static), "`](super::", stringify!($static), ").")]
                pub const $static: &str = $name;
            )*
        }

        /// Every variable of this workspace.
        pub static ALL: &[&dyn Entry] = &[$(&$static),*];
    };
}

variables! {
    DRIVER: Driver = "ROCM_DRIVER", "auto", "rocm-backend, candle-core", false,
        "Who answers the HIP calls. `auto` is the system's libamdhip64 where it has a device, else the software device. `hsa` is that libamdhip64 over the software device: this workspace's libhsa-runtime64 takes the place of ROCr's below AMD's runtime. `nvidia` runs the kernels on an NVIDIA GPU, in programs built with the feature `nvidia`.";
    PATH: Folder = "ROCM_PATH", "/opt/rocm, then the dynamic linker's path", "rocm-backend", false,
        "Where ROCm is installed: its `lib` folder is searched first.";
    LIBRARIES: Libraries = "ROCM_LIBRARIES", "auto", "rocm-backend", false,
        "Whether rocBLAS, rocRAND and MIOpen serve operations. `auto`: with the system's driver; with NVIDIA's, cuBLAS, cuDNN and cuRAND in their places. `native`: nowhere. `model`: host models of them, on the software device.";
    ALLOCATOR: Allocation = "ROCM_ALLOCATOR", "auto", "rocm-backend", false,
        "What becomes of device memory that buffers give back. `caching` keeps it, `exact` gives it back at once; `auto` keeps it on a GPU alone.";
    CODE_OBJECTS: Folder = "ROCM_CODE_OBJECTS", "the kernels that are built in", "rocm-backend", false,
        "Compiled kernels, `MODULE.TARGET.hsaco` or `MODULE.TARGET.ptx`, that replace those of the same name.";
    FALLBACK: Fallback = "ROCM_FALLBACK", "allow", "candle-core", false,
        "What becomes of a custom op that has no ROCm implementation: it runs on the CPU, or is an error.";
    ACTIVATIONS: Activations = "ROCM_ACTIVATIONS", "cuda", "candle-core", false,
        "Whose rounding the activations of quantized products have. `cpu` is slow, and for comparing numbers with candle's CPU backend.";
    SOFT_TARGET: Card = "ROCM_SOFT_TARGET", "gfx1100", "rocm-soft, soft-runtime", false,
        "The card that the software device is.";
    SOFT_DEVICES: Cards = "ROCM_SOFT_DEVICES", "one device, of ROCM_SOFT_TARGET", "rocm-soft, soft-runtime", false,
        "Several software devices, each with its memory.";
    SOFT_MEMORY: Bytes = "ROCM_SOFT_MEMORY", "16GiB", "rocm-soft, soft-runtime", false,
        "The memory that each software device has.";
    SOFT_PLACE: Place = "ROCM_SOFT_PLACE", "0", "rocm-soft", false,
        "Where in an allocation of the software device the low half of its addresses overflows: each allocation has another of seven places, and the number says with which it begins. Code that loses a carry shows at some places alone.";
    SANITIZE: Switch = "ROCM_SANITIZE", "0", "rocm-soft, soft-runtime, parity-exec", false,
        "Whether the software device watches launches: a read of what was never written, a race between waves and the like end them.";
    JIT: Jit = "ROCM_JIT", "auto", "rocm-soft, soft-runtime", false,
        "Whether the software device compiles the kernels that it executes often to the host's machine code, which needs AVX-512. Results are the same; `off` interprets every instruction, as it does where launches are watched, covered or counted, and `always` compiles a kernel before its first one.";
    FLIP: Mnemonic = "ROCM_FLIP", "nothing is flipped", "soft-runtime", false,
        "An instruction that gives wrong results under libhsa-runtime64 and libamdhip64 over the software device, to see whether a program notices: a bit of each is flipped, and a comparison says the opposite. `gfx exec --flip` sets it, and says how many results that were.";
    COVERAGE: Folder = "ROCM_COVERAGE", "nothing is noted", "rocm-soft, soft-runtime", false,
        "Where the software device writes which instructions of which kernels were executed; `parity coverage` reads it. Processes add to what is there. `gfx exec --coverage` and `--lcov` set it.";
    SOFT_LOSE: Switch = "ROCM_SOFT_LOSE", "0", "rocm-soft", false,
        "Whether a kernel's fault ends the software device, as it ends a card.";
    SOFT_LOG: Log = "ROCM_SOFT_LOG", "none", "soft-runtime", false,
        "What libhsa-runtime64 and libamdhip64 over the software device say on stderr of a program's calls: `missing` names those that have no body, `calls` every one.";
    SOFT_REPORT: Folder = "ROCM_SOFT_REPORT", "no file is written", "soft-runtime, gfx-tool", false,
        "Where libhsa-runtime64 and libamdhip64 over the software device write what a process ran, as a file of JSON for each. `gfx exec` sets it.";
    SOFT_MAX_INSTRUCTIONS: Instructions = "ROCM_SOFT_MAX_INSTRUCTIONS", "1000000000", "soft-runtime", false,
        "Instructions after which a wave is stopped, and its kernel with it. `gfx exec --max-instructions` sets it.";
    SOFT_TIMEOUT: Seconds = "ROCM_SOFT_TIMEOUT", "no limit", "soft-runtime", false,
        "Seconds after which a kernel is stopped. `gfx exec --timeout` sets it.";
    HSA_LIBRARY: File = "ROCM_HSA_LIBRARY", "beside the running program, or in cargo's target folder", "rocm-backend, gfx-tool", false,
        "The libhsa_runtime64.so of this workspace that `gfx exec` puts under a program, and `ROCM_DRIVER=hsa` under AMD's HIP runtime.";
    HIP_LIBRARY: File = "ROCM_HIP_LIBRARY", "beside `gfx`, or in cargo's target folder", "gfx-tool", false,
        "The libhip_soft.so of this workspace that `gfx exec --seam hip` puts under a program.";
    KERNEL_CACHE: KernelCache = "ROCM_KERNEL_CACHE", "`$XDG_CACHE_HOME/rocm-backend`, else `$HOME/.cache/rocm-backend`", "kernel-build, rocm-backend", false,
        "Where compiled kernels are kept and taken from, when crates are built and when programs run.";
    CLANG: Program = "ROCM_CLANG", "the newest usable one that is found", "kernel-build", false,
        "The clang++ that compiles kernels, when crates are built and when programs run.";
    DEVICE_LIBS: Folder = "ROCM_DEVICE_LIB_PATH", "where the compiler and the distributions put them", "kernel-build", false,
        "AMD's device libraries, `ocml.bc` and `ockl.bc`.";
    TARGETS: Targets = "ROCM_TARGETS", "gfx1100", "rocm-backend", true,
        "The GPUs that kernels are built in for. Others' of AMD are compiled when a program first runs them. For `none`, which this checkout's `.cargo/config.toml` sets, no build compiles any of AMD's, and programs read the checkout's `rocm-backend/kernels`. With the feature `nvidia`, sm_80 is added where no GPU of NVIDIA's is named, and serves later ones.";
    PREBUILT_KERNELS: Folder = "ROCM_PREBUILT_KERNELS", "kernels are compiled", "kernel-build", true,
        "Compiled kernels, `MODULE.TARGET.hsaco` or `MODULE.TARGET.ptx`, that are built in; no compiler is needed then.";
}

/// A variable of somebody else's, whose words are theirs.
#[derive(Clone, Copy, Debug)]
pub struct Other {
    /// Its name.
    pub name: &'static str,
    /// What it does here.
    pub does: &'static str,
    /// Who reads it.
    pub readers: &'static str,
}

impl Other {
    /// Its text in this process's environment, where it is set.
    pub fn set_to(&self) -> Option<OsString> {
        env::var_os(self.name)
    }
}

macro_rules! others {
    ($($name:literal, $readers:literal, $does:literal;)*) => {
        /// Variables of others that change what this workspace's programs do.
        pub const OTHERS: &[Other] = &[$(Other { name: $name, does: $does, readers: $readers }),*];
    };
}

others! {
    "HIP_VISIBLE_DEVICES", "AMD's libamdhip64", "The GPUs that the system's driver shows.";
    "CUDA_VISIBLE_DEVICES", "NVIDIA's driver", "The GPUs that the backend `cuda` and the driver `nvidia` find.";
    "CUDA_CACHE_PATH", "NVIDIA's driver", "Where it keeps what it compiled of PTX.";
    "LD_LIBRARY_PATH", "the dynamic linker", "Where ROCm's and NVIDIA's libraries are searched.";
    "RAYON_NUM_THREADS", "rayon, parity-cli", "The threads of the software device, of the judge and of candle's CPU backend; parity gives each worker its share.";
    "XDG_CACHE_HOME", "rocm-env", "The user's cache, below which compiled kernels are kept.";
    "HOME", "rocm-env", "The same, where `XDG_CACHE_HOME` is not set.";
    "NO_COLOR", "parity-cli", "Set to something, no output is coloured.";
    "GITHUB_STEP_SUMMARY", "parity-cli", "The file to which `parity` adds a summary on GitHub.";
    "CANDLE_CORE_UPSTREAM", "candle-overlay", "When crates are built: a folder with other sources of candle-core.";
    "CANDLE_NN_UPSTREAM", "candle-overlay", "When crates are built: a folder with other sources of candle-nn.";
    "ROCM_RS_UPSTREAM", "candle-overlay", "When crates are built: a folder with other sources of rocm-rs.";
    "CARGO_HOME", "candle-overlay", "When crates are built: where cargo keeps the sources of releases.";
    "CUDA_HOME", "parity-exec, kernel-build", "When crates are built: the CUDA toolkit; `CUDA_PATH` is asked next.";
}
