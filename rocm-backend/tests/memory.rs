//! What becomes of device memory, on a software device of a few megabytes that keeps what buffers give back, as a card
//! does: reuse, lack of room, leaks, and a device that is lost. Environment variables choose that, once a process, so each
//! test asks a child: an ignored test of this file.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

#[path = "support/child.rs"]
mod child;
mod soak;

use rocm_backend::ops::{self, Unary};
use rocm_backend::{Allocator, DType, Device, DynBuffer, Error, driver};

use child::run;

const MIB: usize = 1 << 20;

fn room(device: &Device, mib: usize) -> Result<rocm_backend::DynBuffer, Error> {
    DynBuffer::uninit(device, DType::U8, mib * MIB)
}

#[test]
fn a_full_device_gives_back_its_cache_and_then_says_what_is_held() {
    run(
        "child_that_fills_its_device",
        &[("ROCM_SOFT_MEMORY", "64MiB"), ("ROCM_ALLOCATOR", "caching")],
    );
}

#[test]
#[ignore = "the child process of a test of this file"]
fn child_that_fills_its_device() {
    assert_eq!(driver().unwrap().allocator(), Allocator::Caching);
    let device = Device::new(0).unwrap();
    assert_eq!(device.memory().unwrap().total, 64 * MIB);
    drop(room(&device, 40).unwrap());
    assert_eq!(device.memory().unwrap().cached, 40 * MIB);
    // 40 of 64 are in the cache, and no block there is long enough.
    let large = room(&device, 50).unwrap();
    let memory = device.memory().unwrap();
    assert_eq!((memory.live, memory.cached, memory.peak), (50 * MIB, 0, 50 * MIB));

    // Another handle of the device has no memory of its own.
    let other = Device::new(0).unwrap();
    drop(room(&other, 5).unwrap());
    let Err(Error::OutOfMemory {
        requested,
        released,
        live,
        blocks,
        largest,
        ..
    }) = room(&other, 30)
    else {
        panic!("30 MiB beside 50 of 64")
    };
    assert_eq!(
        (requested, released, live, blocks, largest),
        (30 * MIB, 5 * MIB, 50 * MIB, 1, 50 * MIB)
    );
    let text = room(&other, 30).unwrap_err().to_string();
    assert!(
        text.contains("this process holds 52428800 bytes in 1 blocks, the largest of 52428800 bytes"),
        "{text}"
    );
    assert_eq!(large.len(), 50 * MIB);
    drop(large);
    assert!(room(&other, 30).is_ok(), "the device goes on");
}

#[test]
fn memory_is_reused_within_a_device_and_between_its_handles() {
    run("child_that_reuses_memory", &[("ROCM_ALLOCATOR", "caching")]);
}

#[test]
#[ignore = "the child process of a test of this file"]
fn child_that_reuses_memory() {
    let (device, other) = (Device::new(0).unwrap(), Device::new(0).unwrap());
    let free = || device.memory().unwrap().free;
    drop(room(&device, 8).unwrap());
    let once = free();
    for handle in [&device, &other, &device] {
        drop(room(handle, 8).unwrap());
        drop(room(handle, 7).unwrap());
    }
    assert_eq!(free(), once, "six more buffers took no more memory");
    device.release_cached().unwrap();
    assert_eq!(free(), once + 8 * MIB);
    assert_eq!(other.memory().unwrap().cached, 0);
}

#[test]
fn random_work_on_shared_memory_is_right_and_leaves_nothing_behind() {
    run("child_that_soaks", &[("ROCM_ALLOCATOR", "caching")]);
}

#[test]
#[ignore = "the child process of a test of this file"]
fn child_that_soaks() {
    let total = {
        let devices = [Device::new(0).unwrap(), Device::new(0).unwrap()];
        assert!(soak::notices_a_wrong_element(&devices[0]));
        let steps = soak::run(&devices, 7, |steps| steps < 600).unwrap();
        assert_eq!(steps, 600);
        for device in &devices {
            let memory = device.memory().unwrap();
            assert_eq!((memory.live, memory.buffers), (0, 0));
            assert!(memory.peak > 0);
        }
        let memory = devices[0].memory().unwrap();
        assert!(memory.cached > 0, "what was given back is kept");
        memory.total
    };
    // Layout tables, modules and the cache went with the last handle.
    let memory = Device::new(0).unwrap().memory().unwrap();
    assert_eq!((memory.free, memory.cached), (total, 0));
}

#[cfg(feature = "compile")]
#[test]
fn a_lost_device_fails_in_words_and_its_buffers_can_be_dropped() {
    run(
        "child_that_loses_its_device",
        &[("ROCM_SOFT_LOSE", "1"), ("ROCM_ALLOCATOR", "caching")],
    );
}

#[cfg(feature = "compile")]
#[test]
#[ignore = "the child process of a test of this file"]
#[expect(unsafe_code, reason = "launches a kernel that leaves its buffer")]
fn child_that_loses_its_device() {
    let device = Device::new(0).unwrap();
    let buffer = DynBuffer::zeros(&device, DType::F32, 4).unwrap();
    let module = device
        .compile("extern \"C\" __global__ void wild(float *x) { x[1ull << 40] = 1; }")
        .unwrap();
    let wild = module.kernel("wild").unwrap();
    // SAFETY: none. The software device finds the access out of bounds, which is the point.
    let fault = unsafe { wild.arg(&buffer).launch() };
    assert!(matches!(fault, Err(Error::DeviceFault(_))), "{fault:?}");
    let lost = |result: Result<(), Error>| match result {
        Err(error @ Error::DeviceLost { .. }) => {
            assert!(error.to_string().contains("the device is lost"), "{error}")
        }
        other => panic!("{other:?}"),
    };
    lost(device.synchronize());
    lost(DynBuffer::zeros(&device, DType::F32, 4).map(drop));
    lost(DynBuffer::from_bytes(&device, DType::U8, &[1]).map(drop));
    lost(buffer.download_bytes().map(drop));
    lost(buffer.try_clone().map(drop));
    lost(device.memory().map(drop));
    lost(device.release_cached());
    assert!(Device::new(0).is_err());
    // Nothing here may panic or abort.
    drop((buffer, module, device));
}

#[test]
fn devices_buffers_and_events_may_cross_threads() {
    fn crosses<T: Send + Sync>() {}
    crosses::<Device>();
    crosses::<rocm_backend::DynBuffer>();
    crosses::<rocm_backend::Event>();
    crosses::<rocm_backend::Module>();
}

#[test]
fn a_graph_reuses_its_own_memory_and_keeps_it_from_others() {
    run("child_that_captures", &[("ROCM_ALLOCATOR", "caching")]);
}

#[test]
#[ignore = "the child process of a test of this file"]
fn child_that_captures() {
    let device = Device::new(0).unwrap();
    let x = device.upload(&vec![1.0_f32; MIB / 4]).unwrap();
    let (graph, out) = device
        .capture(|| {
            let mut y = ops::unary(Unary::Neg, x.view())?;
            for _ in 0..7 {
                y = ops::unary(Unary::Neg, y.view())?;
            }
            Ok::<_, Error>(y)
        })
        .unwrap();
    let live = device.memory().unwrap().live;
    assert_eq!(
        live,
        3 * MIB,
        "of eight results two are there at a time, and the input"
    );
    // What others hold is not what the graph writes.
    let others: Vec<DynBuffer> = (0..4)
        .map(|_| DynBuffer::zeros(&device, DType::F32, MIB / 4).unwrap())
        .collect();
    graph.replay().unwrap();
    assert_eq!(out.download::<f32>().unwrap(), vec![1.0; MIB / 4]);
    for other in &others {
        assert_eq!(other.download::<f32>().unwrap(), vec![0.0; MIB / 4]);
    }
    drop((others, graph, out));
    assert_eq!(device.memory().unwrap().live, MIB);
}
