//! The entry points of MIOpen: C's side of the model in `crate::miopen`. See entry.rs for what is relied on.

use core::ffi::{c_char, c_int};

use rocm_rs::miopen::bindings::{
    self as declared, miopenAcceleratorQueue_t, miopenConvSolution_t, miopenConvolutionDescriptor_t,
    miopenConvolutionMode_t, miopenDataType_t, miopenHandle_t, miopenPoolingDescriptor_t,
    miopenPoolingMode_t, miopenStatus_t, miopenTensorDescriptor_t,
};

use super::{address, c_void, opaque, out, status_of};
use crate::miopen::{self, BAD_PARAMETER, ConvolutionCall, Pool};

fn guard(body: impl FnOnce() -> miopen::Result) -> miopenStatus_t {
    status_of(
        declared::miopenStatus_t_miopenStatusSuccess,
        miopen::UNKNOWN_ERROR,
        body,
    )
}

/// Writes the handle of a new object.
///
/// # Safety
/// `place` is null or valid for writing a pointer.
unsafe fn create<T>(place: *mut *mut T, handle: impl FnOnce() -> miopen::Result<usize>) -> miopenStatus_t {
    guard(|| {
        // SAFETY: the caller's promise.
        let place = unsafe { out(place) }.map_err(|_| BAD_PARAMETER)?;
        place.write(opaque(handle()?));
        Ok(())
    })
}

/// A scalar of a pooling: a float in host memory, for every dtype.
///
/// # Safety
/// `pointer` is null or readable for a float.
unsafe fn scale(pointer: *const c_void) -> miopen::Result<f32> {
    // SAFETY: the caller's promise.
    unsafe { pointer.cast::<f32>().as_ref() }
        .copied()
        .ok_or(BAD_PARAMETER)
}

/// Writes the solutions of a call: one or none.
///
/// # Safety
/// `count` is null or writable, `solutions` is null or has room for `room` of them.
unsafe fn solve(
    call: ConvolutionCall,
    room: usize,
    count: *mut usize,
    solutions: *mut miopenConvSolution_t,
) -> miopenStatus_t {
    guard(|| {
        // SAFETY: the caller's promise.
        let count = unsafe { out(count) }.map_err(|_| BAD_PARAMETER)?;
        if room == 0 {
            return Err(BAD_PARAMETER);
        }
        let found = call.solution()?;
        if let Some(workspace_size) = found {
            // SAFETY: as above; there is room for one.
            let place = unsafe { out(solutions) }.map_err(|_| BAD_PARAMETER)?;
            place.write(miopenConvSolution_t {
                time: 1.0,
                workspace_size,
                solution_id: miopen::SOLUTION,
                algorithm: declared::miopenConvAlgorithm_t_miopenConvolutionAlgoDirect,
            });
        }
        count.write(usize::from(found.is_some()));
        Ok(())
    })
}

/// A call by its descriptors, in the order images, kernel, results.
fn call(
    handle: miopenHandle_t,
    convolution: miopenConvolutionDescriptor_t,
    tensors: [miopenTensorDescriptor_t; 3],
) -> ConvolutionCall {
    ConvolutionCall {
        handle: handle.addr(),
        convolution: convolution.addr(),
        tensors: tensors.map(|tensor| tensor.addr()),
    }
}

foreign! {
    fn miopenGetErrorString(status: miopenStatus_t) -> *const c_char {
        miopen::status_name(status).as_ptr()
    }

    fn miopenCreateWithStream(handle: *mut miopenHandle_t, stream: miopenAcceleratorQueue_t) -> miopenStatus_t {
        // SAFETY: MIOpen's contract on out-pointers is HIP's.
        unsafe { create(handle, || miopen::create_handle(stream.addr())) }
    }

    fn miopenDestroy(handle: miopenHandle_t) -> miopenStatus_t {
        guard(|| miopen::destroy(handle.addr()))
    }

    fn miopenCreateTensorDescriptor(tensor: *mut miopenTensorDescriptor_t) -> miopenStatus_t {
        // SAFETY: MIOpen's contract on out-pointers.
        unsafe { create(tensor, || Ok(miopen::create_tensor())) }
    }

    fn miopenSet4dTensorDescriptor(
        tensor: miopenTensorDescriptor_t, datatype: miopenDataType_t, n: c_int, c: c_int, h: c_int, w: c_int,
    ) -> miopenStatus_t {
        guard(|| miopen::set_tensor(tensor.addr(), datatype, [n, c, h, w]))
    }

    fn miopenDestroyTensorDescriptor(tensor: miopenTensorDescriptor_t) -> miopenStatus_t {
        guard(|| miopen::destroy(tensor.addr()))
    }

    fn miopenCreateConvolutionDescriptor(convolution: *mut miopenConvolutionDescriptor_t) -> miopenStatus_t {
        // SAFETY: MIOpen's contract on out-pointers.
        unsafe { create(convolution, || Ok(miopen::create_convolution())) }
    }

    fn miopenInitConvolutionDescriptor(
        convolution: miopenConvolutionDescriptor_t, mode: miopenConvolutionMode_t, pad_h: c_int, pad_w: c_int,
        stride_h: c_int, stride_w: c_int, dilation_h: c_int, dilation_w: c_int,
    ) -> miopenStatus_t {
        let slide = [[pad_h, pad_w], [stride_h, stride_w], [dilation_h, dilation_w]];
        guard(|| miopen::init_convolution(convolution.addr(), mode, slide))
    }

    fn miopenSetConvolutionGroupCount(
        convolution: miopenConvolutionDescriptor_t, groups: c_int,
    ) -> miopenStatus_t {
        guard(|| miopen::set_groups(convolution.addr(), groups))
    }

    fn miopenDestroyConvolutionDescriptor(convolution: miopenConvolutionDescriptor_t) -> miopenStatus_t {
        guard(|| miopen::destroy(convolution.addr()))
    }

    fn miopenConvolutionForwardGetSolution(
        handle: miopenHandle_t, w: miopenTensorDescriptor_t, x: miopenTensorDescriptor_t,
        convolution: miopenConvolutionDescriptor_t, y: miopenTensorDescriptor_t, room: usize, count: *mut usize,
        solutions: *mut miopenConvSolution_t,
    ) -> miopenStatus_t {
        // SAFETY: MIOpen's contract on out-pointers, and on `room` solutions.
        unsafe { solve(call(handle, convolution, [x, w, y]), room, count, solutions) }
    }

    fn miopenConvolutionForwardCompileSolution(
        handle: miopenHandle_t, w: miopenTensorDescriptor_t, x: miopenTensorDescriptor_t,
        convolution: miopenConvolutionDescriptor_t, y: miopenTensorDescriptor_t, solution: u64,
    ) -> miopenStatus_t {
        guard(|| call(handle, convolution, [x, w, y]).check_solution(solution))
    }

    fn miopenConvolutionForwardImmediate(
        handle: miopenHandle_t, w_desc: miopenTensorDescriptor_t, w: *const c_void,
        x_desc: miopenTensorDescriptor_t, x: *const c_void, convolution: miopenConvolutionDescriptor_t,
        y_desc: miopenTensorDescriptor_t, y: *mut c_void, workspace: *mut c_void, room: usize, solution: u64,
    ) -> miopenStatus_t {
        let addresses = [x, w, y.cast_const(), workspace.cast_const()].map(address);
        guard(|| call(handle, convolution, [x_desc, w_desc, y_desc]).run(false, addresses, room, solution))
    }

    fn miopenConvolutionBackwardDataGetSolution(
        handle: miopenHandle_t, dy: miopenTensorDescriptor_t, w: miopenTensorDescriptor_t,
        convolution: miopenConvolutionDescriptor_t, dx: miopenTensorDescriptor_t, room: usize, count: *mut usize,
        solutions: *mut miopenConvSolution_t,
    ) -> miopenStatus_t {
        // SAFETY: MIOpen's contract on out-pointers, and on `room` solutions.
        unsafe { solve(call(handle, convolution, [dx, w, dy]), room, count, solutions) }
    }

    fn miopenConvolutionBackwardDataCompileSolution(
        handle: miopenHandle_t, dy: miopenTensorDescriptor_t, w: miopenTensorDescriptor_t,
        convolution: miopenConvolutionDescriptor_t, dx: miopenTensorDescriptor_t, solution: u64,
    ) -> miopenStatus_t {
        guard(|| call(handle, convolution, [dx, w, dy]).check_solution(solution))
    }

    fn miopenConvolutionBackwardDataImmediate(
        handle: miopenHandle_t, dy_desc: miopenTensorDescriptor_t, dy: *const c_void,
        w_desc: miopenTensorDescriptor_t, w: *const c_void, convolution: miopenConvolutionDescriptor_t,
        dx_desc: miopenTensorDescriptor_t, dx: *mut c_void, workspace: *mut c_void, room: usize, solution: u64,
    ) -> miopenStatus_t {
        let addresses = [dx.cast_const(), w, dy, workspace.cast_const()].map(address);
        guard(|| call(handle, convolution, [dx_desc, w_desc, dy_desc]).run(true, addresses, room, solution))
    }

    fn miopenCreatePoolingDescriptor(pooling: *mut miopenPoolingDescriptor_t) -> miopenStatus_t {
        // SAFETY: MIOpen's contract on out-pointers.
        unsafe { create(pooling, || Ok(miopen::create_pooling())) }
    }

    fn miopenSet2dPoolingDescriptor(
        pooling: miopenPoolingDescriptor_t, mode: miopenPoolingMode_t, window_h: c_int, window_w: c_int,
        pad_h: c_int, pad_w: c_int, stride_h: c_int, stride_w: c_int,
    ) -> miopenStatus_t {
        let slide = [[window_h, window_w], [pad_h, pad_w], [stride_h, stride_w]];
        guard(|| miopen::set_pooling(pooling.addr(), mode, slide))
    }

    fn miopenDestroyPoolingDescriptor(pooling: miopenPoolingDescriptor_t) -> miopenStatus_t {
        guard(|| miopen::destroy(pooling.addr()))
    }

    fn miopenPoolingForward(
        handle: miopenHandle_t, pooling: miopenPoolingDescriptor_t, alpha: *const c_void,
        x_desc: miopenTensorDescriptor_t, x: *const c_void, beta: *const c_void, y_desc: miopenTensorDescriptor_t,
        y: *mut c_void, _do_backward: bool, _workspace: *mut c_void, _room: usize,
    ) -> miopenStatus_t {
        guard(|| {
            // SAFETY: MIOpen's contract: floats in host memory.
            let scale = unsafe { [scale(alpha)?, scale(beta)?] };
            Pool {
                handle: handle.addr(),
                pooling: pooling.addr(),
                tensors: [x_desc.addr(), y_desc.addr()],
                addresses: [address(x), address(y)],
                scale,
            }
            .run()
        })
    }
}
