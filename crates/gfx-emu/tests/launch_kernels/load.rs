//! Loading code objects: a good one, ones for other processors, and broken ones.

use code_object::Error;

use crate::compile::compile;
use crate::support::{Arg, Device};
use gfx_emu::{ArgKind, CodeObject, Dispatch, LaunchError, LaunchOptions, LoadError, Patch, Target, Trace};

const SOURCE: &str = r#"
DEVICE unsigned counter = 7;
KERNEL __attribute__((amdgpu_flat_work_group_size(1, 256))) two_args(unsigned* out, unsigned n) {
    if (tid(0) < n) out[tid(0)] = counter;
}
KERNEL no_args() {}
"#;

#[test]
fn a_kernel_is_found_with_its_arguments_and_limits() {
    let code = CodeObject::load(&compile("load_found", "gfx1100", SOURCE, &[])).unwrap();
    assert_eq!(code.target(), Target::Gfx1100);
    let names: Vec<&str> = code.kernels().map(|k| k.name.as_str()).collect();
    assert_eq!(names, ["no_args", "two_args"]);
    let kernel = code.kernel("two_args").unwrap();
    let explicit: Vec<_> = kernel
        .explicit_args()
        .map(|a| (a.offset, a.size, a.kind.clone()))
        .collect();
    assert_eq!(
        explicit,
        [(0, 8, ArgKind::GlobalBuffer), (8, 4, ArgKind::ByValue)]
    );
    assert_eq!(
        (kernel.explicit_kernarg_size(), kernel.max_workgroup_size),
        (12, 256)
    );
    assert_eq!(kernel.descriptor.wavefront_size(), 32);
    assert!(kernel.vgprs as usize <= 8 * kernel.descriptor.vgpr_blocks());
    assert_eq!(code.global("counter").unwrap().size, 4);
    assert!(code.kernel("counter").is_none() && code.global("two_args.kd").is_none());
}

#[test]
fn a_code_object_for_another_processor_loads_and_is_refused_at_launch() {
    let target = Target::Other(0x33);
    assert!(!target.is_executable() && Target::named("gfx1010").is_none());
    let code = CodeObject::load(&compile("load_gfx1010", "gfx1010", SOURCE, &[])).unwrap();
    assert_eq!(code.target(), target);
    let mut memory = gfx_emu::Memory::new(1 << 20);
    let placement = code.place(&mut memory).unwrap();
    let kernel = code.kernel("no_args").unwrap();
    let dispatch = gfx_emu::Dispatch {
        kernel,
        placement,
        grid: [1; 3],
        block: [1; 3],
        dynamic_lds: 0,
        kernarg: &[],
    };
    let error = gfx_emu::launch(&code, &dispatch, &memory, &Default::default()).unwrap_err();
    assert_eq!(
        error,
        LaunchError::UnsupportedTarget {
            kernel: "no_args".into(),
            target,
        }
    );
}

#[test]
fn a_bundle_and_a_host_elf_are_refused_with_a_hint() {
    let refused = |bytes: &[u8]| CodeObject::load(bytes).unwrap_err();
    let bundle = refused(b"__CLANG_OFFLOAD_BUNDLE__ and so on").to_string();
    assert!(bundle.contains("--no-gpu-bundle-output"), "{bundle}");
    let host = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let file = |error| match error {
        LoadError::File(error) => error,
        other => panic!("{other}"),
    };
    assert!(matches!(file(refused(&host)), Error::OtherMachine { .. }));
    assert!(matches!(file(refused(b"")), Error::NotElf { .. }));
}

#[test]
fn a_variable_with_an_address_gets_it_when_the_image_is_placed() {
    let source = "DEVICE unsigned first[3] = {1, 2, 3}; DEVICE unsigned* pointer = first + 2;
        KERNEL k(unsigned* out) { *out = *pointer; }";
    for target in ["gfx1100", "gfx1201", "gfx1030", "gfx942", "gfx90a"] {
        let mut device = Device::on(target, "load_reloc", source);
        let out = device.upload(&[0]);
        device.launch("k", [1; 3], [1; 3], &[Arg::Ptr(out)]).unwrap();
        assert_eq!(device.download(out, 1), [3], "{target}");
    }
}

#[test]
fn a_code_object_without_all_of_its_symbols_is_refused_by_their_names() {
    let source = "extern DEVICE __attribute__((visibility(\"default\"))) unsigned elsewhere;
        DEVICE unsigned* pointer = &elsewhere;
        KERNEL k(unsigned* out) { *out = *pointer; }";
    let flags = ["-Xoffload-linker", "--unresolved-symbols=ignore-all"];
    let error = CodeObject::load(&compile("load_undefined", "gfx1100", source, &flags)).unwrap_err();
    assert!(
        matches!(&error, LoadError::Undefined { symbol } if symbol.contains("elsewhere")),
        "{error}"
    );
}

#[test]
fn a_truncated_code_object_is_an_error_at_every_length() {
    let whole = compile("load_truncated", "gfx1100", SOURCE, &[]);
    CodeObject::load(&whole).unwrap();
    // The section headers end the file; without them there is no symbol table.
    for end in 0..whole.len() {
        assert!(
            CodeObject::load(&whole[..end]).is_err(),
            "{end} of {} bytes",
            whole.len()
        );
    }
}

#[test]
fn a_flipped_bit_never_panics() {
    let whole = compile("load_flipped", "gfx1100", SOURCE, &[]);
    let mut refused = 0;
    for at in 0..whole.len() {
        for bit in [0, 4, 7] {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            refused += usize::from(CodeObject::load(&bytes).is_err());
        }
    }
    assert!(refused > 100, "only {refused} of the flips were noticed");
}

#[test]
fn a_device_variable_is_read_at_its_placed_address() {
    let mut device = Device::new("load_variable", SOURCE);
    let out = device.upload(&[0; 2]);
    let counter = device.placement.address(device.code.global("counter").unwrap());
    device
        .launch("two_args", [1; 3], [2, 1, 1], &[Arg::Ptr(out), Arg::U32(1)])
        .unwrap();
    assert_eq!(device.download(out, 2), [7, 0]);
    device.memory.write(counter, &9_u32.to_le_bytes()).unwrap();
    device
        .launch("two_args", [1; 3], [2, 1, 1], &[Arg::Ptr(out), Arg::U32(2)])
        .unwrap();
    assert_eq!(device.download(out, 2), [9, 9]);
}

/// Why a kernel is refused whose waves would begin in a floating-point mode, by a launch and by a trace; its output stays as it was.
fn refused(device: &mut Device, mode: u8) -> Option<String> {
    let plain = device.code.kernel("fraction").unwrap();
    // One of its own, whose descriptor can be changed.
    let mut kernel = device.code.patched(plain, &Patch::Flush).unwrap();
    kernel.descriptor = kernel.descriptor.with_float_mode(mode);
    let out = device.upload(&[7; 32]);
    let dispatch = Dispatch {
        kernel: &kernel,
        placement: device.placement,
        grid: [1; 3],
        block: [32, 1, 1],
        dynamic_lds: 0,
        kernarg: &out.to_le_bytes(),
    };
    let options = LaunchOptions::default();
    let launched = gfx_emu::launch(&device.code, &dispatch, &device.memory, &options);
    let written = device.download(out, 32) != [7; 32];
    assert_eq!(written, launched.is_ok(), "{mode:#x}: {launched:?}");
    let trace = Trace {
        workgroup: [0; 3],
        wave: 0,
        visit: &mut |_| {},
    };
    let traced = gfx_emu::trace(&device.code, &dispatch, &device.memory, &options, trace);
    assert_eq!(launched, traced, "{mode:#x}");
    match launched {
        Ok(_) => None,
        Err(LaunchError::Unsupported { what, .. }) => Some(what),
        Err(other) => panic!("{mode:#x}: {other}"),
    }
}

#[test]
fn a_mode_that_is_not_modelled_is_refused_before_anything_runs() {
    let source = "KERNEL fraction(float* out) { out[tid(0)] = __builtin_amdgcn_fractf(0.25f * tid(0)); }";
    let mut device = Device::new("load_mode", source);
    for denormals in 0..16 {
        assert_eq!(refused(&mut device, denormals << 4), None, "{denormals:#x}");
    }
    // Rounded up, for which the fraction is not known.
    let why = refused(&mut device, 0xf5).unwrap();
    assert!(why.contains("0x3f5") && why.contains("v_fract_f32"), "{why}");
}

#[test]
fn all_denormals_are_flushed_and_what_is_not_known_to_is_refused() {
    let source = "KERNEL thirds(float* x) { x[tid(0)] = x[tid(0)] / 3.0f + x[tid(0)] * 0.5f; }
        KERNEL wide(double* x) { x[tid(0)] *= 0.5; }
        KERNEL half(_Float16* x) { x[tid(0)] *= (_Float16)0.5f; }
        KERNEL quotient(double* x) { x[tid(0)] = 1 / x[tid(0)]; }
        KERNEL dot(_Float16* x) { typedef _Float16 P __attribute__((ext_vector_type(2)));
            ((float*)x)[tid(0)] = __builtin_amdgcn_fdot2(((P*)x)[tid(0)], ((P*)x)[tid(0)], 1.0f, false); }";
    for target in ["gfx1100", "gfx1030", "gfx1201", "gfx942", "gfx90a"] {
        let flags = ["-fdenormal-fp-math=preserve-sign"];
        let mut device = Device::with_flags(target, "load_flushes", source, &flags);
        // A denormal, numbers of which half or a third are denormals, and one of which they are not.
        let numbers = [0x8000_0100, 0x0080_0000, 0x80c0_0000, 6_f32.to_bits()].repeat(8);
        let x = device.upload(&numbers);
        device
            .launch("thirds", [1; 3], [32, 1, 1], &[Arg::Ptr(x)])
            .unwrap();
        let want = [0x8000_0000, 0, 0x8000_0000, 5_f32.to_bits()].repeat(8);
        assert_eq!(device.download(x, 32), want, "{target}");
        // The least normal numbers, of which halves are denormals, denormals, and numbers of which they are not.
        let x = device.upload(&[0, 0x0010_0000, 7, 0x8000_0000, 0, 0x4008_0000].repeat(6));
        device.launch("wide", [1; 3], [18, 1, 1], &[Arg::Ptr(x)]).unwrap();
        let want = [0, 0, 0, 0x8000_0000, 0, 0x3ff8_0000].repeat(6);
        assert_eq!(device.download(x, 36), want, "{target}");
        let x = device.upload(&[0x8400_0400, 0x4200_8001].repeat(8));
        device.launch("half", [1; 3], [32, 1, 1], &[Arg::Ptr(x)]).unwrap();
        assert_eq!(
            device.download(x, 16),
            [0x8000_0000, 0x3e00_8000].repeat(8),
            "{target}"
        );
        for (kernel, name) in [("quotient", "v_div_"), ("dot", "v_dot2")] {
            let x = device.upload(&[7; 64]);
            let error = device
                .launch(kernel, [1; 3], [32, 1, 1], &[Arg::Ptr(x)])
                .unwrap_err();
            let LaunchError::Unsupported { what, .. } = &error else {
                panic!("{target}: {error}")
            };
            assert!(
                what.starts_with("floating-point mode 0x") && what.contains(name),
                "{target}: {what}"
            );
            assert_eq!(device.download(x, 64), [7; 64], "{target}");
        }
    }
}
