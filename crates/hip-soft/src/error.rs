//! HIP's codes, and which one a refusal of the software GPU gets.

use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::hipError_t;
use soft_runtime::status::Status;

pub(crate) use rocm_rs::driver::{Result, name, peek_last, record, take_last, text};

pub(crate) const INVALID_VALUE: hipError_t = hip::hipError_t_hipErrorInvalidValue;
pub(crate) const INVALID_HANDLE: hipError_t = hip::hipError_t_hipErrorInvalidHandle;
pub(crate) const NOT_READY: hipError_t = hip::hipError_t_hipErrorNotReady;
pub(crate) const NOT_SUPPORTED: hipError_t = hip::hipError_t_hipErrorNotSupported;

/// The code of a status.
pub(crate) fn of(status: Status) -> hipError_t {
    match status {
        Status::OutOfResources => hip::hipError_t_hipErrorOutOfMemory,
        Status::InvalidAgent => hip::hipError_t_hipErrorInvalidDevice,
        Status::NotInitialized => hip::hipError_t_hipErrorNotInitialized,
        Status::InvalidCodeObject => hip::hipError_t_hipErrorInvalidImage,
        Status::InvalidSymbolName => hip::hipError_t_hipErrorNotFound,
        Status::InvalidPacketFormat => hip::hipError_t_hipErrorInvalidConfiguration,
        Status::MemoryFault => hip::hipError_t_hipErrorIllegalAddress,
        Status::Exception => hip::hipError_t_hipErrorLaunchFailure,
        Status::Error => hip::hipError_t_hipErrorUnknown,
        Status::InvalidArgument
        | Status::InvalidQueueCreation
        | Status::InvalidAllocation
        | Status::InvalidSignal
        | Status::InvalidQueue
        | Status::InvalidIsa
        | Status::InvalidExecutable
        | Status::FrozenExecutable
        | Status::InvalidExecutableSymbol
        | Status::InvalidCodeObjectReader
        | Status::InvalidMemoryPool => INVALID_VALUE,
    }
}
