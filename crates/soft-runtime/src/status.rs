//! What a call answers: HSA's status codes, with their numbers.

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
    /// No agent has this handle.
    InvalidAgent = 0x1004,
    /// No signal has this handle.
    InvalidSignal = 0x1006,
    /// No queue has this address.
    InvalidQueue = 0x1007,
    /// There is not enough memory.
    OutOfResources = 0x1008,
    /// A packet is malformed.
    InvalidPacketFormat = 0x1009,
    /// The runtime was not initialised.
    NotInitialized = 0x100b,
    /// No instruction set has this handle.
    InvalidIsa = 0x100f,
    /// A code object cannot be loaded.
    InvalidCodeObject = 0x1010,
    /// No executable has this handle.
    InvalidExecutable = 0x1011,
    /// The executable is frozen.
    FrozenExecutable = 0x1012,
    /// The code object has no symbol of this name.
    InvalidSymbolName = 0x1013,
    /// A kernel faulted.
    Exception = 0x1016,
    /// No symbol has this handle.
    InvalidExecutableSymbol = 0x1019,
    /// No reader has this handle.
    InvalidCodeObjectReader = 0x1021,
    /// No pool has this handle.
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
