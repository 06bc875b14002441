//! Whole launches of compiled kernels: grids, barriers, constants, hidden arguments, and that threads change
//! nothing.

use crate::support::Arg::{Ptr, U32};
use crate::support::{Device, on_each_target};
use gfx_emu::LaunchStats;

on_each_target! {
    a_vector_add_fills_its_tail_and_nothing_behind_it
    every_work_item_of_a_grid_sees_its_own_ids_and_the_sizes
    waves_exchange_data_through_lds_at_a_barrier
    a_wave_that_ended_does_not_hold_up_a_barrier
    dynamic_lds_lies_behind_the_static_one
    constants_are_read_relative_to_the_program_counter
    private_arrays_belong_to_one_work_item
    atomics_of_all_workgroups_add_up
    one_thread_and_many_give_the_same_memory_and_the_same_counts
    many_launches_at_the_same_time_do_not_mix_up_their_arguments
}

fn a_vector_add_fills_its_tail_and_nothing_behind_it(target: &'static str) {
    let source = r#"KERNEL vadd(const float* a, const float* b, float* c, unsigned n) {
        unsigned i = bid(0) * bdim(0) + tid(0);
        if (i < n) c[i] = a[i] + b[i];
    }"#;
    let mut device = Device::on(target, "run_vadd", source);
    for n in [1, 31, 32, 33, 255, 256, 257, 1000_usize] {
        let a: Vec<u32> = (0..n).map(|i| (i as f32).to_bits()).collect();
        let b: Vec<u32> = (0..n).map(|i| (0.5 - 3.0 * i as f32).to_bits()).collect();
        let (a, b, c) = (
            device.upload(&a),
            device.upload(&b),
            device.upload(&vec![7; n + 1]),
        );
        let groups = n.div_ceil(256) as u32;
        let args = [Ptr(a), Ptr(b), Ptr(c), U32(n as u32)];
        let stats = device.launch("vadd", [groups, 1, 1], [256, 1, 1], &args).unwrap();
        assert_eq!(stats.waves, u64::from(groups) * 256 / device.lanes());
        let mut want: Vec<u32> = (0..n).map(|i| (0.5 - 2.0 * i as f32).to_bits()).collect();
        want.push(7);
        assert_eq!(device.download(c, n + 1), want, "{n}");
    }
}

/// Every work-item stores its ids and the sizes it sees.
const IDS: &str = r#"KERNEL ids(unsigned* out) {
    unsigned x = bid(0) * bdim(0) + tid(0), y = bid(1) * bdim(1) + tid(1), z = bid(2) * bdim(2) + tid(2);
    unsigned i = (z * gsize(1) + y) * gsize(0) + x;
    unsigned* o = out + 4 * i;
    o[0] = tid(0) | tid(1) << 8 | tid(2) << 16;
    o[1] = bid(0) | bid(1) << 8 | bid(2) << 16;
    o[2] = bdim(0) | bdim(1) << 8 | bdim(2) << 16;
    o[3] = gsize(0) | gsize(1) << 8 | gsize(2) << 16;
}"#;

fn every_work_item_of_a_grid_sees_its_own_ids_and_the_sizes(target: &'static str) {
    let mut device = Device::on(target, "run_ids", IDS);
    for (grid, block) in [
        ([1, 1, 1], [1, 1, 1]),
        ([5, 1, 1], [33, 1, 1]),
        ([2, 3, 1], [8, 4, 1]),
        ([3, 2, 4], [5, 3, 2]),
        ([1, 1, 2], [1, 7, 9]),
    ] {
        let size: Vec<u32> = (0..3).map(|d| grid[d] * block[d]).collect();
        let count = size.iter().product::<u32>() as usize;
        let out = device.upload(&vec![0; 4 * count]);
        device.launch("ids", grid, block, &[Ptr(out)]).unwrap();
        let got = device.download(out, 4 * count);
        let pack = |v: [u32; 3]| v[0] | v[1] << 8 | v[2] << 16;
        for (i, got) in got.as_chunks::<4>().0.iter().enumerate() {
            let i = i as u32;
            let at = [i % size[0], i / size[0] % size[1], i / size[0] / size[1]];
            let tid = [0, 1, 2].map(|d| at[d] % block[d]);
            let bid = [0, 1, 2].map(|d| at[d] / block[d]);
            let want = [
                pack(tid),
                pack(bid),
                pack(block),
                pack([size[0], size[1], size[2]]),
            ];
            assert_eq!(*got, want, "{grid:?} {block:?} {at:?}");
        }
    }
}

fn waves_exchange_data_through_lds_at_a_barrier(target: &'static str) {
    let source = r#"KERNEL reverse(unsigned* data) {
        SHARED static unsigned tile[256];
        unsigned* mine = data + 256 * bid(0);
        tile[tid(0)] = mine[tid(0)];
        barrier();
        mine[tid(0)] = tile[255 - tid(0)];
    }"#;
    let mut device = Device::on(target, "run_reverse", source);
    let data: Vec<u32> = (0..768).collect();
    let address = device.upload(&data);
    device
        .launch("reverse", [3, 1, 1], [256, 1, 1], &[Ptr(address)])
        .unwrap();
    let want: Vec<u32> = (0..768).map(|i| i / 256 * 256 + 255 - i % 256).collect();
    assert_eq!(device.download(address, 768), want);
}

fn a_wave_that_ended_does_not_hold_up_a_barrier(target: &'static str) {
    // Waves 1 and 3 leave before the barrier. C++ calls that undefined; the hardware counts them as arrived.
    let source = r#"KERNEL leave(unsigned* out) {
        SHARED static unsigned tile[256];
        unsigned lanes = __builtin_amdgcn_wavefrontsize();
        if (__builtin_amdgcn_readfirstlane(tid(0) / lanes) & 1) return;
        tile[tid(0)] = tid(0);
        barrier();
        out[tid(0)] = tile[tid(0) ^ 2 * lanes];
    }"#;
    let mut device = Device::on(target, "run_leave", source);
    let out = device.upload(&[9999; 256]);
    let lanes = device.lanes() as u32;
    let block = [4 * lanes, 1, 1];
    // The sanitizer is on C++'s side.
    let error = device.launch("leave", [1; 3], block, &[Ptr(out)]).unwrap_err();
    assert!(error.to_string().contains("wave 1 has ended"), "{error}");
    device
        .launch_with("leave", [1; 3], block, 0, &[Ptr(out)], &Default::default())
        .unwrap();
    let want: Vec<u32> = (0..256)
        .map(|i| {
            let runs = i < 4 * lanes && (i / lanes) & 1 == 0;
            if runs { i ^ (2 * lanes) } else { 9999 }
        })
        .collect();
    assert_eq!(device.download(out, 256), want);
}

fn dynamic_lds_lies_behind_the_static_one(target: &'static str) {
    let source = r#"extern "C" SHARED unsigned dynamic[];
    KERNEL both(unsigned* out, unsigned n) {
        SHARED static unsigned fixed[64];
        fixed[tid(0)] = 1000 + tid(0);
        for (unsigned i = tid(0); i < n; i += 64) dynamic[i] = i;
        barrier();
        out[tid(0)] = fixed[63 - tid(0)] + dynamic[n - 1 - tid(0)];
    }"#;
    let mut device = Device::on(target, "run_dynamic", source);
    let out = device.upload(&[0; 64]);
    let args = [Ptr(out), U32(100)];
    device
        .launch_with("both", [1; 3], [64, 1, 1], 400, &args, &Default::default())
        .unwrap();
    let want: Vec<u32> = (0..64).map(|i| 1063 - i + 99 - i).collect();
    assert_eq!(device.download(out, 64), want);
    // One dword less than it uses: the sanitizer sees it.
    let error = device
        .launch_with("both", [1; 3], [64, 1, 1], 396, &args, &Default::default())
        .unwrap_err();
    assert!(error.to_string().contains("LDS"), "{error}");
}

fn constants_are_read_relative_to_the_program_counter(target: &'static str) {
    let source = r#"DEVICE static const unsigned table[8] = {2, 3, 5, 7, 11, 13, 17, 19};
    KERNEL primes(unsigned* out, unsigned n) { if (tid(0) < n) out[tid(0)] = table[tid(0) * 5 & 7]; }"#;
    let mut device = Device::on(target, "run_rodata", source);
    // Something before the image, so that its base is not the first address.
    device.upload(&[0; 100]);
    device.placement = device.code.place(&mut device.memory).unwrap();
    let out = device.upload(&[0; 16]);
    device
        .launch("primes", [1; 3], [32, 1, 1], &[Ptr(out), U32(16)])
        .unwrap();
    let table = [2, 3, 5, 7, 11, 13, 17, 19];
    let want: Vec<u32> = (0..16).map(|i| table[(i * 5) & 7]).collect();
    assert_eq!(device.download(out, 16), want);
}

fn private_arrays_belong_to_one_work_item(target: &'static str) {
    let source = r#"KERNEL scratch(unsigned* out, unsigned n) {
        unsigned mine[40];
        for (unsigned i = 0; i < 40; i++) mine[i] = i * tid(0);
        unsigned sum = 0;
        for (unsigned i = 0; i < n; i++) { mine[(i * 7) % 40] += i; sum += mine[(i * 11 + tid(0)) % 40]; }
        out[bid(0) * 64 + tid(0)] = sum;
    }"#;
    let mut device = Device::on(target, "run_scratch", source);
    assert!(
        device
            .code
            .kernel("scratch")
            .unwrap()
            .descriptor
            .private_segment_size
            > 0
    );
    let out = device.upload(&[0; 128]);
    device
        .launch("scratch", [2, 1, 1], [64, 1, 1], &[Ptr(out), U32(50)])
        .unwrap();
    let want: Vec<u32> = (0..128)
        .map(|t| {
            let t = t % 64;
            let mut mine: Vec<u32> = (0..40).map(|i| i * t).collect();
            (0..50)
                .map(|i| {
                    mine[(i as usize * 7) % 40] += i;
                    mine[(i * 11 + t) as usize % 40]
                })
                .sum()
        })
        .collect();
    assert_eq!(device.download(out, 128), want);
}

fn atomics_of_all_workgroups_add_up(target: &'static str) {
    let source = r#"KERNEL count(unsigned* counter) {
        __hip_atomic_fetch_add(counter, tid(0), __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    }"#;
    let mut device = Device::on(target, "run_atomics", source);
    let counter = device.upload(&[5]);
    device
        .launch("count", [100, 1, 1], [64, 1, 1], &[Ptr(counter)])
        .unwrap();
    assert_eq!(device.download(counter, 1), [5 + 100 * (63 * 64 / 2)]);
}

fn one_thread_and_many_give_the_same_memory_and_the_same_counts(target: &'static str) {
    let run = |threads: usize| -> (Vec<u32>, LaunchStats) {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| {
            let mut device = Device::on(target, &format!("run_threads_{threads}"), IDS);
            let out = device.upload(&[0; 4 * 7 * 5 * 3 * 16]);
            let stats = device.launch("ids", [7, 5, 3], [4, 2, 2], &[Ptr(out)]).unwrap();
            (device.download(out, 4 * 7 * 5 * 3 * 16), stats)
        })
    };
    let one = run(1);
    assert!(one.1.instructions > 0 && one.0.iter().any(|v| *v != 0));
    assert_eq!(one, run(2));
    assert_eq!(one, run(5));
}

fn many_launches_at_the_same_time_do_not_mix_up_their_arguments(target: &'static str) {
    let source = "KERNEL put(unsigned* out, unsigned v) { out[bid(0) * 32 + tid(0)] = v; }";
    let mut device = Device::on(target, "run_parallel", source);
    let outs: Vec<u64> = (0..16).map(|_| device.upload(&[0; 256])).collect();
    std::thread::scope(|scope| {
        for (i, out) in outs.iter().enumerate() {
            let device = &device;
            scope.spawn(move || {
                for _ in 0..8 {
                    device
                        .launch("put", [8, 1, 1], [32, 1, 1], &[Ptr(*out), U32(i as u32 + 1)])
                        .unwrap();
                }
            });
        }
    });
    for (i, out) in outs.iter().enumerate() {
        assert_eq!(device.download(*out, 256), vec![i as u32 + 1; 256]);
    }
}

#[test]
fn arguments_that_the_hardware_loads_into_registers_arrive() {
    let source = "KERNEL scale(unsigned* out, unsigned a, unsigned b, unsigned c) { out[tid(0)] = tid(0) * a + b - c; }";
    for target in ["gfx942", "gfx90a"] {
        for count in [0, 2, 4] {
            let flag = format!("-amdgpu-kernarg-preload-count={count}");
            let mut device =
                Device::with_flags(target, &format!("run_preload{count}"), source, &["-mllvm", &flag]);
            let preloaded = device.code.kernel("scale").unwrap().descriptor.kernarg_preload();
            assert_eq!(preloaded.is_empty(), count == 0, "{target}, {count}");
            let out = device.upload(&[0; 70]);
            let args = [Ptr(out), U32(7), U32(1000), U32(1)];
            device.launch("scale", [1; 3], [70, 1, 1], &args).unwrap();
            let want: Vec<u32> = (0..70).map(|i| 7 * i + 999).collect();
            assert_eq!(device.download(out, 70), want, "{target}, {count}");
        }
    }
}

#[test]
fn a_kernel_with_preloaded_arguments_is_no_function_of_another() {
    let source = r#"
KERNEL jumps(unsigned* out, unsigned a) { asm volatile("s_swappc_b64 s[30:31], s[30:31]"); out[tid(0)] = a; }
KERNEL other(unsigned* out, unsigned a) { out[tid(0)] = a; }
"#;
    let device = Device::with_flags(
        "gfx942",
        "run_apart",
        source,
        &["-mllvm", "-amdgpu-kernarg-preload-count=4"],
    );
    let [jumps, other] = ["jumps", "other"].map(|name| device.code.kernel(name).unwrap());
    assert!(!other.descriptor.kernarg_preload().is_empty());
    // At the entry, before the code, clang 19 puts a trap for firmware that preloads nothing.
    let lines = device.code.listing(jumps).unwrap();
    let traps: Vec<_> = lines.iter().filter(|line| line.text.contains("s_trap")).collect();
    assert!(traps.is_empty(), "{traps:?}");
}
