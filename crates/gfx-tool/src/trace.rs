//! `gfx trace`: every instruction of one wave with the registers it changed.

use std::io::Write;

use gfx_emu::{Step, trace as traced};

use crate::args::Trace;
use crate::kernel::{Setup, options};
use crate::{CommandResult, Failure};

/// Vector registers from here on are accumulation registers.
const ACCUMULATION: usize = 256;

pub(crate) fn trace(asked: &Trace, out: &mut impl Write) -> CommandResult {
    let setup = Setup::new(&asked.launch)?;
    let dispatch = setup.dispatch(&asked.launch)?;
    let limit = asked.limit.unwrap_or(u64::MAX);
    let (mut shown, mut written) = (0_u64, Ok(()));
    let mut visit = |step: Step| {
        shown += 1;
        if shown <= limit && written.is_ok() {
            written = line(&step, out);
        }
    };
    let watched = gfx_emu::Trace {
        workgroup: asked.workgroup,
        wave: asked.wave,
        visit: &mut visit,
    };
    let result = traced(
        &setup.code,
        &dispatch,
        &setup.memory,
        &options(&asked.launch),
        watched,
    );
    written?;
    if shown > limit {
        writeln!(out, "... and {} more instructions", shown - limit)?;
    }
    result.map_err(|error| Failure::Said(error.to_string()))?;
    Ok(())
}

fn line(step: &Step, out: &mut impl Write) -> std::io::Result<()> {
    writeln!(out, "{:6x}  {}", step.pc, step.text)?;
    for (name, value) in &step.scalars {
        writeln!(out, "          {name} = {value:#x}")?;
    }
    for (register, lanes) in &step.vectors {
        let name = match register.checked_sub(ACCUMULATION) {
            Some(n) => format!("a{n}"),
            None => format!("v{register}"),
        };
        writeln!(out, "          {name} = {}", values(lanes))?;
    }
    Ok(())
}

/// `0x5` when all changed lanes have it, else `lane:value` for each.
fn values(lanes: &[(usize, u32)]) -> String {
    match lanes {
        [(_, first), rest @ ..] if !rest.is_empty() && rest.iter().all(|(_, value)| value == first) => {
            format!("{first:#x} in {} lanes", lanes.len())
        }
        _ => {
            let values: Vec<String> = lanes
                .iter()
                .map(|(lane, value)| format!("{lane}:{value:#x}"))
                .collect();
            values.join(" ")
        }
    }
}
