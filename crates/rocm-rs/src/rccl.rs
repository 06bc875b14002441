//! RCCL's functions and types as far as this project uses them. rocm-rs has none of them; written after NVIDIA's "NCCL API", whose names
//! RCCL keeps, so that the declarations hold for both libraries.

/// Declarations, as bindgen would make them of `rccl.h`.
#[expect(non_camel_case_types, non_upper_case_globals, reason = "the names are C's")]
pub mod bindings {
    use core::ffi::{c_char, c_int, c_uint, c_void};

    use crate::hip::bindings::hipStream_t;

    /// A rank's place in a group of devices; known to the library alone.
    pub type ncclComm_t = *mut c_void;
    /// What became of a call.
    pub type ncclResult_t = c_uint;
    /// The type of elements.
    pub type ncclDataType_t = c_uint;
    /// How elements are joined.
    pub type ncclRedOp_t = c_uint;

    /// The call was right, and its work is submitted.
    pub const ncclSuccess: ncclResult_t = 0;
    /// A call of HIP or CUDA failed.
    pub const ncclUnhandledCudaError: ncclResult_t = 1;
    /// A call of the operating system failed.
    pub const ncclSystemError: ncclResult_t = 2;
    /// A bug of the library, or damaged memory.
    pub const ncclInternalError: ncclResult_t = 3;
    /// An argument that no call could have.
    pub const ncclInvalidArgument: ncclResult_t = 4;
    /// Calls that do not fit together.
    pub const ncclInvalidUsage: ncclResult_t = 5;

    /// Unsigned bytes.
    pub const ncclUint8: ncclDataType_t = 1;
    /// i32.
    pub const ncclInt32: ncclDataType_t = 2;
    /// u32.
    pub const ncclUint32: ncclDataType_t = 3;
    /// i64.
    pub const ncclInt64: ncclDataType_t = 4;
    /// IEEE's binary16.
    pub const ncclFloat16: ncclDataType_t = 6;
    /// IEEE's binary32.
    pub const ncclFloat32: ncclDataType_t = 7;
    /// IEEE's binary64.
    pub const ncclFloat64: ncclDataType_t = 8;
    /// bfloat16.
    pub const ncclBfloat16: ncclDataType_t = 9;

    /// The sum.
    pub const ncclSum: ncclRedOp_t = 0;
    /// The product.
    pub const ncclProd: ncclRedOp_t = 1;
    /// The largest.
    pub const ncclMax: ncclRedOp_t = 2;
    /// The smallest.
    pub const ncclMin: ncclRedOp_t = 3;
    /// The sum, divided by the number of ranks.
    pub const ncclAvg: ncclRedOp_t = 4;

    unsafe extern "C" {
        /// A communicator for each of `count` devices of this process.
        pub fn ncclCommInitAll(comms: *mut ncclComm_t, count: c_int, devices: *const c_int) -> ncclResult_t;
        /// Ends a communicator.
        pub fn ncclCommDestroy(comm: ncclComm_t) -> ncclResult_t;
        /// A sentence for a result.
        pub fn ncclGetErrorString(result: ncclResult_t) -> *const c_char;
        /// The calls up to [`ncclGroupEnd`] belong together.
        pub fn ncclGroupStart() -> ncclResult_t;
        /// Submits the calls since [`ncclGroupStart`].
        pub fn ncclGroupEnd() -> ncclResult_t;
        /// Every rank gets the join of all ranks' `count` elements.
        pub fn ncclAllReduce(
            send: *const c_void,
            receive: *mut c_void,
            count: usize,
            datatype: ncclDataType_t,
            op: ncclRedOp_t,
            comm: ncclComm_t,
            stream: hipStream_t,
        ) -> ncclResult_t;
        /// Every rank gets all ranks' `count` elements, one rank's after the other's.
        pub fn ncclAllGather(
            send: *const c_void,
            receive: *mut c_void,
            count: usize,
            datatype: ncclDataType_t,
            comm: ncclComm_t,
            stream: hipStream_t,
        ) -> ncclResult_t;
        /// Rank `r` gets its `count` elements, those from number `r * count` on, of the join of all ranks' elements.
        pub fn ncclReduceScatter(
            send: *const c_void,
            receive: *mut c_void,
            count: usize,
            datatype: ncclDataType_t,
            op: ncclRedOp_t,
            comm: ncclComm_t,
            stream: hipStream_t,
        ) -> ncclResult_t;
        /// Every rank gets the `count` elements of rank `root`.
        pub fn ncclBroadcast(
            send: *const c_void,
            receive: *mut c_void,
            count: usize,
            datatype: ncclDataType_t,
            root: c_int,
            comm: ncclComm_t,
            stream: hipStream_t,
        ) -> ncclResult_t;
        /// Sends `count` elements to rank `peer`, which asks for them.
        pub fn ncclSend(
            send: *const c_void,
            count: usize,
            datatype: ncclDataType_t,
            peer: c_int,
            comm: ncclComm_t,
            stream: hipStream_t,
        ) -> ncclResult_t;
        /// Asks rank `peer` for `count` elements.
        pub fn ncclRecv(
            receive: *mut c_void,
            count: usize,
            datatype: ncclDataType_t,
            peer: c_int,
            comm: ncclComm_t,
            stream: hipStream_t,
        ) -> ncclResult_t;
    }
}
