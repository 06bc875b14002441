//! Kernels of gfx1250, which clang 19 does not know: machine code of a newer clang, stored with its text.

use gfx_emu::{BARE_KERNEL, CodeObject, Dispatch, LaunchOptions, Memory, Target, launch};

/// The machine code of a kernel in the file.
fn code(kernel: &str) -> Vec<u8> {
    let text = include_str!("gfx1250.txt");
    let lines = text
        .lines()
        .skip_while(|line| !line.starts_with(&format!("# {kernel}:")));
    let lines = lines.skip(1).take_while(|line| !line.starts_with('#'));
    let hex = lines.map(|line| line.split(' ').next().unwrap());
    let bytes = hex.flat_map(|hex| {
        (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
    });
    bytes.collect()
}

/// Launches a kernel whose arguments are these words, then what the compiler asks for beside them: workgroups and their size.
fn run(memory: &mut Memory, kernel: &str, groups: u32, items: u32, lds: u32, arguments: &[u32]) {
    let hidden = [groups, 1, 1, items | 1 << 16, 1];
    let words = [arguments, &hidden].concat();
    let kernarg: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    // Two user SGPRs, the workgroup's id in x, LDS.
    let rsrc2 = 2 << 1 | 1 << 7 | lds.div_ceil(512) << 15;
    let code = CodeObject::bare(Target::Gfx1250, &code(kernel), rsrc2, 0, kernarg.len() as u32).unwrap();
    let dispatch = Dispatch {
        kernel: code.kernel(BARE_KERNEL).unwrap(),
        placement: code.place(memory).unwrap(),
        grid: [groups, 1, 1],
        block: [items, 1, 1],
        dynamic_lds: lds,
        kernarg: &kernarg,
    };
    launch(&code, &dispatch, memory, &LaunchOptions::default()).unwrap();
}

fn upload(memory: &mut Memory, values: &[f32]) -> u64 {
    let address = memory.alloc(4 * values.len() as u64).unwrap();
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    memory.write(address, &bytes).unwrap();
    address
}

fn download(memory: &Memory, address: u64, len: usize) -> Vec<f32> {
    let mut bytes = vec![0; 4 * len];
    memory.read(address, &mut bytes).unwrap();
    bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|bytes| f32::from_le_bytes(*bytes))
        .collect()
}

fn halves(address: u64) -> [u32; 2] {
    [address as u32, (address >> 32) as u32]
}

#[test]
fn saxpy() {
    let mut memory = Memory::new(1 << 20);
    let x: Vec<f32> = (0..100).map(|i| i as f32).collect();
    let (x, y) = (upload(&mut memory, &x), upload(&mut memory, &[1.0; 100]));
    let [[x0, x1], [y0, y1]] = [x, y].map(halves);
    run(
        &mut memory,
        "saxpy",
        3,
        40,
        0,
        &[2_f32.to_bits(), 0, x0, x1, y0, y1, 90, 0],
    );
    let want: Vec<f32> = (0..100)
        .map(|i| if i < 90 { 2.0 * i as f32 + 1.0 } else { 1.0 })
        .collect();
    assert_eq!(download(&memory, y, 100), want);
}

#[test]
fn a_reduction_over_lds() {
    let mut memory = Memory::new(1 << 20);
    let x: Vec<f32> = (0..512).map(|i| i as f32).collect();
    let (x, out) = (upload(&mut memory, &x), upload(&mut memory, &[0.0; 2]));
    let [[x0, x1], [out0, out1]] = [x, out].map(halves);
    run(&mut memory, "reduce", 2, 256, 1024, &[x0, x1, out0, out1, 500, 0]);
    assert_eq!(
        download(&memory, out, 2),
        [32640.0, (256..500).sum::<i32>() as f32]
    );
}
