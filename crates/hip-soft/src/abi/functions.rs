//! Launches, and what is asked about kernels.

use core::ffi::{c_int, c_uint, c_void};
use std::cell::RefCell;
use std::sync::Arc;

use gfx_emu::Kernel;
use rocm_env::Card;
use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::{
    HIP_LAUNCH_CONFIG, hipError_t, hipFuncAttributes, hipKernelNodeParams, hipLaunchConfig_t,
};

use super::{Dim3, In, Out, Plain, calls, opaque, values};
use crate::error::{INVALID_VALUE, NOT_SUPPORTED, Result};
use crate::event::EVENTS;
use crate::launch::{Launch, Shape};
use crate::module::{self, FUNCTIONS, KernelFunction};
use crate::work::Work;
use crate::{jobs, properties, stream};

/// Keys of the list `extra` (HIP_LAUNCH_PARAM_*).
const EXTRA_POINTER: usize = 1;
const EXTRA_SIZE: usize = 2;
const EXTRA_END: usize = 3;

/// Pointers to the arguments, or null.
type Parameters = In<*const u8>;
/// The list `extra`: keys, each with its value, or null.
type Extra = In<usize>;

/// What `<<<...>>>` says, until the launch.
#[derive(Clone, Copy)]
struct Configuration {
    grid: Dim3,
    block: Dim3,
    lds: usize,
    stream: usize,
}

thread_local! {
    static CONFIGURED: RefCell<Vec<Configuration>> = const { RefCell::new(Vec::new()) };
}

/// The bytes of the arguments, each at its offset.
pub(super) fn arguments(kernel: &Kernel, parameters: Parameters, extra: Extra) -> Result<Vec<u8>> {
    let mut bytes = vec![0; kernel.explicit_kernarg_size() as usize];
    if !parameters.0.is_null() {
        for (index, argument) in kernel.explicit_args().enumerate() {
            let given = In(parameters.0.wrapping_add(index)).get()?;
            let given = In(given).list(argument.size as usize)?;
            let range = argument.offset as usize..(argument.offset + argument.size) as usize;
            bytes.get_mut(range).ok_or(INVALID_VALUE)?.copy_from_slice(&given);
        }
        return Ok(bytes);
    }
    if extra.0.is_null() {
        return match bytes.is_empty() {
            true => Ok(bytes),
            false => Err(INVALID_VALUE),
        };
    }
    let (mut from, mut size) = (None, None);
    // Two keys with values, and the end.
    for index in (0..5).step_by(2) {
        let key = In(extra.0.wrapping_add(index)).get()?;
        let value = || In(extra.0.wrapping_add(index + 1)).get();
        match key {
            EXTRA_POINTER => from = Some(value()?),
            EXTRA_SIZE => size = Some(In(std::ptr::with_exposed_provenance::<usize>(value()?)).get()?),
            EXTRA_END => break,
            _ => return Err(INVALID_VALUE),
        }
    }
    let from = std::ptr::with_exposed_provenance::<u8>(from.ok_or(INVALID_VALUE)?);
    let given = In(from).list(size.ok_or(INVALID_VALUE)?)?;
    for (to, from) in bytes.iter_mut().zip(given) {
        *to = from;
    }
    Ok(bytes)
}

fn launch(
    function: Arc<KernelFunction>,
    shape: Shape,
    parameters: Parameters,
    extra: Extra,
    stream: usize,
) -> Result {
    let stream = stream::get(stream)?;
    jobs::failure()?;
    let arguments = arguments(function.kernel()?, parameters, extra)?;
    let launch = Launch::new(function, shape, arguments)?;
    stream.submit(Work::Kernel(Arc::new(launch)))
}

/// The launches of modules call a size that cannot be an invalid value, as AMD's runtime does.
fn of_module(code: hipError_t) -> hipError_t {
    match code {
        hip::hipError_t_hipErrorInvalidConfiguration => INVALID_VALUE,
        code => code,
    }
}

/// A launch with events before it and after it.
fn launch_timed(
    function: Arc<KernelFunction>,
    shape: Shape,
    parameters: Parameters,
    extra: Extra,
    stream: usize,
    [start, stop]: [usize; 2],
) -> Result {
    let record = |event: usize| match event {
        0 => Ok(()),
        event => stream::get(stream)?.record(&EVENTS.get(event)?),
    };
    record(start)?;
    launch(function, shape, parameters, extra, stream)?;
    record(stop)
}

/// The work of a node of a graph.
pub(super) fn of_node(node: In<hipKernelNodeParams>) -> Result<Work> {
    let node = node.get()?;
    let function = module::function(node.func.addr()).map_err(|_| INVALID_VALUE)?;
    let parameters = In(node.kernelParams.cast::<*const u8>().cast_const());
    let extra = In(node.extra.cast::<usize>().cast_const());
    let arguments = arguments(function.kernel()?, parameters, extra)?;
    let (grid, block): (Dim3, Dim3) = (node.gridDim.into(), node.blockDim.into());
    let shape = Shape::of_blocks(grid.into(), block.into(), node.sharedMemBytes)?;
    Ok(Work::Kernel(Arc::new(Launch::new(function, shape, arguments)?)))
}

/// What a kernel's node was given.
pub(super) fn node_of(launch: &Launch) -> Result<hipKernelNodeParams> {
    let Shape { items, block, lds } = launch.shape;
    let dim = |sizes: [u32; 3]| hip::dim3 {
        x: sizes[0],
        y: sizes[1],
        z: sizes[2],
    };
    let grid = std::array::from_fn(|dim| items[dim] / block[dim]);
    Ok(hipKernelNodeParams {
        blockDim: dim(block),
        extra: std::ptr::null_mut(),
        func: opaque(module::host(&launch.function)),
        gridDim: dim(grid),
        kernelParams: launch.parameters()?.as_ptr().cast_mut().cast(),
        sharedMemBytes: lds,
    })
}

fn lds(bytes: usize) -> Result<u32> {
    u32::try_from(bytes).map_err(|_| INVALID_VALUE)
}

fn attribute(kernel: &Kernel, card: Card, attribute: c_uint) -> Result<c_int> {
    let descriptor = &kernel.descriptor;
    let limits = gfx_emu::Limits::of(soft_runtime::card::target(card));
    Ok(match attribute {
        0 => kernel.max_workgroup_size,
        1 => descriptor.group_segment_size,
        3 => descriptor.private_segment_size,
        4 => kernel.vgprs,
        5 | 6 => 10 * properties_of(card),
        2 | 7 | 9 => 0,
        8 => limits.lds - descriptor.group_segment_size.min(limits.lds),
        _ => return Err(INVALID_VALUE),
    }
    .cast_signed())
}

/// Major version of a card's processor.
fn properties_of(card: Card) -> u32 {
    properties::attribute(
        card,
        0,
        hip::hipDeviceAttribute_t_hipDeviceAttributeComputeCapabilityMajor,
    )
    .unwrap_or(0)
    .cast_unsigned()
}

fn occupancy(function: &KernelFunction, blocks: Out<c_int>, block: c_int, lds: usize) -> Result {
    blocks.check()?;
    let kernel = function.kernel()?;
    blocks.put(properties::occupancy(function.card(), kernel, block, lds).ok_or(INVALID_VALUE)?)
}

fn potential(
    function: &KernelFunction,
    grid: Out<c_int>,
    block: Out<c_int>,
    lds: usize,
    limit: c_int,
) -> Result {
    grid.check()?;
    block.check()?;
    let found = properties::potential(function.card(), function.kernel()?, lds, limit);
    let (groups, size) = found.ok_or(INVALID_VALUE)?;
    grid.put(groups)?;
    block.put(size)
}

calls! {
    fn __hipPushCallConfiguration(grid: Dim3, block: Dim3, lds: usize, stream: usize) {
        CONFIGURED.with_borrow_mut(|stack| stack.push(Configuration { grid, block, lds, stream }));
        Ok(())
    }

    fn __hipPopCallConfiguration(grid: Out<Dim3>, block: Out<Dim3>, lds: Out<usize>, stream: Out<usize>) {
        let top = CONFIGURED.with_borrow_mut(Vec::pop);
        let top = top.ok_or(hip::hipError_t_hipErrorMissingConfiguration)?;
        grid.put(top.grid)?;
        block.put(top.block)?;
        lds.put(top.lds)?;
        stream.put(top.stream)
    }

    fn hipLaunchKernel(host: *const c_void, grid: Dim3, block: Dim3, parameters: Parameters, bytes: usize, stream: usize) {
        let shape = Shape::of_blocks(grid.into(), block.into(), lds(bytes)?)?;
        launch(module::function(host.addr())?, shape, parameters, In(std::ptr::null()), stream)
    }

    fn hipExtLaunchKernel(
        host: *const c_void, grid: Dim3, block: Dim3, parameters: Parameters, bytes: usize, stream: usize, start: usize,
        stop: usize, _flags: c_int,
    ) {
        let shape = Shape::of_blocks(grid.into(), block.into(), lds(bytes)?)?;
        let function = module::function(host.addr())?;
        launch_timed(function, shape, parameters, In(std::ptr::null()), stream, [start, stop])
    }

    fn hipLaunchKernelExC(configuration: In<hipLaunchConfig_t>, host: *const c_void, parameters: Parameters) {
        let asked = configuration.get()?;
        let (grid, block): (Dim3, Dim3) = (asked.gridDim.into(), asked.blockDim.into());
        let shape = Shape::of_blocks(grid.into(), block.into(), lds(asked.dynamicSmemBytes)?)?;
        launch(module::function(host.addr())?, shape, parameters, In(std::ptr::null()), asked.stream.addr())
    }

    fn hipModuleLaunchKernel(
        function: usize, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint,
        bytes: c_uint, stream: usize, parameters: Parameters, extra: Extra,
    ) {
        let shape = Shape::of_blocks([grid_x, grid_y, grid_z], [block_x, block_y, block_z], bytes)?;
        if !parameters.0.is_null() && !extra.0.is_null() {
            return Err(INVALID_VALUE);
        }
        launch(FUNCTIONS.get(function)?, shape, parameters, extra, stream).map_err(of_module)
    }

    fn hipDrvLaunchKernelEx(configuration: In<HIP_LAUNCH_CONFIG>, function: usize, parameters: Parameters, extra: Extra) {
        let asked = configuration.get()?;
        let grid = [asked.gridDimX, asked.gridDimY, asked.gridDimZ];
        let block = [asked.blockDimX, asked.blockDimY, asked.blockDimZ];
        let shape = Shape::of_blocks(grid, block, asked.sharedMemBytes)?;
        launch(FUNCTIONS.get(function)?, shape, parameters, extra, asked.hStream.addr())
    }

    fn hipExtModuleLaunchKernel(
        function: usize, x: c_uint, y: c_uint, z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, bytes: usize,
        stream: usize, parameters: Parameters, extra: Extra, start: usize, stop: usize, _flags: c_uint,
    ) {
        // Work-items, not workgroups.
        let shape = Shape::of_items([x, y, z], [block_x, block_y, block_z], lds(bytes)?)?;
        launch_timed(FUNCTIONS.get(function)?, shape, parameters, extra, stream, [start, stop])
    }

    fn hipHccModuleLaunchKernel(
        function: usize, x: c_uint, y: c_uint, z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, bytes: usize,
        stream: usize, parameters: Parameters, extra: Extra, start: usize, stop: usize,
    ) {
        let shape = Shape::of_items([x, y, z], [block_x, block_y, block_z], lds(bytes)?)?;
        launch_timed(FUNCTIONS.get(function)?, shape, parameters, extra, stream, [start, stop])
    }

    fn hipLaunchCooperativeKernel(
        _host: *const c_void, _grid: Dim3, _block: Dim3, _parameters: Parameters, _bytes: c_uint, _stream: usize,
    ) {
        soft_runtime::report::missing("hipLaunchCooperativeKernel");
        Err(NOT_SUPPORTED)
    }

    fn hipModuleLaunchCooperativeKernel(
        _function: usize, _grid_x: c_uint, _grid_y: c_uint, _grid_z: c_uint, _block_x: c_uint, _block_y: c_uint,
        _block_z: c_uint, _bytes: c_uint, _stream: usize, _parameters: Parameters,
    ) {
        soft_runtime::report::missing("hipModuleLaunchCooperativeKernel");
        Err(NOT_SUPPORTED)
    }

    fn hipGetFuncBySymbol(function: Out<*mut c_void>, host: *const c_void) {
        function.check()?;
        let found = module::function(host.addr())?;
        let known = FUNCTIONS.of(&found);
        function.put(opaque(known.unwrap_or_else(|_| FUNCTIONS.share(found))))
    }

    fn hipFuncGetAttribute(value: Out<c_int>, asked: c_uint, function: usize) {
        value.check()?;
        let function = FUNCTIONS.get(function)?;
        value.put(attribute(function.kernel()?, function.card(), asked)?)
    }

    fn hipFuncGetAttributes(to: Out<hipFuncAttributes>, host: *const c_void) {
        to.check()?;
        if host.is_null() {
            return Err(hip::hipError_t_hipErrorInvalidDeviceFunction);
        }
        let function = module::function(host.addr()).map_err(|_| hip::hipError_t_hipErrorInvalidSymbol)?;
        let (kernel, card) = (function.kernel()?, function.card());
        to.put(hipFuncAttributes {
            binaryVersion: attribute(kernel, card, 6)?,
            localSizeBytes: attribute(kernel, card, 3)? as usize,
            maxDynamicSharedSizeBytes: attribute(kernel, card, 8)?,
            maxThreadsPerBlock: attribute(kernel, card, 0)?,
            numRegs: attribute(kernel, card, 4)?,
            ptxVersion: attribute(kernel, card, 5)?,
            sharedSizeBytes: attribute(kernel, card, 1)? as usize,
            ..hipFuncAttributes::zero()
        })
    }

    fn hipFuncSetAttribute(host: *const c_void, attribute: c_uint, _value: c_int) {
        // HIP knows two: dynamic LDS, which has no limit of its own here, and the share of LDS in a cache that there is not.
        module::function(host.addr())?;
        if matches!(attribute, 8 | 9) { Ok(()) } else { Err(INVALID_VALUE) }
    }

    fn hipFuncSetCacheConfig(_host: *const c_void, _config: c_uint) {
        Ok(())
    }

    fn hipFuncSetSharedMemConfig(_host: *const c_void, _config: c_uint) {
        Ok(())
    }

    fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks: Out<c_int>, function: usize, block: c_int, lds: usize) {
        occupancy(&*FUNCTIONS.get(function)?, blocks, block, lds)
    }

    fn hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: Out<c_int>, function: usize, block: c_int, lds: usize, _flags: c_uint,
    ) {
        occupancy(&*FUNCTIONS.get(function)?, blocks, block, lds)
    }

    fn hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks: Out<c_int>, host: *const c_void, block: c_int, lds: usize) {
        occupancy(&*module::function(host.addr())?, blocks, block, lds)
    }

    fn hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: Out<c_int>, host: *const c_void, block: c_int, lds: usize, _flags: c_uint,
    ) {
        occupancy(&*module::function(host.addr())?, blocks, block, lds)
    }

    fn hipModuleOccupancyMaxPotentialBlockSize(
        grid: Out<c_int>, block: Out<c_int>, function: usize, lds: usize, limit: c_int,
    ) {
        potential(&*FUNCTIONS.get(function)?, grid, block, lds, limit)
    }

    fn hipModuleOccupancyMaxPotentialBlockSizeWithFlags(
        grid: Out<c_int>, block: Out<c_int>, function: usize, lds: usize, limit: c_int, _flags: c_uint,
    ) {
        potential(&*FUNCTIONS.get(function)?, grid, block, lds, limit)
    }

    fn hipOccupancyMaxPotentialBlockSize(
        grid: Out<c_int>, block: Out<c_int>, host: *const c_void, lds: usize, limit: c_int,
    ) {
        potential(&*module::function(host.addr())?, grid, block, lds, limit)
    }
}

values! {
    fn hipGetStreamDeviceId(handle: usize) -> c_int {
        stream::get(handle).map_or(-1, |stream| stream.card as c_int)
    }
}
