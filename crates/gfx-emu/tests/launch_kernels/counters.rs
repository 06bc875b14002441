//! What launches count: numbers that a person finds by hand, of kernels as they should be and of slow ones.

use gfx_emu::{Counters, LaunchOptions, LaunchStats, Limit, Resources};

use crate::support::{Arg, Arg::*, Device, on_each_target};

const COUNTING: LaunchOptions = LaunchOptions {
    max_wave_instructions: 1_000_000,
    max_time: None,
    sanitize: false,
    lds_as_card: false,
    cover: false,
    count: true,
    flip: None,
    compiling: gfx_emu::Compiling::Auto,
};

/// 64 work-items of one workgroup that read neighbours, or a place of another line each.
const COPIES: &str = "
KERNEL rows(const unsigned* in, unsigned* out) { out[tid(0)] = in[tid(0)]; }
KERNEL strided(const unsigned* in, unsigned* out) { out[tid(0)] = in[64 * tid(0)]; }
KERNEL loop(const unsigned* in, unsigned* out) {
  unsigned sum = 0;
  for (unsigned i = 0; i < 4; ++i) sum += in[64 * tid(0) + i];
  out[tid(0)] = sum;
}
";

/// A column of a tile in LDS, of rows of 32 words or of 33.
const TILES: &str = "
template <unsigned PITCH> DEVICE void column(unsigned* out) {
  SHARED unsigned tile[32 * PITCH];
  tile[PITCH * tid(0)] = tid(0);
  barrier();
  out[tid(0)] = tile[PITCH * (31 - tid(0))];
}
KERNEL conflicts(unsigned* out) { column<32>(out); }
KERNEL padded(unsigned* out) { column<33>(out); }
";

fn counted(device: &Device, kernel: &str, items: u32, args: &[Arg]) -> LaunchStats {
    device
        .launch_with(kernel, [1; 3], [items, 1, 1], 0, args, &COUNTING)
        .unwrap()
}

fn counters(device: &Device, kernel: &str, items: u32, args: &[Arg]) -> Counters {
    counted(device, kernel, items, args).counters.unwrap()
}

/// Every instruction counts as one of its unit.
fn instructions(counters: &Counters) -> u64 {
    let memory = [
        counters.smem,
        counters.vmem_load,
        counters.vmem_store,
        counters.vmem_atomic,
        counters.lds,
    ];
    let vector = [
        counters.valu,
        counters.transcendental,
        counters.multiply,
        counters.double,
        counters.matrix,
    ];
    let scalar = [counters.salu, counters.branch, counters.wait, counters.barrier];
    memory.iter().chain(&vector).chain(&scalar).sum()
}

#[test]
fn an_uncoalesced_load_touches_a_line_for_each_lane() {
    let mut device = Device::new("count_copies", COPIES);
    let (words, out) = (device.upload(&[7; 64 * 64 + 4]), device.upload(&[0; 64]));
    let args = [Ptr(words), Ptr(out)];
    let of = |kernel: &str| counters(&device, kernel, 64, &args);
    let [rows, strided, looped] = ["rows", "strided", "loop"].map(of);
    for counters in [rows, strided, looped] {
        assert_eq!(
            [counters.workgroups, counters.waves, counters.work_items],
            [1, 2, 64]
        );
        assert_eq!([counters.vmem_store, counters.vmem_atomic], [2, 0]);
        assert_eq!(counters.active_lanes, counters.lane_slots, "all lanes are active");
    }
    // Two waves of 32 lanes: 128 bytes, which are a line, for each load and each store.
    assert_eq!([rows.vmem_load, rows.lines], [2, 4]);
    assert_eq!([rows.group_lines, rows.launch_lines], [4, 4]);
    assert_eq!([rows.lane_bytes, rows.useful_bytes], [512, 512]);
    // Elements 64 words apart: 64 lines of 128 bytes for 256 bytes, and the two of the stores.
    assert_eq!([strided.vmem_load, strided.lines], [2, 64 + 2]);
    assert_eq!([strided.group_lines, strided.launch_lines], [66, 66]);
    assert_eq!([strided.lane_bytes, strided.useful_bytes], [512, 512]);
    // One load of four words a lane, in the place of four: the same lines.
    assert_eq!([looped.vmem_load, looped.lines], [2, 66]);
    assert_eq!([looped.lane_bytes, looped.useful_bytes], [1024 + 256; 2]);
}

#[test]
fn a_stride_of_32_words_puts_all_lanes_on_one_bank() {
    let mut device = Device::new("count_tiles", TILES);
    let out = device.upload(&[0; 32]);
    let of = |kernel: &str| counters(&device, kernel, 32, &[Ptr(out)]);
    let [conflicts, padded] = ["conflicts", "padded"].map(of);
    for counters in [conflicts, padded] {
        assert_eq!([counters.lds, counters.lds_bytes], [2, 256]);
    }
    // A store and a load, of 32 lanes on one bank: 32 clocks each, 31 of them for nothing.
    assert_eq!([conflicts.lds_cycles, conflicts.lds_conflicts], [64, 62]);
    assert_eq!([padded.lds_cycles, padded.lds_conflicts], [2, 0]);
    let reversed: Vec<u32> = (0..32).rev().collect();
    assert_eq!(device.download(out, 32), reversed);
}

/// Arithmetic of every unit, in half of the lanes of each wave.
const UNITS: &str = "KERNEL units(float* out, unsigned n) {
  unsigned i = tid(0);
  if (i % 2) {
    double x = 1.0 + i;
    for (unsigned k = 0; k < 3; ++k) x = x * x + 1.0;
    out[i] = __builtin_amdgcn_rcpf(float(x)) + float(__builtin_amdgcn_mbcnt_lo(~0u, i * n));
  }
  barrier();
}";

fn every_instruction_is_of_one_unit(target: &str) {
    let mut device = Device::on(target, "count_units", UNITS);
    let out = device.upload(&[0; 128]);
    let stats = counted(&device, "units", 128, &[Ptr(out), U32(3)]);
    let counters = stats.counters.unwrap();
    let waves = 128 / device.lanes();
    assert_eq!(instructions(&counters), stats.instructions);
    assert_eq!([counters.waves, stats.waves], [waves; 2]);
    assert_eq!(counters.transcendental, waves, "a reciprocal in each wave");
    assert_eq!(counters.multiply, waves, "a product of integers in each wave");
    assert!(counters.double >= 4 * waves, "{counters:?}");
    assert_eq!(counters.vmem_store, waves);
    assert_eq!(counters.lane_bytes, 64 * 4, "the odd ones alone");
    // A barrier of a workgroup with one wave may be left out. RDNA4's has two halves.
    let halves = if target.starts_with("gfx12") { 2 } else { 1 };
    assert!(counters.barrier <= halves * waves && counters.wait > 0 && counters.smem > 0);
    assert!(
        counters.active_lanes < counters.lane_slots,
        "half of the lanes were off for a while"
    );
}

fn counting_changes_no_result_and_no_number_of_threads_changes_a_count(target: &'static str) {
    let source = "KERNEL mixed(unsigned* out, unsigned* sum) {
        SHARED unsigned tile[64];
        unsigned i = bid(0) * 64 + tid(0);
        tile[tid(0)] = i * i;
        barrier();
        out[i] = tile[63 - tid(0)];
        __hip_atomic_fetch_add(sum, i, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }";
    let run = |threads: usize, options: LaunchOptions| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let mut device = Device::on(target, &format!("count_threads_{threads}"), source);
            let (out, sum) = (device.upload(&[0; 64 * 37]), device.upload(&[0]));
            let args = [Ptr(out), Ptr(sum)];
            let stats = device
                .launch_with("mixed", [37, 1, 1], [64, 1, 1], 0, &args, &options)
                .unwrap();
            (device.download(out, 64 * 37), device.download(sum, 1), stats)
        })
    };
    let (out, sum, stats) = run(1, COUNTING);
    assert_eq!(stats.counters.unwrap().workgroups, 37);
    let many = run(5, COUNTING);
    assert_eq!((&many.0, &many.1, many.2), (&out, &sum, stats));
    let plain = run(3, LaunchOptions::default());
    assert_eq!((&plain.0, &plain.1), (&out, &sum));
    assert_eq!(plain.2.counters, None, "nobody asked");
    assert_eq!(plain.2.instructions, stats.instructions);
}

fn resources(target: &str, source: &str, block: u32) -> Resources {
    let device = Device::on(target, &format!("count_resources_{block}"), source);
    let kernel = device.code.kernels().next().unwrap();
    Resources::of(device.code.target(), kernel, [block, 1, 1], 0).unwrap()
}

#[test]
fn waves_of_a_simd_follow_from_registers_and_lds() {
    const SMALL: &str = "KERNEL small(unsigned* out) { out[tid(0)] = 1; }";
    let small = resources("gfx1100", SMALL, 256);
    assert_eq!((small.occupancy, small.limit), (16, Limit::Waves));
    assert_eq!((small.lanes, small.lds, small.scratch), (32, 0, 0));
    let small = resources("gfx942", SMALL, 256);
    assert_eq!((small.lanes, small.occupancy, small.limit), (64, 8, Limit::Waves));
    // 32 KB: two workgroups of four waves on the four SIMDs of a compute unit of CDNA, four of eight waves on those of a
    // work-group processor of RDNA.
    const SHARES: &str = "KERNEL shares(unsigned* out) {
        SHARED unsigned tile[8192];
        tile[tid(0)] = out[tid(0)];
        barrier();
        out[tid(0)] = tile[out[tid(0)] % 8192];
    }";
    let shares = resources("gfx942", SHARES, 256);
    assert_eq!(
        (shares.lds, shares.occupancy, shares.limit),
        (32768, 2, Limit::Lds)
    );
    let shares = resources("gfx1100", SHARES, 256);
    assert_eq!(
        (shares.lds, shares.occupancy, shares.limit),
        (32768, 8, Limit::Lds)
    );
    // Many registers: 512 of a SIMD of CDNA, by blocks of 8.
    const MANY: &str =
        "KERNEL __attribute__((amdgpu_flat_work_group_size(1, 64))) many(const float* in, float* out) {
        float x[192];
        for (int i = 0; i < 192; ++i) x[i] = in[i * 64 + tid(0)];
        barrier();
        for (int i = 0; i < 192; ++i) out[i * 64 + tid(0)] = x[191 - i];
    }";
    let many = resources("gfx90a", MANY, 64);
    assert!(many.vgprs > 171, "{many:?}");
    assert_eq!(
        (many.occupancy, many.limit),
        (512 / many.vgprs.next_multiple_of(8), Limit::Vgprs)
    );
    // 1024 of one of RDNA2 in waves of 32 lanes, by blocks of 16, where RDNA3 has half as many again.
    let many = resources("gfx1030", MANY, 64);
    assert!(many.vgprs > 171 && many.lanes == 32, "{many:?}");
    assert_eq!(
        (many.occupancy, many.limit),
        (1024 / many.vgprs.next_multiple_of(16), Limit::Vgprs)
    );
}

on_each_target! {
    every_instruction_is_of_one_unit
    counting_changes_no_result_and_no_number_of_threads_changes_a_count
}
