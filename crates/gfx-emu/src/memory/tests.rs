//! Accesses outside of an allocation and after its free, capacity, clones, slots, the addresses of two devices, fills.

use super::*;

pub(crate) fn memory_with(data: &[u8]) -> (Memory, u64) {
    let mut memory = Memory::new(1 << 20);
    let address = memory.alloc(data.len() as u64).unwrap();
    memory.write(address, data).unwrap();
    (memory, address)
}

pub(crate) fn bytes(memory: &Memory, address: u64, len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    memory.read(address, &mut out).unwrap();
    out
}

#[test]
fn one_byte_past_the_end_faults_and_names_the_allocation() {
    let (memory, base) = memory_with(&[0; 6]);
    assert_eq!(memory.read(base + 5, &mut [0]), Ok(()));
    let fault = memory.read(base + 6, &mut [0]).unwrap_err();
    assert_eq!(
        fault.place,
        Place::After {
            base,
            size: 6,
            past: 0
        }
    );
    let fault = memory.write(base + 4, &[0; 4]).unwrap_err();
    assert_eq!(
        fault.place,
        Place::After {
            base,
            size: 6,
            past: -2
        }
    );
    let fault = memory.read(base - 8, &mut [0; 4]).unwrap_err();
    assert_eq!(
        fault.place,
        Place::Before {
            base,
            size: 6,
            gap: 8
        }
    );
    assert_eq!(memory.read(8, &mut [0]).unwrap_err().place, Place::Null);
    assert_eq!(
        memory.read(base + (1 << 40), &mut [0]).unwrap_err().place,
        Place::Nowhere
    );
    assert_eq!(
        memory.read(u64::MAX, &mut [0; 2]).unwrap_err().place,
        Place::Nowhere
    );
}

#[test]
fn a_store_that_faults_writes_nothing() {
    let (memory, base) = memory_with(&[7; 8]);
    memory.write(base + 4, &[1; 8]).unwrap_err();
    memory.fill(base, &[1, 2], 5).unwrap_err();
    memory.copy(base, base + 4, 8).unwrap_err();
    assert_eq!(bytes(&memory, base, 8), [7; 8]);
}

#[test]
fn freed_memory_faults_as_freed_and_is_not_handed_out_again() {
    let mut memory = Memory::new(4096);
    let first = memory.alloc(4096).unwrap();
    memory.free(first).unwrap();
    assert_eq!(memory.used(), 0);
    let second = memory.alloc(4096).unwrap();
    assert_ne!(first, second);
    let fault = memory.read(first + 8, &mut [0; 4]).unwrap_err();
    assert_eq!(
        fault.place,
        Place::Freed {
            base: first,
            size: 4096
        }
    );
    assert_eq!(
        memory.free(first).unwrap_err().place,
        Place::Freed {
            base: first,
            size: 4096
        }
    );
    memory.free(second + 4).unwrap_err();
    memory.free(second).unwrap();
}

#[test]
fn forgetting_old_frees_keeps_live_allocations() {
    let mut memory = Memory::new(1 << 20);
    let kept = memory.alloc(4).unwrap();
    memory.write(kept, &[1, 2, 3, 4]).unwrap();
    for _ in 0..3 * REMEMBERED {
        let address = memory.alloc(4).unwrap();
        memory.free(address).unwrap();
    }
    assert!(memory.allocations.len() <= 2 * REMEMBERED + 1 + SLOTS);
    assert_eq!(bytes(&memory, kept, 4), [1, 2, 3, 4]);
}

#[test]
fn the_capacity_is_kept_and_nothing_is_lost_by_a_refusal() {
    let mut memory = Memory::new(100);
    memory.alloc(60).unwrap();
    assert_eq!(
        memory.alloc(41),
        Err(OutOfMemory {
            requested: 41,
            free: 40,
            capacity: 100
        })
    );
    memory.alloc(40).unwrap();
    assert_eq!(memory.used(), 100);
    Memory::new(u64::MAX).alloc(u64::MAX).unwrap_err();
}

#[test]
fn a_clone_shares_bytes_and_slots_but_not_later_allocations() {
    let (mut memory, base) = memory_with(&[1; 4]);
    let view = memory.clone();
    memory.write(base, &[2; 4]).unwrap();
    assert_eq!(bytes(&view, base, 4), [2; 4]);
    let later = memory.alloc(4).unwrap();
    view.read(later, &mut [0]).unwrap_err();
    memory.free(base).unwrap();
    assert_eq!(bytes(&view, base, 4), [2; 4]);
    let (one, other) = (memory.slot().unwrap(), view.slot().unwrap());
    assert_ne!(one.address, other.address);
}

#[test]
fn slots_come_back_when_their_launch_ends() {
    let memory = Memory::new(0);
    for _ in 0..2 {
        let slots: Vec<Slot> = std::iter::from_fn(|| memory.slot()).collect();
        assert_eq!(slots.len(), SLOTS);
        memory.write(slots[0].address, &[0; SLOT_BYTES]).unwrap();
    }
}

#[test]
fn the_addresses_of_two_devices_never_coincide() {
    let [mut first, mut second] = [0, 1].map(|index| Memory::of_device(1 << 40, index, 2));
    let (low, high) = (first.alloc(8).unwrap(), second.alloc(8).unwrap());
    assert!(low < high);
    first.read(high, &mut [0]).unwrap_err();
    second.read(low, &mut [0]).unwrap_err();
}

#[test]
fn an_empty_allocation_has_an_address_and_no_bytes() {
    let mut memory = Memory::new(16);
    let (a, b) = (memory.alloc(0).unwrap(), memory.alloc(0).unwrap());
    assert_ne!(a, b);
    assert_eq!(memory.read(a, &mut []), Ok(()));
    memory.read(a, &mut [0]).unwrap_err();
    memory.free(a).unwrap();
    memory.free(b).unwrap();
}

#[test]
fn a_fill_repeats_its_pattern() {
    let (memory, base) = memory_with(&[0; 9000]);
    memory.fill(base + 1, &[1, 2], 4096).unwrap();
    let got = bytes(&memory, base, 9000);
    assert_eq!(
        (got[0], &got[1..5], &got[8191..8194]),
        (0, &[1, 2, 1, 2][..], &[1, 2, 0][..])
    );
}
