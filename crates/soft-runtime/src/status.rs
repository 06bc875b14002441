//! What a call answers: HSA's status codes, with their numbers and words.

/// A status that is not success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Status {
    /// What was asked for is not offered, or failed.
    Error = 0x1000,
    /// An argument is not valid.
    InvalidArgument = 0x1001,
    /// A queue of this type or size cannot be made.
    InvalidQueueCreation = 0x1002,
    /// An allocation is not valid.
    InvalidAllocation = 0x1003,
    /// There is no such agent.
    InvalidAgent = 0x1004,
    /// There is no such signal.
    InvalidSignal = 0x1006,
    /// There is no such queue.
    InvalidQueue = 0x1007,
    /// There is not enough memory.
    OutOfResources = 0x1008,
    /// A packet is malformed.
    InvalidPacketFormat = 0x1009,
    /// The runtime was not initialised.
    NotInitialized = 0x100b,
    /// There is no such instruction set.
    InvalidIsa = 0x100f,
    /// A code object cannot be loaded.
    InvalidCodeObject = 0x1010,
    /// There is no such executable.
    InvalidExecutable = 0x1011,
    /// The executable is frozen.
    FrozenExecutable = 0x1012,
    /// There is no symbol of this name.
    InvalidSymbolName = 0x1013,
    /// A kernel faulted.
    Exception = 0x1016,
    /// There is no such symbol.
    InvalidExecutableSymbol = 0x1019,
    /// There is no such reader.
    InvalidCodeObjectReader = 0x1021,
    /// There is no such pool.
    InvalidMemoryPool = 40,
    /// A kernel accessed memory that is not its own.
    MemoryFault = 43,
}

impl From<Status> for u32 {
    fn from(status: Status) -> u32 {
        status as u32
    }
}

/// The result of a call.
pub type Answer<T> = Result<T, Status>;

/// What a status code means, ended by a zero byte.
pub fn words(code: u32) -> Option<&'static std::ffi::CStr> {
    Some(match code {
        0 => c"HSA_STATUS_SUCCESS: The function has been executed successfully.",
        1 => c"HSA_STATUS_INFO_BREAK: A traversal was stopped by the caller.",
        0x1000 => c"HSA_STATUS_ERROR: The software GPU does not offer this, or it failed.",
        0x1001 => c"HSA_STATUS_ERROR_INVALID_ARGUMENT: An argument is not valid.",
        0x1002 => c"HSA_STATUS_ERROR_INVALID_QUEUE_CREATION: A queue of this type or size cannot be made.",
        0x1003 => c"HSA_STATUS_ERROR_INVALID_ALLOCATION: The allocation is not valid.",
        0x1004 => c"HSA_STATUS_ERROR_INVALID_AGENT: There is no such agent.",
        0x1006 => c"HSA_STATUS_ERROR_INVALID_SIGNAL: There is no such signal.",
        0x1007 => c"HSA_STATUS_ERROR_INVALID_QUEUE: There is no such queue.",
        0x1008 => c"HSA_STATUS_ERROR_OUT_OF_RESOURCES: There is not enough memory.",
        0x1009 => c"HSA_STATUS_ERROR_INVALID_PACKET_FORMAT: A queue has a packet that is malformed.",
        0x100b => c"HSA_STATUS_ERROR_NOT_INITIALIZED: hsa_init was not called.",
        0x100f => c"HSA_STATUS_ERROR_INVALID_ISA: There is no such instruction set.",
        0x1010 => c"HSA_STATUS_ERROR_INVALID_CODE_OBJECT: The code object cannot be loaded.",
        0x1011 => c"HSA_STATUS_ERROR_INVALID_EXECUTABLE: There is no such executable.",
        0x1012 => c"HSA_STATUS_ERROR_FROZEN_EXECUTABLE: The executable is frozen.",
        0x1013 => c"HSA_STATUS_ERROR_INVALID_SYMBOL_NAME: There is no symbol of this name.",
        0x1016 => c"HSA_STATUS_ERROR_EXCEPTION: A kernel faulted.",
        0x1019 => c"HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL: There is no such symbol.",
        0x1021 => c"HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER: There is no such code object reader.",
        40 => c"HSA_STATUS_ERROR_INVALID_MEMORY_POOL: There is no such memory pool.",
        43 => c"HSA_STATUS_ERROR_MEMORY_FAULT: A kernel accessed memory that is not its own.",
        _ => return None,
    })
}
