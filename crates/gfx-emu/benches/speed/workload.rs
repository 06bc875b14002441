//! What is measured: a kernel, its arguments, and the host's way to the same numbers.

use gfx_emu::{Compiling, LaunchStats};

use half::{bf16, f16};

use crate::card::Card;
use crate::host;

/// A kernel argument.
enum Arg {
    /// The address of these numbers in a format.
    Floats(Format, Vec<f32>),
    /// The address of these bytes.
    Bytes(Vec<u8>),
    /// The address of these numbers, 64 bits each.
    Table(Vec<u64>),
    /// No address.
    Null,
    /// The address of so many numbers in a format, which the kernel writes.
    Out(Format, usize),
    U32(u32),
    U64(u64),
}

/// A format of numbers.
#[derive(Clone, Copy)]
pub(crate) enum Format {
    F32,
    F16,
    Bf16,
}

impl Format {
    fn bytes(self) -> usize {
        match self {
            Format::F32 => 4,
            Format::F16 | Format::Bf16 => 2,
        }
    }

    fn write(self, values: &[f32]) -> Vec<u8> {
        let each = values.iter();
        match self {
            Format::F32 => each.flat_map(|value| value.to_le_bytes()).collect(),
            Format::F16 => each
                .flat_map(|value| f16::from_f32(*value).to_le_bytes())
                .collect(),
            Format::Bf16 => each
                .flat_map(|value| bf16::from_f32(*value).to_le_bytes())
                .collect(),
        }
    }

    fn read(self, bytes: &[u8]) -> Vec<f32> {
        let halves = bytes.as_chunks::<2>().0.iter();
        match self {
            Format::F32 => {
                let words = bytes.as_chunks::<4>().0.iter();
                words.map(|word| f32::from_le_bytes(*word)).collect()
            }
            Format::F16 => halves.map(|half| f16::from_le_bytes(*half).to_f32()).collect(),
            Format::Bf16 => halves.map(|half| bf16::from_le_bytes(*half).to_f32()).collect(),
        }
    }
}

/// The threads of a workgroup.
enum Block {
    Threads([u32; 2]),
    Waves(u32),
}

/// A computation on the host.
type Compute = Box<dyn Fn() -> Vec<f32> + Sync>;

/// One row of the benchmark.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    /// Millions of wave-instructions per second and core of the interpreter this one is compared with, where it ran the
    /// kernel's like.
    pub(crate) reference: Option<f64>,
    kernel: String,
    grid: [u32; 2],
    block: Block,
    args: Vec<Arg>,
    /// The host's way to the same result, and the largest difference to it that is right.
    pub(crate) host: Option<(Compute, f32)>,
}

/// A workload on a card.
pub(crate) struct Launch<'a> {
    work: &'a Workload,
    kernarg: Vec<u8>,
}

impl Workload {
    /// Copies the arguments to the card, runs once and compares with the host.
    pub(crate) fn prepare(&self, card: &mut Card) -> Launch<'_> {
        let mut kernarg = Vec::new();
        let mut result = None;
        for arg in &self.args {
            let word = match arg {
                Arg::Floats(format, values) => card.upload(&format.write(values)),
                Arg::Bytes(bytes) => card.upload(bytes),
                Arg::Table(values) => {
                    card.upload(&values.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<_>>())
                }
                Arg::Null => 0,
                Arg::Out(format, count) => {
                    let address = card.upload(&vec![0; format.bytes() * count]);
                    result = Some((address, *format, *count));
                    address
                }
                Arg::U64(value) => *value,
                Arg::U32(value) => {
                    kernarg.extend(value.to_le_bytes());
                    continue;
                }
            };
            kernarg.resize(kernarg.len().next_multiple_of(8), 0);
            kernarg.extend(word.to_le_bytes());
        }
        let launch = Launch { work: self, kernarg };
        launch.run(card);
        if let (Some((compute, allowed)), Some((address, format, count))) = (&self.host, result) {
            let numbers = format.read(&card.download(address, format.bytes() * count));
            for (i, (got, want)) in numbers.iter().zip(compute()).enumerate() {
                let off = (got - want).abs();
                assert!(off <= *allowed, "{}: element {i} is {got}, not {want}", self.name);
            }
        }
        launch
    }
}

impl Launch<'_> {
    /// Launches once.
    pub(crate) fn run(&self, card: &Card) -> LaunchStats {
        self.run_with(card, Compiling::Auto)
    }

    /// Launches once, compiled or not.
    pub(crate) fn run_with(&self, card: &Card, compiling: Compiling) -> LaunchStats {
        let work = self.work;
        let [x, y] = match work.block {
            Block::Threads(threads) => threads,
            Block::Waves(waves) => [waves * card.lanes() as u32, 1],
        };
        let [columns, rows] = work.grid;
        card.launch(
            &work.kernel,
            [columns, rows, 1],
            [x, y, 1],
            &self.kernarg,
            compiling,
        )
    }
}

/// All rows: kernels first, then classes of instructions.
pub(crate) fn all() -> Vec<Workload> {
    let mut rows = kernels();
    rows.extend(CLASSES.iter().map(|name| class(name)));
    rows
}

/// Classes of instructions: each is a kernel `class_<name>` of kernels.hip, a loop over one kind of instruction.
const CLASSES: [&str; 14] = [
    "f32_add",
    "f32_fma",
    "f64_fma",
    "f16x2_fma",
    "i32_add",
    "i32_mul",
    "i64_shift",
    "compare",
    "masked",
    "exp",
    "lds",
    "global",
    "shuffle",
    "scalar",
];

fn class(name: &'static str) -> Workload {
    Workload {
        name,
        reference: None,
        kernel: format!("class_{name}"),
        grid: [64, 1],
        block: Block::Threads([256, 1]),
        args: vec![Arg::Out(Format::F32, 64 * 256), Arg::U32(20)],
        host: None,
    }
}

fn kernels() -> Vec<Workload> {
    const N: usize = 1 << 18;
    let floats = |seed| host::floats(seed, N);
    let (x, y) = (floats(1), floats(2));
    let flat = || vec![Arg::U64(N as u64), Arg::U64(1), Arg::Null];
    let element = |name, reference, kernel: &str, args, host| Workload {
        name,
        reference: Some(reference),
        kernel: kernel.into(),
        grid: [(N / 256) as u32, 1],
        block: Block::Threads([256, 1]),
        args,
        host: Some(host),
    };
    let mut exp = flat();
    exp.extend([Arg::Floats(Format::F32, x.clone()), Arg::Out(Format::F32, N)]);
    let mut add = flat();
    add.extend([
        Arg::Floats(Format::F32, x.clone()),
        Arg::Floats(Format::F32, y.clone()),
        Arg::Out(Format::F32, N),
    ]);
    // Sizes, the strides of a transposed operand, the strides of a plain one, and what the kernel divides by the sizes with: the upper
    // half of a word is a shift.
    let strided = vec![
        Arg::U64(N as u64),
        Arg::U64(3),
        Arg::Table(vec![
            32,
            64,
            128,
            64,
            1,
            2048,
            64 * 128,
            128,
            1,
            5 << 32,
            6 << 32,
            7 << 32,
        ]),
        Arg::Floats(Format::F32, x.clone()),
        Arg::Floats(Format::F32, y.clone()),
        Arg::Out(Format::F32, N),
    ];
    let (xs, ys) = (x.clone(), y.clone());
    let (xt, yt) = (x.clone(), y.clone());
    let xe = x.clone();
    let mut rows = vec![
        element(
            "exp f32",
            93.0,
            "uexp_f32",
            exp,
            (Box::new(move || host::exp(&xe)), 1e-6),
        ),
        element(
            "add f32",
            136.0,
            "badd_f32",
            add,
            (Box::new(move || host::add(&xs, &ys)), 0.0),
        ),
        element(
            "add f32 strided",
            160.0,
            "badd_f32",
            strided,
            (Box::new(move || host::add_transposed(&xt, &yt)), 0.0),
        ),
    ];
    rows.push(softmax(x.clone()));
    rows.extend(products(&x, &y));
    rows.extend(
        [
            ("gemm f32", "gemm_f32", Format::F32, 1e-3),
            ("gemm f16", "gemm_f16", Format::F16, 0.02),
            ("gemm bf16", "gemm_bf16", Format::Bf16, 0.2),
        ]
        .map(|(name, kernel, format, allowed)| product(name, kernel, format, allowed, [&x, &y])),
    );
    rows.push(quantized(&y));
    rows
}

fn softmax(x: Vec<f32>) -> Workload {
    const COLS: usize = 1024;
    Workload {
        name: "softmax f32",
        reference: Some(73.0),
        kernel: "softmax_f32".into(),
        grid: [(x.len() / COLS) as u32, 1],
        block: Block::Threads([256, 1]),
        args: vec![
            Arg::Floats(Format::F32, x.clone()),
            Arg::Out(Format::F32, x.len()),
            Arg::U32(COLS as u32),
        ],
        host: Some((Box::new(move || host::softmax(&x, COLS)), 1e-6)),
    }
}

/// The two textbook matrix products the reference was measured on: 256 x 256 x 256.
fn products(x: &[f32], y: &[f32]) -> Vec<Workload> {
    const SIDE: usize = 256;
    let rows = [
        ("gemm f32 tiled", 56.0, "gemm_tiled", (SIDE / 16).pow(2)),
        ("gemm f32 4x4", 43.0, "gemm_4x4", (SIDE / 64).pow(2)),
    ];
    let row = |(name, reference, kernel, groups): (_, _, &str, usize)| {
        let [a, b] = [x, y].map(|values| values[..SIDE * SIDE].to_vec());
        Workload {
            name,
            reference: Some(reference),
            kernel: kernel.into(),
            grid: [groups as u32, 1],
            block: Block::Threads([16, 16]),
            args: vec![
                Arg::Floats(Format::F32, a.clone()),
                Arg::Floats(Format::F32, b.clone()),
                Arg::Out(Format::F32, SIDE * SIDE),
                Arg::U32(SIDE as u32),
            ],
            host: Some((Box::new(move || host::gemm(&a, &b, SIDE)), 1e-3)),
        }
    };
    rows.map(row).into()
}

/// The backend's matrix product, 256 x 256 x 256, by the matrix instructions that a card has for the format.
fn product(name: &'static str, kernel: &str, format: Format, allowed: f32, factors: [&[f32]; 2]) -> Workload {
    const SIDE: usize = 256;
    const TILE: usize = 64;
    // As they are after they were rounded.
    let [a, b] = factors.map(|values| format.read(&format.write(&values[..SIDE * SIDE])));
    // Of one matrix each: no table of a batch, then rows and columns so far apart.
    let operand = |values: &[f32]| {
        let one = [Arg::U64(0), Arg::Null, Arg::Floats(format, values.to_vec())];
        one.into_iter().chain([Arg::U64(SIDE as u64), Arg::U64(1)])
    };
    let sizes = [SIDE, SIDE, SIDE, 1].map(|size| Arg::U64(size as u64));
    let args = sizes.into_iter().chain(operand(&a)).chain(operand(&b));
    Workload {
        name,
        reference: None,
        kernel: kernel.into(),
        grid: [(SIDE / TILE) as u32; 2],
        block: Block::Waves(4),
        args: args.chain([Arg::Out(format, SIDE * SIDE)]).collect(),
        host: Some((Box::new(move || host::gemm(&a, &b, SIDE)), allowed)),
    }
}

fn quantized(y: &[f32]) -> Workload {
    const ROWS: usize = 1024;
    const COLS: usize = 2048;
    let weights = host::q4_0_weights(ROWS * COLS / 32);
    let y = y[..COLS].to_vec();
    Workload {
        name: "q4_0 mat-vec",
        reference: Some(58.0),
        kernel: "dequantize_mul_mat_vec_q4_0_cuda".into(),
        grid: [ROWS as u32, 1],
        block: Block::Threads([32, 1]),
        args: vec![
            Arg::Bytes(weights.clone()),
            Arg::Floats(Format::F32, y.clone()),
            Arg::Out(Format::F32, ROWS),
            Arg::U32(COLS as u32),
            Arg::U32(ROWS as u32),
        ],
        host: Some((Box::new(move || host::q4_0_mat_vec(&weights, &y)), 1e-3)),
    }
}
