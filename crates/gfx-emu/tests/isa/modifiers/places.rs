//! What a modified memory instruction must do: what the plain one does, where the offset is in the address already. Hints to caches
//! change nothing.

use gfx_emu::{Compiling, FaultKind, Memory, WaveProbe};

use super::forms::vector;
use super::{Case, LineFate, names};
use crate::lines;
use crate::wave::Numbers;

/// Bytes of device memory, where lanes begin in it, and how far they are apart.
const ROOM: u64 = 32 << 10;
const FIRST: u64 = 16 << 10;
const STEP: u64 = 16;
/// The same of the data share and of private memory.
const SHARE: usize = 32 << 10;
const PRIVATE: usize = 10 << 10;
const INSIDE: u32 = 5 << 10;
/// The register that the check of the data share and of private memory has for its addresses; its data follow.
const CHECKED: u16 = 200;

/// What a run leaves: registers, device memory, and how it ended.
#[derive(Debug, PartialEq)]
struct After {
    rows: Vec<Vec<u32>>,
    scalars: Vec<u32>,
    memory: Vec<u8>,
    end: Result<(), FaultKind>,
}

/// Number among the operands of the one that is an address in a vector register.
fn address(case: &Case<'_>) -> Option<usize> {
    let form = case.form;
    let name = form.name.as_str();
    let (vectors, first) = (
        form.operands
            .iter()
            .filter(|operand| vector(operand).is_some())
            .count(),
        usize::from(name.contains("_load") || name.contains("_read") || name.contains("permute")),
    );
    let returns = name.contains("_rtn")
        || form.encoding != "DS" && name.contains("atomic") && vectors > 2
        || form.encoding != "DS" && name.contains("atomic") && case.text.contains(", off") && vectors == 3;
    let at = if form.encoding == "MUBUF" {
        // Data first; the address if the text has one.
        return (case.text.contains("offen") || case.text.contains("idxen")).then_some(1);
    } else if name.contains("addtid")
        || name.contains("append")
        || name.contains("consume")
        || name.contains("swizzle")
        || name.contains("_lds")
        || form.encoding == "SMEM"
    {
        return None;
    } else if returns {
        1
    } else {
        first
    };
    form.operands
        .get(at)
        .and_then(|operand| vector(operand))
        .map(|_| at)
}

/// The number after `name:` among the changes.
fn number(case: &Case<'_>, field: &str) -> Option<i64> {
    let change = case.changes.iter().find(|change| change.field == field)?;
    change.value.split_once(':')?.1.parse().ok()
}

/// Runs the code with the address moved by so many bytes, and looks at private memory or the data share `watched` bytes on.
fn run<const W: usize>(
    case: &Case<'_>,
    code: &[u8],
    moved: i64,
    watched: i64,
    compiling: Compiling,
) -> Result<After, String> {
    let form = case.form;
    let (before, after) = around(case);
    let code = [&before[..], code, &after[..], &case.end()].concat();
    let mut wave = WaveProbe::<W>::new(case.card.target, &code).map_err(|error| error.to_string())?;
    wave.set_compiling(compiling);
    let mut memory = Memory::new(1 << 20);
    let base = memory.alloc(ROOM).unwrap();
    let mut numbers = Numbers(9);
    let bytes: Vec<u8> = (0..ROOM / 8).flat_map(|_| numbers.next().to_le_bytes()).collect();
    memory.write(base, &bytes).unwrap();
    let (share, scratch) = (
        form.encoding == "DS" || form.encoding == "FLAT",
        form.encoding == "SCRATCH",
    );
    if share {
        wave.set_lds(SHARE);
    }
    if scratch {
        wave.set_scratch(PRIVATE);
    }
    let mut registers: Vec<u16> = (CHECKED..CHECKED + 9).collect();
    for (file, first, count) in form.operands.iter().filter_map(|operand| vector(operand)) {
        registers.extend((first..first + count).map(|register| register + if file == 'a' { 256 } else { 0 }));
    }
    for register in &registers {
        (0..W).for_each(|lane| wave.set_vgpr(*register, lane, (numbers.next() >> 16) as u32));
    }
    let scalar_base =
        form.operands.iter().any(|operand| operand.starts_with("s[")) && form.encoding != "MUBUF";
    if let Some(at) = address(case)
        && let Some((_, register, count)) = vector(&form.operands[at])
    {
        for lane in 0..W {
            let step = lane as u64 * STEP;
            let (value, wide) = match form.encoding {
                "DS" => (u64::from(INSIDE) + step, false),
                "SCRATCH" => (u64::from(INSIDE), false),
                "MUBUF" if case.text.contains("idxen") => (lane as u64, false),
                "MUBUF" => (step, false),
                _ if scalar_base => (step, false),
                _ => (base + FIRST + step, count == 2),
            };
            let moves = form.encoding != "MUBUF" && !scalar_base;
            let value = value.wrapping_add_signed(if moves { moved } else { 0 });
            wave.set_vgpr(register, lane, value as u32);
            if wide {
                wave.set_vgpr(register + 1, lane, (value >> 32) as u32);
            } else if form.encoding == "MUBUF" && count == 2 {
                wave.set_vgpr(register + 1, lane, 4 * lane as u32);
            }
        }
    }
    for lane in 0..W {
        let step = lane as u32 * if scratch { 0 } else { STEP as u32 };
        wave.set_vgpr(CHECKED, lane, (INSIDE + step).wrapping_add(watched as u32));
    }
    // Addresses of scalar operands: a base of 64 bits, a descriptor, an offset.
    let data_first = usize::from(form.encoding == "SMEM");
    for operand in form
        .operands
        .iter()
        .skip(data_first)
        .filter(|operand| operand.starts_with('s'))
    {
        let digits: String = operand
            .chars()
            .skip_while(|c| !c.is_ascii_digit())
            .take_while(char::is_ascii_digit)
            .collect();
        let Ok(first) = digits.parse::<u8>() else { continue };
        let buffer = form.encoding == "MUBUF"
            || form.name.starts_with("s_buffer")
            || form.name.contains("probe_buffer");
        if operand.starts_with("s[") && buffer {
            let stride = u32::from(case.text.contains("idxen")) * 16;
            let start = base
                + if form.encoding == "SMEM" {
                    FIRST.wrapping_add_signed(moved)
                } else {
                    0
                };
            let records = if stride == 0 {
                ROOM as u32
            } else {
                ROOM as u32 / 16
            };
            wave.set_sgpr(first, start as u32);
            wave.set_sgpr(first + 1, (start >> 32) as u32 | stride << 16);
            wave.set_sgpr(first + 2, if case.card.is_rdna() { records } else { ROOM as u32 });
            // The offset against the number of bytes, or the index alone.
            wave.set_sgpr(first + 3, if stride == 0 { 0x3000_0000 } else { 0x1000_0000 });
        } else if operand.starts_with("s[") {
            let start = (base + FIRST).wrapping_add_signed(moved);
            wave.set_sgpr(first, start as u32);
            wave.set_sgpr(first + 1, (start >> 32) as u32);
        } else {
            let start = match form.encoding {
                "MUBUF" => FIRST.wrapping_add_signed(moved),
                "SCRATCH" if address(case).is_none() => u64::from(INSIDE).wrapping_add_signed(moved),
                _ => 64,
            };
            wave.set_sgpr(first, start as u32);
        }
    }
    // The data share's own register: what it adds to the number of a lane, and the limit of addresses.
    wave.set_sgpr(if case.card.is_rdna() { 125 } else { 124 }, INSIDE);
    let end = match wave.run(&memory) {
        Ok(_) => Ok(()),
        Err(fault) if matches!(fault.kind, FaultKind::Unimplemented { .. }) => return Err(fault.to_string()),
        Err(fault) => Err(fault.kind),
    };
    let mut left = vec![0; ROOM as usize];
    memory.read(base, &mut left).unwrap();
    let moved_itself = |register: &u16| {
        address(case)
            .and_then(|at| vector(&form.operands[at]))
            .is_some_and(|(_, first, count)| (first..first + count).contains(register))
    };
    registers.retain(|register| !moved_itself(register));
    Ok(After {
        rows: registers
            .iter()
            .map(|register| (0..W).map(|lane| wave.vgpr(*register, lane).unwrap()).collect())
            .collect(),
        scalars: if form.encoding == "SMEM" && !form.name.contains("store") {
            // Data, not the base.
            (24..40).map(|n| wave.sgpr(n)).collect()
        } else {
            Vec::new()
        },
        memory: left,
        end,
    })
}

/// Instructions that write what a lane finds in the data share or in private memory, and that look what is there afterwards.
fn around(case: &Case<'_>) -> (Vec<u8>, Vec<u8>) {
    let (space, tail) = match case.form.encoding {
        "DS" => ("ds", ""),
        "SCRATCH" => ("scratch", ", off"),
        _ => return (Vec::new(), Vec::new()),
    };
    let (store, load) = match (space, case.card.is_before_rdna3()) {
        ("ds", true) => ("write_b128", "read_b128"),
        (_, true) => ("store_dwordx4", "load_dwordx4"),
        _ => ("store_b128", "load_b128"),
    };
    let [data, loaded] = [CHECKED + 1, CHECKED + 5].map(|first| format!("v[{first}:{}]", first + 3));
    let piece = |text: String| lines::code(case.card, &text).unwrap_or_else(|| panic!("`{text}`"));
    // Registers of four are even on CDNA2 and CDNA3.
    (
        piece(format!("{space}_{store} v{CHECKED}, {data}{tail}").replace("v[201:204]", "v[202:205]")),
        piece(format!("{space}_{load} {loaded}, v{CHECKED}{tail}").replace("v[205:208]", "v[204:207]")),
    )
}

pub(super) fn compare(case: &Case<'_>) -> Result<LineFate, String> {
    if case.card.lanes == 32 {
        compared::<32>(case)
    } else {
        compared::<64>(case)
    }
}

fn compared<const W: usize>(case: &Case<'_>) -> Result<LineFate, String> {
    let offset = number(case, "offset").unwrap_or(0);
    let got = match run::<W>(case, case.code, 0, offset, Compiling::Off) {
        Ok(got) => got,
        Err(refusal) if names(&refusal, case.text) => return Ok(LineFate::Refused),
        Err(other) => return Err(other),
    };
    if case.compiles && run::<W>(case, case.code, 0, offset, Compiling::AtOnce)? != got {
        return Err("compiled code does something else".to_owned());
    }
    let form = case.form;
    // Which of the offsets of two addresses is which, patterns of lanes, and what asks for the old value.
    let changes = |field: &str| case.changes.iter().any(|change| change.field == field);
    let returns = |word: &str| case.changes.iter().any(|change| change.value.contains(word));
    let atomic = form.name.contains("atomic");
    let other = changes("offset0")
        || changes("offset1")
        || changes("offset")
            && (form.name.contains("swizzle") || form.encoding == "DS" && address(case).is_none())
        || atomic && (returns("glc") || returns("sc0") || returns("RETURN"))
        || form.name.contains("_lds")
        || form.name.contains("addtid") && changes("offset")
        || form.encoding == "SCRATCH"
            && changes("offset")
            && !form.operands.iter().any(|operand| operand == "s6")
            && address(case).is_none();
    let Some(plain) = case.plain.filter(|_| !other) else {
        return Ok(LineFate::Executed {
            held: false,
            compiled: case.compiles,
        });
    };
    let want = run::<W>(case, plain, offset, offset, Compiling::Off)
        .map_err(|refusal| format!("the plain one: {refusal}"))?;
    if want == got {
        return Ok(LineFate::Executed {
            held: true,
            compiled: case.compiles,
        });
    }
    let differs = if want.end != got.end {
        format!("{:?}, not {:?}", got.end, want.end)
    } else if want.memory != got.memory {
        "other memory".to_owned()
    } else if want.scalars != got.scalars {
        format!("scalars {:x?}, not {:x?}", got.scalars, want.scalars)
    } else {
        let at = want
            .rows
            .iter()
            .zip(&got.rows)
            .position(|(want, got)| want != got)
            .unwrap();
        format!(
            "register {at}: {:x?}, not {:x?}",
            &got.rows[at][..4],
            &want.rows[at][..4]
        )
    };
    Err(differs)
}
