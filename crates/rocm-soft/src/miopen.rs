//! A host model of MIOpen: descriptors, convolutions and their gradients in immediate mode, and poolings, of packed images
//! (batch, channels, height, width), as MIOpen documents them. No code of an AMD library is executed.
//!
//! There is one solution, a product of matrices; it asks for a workspace, as MIOpen's do. Sums are taken in f32, tap after
//! tap, and rounded once. Not modelled: other layouts, three dimensions, transposed descriptors, gradients by the kernel, and
//! the search for the fastest solution. Like MIOpen, it does not convolve f64 or integers, and does not pool bf16.

use rocm_rs::miopen::bindings as nn;
use rocm_rs::miopen::bindings::{
    miopenConvolutionMode_t, miopenDataType_t, miopenPoolingMode_t, miopenStatus_t,
};

use crate::blas::{Element, Real};
use crate::handles::HandleKind;
use crate::library::{Objects, Reach, status_names};

/// The result of an MIOpen function before it becomes a status.
pub(crate) type Result<T = ()> = core::result::Result<T, miopenStatus_t>;

pub(crate) const BAD_PARAMETER: miopenStatus_t = nn::miopenStatus_t_miopenStatusBadParm;
pub(crate) const UNKNOWN_ERROR: miopenStatus_t = nn::miopenStatus_t_miopenStatusUnknownError;
const NOT_IMPLEMENTED: miopenStatus_t = nn::miopenStatus_t_miopenStatusNotImplemented;
const INTERNAL_ERROR: miopenStatus_t = nn::miopenStatus_t_miopenStatusInternalError;

/// The number of the one solution.
pub(crate) const SOLUTION: u64 = 1;

/// A packed tensor.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Tensor {
    datatype: miopenDataType_t,
    sizes: [usize; 4],
}

/// How a window is laid on images: in y and x each.
#[derive(Debug, Clone, Copy)]
struct Slide {
    padding: [usize; 2],
    stride: [usize; 2],
    dilation: [usize; 2],
}

#[derive(Debug, Clone, Copy)]
struct Convolution {
    slide: Slide,
    groups: usize,
}

#[derive(Debug, Clone, Copy)]
struct Pooling {
    mode: miopenPoolingMode_t,
    window: [usize; 2],
    slide: Slide,
}

/// The object that a handle names. Each kind of descriptor is an error until it is set.
#[derive(Debug, Clone, Copy)]
enum MiopenObject {
    Handle,
    Tensor(Option<Tensor>),
    Convolution(Option<Convolution>),
    Pooling(Option<Pooling>),
}

static OBJECTS: Objects<MiopenObject> = Objects::new(HandleKind::Nn);

const REACH: Reach<miopenStatus_t> = Reach {
    who: "MIOpen",
    missing: INTERNAL_ERROR,
    outside: INTERNAL_ERROR,
};

/// A handle for `stream`: streams execute at submission, so that it is checked and changes nothing.
pub(crate) fn create_handle(stream: usize) -> Result<usize> {
    REACH.device()?.check_stream(stream).map_err(|_| BAD_PARAMETER)?;
    Ok(OBJECTS.insert(MiopenObject::Handle))
}

pub(crate) fn create_tensor() -> usize {
    OBJECTS.insert(MiopenObject::Tensor(None))
}

pub(crate) fn create_convolution() -> usize {
    OBJECTS.insert(MiopenObject::Convolution(None))
}

pub(crate) fn create_pooling() -> usize {
    OBJECTS.insert(MiopenObject::Pooling(None))
}

/// Ends a handle or a descriptor.
pub(crate) fn destroy(object: usize) -> Result {
    OBJECTS.remove(object).map(drop).ok_or(BAD_PARAMETER)
}

fn get<T>(object: usize, pick: impl FnOnce(MiopenObject) -> Option<T>) -> Result<T> {
    let found = OBJECTS.with(object, |found| *found).and_then(pick);
    found.ok_or(BAD_PARAMETER)
}

/// Changes an object; `change` finds nothing to change in one of another kind.
fn set(object: usize, change: impl FnOnce(&mut MiopenObject) -> Option<()>) -> Result {
    OBJECTS.with(object, change).flatten().ok_or(BAD_PARAMETER)
}

fn check_handle(handle: usize) -> Result {
    get(handle, |object| {
        matches!(object, MiopenObject::Handle).then_some(())
    })
}

fn tensor(object: usize) -> Result<Tensor> {
    get(object, |object| match object {
        MiopenObject::Tensor(tensor) => tensor,
        _ => None,
    })
}

fn convolution(object: usize) -> Result<Convolution> {
    get(object, |object| match object {
        MiopenObject::Convolution(convolution) => convolution,
        _ => None,
    })
}

/// Numbers of at least `least`.
fn sizes<const N: usize>(numbers: [i32; N], least: i32) -> Result<[usize; N]> {
    if numbers.iter().any(|&n| n < least) {
        return Err(BAD_PARAMETER);
    }
    Ok(numbers.map(|n| n.unsigned_abs() as usize))
}

pub(crate) fn set_tensor(object: usize, datatype: miopenDataType_t, dims: [i32; 4]) -> Result {
    let sizes = sizes(dims, 1)?;
    set(object, |object| {
        let MiopenObject::Tensor(tensor) = object else {
            return None;
        };
        *tensor = Some(Tensor { datatype, sizes });
        Some(())
    })
}

pub(crate) fn init_convolution(
    object: usize,
    mode: miopenConvolutionMode_t,
    [padding, stride, dilation]: [[i32; 2]; 3],
) -> Result {
    let slide = Slide {
        padding: sizes(padding, 0)?,
        stride: sizes(stride, 1)?,
        dilation: sizes(dilation, 1)?,
    };
    match mode {
        nn::miopenConvolutionMode_t_miopenConvolution => {}
        nn::miopenConvolutionMode_t_miopenTranspose => return Err(NOT_IMPLEMENTED),
        _ => return Err(BAD_PARAMETER),
    }
    set(object, |object| {
        let MiopenObject::Convolution(convolution) = object else {
            return None;
        };
        *convolution = Some(Convolution { slide, groups: 1 });
        Some(())
    })
}

pub(crate) fn set_groups(object: usize, groups: i32) -> Result {
    let [groups] = sizes([groups], 1)?;
    set(object, |object| {
        let MiopenObject::Convolution(Some(convolution)) = object else {
            return None;
        };
        convolution.groups = groups;
        Some(())
    })
}

pub(crate) fn set_pooling(
    object: usize,
    mode: miopenPoolingMode_t,
    [window, padding, stride]: [[i32; 2]; 3],
) -> Result {
    if mode > nn::miopenPoolingMode_t_miopenPoolingAverageInclusive {
        return Err(BAD_PARAMETER);
    }
    let new = Pooling {
        mode,
        window: sizes(window, 1)?,
        slide: Slide {
            padding: sizes(padding, 0)?,
            stride: sizes(stride, 1)?,
            dilation: [1, 1],
        },
    };
    set(object, |object| {
        let MiopenObject::Pooling(pooling) = object else {
            return None;
        };
        *pooling = Some(new);
        Some(())
    })
}

impl Slide {
    /// How many windows of `taps` lie on `input` elements and their padding; none when not even one does.
    fn windows(&self, axis: usize, input: usize, taps: usize) -> Option<usize> {
        let reach = self.dilation[axis].checked_mul(taps - 1)?.checked_add(1)?;
        let room = self.padding[axis].checked_mul(2)?.checked_add(input)?;
        Some(room.checked_sub(reach)? / self.stride[axis] + 1)
    }

    /// The element that tap `tap` of window `window` lies on; none in the padding.
    fn place(&self, axis: usize, window: usize, tap: usize, input: usize) -> Option<usize> {
        let at = (window * self.stride[axis] + tap * self.dilation[axis]).checked_sub(self.padding[axis])?;
        (at < input).then_some(at)
    }
}

/// `miopenConvolution…`, by its descriptors: images, kernel, results. A gradient has the results' part as its input.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConvolutionCall {
    pub(crate) handle: usize,
    pub(crate) convolution: usize,
    /// Descriptors of images, kernel and results of the convolution.
    pub(crate) tensors: [usize; 3],
}

/// A call whose parts fit together.
struct Problem {
    images: Tensor,
    kernel: Tensor,
    results: Tensor,
    slide: Slide,
    groups: usize,
}

impl ConvolutionCall {
    fn check(&self) -> Result<Problem> {
        check_handle(self.handle)?;
        let Convolution { slide, groups } = convolution(self.convolution)?;
        let [images, kernel, results] = self.tensors.map(tensor);
        let (images, kernel, results) = (images?, kernel?, results?);
        let [n, c, h, w] = images.sizes;
        let [k, per_group, taps_y, taps_x] = kernel.sizes;
        let fits = images.datatype == kernel.datatype
            && kernel.datatype == results.datatype
            && per_group.checked_mul(groups) == Some(c)
            && k % groups == 0;
        let windows = (slide.windows(0, h, taps_y), slide.windows(1, w, taps_x));
        let (Some(rows), Some(cols), true) = (windows.0, windows.1, fits) else {
            return Err(BAD_PARAMETER);
        };
        if results.sizes != [n, k, rows, cols] {
            return Err(BAD_PARAMETER);
        }
        Ok(Problem {
            images,
            kernel,
            results,
            slide,
            groups,
        })
    }

    /// Whether there is a solution, and the workspace that it needs.
    pub(crate) fn solution(&self) -> Result<Option<usize>> {
        let problem = self.check()?;
        Ok(element(problem.images.datatype).map(|element| problem.workspace(element)))
    }

    /// Whether `solution` is one of this call's.
    pub(crate) fn check_solution(&self, solution: u64) -> Result {
        match self.solution()? {
            Some(_) if solution == SOLUTION => Ok(()),
            _ => Err(BAD_PARAMETER),
        }
    }

    /// Computes the convolution, or with `is_gradient` its gradient by the images. `addresses` are those of images, kernel,
    /// results and workspace.
    pub(crate) fn run(&self, is_gradient: bool, addresses: [u64; 4], room: usize, solution: u64) -> Result {
        let problem = self.check()?;
        self.check_solution(solution)?;
        let element = element(problem.images.datatype).ok_or(BAD_PARAMETER)?;
        let [images, kernel, results, workspace] = addresses;
        let needed = problem.workspace(element);
        if [images, kernel, results].contains(&0) || room < needed {
            return Err(BAD_PARAMETER);
        }
        // The solution's own use of it, so that one that is not there is noticed.
        REACH.write(workspace, &vec![0; needed])?;
        let weights = read(element, kernel, &problem.kernel)?;
        if is_gradient {
            let given = read(element, results, &problem.results)?;
            write(element, images, &problem.gradient(&given, &weights))
        } else {
            let given = read(element, images, &problem.images)?;
            write(element, results, &problem.forward(&given, &weights))
        }
    }
}

impl Problem {
    /// Bytes of a group's windows as a matrix.
    fn workspace(&self, element: Element) -> usize {
        let [_, per_group, taps_y, taps_x] = self.kernel.sizes;
        let [_, _, rows, cols] = self.results.sizes;
        per_group * taps_y * taps_x * rows * cols * element.size()
    }

    /// Calls `f` with the places of an image's element, a weight and a result that belong together, for one result channel
    /// of one image, window after window.
    fn visit(&self, n: usize, k: usize, mut f: impl FnMut(usize, usize, usize)) {
        let [_, c, h, w] = self.images.sizes;
        let [channels, per_group, taps_y, taps_x] = self.kernel.sizes;
        let [_, _, rows, cols] = self.results.sizes;
        let first = k / (channels / self.groups) * per_group;
        for (row, col) in (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))) {
            let result = ((n * channels + k) * rows + row) * cols + col;
            for channel in 0..per_group {
                for tap_y in 0..taps_y {
                    let Some(y) = self.slide.place(0, row, tap_y, h) else {
                        continue;
                    };
                    for tap_x in 0..taps_x {
                        let Some(x) = self.slide.place(1, col, tap_x, w) else {
                            continue;
                        };
                        let image = ((n * c + first + channel) * h + y) * w + x;
                        let weight = ((k * per_group + channel) * taps_y + tap_y) * taps_x + tap_x;
                        f(image, weight, result);
                    }
                }
            }
        }
    }

    fn each_channel(&self, f: impl Fn(usize, usize) + Copy) {
        let [n, k, ..] = self.results.sizes;
        (0..n).for_each(|n| (0..k).for_each(|k| f(n, k)));
    }

    fn forward(&self, images: &[f32], weights: &[f32]) -> Vec<f32> {
        let sums = std::cell::RefCell::new(vec![0.0_f32; self.results.sizes.iter().product()]);
        self.each_channel(|n, k| {
            let mut sums = sums.borrow_mut();
            self.visit(n, k, |image, weight, result| {
                sums[result] = images[image].mul_add(weights[weight], sums[result]);
            });
        });
        sums.into_inner()
    }

    fn gradient(&self, results: &[f32], weights: &[f32]) -> Vec<f32> {
        let sums = std::cell::RefCell::new(vec![0.0_f32; self.images.sizes.iter().product()]);
        self.each_channel(|n, k| {
            let mut sums = sums.borrow_mut();
            self.visit(n, k, |image, weight, result| {
                sums[image] = results[result].mul_add(weights[weight], sums[image]);
            });
        });
        sums.into_inner()
    }
}

/// `miopenPoolingForward` without what a backward pass needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool {
    pub(crate) handle: usize,
    pub(crate) pooling: usize,
    pub(crate) tensors: [usize; 2],
    pub(crate) addresses: [u64; 2],
    pub(crate) scale: [f32; 2],
}

impl Pool {
    pub(crate) fn run(&self) -> Result {
        check_handle(self.handle)?;
        let Pooling { mode, window, slide } = get(self.pooling, |object| match object {
            MiopenObject::Pooling(pooling) => pooling,
            _ => None,
        })?;
        let (images, results) = (tensor(self.tensors[0])?, tensor(self.tensors[1])?);
        // MIOpen's poolings neither scale nor add.
        if self.scale != [1.0, 0.0] {
            return Err(UNKNOWN_ERROR);
        }
        let [n, c, h, w] = images.sizes;
        let windows = (slide.windows(0, h, window[0]), slide.windows(1, w, window[1]));
        let (Some(rows), Some(cols)) = windows else {
            return Err(BAD_PARAMETER);
        };
        if results.sizes != [n, c, rows, cols]
            || images.datatype != results.datatype
            || self.addresses.contains(&0)
        {
            return Err(BAD_PARAMETER);
        }
        let element = match element(images.datatype) {
            Some(Element::BF16) | None => return Err(NOT_IMPLEMENTED),
            Some(element) => element,
        };
        let given = read(element, self.addresses[0], &images)?;
        let mut out = Vec::with_capacity(n * c * rows * cols);
        for at in 0..n * c * rows * cols {
            let (image, row, col) = (at / (rows * cols), at / cols % rows, at % cols);
            let ys = (0..window[0]).filter_map(|tap| slide.place(0, row, tap, h));
            let inside: Vec<f32> = ys
                .flat_map(|y| {
                    let xs = (0..window[1]).filter_map(move |tap| slide.place(1, col, tap, w));
                    xs.map(move |x| (image * h + y) * w + x)
                })
                .map(|at| given[at])
                .collect();
            let sum: f32 = inside.iter().fold(0.0, |sum, x| sum + x);
            out.push(match mode {
                nn::miopenPoolingMode_t_miopenPoolingMax => {
                    inside.iter().fold(f32::MIN, |most, &x| most.max(x))
                }
                // Of the elements that are there; inclusive counts the padding as zeros.
                nn::miopenPoolingMode_t_miopenPoolingAverage => sum / inside.len().max(1) as f32,
                _ => sum / (window[0] * window[1]) as f32,
            });
        }
        write(element, self.addresses[1], &out)
    }
}

/// What a tensor of a dtype that is computed with consists of.
fn element(datatype: miopenDataType_t) -> Option<Element> {
    match datatype {
        nn::miopenDataType_t_miopenHalf => Some(Element::F16),
        nn::miopenDataType_t_miopenBFloat16 => Some(Element::BF16),
        nn::miopenDataType_t_miopenFloat => Some(Element::F32),
        _ => None,
    }
}

fn read(element: Element, address: u64, tensor: &Tensor) -> Result<Vec<f32>> {
    let bytes = REACH.read(address, tensor.sizes.iter().product::<usize>() * element.size())?;
    let elements = bytes.chunks_exact(element.size());
    Ok(elements.map(|bytes| f32::decode(element, bytes)).collect())
}

fn write(element: Element, address: u64, values: &[f32]) -> Result {
    let mut bytes = Vec::with_capacity(values.len() * element.size());
    values.iter().for_each(|value| value.encode(element, &mut bytes));
    REACH.write(address, &bytes)
}

status_names! {
    miopenStatus_t, nn, "miopenStatus_t_", otherwise c"Unknown error status":
    miopenStatus_t_miopenStatusSuccess miopenStatus_t_miopenStatusNotInitialized
    miopenStatus_t_miopenStatusInvalidValue miopenStatus_t_miopenStatusBadParm
    miopenStatus_t_miopenStatusAllocFailed miopenStatus_t_miopenStatusInternalError
    miopenStatus_t_miopenStatusNotImplemented miopenStatus_t_miopenStatusUnknownError
    miopenStatus_t_miopenStatusUnsupportedOp miopenStatus_t_miopenStatusGpuOperationsSkipped
    miopenStatus_t_miopenStatusVersionMismatch
}
