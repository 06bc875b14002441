//! The kernels by which AMD's runtime copies and fills, which the host serves. The kernels of these names here leave a mark
//! instead: whoever finds it knows that the kernel was executed.

use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::SeqCst};

use crate::compile::compile;
use crate::library::{KERNEL_OBJECT, Queue, System, call, dwords, load, qword, signal, symbol, system, wait};

const SOURCE: &str = r#"
typedef unsigned char u8;
typedef unsigned u32;
typedef unsigned long long u64;
struct Box { u64 x, y, z, w; };
#define MARK(at) *(volatile u32*)(at) = 0xdead0000 + bdim(0)
#if LATER
#define MORE , u32 workgroup
#else
#define MORE
#endif
KERNEL __amd_rocclr_copyBuffer(u8* from, u8* to, u64 size, u32 rest, u32 element, u64 end, u32 next MORE) { MARK(to); }
KERNEL __amd_rocclr_fillBufferAligned(void* to, u8* pattern, u32 length, u32 element, u64 end, u32 next MORE) { MARK(to); }
KERNEL __amd_rocclr_fillBufferAligned2D(u8* a, u8* b, u8* c, u8* d, u8* pattern, u32 length, u64 first, u64 x, u64 y, u64 pitch) {
    MARK(c);
}
KERNEL __amd_rocclr_copyBufferRect(u8* from, u8* to, Box a, Box b, Box size) { MARK(to); }
KERNEL __amd_rocclr_copyBufferRectAligned(u8* from, u8* to, Box a, Box b) { MARK(to); }
"#;

/// As of HIP 6.4, and of 7.2.
static OBJECTS: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    ["-DLATER=0", "-DLATER=1"]
        .map(|flag| compile(&format!("hsa-soft-blits{flag}"), "gfx1100", SOURCE, &[flag]))
});
const MARK: u32 = 0xdead_0000 + BLOCK;
const BLOCK: u32 = 64;
/// Bytes of a buffer.
const BYTES: usize = 4096;

static TOLD: AtomicU32 = AtomicU32::new(0);

/// An argument.
#[derive(Clone, Copy)]
enum Argument {
    Half(u32),
    Wide(u64),
    Box([u64; 4]),
}
use Argument::{Box, Half, Wide};

/// A version of the runtime, what is copied where, how many bytes, and arguments that are others.
type Case<'a> = (usize, (u64, u64), u64, &'a [(usize, Argument)]);

struct Setup {
    system: System,
    queue: Queue,
    executables: [u64; 2],
    source: u64,
    target: u64,
}

fn setup() -> Setup {
    let system = system();
    let setup = Setup {
        system,
        queue: system.queue(&TOLD),
        executables: [0, 1].map(|version: usize| load(&system, &OBJECTS[version]).unwrap()),
        source: system.allocate(system.fine, BYTES),
        target: system.allocate(system.fine, BYTES),
    };
    setup.reset();
    setup
}

impl Setup {
    /// The source counts, the target is zero.
    fn reset(&self) {
        (0..)
            .zip(dwords(self.source, BYTES / 4))
            .for_each(|(i, word)| word.store(0x0101_0307_u32.wrapping_mul(i), SeqCst));
        dwords(self.target, BYTES / 4)
            .iter()
            .for_each(|word| word.store(0, SeqCst));
    }

    fn bytes(&self, address: u64) -> Vec<u8> {
        dwords(address, BYTES / 4)
            .iter()
            .flat_map(|word| word.load(SeqCst).to_le_bytes())
            .collect()
    }

    fn was_executed(&self) -> bool {
        let words = dwords(self.target, BYTES / 4);
        words.iter().any(|word| word.load(SeqCst) == MARK)
    }

    /// Launches a kernel of a version of the runtime. The first work-item of the grid has the number `first`.
    fn launch(&self, version: usize, kernel: &str, items: [u32; 3], first: u64, arguments: &[Argument]) {
        let place = self.system.allocate(self.system.fine, 4096);
        let mut at = place;
        for argument in arguments {
            match argument {
                Half(value) => {
                    dwords(at, 1)[0].store(*value, SeqCst);
                    at += 4;
                }
                Wide(value) => {
                    at = at.next_multiple_of(8);
                    qword(at).store(*value, SeqCst);
                    at += 8;
                }
                Box(values) => {
                    values
                        .iter()
                        .enumerate()
                        .for_each(|(i, value)| qword(at + 8 * i as u64).store(*value, SeqCst));
                    at += 32;
                }
            }
        }
        let hidden = at.next_multiple_of(8);
        let rows = [items[0] / BLOCK, items[1], items[2]];
        (0..)
            .zip(rows)
            .for_each(|(dim, count)| dwords(hidden + 4 * dim, 1)[0].store(count, SeqCst));
        dwords(hidden + 12, 2)[0].store(BLOCK | 1 << 16, SeqCst);
        dwords(hidden + 12, 2)[1].store(1, SeqCst);
        qword(hidden + 40).store(first, SeqCst);
        let kernel = symbol(
            self.executables[version],
            &format!("__amd_rocclr_{kernel}.kd"),
            KERNEL_OBJECT,
        );
        let dimensions = if items[1..] == [1, 1] { 1 } else { 3 };
        let done = signal(1);
        let mut rest = [0; 15];
        rest[0..2].copy_from_slice(&[BLOCK | 1 << 16, 1]);
        rest[2..5].copy_from_slice(&items);
        for (at, value) in [(7, kernel), (9, place), (13, done)] {
            rest[at..at + 2].copy_from_slice(&[value as u32, (value >> 32) as u32]);
        }
        self.queue.push(2 | dimensions << 16, &rest);
        assert_eq!(wait(done, 20_000), 0);
        assert_eq!(TOLD.load(SeqCst), 0);
    }

    /// A copy as AMD's runtime launches it, with what is changed of it.
    fn copy(
        &self,
        version: usize,
        (from, to): (u64, u64),
        size: u64,
        element: u64,
        changed: &[(usize, Argument)],
    ) {
        let rest = size % element;
        let end = to + size - rest;
        let mut arguments = vec![
            Wide(from),
            Wide(to),
            Wide(size),
            Half(rest as u32),
            Half(element as u32),
            Wide(end),
            Half(2 * BLOCK),
        ];
        arguments.extend((version == 1).then_some(Half(BLOCK)));
        changed
            .iter()
            .for_each(|(index, value)| arguments[*index] = *value);
        self.launch(version, "copyBuffer", [2 * BLOCK, 1, 1], 0, &arguments);
    }
}

/// Numbers below a limit, the same in each run.
fn random(limit: u64) -> u64 {
    static STATE: AtomicU64 = AtomicU64::new(1);
    let next = |state: u64| {
        state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407)
    };
    let old = STATE
        .fetch_update(SeqCst, SeqCst, |state| Some(next(state)))
        .unwrap();
    (old >> 33) % limit
}

#[test]
fn copies_are_served_of_any_size_and_at_any_byte() {
    let setup = setup();
    for round in 0..60 {
        setup.reset();
        let element = [4, 16][round % 2];
        let (from, to, size) = (random(1000), random(1000), random(3000));
        setup.copy(
            round / 2 % 2,
            (setup.source + from, setup.target + to),
            size,
            element,
            &[],
        );
        let mut expected = vec![0; BYTES];
        let (from, to, size) = (from as usize, to as usize, size as usize);
        expected[to..to + size].copy_from_slice(&setup.bytes(setup.source)[from..from + size]);
        assert_eq!(setup.bytes(setup.target), expected, "{from} {to} {size}");
    }
}

#[test]
fn fills_are_served_with_patterns_of_any_element() {
    let setup = setup();
    let pattern = setup.system.allocate(setup.system.fine, 256);
    dwords(pattern, 12)
        .iter()
        .enumerate()
        .for_each(|(i, word)| word.store(0x0403_0201 + 0x0404_0404_u32.wrapping_mul(i as u32), SeqCst));
    for round in 0..60 {
        setup.reset();
        let (element, version) = ([1, 2, 4, 8, 16][round % 5], round / 5 % 2);
        let (length, to) = (1 + random(3), element * random(20));
        let count = random(1000) / (length * element);
        let end = setup.target + to + count * length * element;
        let mut arguments = vec![
            Wide(setup.target + to),
            Wide(pattern),
            Half(length as u32),
            Half(element as u32),
            Wide(end),
            Half(2 * BLOCK * length as u32),
        ];
        arguments.extend((version == 1).then_some(Half(BLOCK)));
        setup.launch(version, "fillBufferAligned", [2 * BLOCK, 1, 1], 0, &arguments);
        let mut expected = vec![0; BYTES];
        let bytes = (length * element) as usize;
        for (i, byte) in expected[to as usize..]
            .iter_mut()
            .take(count as usize * bytes)
            .enumerate()
        {
            *byte = 1 + (i % bytes) as u8;
        }
        assert_eq!(
            setup.bytes(setup.target),
            expected,
            "{element} {length} {to} {count}"
        );
    }
}

#[test]
fn lines_and_boxes_are_served() {
    let setup = setup();
    let pattern = setup.system.allocate(setup.system.fine, 256);
    dwords(pattern, 1)[0].store(0x4433_2211, SeqCst);
    let of_words = [Wide(0), Wide(0), Wide(setup.target), Wide(0), Wide(pattern)];
    let lines = [Half(1), Wide(5), Wide(10), Wide(7), Wide(13)];
    setup.launch(
        1,
        "fillBufferAligned2D",
        [BLOCK, 8, 1],
        0,
        &[of_words.as_slice(), &lines].concat(),
    );
    let mut expected = vec![0_u32; BYTES / 4];
    (0..7).for_each(|line| expected[5 + 13 * line..][..10].fill(0x4433_2211));
    let got: Vec<u32> = dwords(setup.target, BYTES / 4)
        .iter()
        .map(|word| word.load(SeqCst))
        .collect();
    assert_eq!(got, expected);

    setup.reset();
    let (from, to) = (Box([50, 400, 3, 0]), Box([41, 1000, 17, 0]));
    let boxes = [
        Wide(setup.source),
        Wide(setup.target),
        from,
        to,
        Box([40, 5, 3, 0]),
    ];
    setup.launch(0, "copyBufferRect", [BLOCK, 8, 4], 0, &boxes);
    let (source, mut expected) = (setup.bytes(setup.source), vec![0; BYTES]);
    for (z, y) in (0..15).map(|line| (line / 5, line % 5)) {
        expected[17 + 41 * y + 1000 * z..][..40].copy_from_slice(&source[3 + 50 * y + 400 * z..][..40]);
    }
    assert_eq!(setup.bytes(setup.target), expected);
}

#[test]
fn what_is_not_known_for_certain_is_executed() {
    let setup = setup();
    let (source, target) = (setup.source, setup.target);
    // Past the end of the source, of the target; a grid with gaps; another workgroup; more at the end than all; ranges that overlap.
    let (far, gaps) = ((source + BYTES as u64 - 16, target), (6, Half(2 * BLOCK + 1)));
    let cases: [Case<'_>; 7] = [
        (0, far, 8192, &[]),
        (0, (source, target), 3 << 16, &[]),
        (1, (source, target), 64, &[gaps]),
        (1, (source, target), 64, &[(6, Half(0))]),
        (1, (source, target), 64, &[(7, Half(BLOCK / 2))]),
        (0, (source, target), 64, &[(3, Half(65))]),
        (0, (target + 32, target), 64, &[]),
    ];
    for (index, (version, ranges, size, changed)) in cases.into_iter().enumerate() {
        setup.reset();
        setup.copy(version, ranges, size, 16, changed);
        assert!(setup.was_executed(), "{index}");
    }
    // Work-items that count from another number.
    setup.reset();
    let arguments = [
        Wide(source),
        Wide(target),
        Wide(64),
        Half(0),
        Half(16),
        Wide(target + 64),
        Half(BLOCK),
    ];
    setup.launch(0, "copyBuffer", [BLOCK, 1, 1], 1, &arguments);
    assert!(setup.was_executed());
    // Arguments that are not those of the runtime's kernel.
    setup.reset();
    let boxes = [Wide(source), Wide(target), Box([1; 4]), Box([1; 4])];
    setup.launch(0, "copyBufferRectAligned", [BLOCK, 1, 1], 0, &boxes);
    assert!(setup.was_executed());
}

/// Run by the test below, in a process of its own.
#[test]
#[ignore = "it is the child of another test"]
fn child_with_a_copy() {
    let setup = setup();
    setup.copy(0, (setup.source, setup.target), 64, 16, &[]);
    let expected = std::env::var_os("ROCM_SANITIZE").is_some();
    assert_eq!(setup.was_executed(), expected);
    assert_eq!(call!(hsa_shut_down()), 0);
}

#[test]
fn the_sanitizer_has_the_kernel_executed_and_the_report_counts_it() {
    for sanitize in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child
            .args(["--ignored", "--exact", "blits::child_with_a_copy", "--nocapture"])
            .env_remove("ROCM_SANITIZE")
            .env("ROCM_SOFT_REPORT", folder.path());
        if sanitize {
            child.env("ROCM_SANITIZE", "1");
        }
        assert!(child.output().unwrap().status.success(), "{sanitize}");
        let file = std::fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap();
        let report = std::fs::read_to_string(file.path()).unwrap();
        assert!(
            report.contains("\"launches\":1") && report.contains("__amd_rocclr_copyBuffer"),
            "{report}"
        );
        assert_eq!(report.contains("\"instructions\":0,"), !sanitize, "{report}");
    }
}
