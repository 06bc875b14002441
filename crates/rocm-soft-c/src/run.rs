//! One run of raw machine code: a device memory made for it, the code in it, a launch. Safe code.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use gfx_emu::{BARE_KERNEL, CodeObject, Dispatch, LaunchError, LaunchOptions, Memory, Target, launch};

/// What a call answers; the numbers are those of `enum gfx_status` in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Status {
    /// An argument that cannot be.
    Argument = 1,
    /// Code or launch that this device does not execute.
    Refused = 2,
    /// The kernel ran and did something it must not.
    Fault = 3,
    /// A bug of this library.
    Internal = 4,
}

/// Why a call failed, in words too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) status: Status,
    pub(crate) text: String,
}

impl Failure {
    pub(crate) fn new(status: Status, text: impl fmt::Display) -> Failure {
        Failure {
            status,
            text: text.to_string(),
        }
    }
}

/// What `gfx_run` is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) target: &'a str,
    pub(crate) code: &'a [u8],
    /// Workgroups.
    pub(crate) grid: [u32; 3],
    /// Work-items of a workgroup.
    pub(crate) block: [u32; 3],
    pub(crate) kernarg: &'a [u8],
    pub(crate) rsrc2: u32,
    /// Bytes of private memory a lane has.
    pub(crate) scratch: u32,
}

/// Codes that are kept, and the largest of them in bytes.
const KEPT: (usize, usize) = (16, 1 << 20);

/// A code that ran, with what it was made of.
#[derive(Debug)]
struct Kept {
    code: Vec<u8>,
    registers: (Target, u32, u32, u32),
    object: Arc<CodeObject>,
}

/// The codes that ran last, the latest at the end. Each has its decoded instructions, and its machine code of the host.
static CODES: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

/// The request's code: one that ran before, or a new one.
fn code(request: &Request<'_>, target: Target) -> Result<Arc<CodeObject>, Failure> {
    let size = u32::try_from(request.kernarg.len())
        .map_err(|_| Failure::new(Status::Argument, "more than 4 GiB of arguments"))?;
    let registers = (target, request.rsrc2, request.scratch, size);
    // A panic leaves codes that are whole.
    let mut codes = CODES.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |kept: &Kept| kept.registers == registers && kept.code == request.code;
    if let Some(at) = codes.iter().position(is_it) {
        let kept = codes.remove(at);
        let object = Arc::clone(&kept.object);
        codes.push(kept);
        return Ok(object);
    }
    let made = CodeObject::bare(target, request.code, request.rsrc2, request.scratch, size);
    let object = Arc::new(made.map_err(|error| Failure::new(Status::Refused, error))?);
    if request.code.len() <= KEPT.1 {
        if codes.len() == KEPT.0 {
            codes.remove(0);
        }
        codes.push(Kept {
            code: request.code.to_vec(),
            registers,
            object: Arc::clone(&object),
        });
    }
    Ok(object)
}

/// A device memory with room for the code alone; what the host maps comes on top.
pub(crate) fn memory(request: &Request<'_>) -> Memory {
    Memory::new(request.code.len() as u64)
}

/// Runs the code to its end.
pub(crate) fn run(request: &Request<'_>, memory: &mut Memory) -> Result<(), Failure> {
    let target = Target::named(request.target).ok_or_else(|| {
        let known = Target::EXECUTABLE.map(|target| target.to_string()).join(", ");
        let asked = request.target;
        Failure::new(
            Status::Argument,
            format!("no target `{asked}`; there are {known}"),
        )
    })?;
    let refused = |error: &dyn fmt::Display| Failure::new(Status::Refused, error);
    let code = code(request, target)?;
    let placement = code.place(memory).map_err(|error| refused(&error))?;
    let kernel = code
        .kernel(BARE_KERNEL)
        .ok_or_else(|| Failure::new(Status::Internal, "bare code without its kernel"))?;
    let dispatch = Dispatch {
        kernel,
        placement,
        grid: request.grid,
        block: request.block,
        dynamic_lds: 0,
        kernarg: request.kernarg,
    };
    match launch(&code, &dispatch, memory, &LaunchOptions::default()) {
        Ok(_) => Ok(()),
        Err(LaunchError::Fault(fault)) => Err(Failure::new(Status::Fault, fault)),
        Err(error) => Err(refused(&error)),
    }
}
