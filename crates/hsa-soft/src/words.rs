//! HSA's words for its status codes.

/// What a status code means, ended by a zero byte.
pub(crate) fn of(code: u32) -> Option<&'static std::ffi::CStr> {
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
