//! `gfx disasm`: offset, encoding words and text of each instruction, one after the other in address order.

use std::io::Write;

use gfx_emu::{CodeObject, Target, disassemble};

use crate::CommandResult;
use crate::args::Disasm;
use crate::kernel::{read, the_kernel};

pub(crate) fn disasm(asked: &Disasm, out: &mut impl Write) -> CommandResult {
    let bytes = read(&asked.file)?;
    if !bytes.starts_with(b"\x7fELF") {
        let target = asked.target.ok_or_else(|| {
            format!(
                "{} is not an ELF file; bare machine code needs --target",
                asked.file.display()
            )
        })?;
        return listing(target, &bytes, out);
    }
    let code = CodeObject::load(&bytes).map_err(|error| format!("{}: {error}", asked.file.display()))?;
    if let Some(target) = asked.target.filter(|target| *target != code.target()) {
        return Err(format!("the file is for {}, not {target}", code.target()).into());
    }
    writeln!(out, "{}: {}", asked.file.display(), code.target())?;
    let only = match &asked.kernel {
        Some(name) => Some(the_kernel(&code, Some(name))?.name.as_str()),
        None => None,
    };
    for kernel in code
        .kernels()
        .filter(|kernel| only.is_none_or(|name| kernel.name == name))
    {
        let descriptor = &kernel.descriptor;
        writeln!(
            out,
            "\n{}: {} vector and {} scalar registers, {} bytes of LDS, {} of scratch, {} of arguments",
            kernel.name,
            kernel.vgprs,
            kernel.sgprs,
            descriptor.group_segment_size,
            descriptor.private_segment_size,
            kernel.explicit_kernarg_size()
        )?;
        listing(code.target(), code.code(kernel), out)?;
    }
    Ok(())
}

fn listing(target: Target, code: &[u8], out: &mut impl Write) -> CommandResult {
    let mut at = 0;
    while at < code.len() {
        let rest = &code[at..];
        let (text, size) = disassemble(target, rest).map_or_else(
            |error| (format!("; {}", error.moved_by(at as i64)), rest.len().min(4)),
            |(text, size)| (text, size),
        );
        let words: Vec<String> = rest[..size]
            .chunks(4)
            .map(|word| word.iter().rev().map(|byte| format!("{byte:02x}")).collect())
            .collect();
        writeln!(out, "{at:6x}  {:<26}  {text}", words.join(" "))?;
        at += size;
    }
    Ok(())
}
