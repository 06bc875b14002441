//! Data-share instructions with two addresses, with the lane as address, between lanes, and from device memory to LDS.

use gfx_emu::{Memory, WaveProbe};

use super::{CARDS, assemble_each};
use crate::llvm::Card;

/// What register `v0 + register` of a lane holds in the end, from the value that register `n` of a lane began with.
type Meaning = fn(register: u16, lane: usize, start: &dyn Fn(u16, usize) -> u32) -> u32;

/// Assembly; how many registers from v0 on are compared; meaning. v20 holds four times the lane, v21 eight times, v22 four times the
/// neighbour in the pair; m0 is 0, s[4:5] the address of dwords that are 1000 and the lane.
type Row = (&'static str, u16, Meaning);

#[rustfmt::skip] // one instruction a line
const ROWS: &[Row] = &[
    ("ds_store_2addr_b64 v21, v[4:5], v[6:7] offset0:0 offset1:64\nds_load_b64 v[0:1], v21\nds_load_b64 v[2:3], v21 offset:512",
        4, |n, lane, start| start(4 + n, lane)),
    ("ds_store_2addr_stride64_b64 v21, v[4:5], v[6:7] offset0:1 offset1:2\nds_load_b64 v[0:1], v21 offset:512\nds_load_b64 v[2:3], v21 offset:1024",
        4, |n, lane, start| start(4 + n, lane)),
    ("ds_store_2addr_stride64_b64 v21, v[4:5], v[6:7] offset0:1 offset1:2\nds_load_2addr_stride64_b64 v[0:3], v21 offset0:2 offset1:1",
        4, |n, lane, start| start(4 + (n + 2) % 4, lane)),
    ("ds_store_2addr_b32 v20, v4, v5 offset0:0 offset1:64\nds_storexchg_2addr_rtn_b32 v[0:1], v20, v6, v7 offset0:0 offset1:64\nds_load_2addr_b32 v[2:3], v20 offset0:0 offset1:64",
        4, |n, lane, start| start(4 + n, lane)),
    ("ds_store_2addr_stride64_b32 v20, v4, v5 offset0:1 offset1:2\nds_storexchg_2addr_stride64_rtn_b32 v[0:1], v20, v6, v7 offset0:1 offset1:2\nds_load_2addr_stride64_b32 v[2:3], v20 offset0:1 offset1:2",
        4, |n, lane, start| start(4 + n, lane)),
    ("ds_store_2addr_b64 v21, v[4:5], v[6:7] offset0:0 offset1:64\nds_storexchg_2addr_rtn_b64 v[0:3], v21, v[8:9], v[10:11] offset0:0 offset1:64\nds_load_2addr_b64 v[12:15], v21 offset0:0 offset1:64",
        4, |n, lane, start| start(4 + n, lane)),
    ("ds_store_2addr_stride64_b64 v21, v[4:5], v[6:7] offset0:1 offset1:2\nds_storexchg_2addr_stride64_rtn_b64 v[12:15], v21, v[8:9], v[10:11] offset0:1 offset1:2\nds_load_2addr_stride64_b64 v[0:3], v21 offset0:1 offset1:2",
        4, |n, lane, start| start(8 + n, lane)),
    ("ds_store_addtid_b32 v4 offset:16\nds_load_b32 v0, v20 offset:16", 1, |_, lane, start| start(4, lane)),
    ("ds_store_b32 v20, v4 offset:16\nds_load_addtid_b32 v0 offset:16", 1, |_, lane, start| start(4, lane)),
    ("ds_permute_b32 v0, v22, v4", 1, |_, lane, start| start(4, lane ^ 1)),
    ("ds_bpermute_b32 v0, v22, v4", 1, |_, lane, start| start(4, lane ^ 1)),
    ("ds_store_b64 v21, v[4:5]\nds_condxchg32_rtn_b64 v[0:1], v21, v[6:7]\nds_load_b64 v[2:3], v21", 4, |n, lane, start| match n {
        0 | 1 => start(4 + n, lane),
        _ if start(4 + n, lane) >> 31 != 0 => start(4 + n, lane) & 0x7fff_ffff,
        _ => start(2 + n, lane),
    }),
    ("global_load_addtid_b32 v0, s[4:5]", 1, |_, lane, _| 1000 + lane as u32),
    ("global_store_addtid_b32 v4, s[4:5]\nglobal_load_b32 v0, v20, s[4:5]", 1, |_, lane, start| start(4, lane)),
    ("global_load_lds_dword v20, s[4:5]\nds_load_b32 v0, v20", 1, |_, lane, _| 1000 + lane as u32),
    ("global_load_lds_ushort v20, s[4:5]\nds_load_b32 v0, v20", 1, |_, lane, _| 1000 + lane as u32),
    ("global_load_lds_sshort v20, s[4:5]\nds_load_b32 v0, v20", 1, |_, lane, _| 1000 + lane as u32),
    ("global_load_lds_ubyte v20, s[4:5]\nds_load_b32 v0, v20", 1, |_, lane, _| (1000 + lane as u32) & 255),
    ("global_load_lds_sbyte v20, s[4:5]\nds_load_b32 v0, v20", 1, |_, lane, _| (1000 + lane as u32) as i8 as u32),
    ("scratch_store_dword v20, v4, off\nscratch_load_lds_dword v20, off\nds_load_b32 v0, v20", 1, |_, lane, start| start(4, lane)),
    ("scratch_store_dword v20, v4, off\nscratch_load_lds_ushort v20, off\nds_load_b32 v0, v20", 1, |_, lane, start| start(4, lane) & 0xffff),
    ("scratch_store_dword v20, v4, off\nscratch_load_lds_sshort v20, off\nds_load_b32 v0, v20", 1, |_, lane, start| start(4, lane) as i16 as u32),
    ("scratch_store_dword v20, v4, off\nscratch_load_lds_ubyte v20, off\nds_load_b32 v0, v20", 1, |_, lane, start| start(4, lane) & 0xff),
    ("scratch_store_dword v20, v4, off\nscratch_load_lds_sbyte v20, off\nds_load_b32 v0, v20", 1, |_, lane, start| start(4, lane) as i8 as u32),
    ("global_load_dword v20, s[4:5] lds\nds_load_b32 v0, v20", 1, |_, lane, _| 1000 + lane as u32),
    ("global_load_ushort v20, s[4:5] lds\nds_load_b32 v0, v20", 1, |_, lane, _| 1000 + lane as u32),
    ("global_load_sshort v20, s[4:5] lds\nds_load_b32 v0, v20", 1, |_, lane, _| 1000 + lane as u32),
    ("global_load_ubyte v20, s[4:5] lds\nds_load_b32 v0, v20", 1, |_, lane, _| (1000 + lane as u32) & 255),
    ("global_load_sbyte v20, s[4:5] lds\nds_load_b32 v0, v20", 1, |_, lane, _| (1000 + lane as u32) as i8 as u32),
    ("scratch_store_dword v20, v4, off\nscratch_load_dword v20, off lds\nds_load_b32 v0, v20", 1, |_, lane, start| start(4, lane)),
    ("scratch_store_dword v20, v4, off\nscratch_load_ushort v20, off lds\nds_load_b32 v0, v20", 1, |_, lane, start| start(4, lane) & 0xffff),
    ("scratch_store_dword v20, v4, off\nscratch_load_sshort v20, off lds\nds_load_b32 v0, v20", 1, |_, lane, start| start(4, lane) as i16 as u32),
    ("scratch_store_dword v20, v4, off\nscratch_load_ubyte v20, off lds\nds_load_b32 v0, v20", 1, |_, lane, start| start(4, lane) & 0xff),
    ("scratch_store_dword v20, v4, off\nscratch_load_sbyte v20, off lds\nds_load_b32 v0, v20", 1, |_, lane, start| start(4, lane) as i8 as u32),
];

pub(super) fn pieces() -> Vec<String> {
    ROWS.iter().map(|row| row.0.to_owned()).collect()
}

fn failure<const W: usize>(card: Card, row: &Row, code: &[u8]) -> Option<String> {
    let (asm, count, meaning) = *row;
    let start = |register: u16, lane: usize| {
        u32::from(register)
            .wrapping_mul(0x1234_5679)
            .wrapping_mul(lane as u32 * 2 + 1)
    };
    let mut memory = Memory::new(4096);
    let base = memory.alloc(4 * W as u64).unwrap();
    let words: Vec<u8> = (0..W as u32)
        .flat_map(|lane| (1000 + lane).to_le_bytes())
        .collect();
    memory.write(base, &words).unwrap();
    let mut probe = WaveProbe::<W>::new(card.target, code).unwrap();
    probe.set_lds(4096);
    probe.set_scratch(4 * W);
    probe.set_sgpr(4, base as u32);
    probe.set_sgpr(5, (base >> 32) as u32);
    for lane in 0..W {
        (0..16).for_each(|register| probe.set_vgpr(register, lane, start(register, lane)));
        let addresses = [4 * lane, 8 * lane, 4 * (lane ^ 1)];
        (20..)
            .zip(addresses)
            .for_each(|(register, address)| probe.set_vgpr(register, lane, address as u32));
    }
    probe
        .run(&memory)
        .unwrap_or_else(|fault| panic!("{} {asm}: {fault}", card.name));
    (0..W)
        .flat_map(|lane| (0..count).map(move |n| (lane, n)))
        .find_map(|(lane, n)| {
            let (got, want) = (probe.vgpr(n, lane).unwrap(), meaning(n, lane, &start));
            (got != want).then(|| {
                format!(
                    "{} {asm}: v{n} of lane {lane} is {got:#x}, not {want:#x}",
                    card.name
                )
            })
        })
}

#[test]
fn exchanges_through_the_data_share_are_the_functions_written_out_here() {
    let mut wrong = Vec::new();
    for card in CARDS {
        let assembled = assemble_each(card, &pieces());
        assert!(assembled.iter().flatten().count() > 8, "{}", card.name);
        for (row, assembled) in ROWS.iter().zip(&assembled) {
            let Some(assembled) = assembled else { continue };
            wrong.extend(match card.is_rdna() {
                true => failure::<32>(card, row, &assembled.code),
                false => failure::<64>(card, row, &assembled.code),
            });
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
