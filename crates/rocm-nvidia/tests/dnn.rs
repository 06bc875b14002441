//! MIOpen's entry points over stand-ins for NVIDIA's driver and cuDNN (libcuda.c, libcudnn.c), compiled here with `cc`: what each asks of
//! cuDNN, and that convolutions and means come out as MIOpen documents them. No GPU is needed. One test, as a process has
//! one of each library.
#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]
#![expect(unsafe_code, reason = "calls C functions by their addresses")]

#[path = "mock/function.rs"]
mod function;
mod mock;

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;

use function::function;
use mock::Mock;
use rocm_rs::miopen::bindings as nn;
use rocm_rs::miopen::bindings::{
    miopenConvSolution_t, miopenConvolutionDescriptor_t, miopenHandle_t, miopenPoolingDescriptor_t,
    miopenStatus_t, miopenTensorDescriptor_t,
};

const SUCCESS: miopenStatus_t = nn::miopenStatus_t_miopenStatusSuccess;
const NOT_INITIALIZED: miopenStatus_t = nn::miopenStatus_t_miopenStatusNotInitialized;
const BAD_PARAMETER: miopenStatus_t = nn::miopenStatus_t_miopenStatusBadParm;
const NOT_IMPLEMENTED: miopenStatus_t = nn::miopenStatus_t_miopenStatusNotImplemented;
const UNSUPPORTED: miopenStatus_t = nn::miopenStatus_t_miopenStatusUnsupportedOp;
const FLOAT: c_uint = nn::miopenDataType_t_miopenFloat;
const HALF: c_uint = nn::miopenDataType_t_miopenHalf;

type Tensor = miopenTensorDescriptor_t;
type Convolution = miopenConvolutionDescriptor_t;
type Made<T> = unsafe extern "C" fn(*mut T) -> miopenStatus_t;
type Destroyed<T> = unsafe extern "C" fn(T) -> miopenStatus_t;
type Create = unsafe extern "C" fn(*mut miopenHandle_t, nn::hipStream_t) -> miopenStatus_t;
type SetTensor = unsafe extern "C" fn(Tensor, c_uint, c_int, c_int, c_int, c_int) -> miopenStatus_t;
type InitConvolution =
    unsafe extern "C" fn(Convolution, c_uint, c_int, c_int, c_int, c_int, c_int, c_int) -> miopenStatus_t;
type Solutions = unsafe extern "C" fn(
    miopenHandle_t,
    Tensor,
    Tensor,
    Convolution,
    Tensor,
    usize,
    *mut usize,
    *mut miopenConvSolution_t,
) -> miopenStatus_t;
type Compile =
    unsafe extern "C" fn(miopenHandle_t, Tensor, Tensor, Convolution, Tensor, u64) -> miopenStatus_t;
type Run = unsafe extern "C" fn(
    miopenHandle_t,
    Tensor,
    *const c_void,
    Tensor,
    *const c_void,
    Convolution,
    Tensor,
    *mut c_void,
    *mut c_void,
    usize,
    u64,
) -> miopenStatus_t;
type SetPooling = unsafe extern "C" fn(
    miopenPoolingDescriptor_t,
    c_uint,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
) -> miopenStatus_t;
type Pool = unsafe extern "C" fn(
    miopenHandle_t,
    miopenPoolingDescriptor_t,
    *const c_void,
    Tensor,
    *const c_void,
    *const c_void,
    Tensor,
    *mut c_void,
    bool,
    *mut c_void,
    usize,
) -> miopenStatus_t;

/// A new object of MIOpen's, whose constructor takes nothing but the place for it.
macro_rules! made {
    ($name:ident: $ty:ty) => {{
        let mut object: $ty = ptr::null_mut();
        let make = function!(nn::$name: Made<$ty>);
        // SAFETY: a live place for an object.
        let status = unsafe { make(&raw mut object) };
        assert_eq!(status, SUCCESS);
        object
    }};
}

fn create() -> (miopenStatus_t, miopenHandle_t) {
    let mut handle = ptr::null_mut();
    let stream = ptr::without_provenance_mut(0x500);
    let create = function!(nn::miopenCreateWithStream: Create);
    // SAFETY: a live place for a handle; the stand-in looks at no stream.
    let status = unsafe { create(&raw mut handle, stream) };
    (status, handle)
}

fn set(tensor: Tensor, dtype: c_uint, [n, c, h, w]: [c_int; 4]) -> miopenStatus_t {
    let set = function!(nn::miopenSet4dTensorDescriptor: SetTensor);
    // SAFETY: any pointer will do: the function looks for it among its objects, and does not follow it.
    unsafe { set(tensor, dtype, n, c, h, w) }
}

fn tensor(dtype: c_uint, size: [c_int; 4]) -> Tensor {
    let tensor = made!(miopenCreateTensorDescriptor: Tensor);
    assert_eq!(set(tensor, dtype, size), SUCCESS);
    tensor
}

/// A convolution with padding, stride and dilation in y and x.
fn convolution(mode: c_uint, [pad, stride, dilation]: [[c_int; 2]; 3]) -> (miopenStatus_t, Convolution) {
    let convolution = made!(miopenCreateConvolutionDescriptor: Convolution);
    let init = function!(nn::miopenInitConvolutionDescriptor: InitConvolution);
    // SAFETY: a living descriptor and numbers.
    let status = unsafe {
        init(
            convolution,
            mode,
            pad[0],
            pad[1],
            stride[0],
            stride[1],
            dilation[0],
            dilation[1],
        )
    };
    (status, convolution)
}

#[test]
fn each_entry_point_asks_cudnn_for_the_same_thing() {
    assert_eq!(create(), (NOT_INITIALIZED, ptr::null_mut()), "no cuDNN is loaded");
    let folder = tempfile::tempdir().unwrap();
    let driver = Mock::compile(folder.path(), "libcuda.c", rocm_nvidia::LIBRARY);
    let library = Mock::compile(folder.path(), "libcudnn.c", rocm_nvidia::DNN_LIBRARIES[0]);
    rocm_nvidia::load(&driver).unwrap();
    rocm_nvidia::load_dnn(&library).unwrap();
    let mock = Mock::load(&library);

    let (status, handle) = create();
    assert_eq!(
        (status, mock.calls()),
        (
            SUCCESS,
            vec!["cudnnCreate".to_owned(), "cudnnSetStream 1 500".to_owned()]
        )
    );
    descriptors(&mock);
    convolutions(&mock, handle);
    means(&mock, handle);

    let destroy = function!(nn::miopenDestroy: Destroyed<miopenHandle_t>);
    // SAFETY: the second call gets a destroyed handle. The function looks its number up and does not dereference it.
    let destroyed = unsafe { [destroy(handle), destroy(handle)] };
    assert_eq!(destroyed, [SUCCESS, BAD_PARAMETER]);
    assert_eq!(mock.calls(), ["cudnnDestroy"]);
}

/// Products of f32 are not rounded to TF32; those of 16 bits take matrix cores and sum in f32.
fn descriptors(mock: &Mock) {
    let size = [2, 3, 4, 5];
    let half = tensor(HALF, size);
    assert_eq!(
        mock.calls(),
        [
            "cudnnCreateTensorDescriptor",
            "cudnnCreateFilterDescriptor",
            "cudnnSetTensor4dDescriptor 0 2 2 3 4 5",
            "cudnnSetFilter4dDescriptor 0 2 2 3 4 5",
        ]
    );
    assert_eq!(
        set(half, nn::miopenDataType_t_miopenDouble, size),
        NOT_IMPLEMENTED
    );
    assert_eq!(set(ptr::without_provenance_mut(8), FLOAT, size), BAD_PARAMETER);
    assert!(mock.calls().is_empty());
    let destroy = function!(nn::miopenDestroyTensorDescriptor: Destroyed<Tensor>);
    // SAFETY: as above.
    let destroyed = unsafe { [destroy(half), destroy(half)] };
    assert_eq!(destroyed, [SUCCESS, BAD_PARAMETER]);
    assert_eq!(
        mock.calls(),
        ["cudnnDestroyTensorDescriptor", "cudnnDestroyFilterDescriptor"]
    );
    let slide = [[1, 2], [3, 4], [5, 6]];
    let (status, _) = convolution(nn::miopenConvolutionMode_t_miopenConvolution, slide);
    assert_eq!(status, SUCCESS);
    let asked = "cudnnSetConvolution2dDescriptor 1 2, 3 4, 5 6, mode 1, sums 0";
    assert_eq!(
        mock.calls()[2..],
        [
            asked,
            "cudnnSetConvolutionMathType 3",
            asked,
            "cudnnSetConvolutionMathType 1"
        ]
    );
    assert_eq!(
        convolution(nn::miopenConvolutionMode_t_miopenTranspose, slide).0,
        NOT_IMPLEMENTED
    );
    mock.calls();
}

/// out[n][k] is the sum of x[n][c] by w[k][c], each tap where it lies.
fn convolutions(mock: &Mock, handle: miopenHandle_t) {
    let (of_x, of_w) = ([2, 3, 5, 6], [4, 3, 2, 3]);
    let slide = [[1, 0], [1, 2], [1, 1]];
    let (_, how) = convolution(nn::miopenConvolutionMode_t_miopenConvolution, slide);
    // Rows: (5 + 2 - 2) / 1 + 1; columns: (6 - 3) / 2 + 1.
    let of_y = [2, 4, 6, 2];
    let [x, w, y] = [of_x, of_w, of_y].map(|size| tensor(FLOAT, size));
    let len = |size: [c_int; 4]| size.iter().product::<c_int>() as usize;
    let numbers =
        |size, seed: usize| Vec::from_iter((0..len(size)).map(|i| ((i * 5 + seed) % 7) as f32 - 3.0));
    let (images, weights) = (numbers(of_x, 1), numbers(of_w, 2));
    mock.calls();

    let offer = function!(nn::miopenConvolutionForwardGetSolution: Solutions);
    // SAFETY: C structs of numbers, for which zero is a value.
    let (mut count, mut solutions): (_, [miopenConvSolution_t; 4]) = (0, unsafe { std::mem::zeroed() });
    // SAFETY: living objects, and room for four solutions.
    let status = unsafe { offer(handle, w, x, how, y, 4, &raw mut count, solutions.as_mut_ptr()) };
    assert_eq!(status, SUCCESS);
    assert_eq!(mock.calls(), ["cudnnGetConvolutionForwardAlgorithm_v7 1 math 3"]);
    // Of three offers one is Winograd's and one adds up in any order.
    assert_eq!((count, solutions[0].workspace_size), (1, 8));
    let solution = solutions[0].solution_id;
    let compile = function!(nn::miopenConvolutionForwardCompileSolution: Compile);
    // SAFETY: living objects.
    let compiled = [solution, 7].map(|id| unsafe { compile(handle, w, x, how, y, id) });
    assert_eq!(compiled, [SUCCESS, BAD_PARAMETER]);

    let (mut got, mut room) = (vec![9.0_f32; len(of_y)], [0_u64; 1]);
    let run = function!(nn::miopenConvolutionForwardImmediate: Run);
    let mut go = |id| {
        let (at, by) = (images.as_ptr().cast(), weights.as_ptr().cast());
        let (to, workspace) = (got.as_mut_ptr().cast(), room.as_mut_ptr().cast());
        // SAFETY: living objects, and tensors of their sizes on the host, which is the stand-in's device.
        unsafe { run(handle, w, by, x, at, how, y, to, workspace, 8, id) }
    };
    assert_eq!(go(solution), SUCCESS);
    assert_eq!(mock.calls(), ["cudnnConvolutionForward 1 by 0, 1 of 8, 1 0"]);
    assert_eq!(go(7), BAD_PARAMETER, "no solution");
    assert!(mock.calls().is_empty());
    mock.fail(c"cudnnConvolutionForward", 3000);
    assert_eq!(go(solution), UNSUPPORTED);
    let detail = rocm_nvidia::take_detail();
    assert_eq!(
        detail.as_deref(),
        Some("cudnnConvolutionForward: cudnnStatus_t 3000")
    );
    mock.calls();

    let mut want = vec![0.0_f32; got.len()];
    for ((n, k), c) in pairs(of_x[0], of_w[0]).flat_map(|at| (0..of_x[1]).map(move |c| (at, c))) {
        for ((row, col), (tap_y, tap_x)) in
            pairs(of_y[2], of_y[3]).flat_map(|at| pairs(of_w[2], of_w[3]).map(move |tap| (at, tap)))
        {
            let (place_y, place_x) = (row + tap_y - 1, 2 * col + tap_x);
            if (0..of_x[2]).contains(&place_y) && (0..of_x[3]).contains(&place_x) {
                let image = images[index(of_x, [n, c, place_y, place_x])];
                want[index(of_y, [n, k, row, col])] += image * weights[index(of_w, [k, c, tap_y, tap_x])];
            }
        }
    }
    assert_eq!(got, want);

    // A gradient is the caller's own. Neither tensors of two dtypes nor a descriptor of another kind go to cuDNN.
    let back = function!(nn::miopenConvolutionBackwardDataGetSolution: Solutions);
    // SAFETY: as above.
    let status = unsafe { back(handle, y, w, how, x, 4, &raw mut count, solutions.as_mut_ptr()) };
    assert_eq!(status, NOT_IMPLEMENTED);
    assert_eq!(set(w, HALF, of_w), SUCCESS);
    mock.calls();
    // SAFETY: living objects.
    assert_eq!(unsafe { compile(handle, w, x, how, y, 1) }, BAD_PARAMETER);
    // SAFETY: the function looks the number of what is not a tensor up and does not dereference it.
    let of_another = unsafe { compile(handle, handle.cast(), x, how, y, 1) };
    assert_eq!(of_another, BAD_PARAMETER);
    assert!(mock.calls().is_empty());
}

fn means(mock: &Mock, handle: miopenHandle_t) {
    let pooling = made!(miopenCreatePoolingDescriptor: miopenPoolingDescriptor_t);
    let set_pooling = function!(nn::miopenSet2dPoolingDescriptor: SetPooling);
    // SAFETY: a living descriptor and numbers.
    let largest = unsafe {
        set_pooling(
            pooling,
            nn::miopenPoolingMode_t_miopenPoolingMax,
            2,
            3,
            0,
            0,
            1,
            3,
        )
    };
    assert_eq!(
        largest, NOT_IMPLEMENTED,
        "what becomes of a NaN is not documented"
    );
    // SAFETY: as above.
    let status = unsafe {
        set_pooling(
            pooling,
            nn::miopenPoolingMode_t_miopenPoolingAverage,
            2,
            3,
            0,
            0,
            1,
            3,
        )
    };
    assert_eq!(status, SUCCESS);
    assert_eq!(
        mock.calls()[1..],
        ["cudnnSetPooling2dDescriptor mode 2, nan 1, 2 3, 0 0, 1 3"]
    );
    let [x, y] = [[1, 1, 3, 6], [1, 1, 2, 2]].map(|size| tensor(FLOAT, size));
    mock.calls();
    let (images, mut got) = (Vec::from_iter((0..18).map(|i| i as f32)), [0.0_f32; 4]);
    let (one, zero) = (1.0_f32, 0.0_f32);
    let pool = function!(nn::miopenPoolingForward: Pool);
    let mut go = |is_backward| {
        let (one, zero) = ((&raw const one).cast(), (&raw const zero).cast());
        let (from, to) = (images.as_ptr().cast(), got.as_mut_ptr().cast());
        // SAFETY: living objects, scalars, and tensors of their sizes on the host.
        unsafe {
            pool(
                handle,
                pooling,
                one,
                x,
                from,
                zero,
                y,
                to,
                is_backward,
                ptr::null_mut(),
                0,
            )
        }
    };
    assert_eq!([go(true), go(false)], [NOT_IMPLEMENTED, SUCCESS]);
    assert_eq!(mock.calls(), ["cudnnPoolingForward 1, 1 0"]);
    assert_eq!(got, [4.0, 7.0, 10.0, 13.0]);
}

fn pairs(rows: c_int, cols: c_int) -> impl Iterator<Item = (c_int, c_int)> {
    (0..rows).flat_map(move |row| (0..cols).map(move |col| (row, col)))
}

fn index(size: [c_int; 4], at: [c_int; 4]) -> usize {
    size.iter().zip(at).fold(0, |sum, (&size, at)| sum * size + at) as usize
}
