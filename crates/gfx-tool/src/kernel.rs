//! `gfx run`: a launch with arguments from the command line, and the buffers afterwards. Setting one up is shared with
//! `gfx trace`.

use std::io::{Read as _, Write};
use std::path::Path;

use gfx_emu::{CodeObject, Dispatch, Kernel, LaunchOptions, Memory, Placement, TimeLimit, launch};
use rocm_env::Seconds;

use crate::args::Launch;
use crate::values::{Argument, Output, Type};
use crate::{CommandResult, Failure};

/// Device memory of a launch, in bytes.
const CAPACITY: u64 = 1 << 34;
/// Elements of a line of output.
const LINE: usize = 8;

/// Bytes of code that a file may have.
const MOST_CODE: usize = 1 << 30;

/// The whole file, which has code.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, String> {
    let bytes = at_most(path, MOST_CODE)?;
    if bytes.len() > MOST_CODE {
        return Err(format!("{} has more than {MOST_CODE} bytes", path.display()));
    }
    Ok(bytes)
}

/// A file's bytes, one more than `limit` of them at most: devices have no end.
pub(crate) fn at_most(path: &Path, limit: usize) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    let limited = file.take(limit as u64 + 1).read_to_end(&mut bytes);
    limited.map_err(failed)?;
    Ok(bytes)
}

/// The kernel of that name, or the only one.
pub(crate) fn the_kernel<'a>(code: &'a CodeObject, name: Option<&str>) -> Result<&'a Kernel, String> {
    let names = || {
        code.kernels()
            .map(|kernel| kernel.name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    match name {
        Some(name) => code
            .kernel(name)
            .ok_or_else(|| format!("no kernel `{name}`; there are {}", names())),
        None => {
            let mut kernels = code.kernels();
            match (kernels.next(), kernels.next()) {
                (Some(only), None) => Ok(only),
                _ => Err(format!("--kernel is needed; there are {}", names())),
            }
        }
    }
}

/// A code object in device memory beside the buffers of its arguments.
pub(crate) struct Setup {
    pub(crate) code: CodeObject,
    pub(crate) memory: Memory,
    placement: Placement,
    kernarg: Vec<u8>,
    /// Address of each argument's buffer.
    buffers: Vec<Option<u64>>,
}

impl Setup {
    pub(crate) fn new(asked: &Launch) -> Result<Setup, String> {
        let code = CodeObject::load(&read(&asked.file)?)
            .map_err(|error| format!("{}: {error}", asked.file.display()))?;
        let mut memory = Memory::new(CAPACITY);
        if asked.sanitize {
            memory.track_writes();
        }
        let placement = code.place(&mut memory).map_err(|error| error.to_string())?;
        let kernel = the_kernel(&code, asked.kernel.as_deref())?;
        let places: Vec<_> = kernel.explicit_args().collect();
        if places.len() != asked.arguments.len() {
            return Err(format!(
                "kernel `{}` takes {} arguments, {} are given",
                kernel.name,
                places.len(),
                asked.arguments.len()
            ));
        }
        let mut kernarg = vec![0; kernel.explicit_kernarg_size() as usize];
        let mut buffers = Vec::new();
        for (number, (place, argument)) in places.iter().zip(&asked.arguments).enumerate() {
            let (bytes, buffer) = self::argument(argument, &mut memory)
                .map_err(|error| format!("argument {number}: {error}"))?;
            if bytes.len() != place.size as usize {
                return Err(format!(
                    "argument {number} of kernel `{}` has {} bytes, {} are given",
                    kernel.name,
                    place.size,
                    bytes.len()
                ));
            }
            let at = place.offset as usize;
            kernarg[at..at + bytes.len()].copy_from_slice(&bytes);
            buffers.push(buffer);
        }
        for output in &asked.outputs {
            if buffers.get(output.argument).copied().flatten().is_none() {
                return Err(format!(
                    "--out {}: that argument is not a buffer",
                    output.argument
                ));
            }
        }
        Ok(Setup {
            code,
            memory,
            placement,
            kernarg,
            buffers,
        })
    }

    /// The launch.
    pub(crate) fn dispatch<'a>(&'a self, asked: &Launch) -> Result<Dispatch<'a>, String> {
        Ok(Dispatch {
            kernel: the_kernel(&self.code, asked.kernel.as_deref())?,
            placement: self.placement,
            grid: asked.grid,
            block: asked.block,
            dynamic_lds: asked.lds,
            kernarg: &self.kernarg,
        })
    }

    /// Shows or writes the buffers that are asked for.
    pub(crate) fn show(&self, asked: &Launch, out: &mut impl Write) -> CommandResult {
        let all = (0..self.buffers.len()).map(|argument| Output { argument, file: None });
        let outputs: Vec<Output> = if asked.outputs.is_empty() {
            all.collect()
        } else {
            asked.outputs.clone()
        };
        for output in outputs {
            let number = output.argument;
            let (Some(Some(address)), Some(Argument::Buffer { ty, count, .. })) =
                (self.buffers.get(number), asked.arguments.get(number))
            else {
                continue;
            };
            let mut bytes = vec![0; count * ty.bytes()];
            let read = self.memory.read(*address, &mut bytes);
            read.map_err(|error| error.to_string())?;
            match &output.file {
                Some(path) => std::fs::write(path, &bytes)
                    .map_err(|error| Failure::Said(format!("{}: {error}", path.display())))?,
                None => elements(number, *ty, &bytes, out)?,
            }
        }
        Ok(())
    }
}

/// The bytes of an argument, and its buffer's address.
fn argument(argument: &Argument, memory: &mut Memory) -> Result<(Vec<u8>, Option<u64>), String> {
    match argument {
        Argument::Scalar(bytes) => Ok((bytes.clone(), None)),
        Argument::Buffer { ty, count, .. } => {
            let size = count
                .checked_mul(ty.bytes())
                .ok_or("the buffer has more bytes than there are addresses")?;
            let address = memory.alloc(size as u64).map_err(|error| error.to_string())?;
            if let Some(content) = argument.content()? {
                memory
                    .write(address, &content)
                    .map_err(|error| error.to_string())?;
            }
            Ok((address.to_le_bytes().to_vec(), Some(address)))
        }
    }
}

fn elements(number: usize, ty: Type, bytes: &[u8], out: &mut impl Write) -> CommandResult {
    writeln!(out, "argument {number}:")?;
    for (line, chunk) in bytes.chunks(LINE * ty.bytes()).enumerate() {
        let elements: Vec<String> = chunk.chunks(ty.bytes()).map(|element| ty.show(element)).collect();
        writeln!(out, "{:6}  {}", line * LINE, elements.join(" "))?;
    }
    Ok(())
}

fn limit_of_time(limit: u64) -> TimeLimit {
    TimeLimit {
        clock: rocm_env::clock,
        limit,
    }
}

pub(crate) fn options(asked: &Launch) -> LaunchOptions {
    LaunchOptions {
        sanitize: asked.sanitize,
        max_wave_instructions: asked.limits.max_instructions.unwrap_or_default().0,
        max_time: asked
            .limits
            .timeout
            .and_then(Seconds::milliseconds)
            .map(limit_of_time),
        ..LaunchOptions::default()
    }
}

pub(crate) fn run(asked: &Launch, out: &mut impl Write) -> CommandResult {
    let setup = Setup::new(asked)?;
    let dispatch = setup.dispatch(asked)?;
    let stats = launch(&setup.code, &dispatch, &setup.memory, &options(asked));
    let stats = stats.map_err(|error| error.to_string())?;
    setup.show(asked, out)?;
    writeln!(out, "{} waves, {} instructions", stats.waves, stats.instructions)?;
    Ok(())
}
