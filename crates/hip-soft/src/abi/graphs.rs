//! Graphs.

use core::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void};
use std::fmt::Write as _;
use std::sync::Arc;

use rocm_rs::hip::bindings as hip;
use rocm_rs::hip::bindings::{
    hipHostNodeParams, hipKernelNodeParams, hipMemAllocNodeParams, hipMemcpy3DParms, hipMemcpyKind,
    hipMemsetParams,
};

use super::{HostFunction, In, Out, Plain, Text, calls, host_function, opaque};
use crate::error::{INVALID_VALUE, Result};
use crate::event::EVENTS;
use crate::graph::{EXECUTABLES, Executable, GRAPHS, Graph, NODES, Node, OBJECTS, Object};
use crate::memory::{self, Owner};
use crate::work::{Memory, Work};
use crate::{device, stream};

use super::copies;
use super::functions;
use super::streams::{call, callback};

/// Handles of nodes.
type Handles = In<usize>;

pub(super) fn nodes(handles: Handles, count: usize) -> Result<Vec<Arc<Node>>> {
    let handles = handles.list(count)?;
    handles
        .into_iter()
        .map(|handle| NODES.get(handle).map_err(|_| INVALID_VALUE))
        .collect()
}

fn graph(handle: usize) -> Result<Arc<Graph>> {
    GRAPHS.get(handle).map_err(|_| INVALID_VALUE)
}

fn node(handle: usize) -> Result<Arc<Node>> {
    NODES.get(handle).map_err(|_| INVALID_VALUE)
}

fn executable(handle: usize) -> Result<Arc<Executable>> {
    EXECUTABLES.get(handle).map_err(|_| INVALID_VALUE)
}

fn add(place: Out<*mut c_void>, to: usize, after: Handles, count: usize, work: Work) -> Result {
    place.check()?;
    let after = nodes(after, count)?;
    place.put(opaque(graph(to)?.add(work, &after).handle()))
}

/// Gives nodes to a caller who asks for their number first, and then for them.
fn list(nodes: &[Arc<Node>], places: Out<*mut c_void>, count: Out<usize>) -> Result {
    count.check()?;
    if places.is_null() {
        return count.put(nodes.len());
    }
    let room = count.read()?;
    for index in 0..room {
        let handle = nodes.get(index).map_or(0, |node| node.handle());
        Out(places.0.wrapping_add(index)).put(opaque(handle))?;
    }
    count.put(room.min(nodes.len()))
}

fn instantiate(place: Out<*mut c_void>, from: usize) -> Result {
    place.check()?;
    place.put(opaque(EXECUTABLES.insert(Executable::new(&*graph(from)?)?)))
}

fn host(parameters: In<hipHostNodeParams>) -> Result<Work> {
    let asked = parameters.get()?;
    call(host_function(asked.fn_), asked.userData.expose_provenance())
}

/// A graph in the language of Graphviz: a node each, an arrow for what waits.
fn dot(graph: &Graph) -> String {
    let mut text = "digraph graph {\n".to_owned();
    for (index, node) in graph.nodes().iter().enumerate() {
        let what = match node.work() {
            Work::Kernel(launch) => launch
                .function
                .kernel()
                .map_or_else(|_| "kernel".to_owned(), |kernel| kernel.name.clone()),
            Work::Copy(_) => "copy".to_owned(),
            Work::Fill(_) => "fill".to_owned(),
            Work::Host(_) => "host function".to_owned(),
            Work::Record(_) | Work::Await(_) => "event".to_owned(),
            Work::Write { .. } | Work::Until(_) => "number".to_owned(),
            Work::Allocate(_) => "memory".to_owned(),
            Work::Free(_) | Work::Release(_) => "free".to_owned(),
            Work::Graph(_) | Work::Child(_) => "graph".to_owned(),
            Work::Empty => "empty".to_owned(),
        };
        // Writing to a text does not fail.
        writeln!(text, "  \"{}\" [label=\"{index}: {what}\"];", node.handle()).ok();
        for before in node.after() {
            writeln!(text, "  \"{}\" -> \"{}\";", before.handle(), node.handle()).ok();
        }
    }
    text + "}\n"
}

calls! {
    fn hipGraphCreate(place: Out<*mut c_void>, flags: c_uint) {
        place.check()?;
        device::runtime()?;
        if flags == 0 { place.put(opaque(GRAPHS.insert(Graph::default()))) } else { Err(INVALID_VALUE) }
    }

    fn hipGraphDestroy(graph: usize) {
        GRAPHS.remove(graph).map(drop).map_err(|_| INVALID_VALUE)
    }

    fn hipGraphClone(place: Out<*mut c_void>, from: usize) {
        place.check()?;
        place.put(opaque(GRAPHS.insert(graph(from)?.copy()?)))
    }

    fn hipGraphAddKernelNode(place: Out<*mut c_void>, to: usize, after: Handles, count: usize, asked: In<hipKernelNodeParams>) {
        add(place, to, after, count, functions::of_node(asked)?)
    }

    fn hipGraphAddMemcpyNode1D(
        place: Out<*mut c_void>, to: usize, after: Handles, count: usize, target: *mut c_void, source: *const c_void, bytes: usize,
        _kind: hipMemcpyKind,
    ) {
        add(place, to, after, count, copies::of_node(target, source, bytes)?)
    }

    fn hipGraphAddMemsetNode(place: Out<*mut c_void>, to: usize, after: Handles, count: usize, asked: In<hipMemsetParams>) {
        add(place, to, after, count, copies::fill_of_node(asked)?)
    }

    fn hipGraphAddHostNode(place: Out<*mut c_void>, to: usize, after: Handles, count: usize, asked: In<hipHostNodeParams>) {
        add(place, to, after, count, host(asked)?)
    }

    fn hipGraphAddEmptyNode(place: Out<*mut c_void>, to: usize, after: Handles, count: usize) {
        add(place, to, after, count, Work::Empty)
    }

    fn hipGraphAddChildGraphNode(place: Out<*mut c_void>, to: usize, after: Handles, count: usize, child: usize) {
        add(place, to, after, count, Work::Child(Arc::new(graph(child)?.copy()?)))
    }

    fn hipGraphAddMemcpyNode(place: Out<*mut c_void>, to: usize, after: Handles, count: usize, asked: In<hipMemcpy3DParms>) {
        add(place, to, after, count, copies::volume_of_node(asked)?)
    }

    fn hipGraphAddMemcpyNodeToSymbol(
        place: Out<*mut c_void>, to: usize, after: Handles, count: usize, host: *const c_void, source: *const c_void, bytes: usize,
        offset: usize, _kind: hipMemcpyKind,
    ) {
        let target = copies::part(host, offset, bytes)?;
        add(place, to, after, count, copies::of_node(target, source, bytes)?)
    }

    fn hipGraphAddMemcpyNodeFromSymbol(
        place: Out<*mut c_void>, to: usize, after: Handles, count: usize, target: *mut c_void, host: *const c_void, bytes: usize,
        offset: usize, _kind: hipMemcpyKind,
    ) {
        let source = copies::part(host, offset, bytes)?;
        add(place, to, after, count, copies::of_node(target, source, bytes)?)
    }

    fn hipGraphAddEventRecordNode(place: Out<*mut c_void>, to: usize, after: Handles, count: usize, event: usize) {
        add(place, to, after, count, Work::Record(EVENTS.get(event)?))
    }

    fn hipGraphAddEventWaitNode(place: Out<*mut c_void>, to: usize, after: Handles, count: usize, event: usize) {
        add(place, to, after, count, Work::Await(EVENTS.get(event)?))
    }

    fn hipGraphAddMemAllocNode(place: Out<*mut c_void>, to: usize, after: Handles, count: usize, asked: Out<hipMemAllocNodeParams>) {
        let mut params = asked.read()?;
        let address = memory::allocate(params.bytesize)?;
        params.dptr = super::pointer(address);
        asked.put(params)?;
        add(place, to, after, count, Work::Allocate(Arc::new(Memory { address })))
    }

    fn hipGraphAddMemFreeNode(place: Out<*mut c_void>, to: usize, after: Handles, count: usize, memory: *mut c_void) {
        if memory.is_null() {
            return Err(INVALID_VALUE);
        }
        add(place, to, after, count, Work::Release(super::address(memory)))
    }

    fn hipGraphMemAllocNodeGetParams(handle: usize, asked: Out<hipMemAllocNodeParams>) {
        let Work::Allocate(memory) = node(handle)?.work() else { return Err(INVALID_VALUE) };
        let owner = Owner::of(memory.address)?.ok_or(INVALID_VALUE)?;
        let mut params = hipMemAllocNodeParams::zero();
        params.bytesize = owner.bytes as usize;
        params.dptr = super::pointer(memory.address);
        asked.put(params)
    }

    fn hipGraphMemFreeNodeGetParams(handle: usize, place: Out<*mut c_void>) {
        let Work::Release(address) = node(handle)?.work() else { return Err(INVALID_VALUE) };
        place.put(super::pointer(address))
    }

    fn hipDeviceGraphMemTrim(number: c_int) {
        device::at(number).map(drop)
    }

    fn hipGraphEventRecordNodeGetEvent(handle: usize, place: Out<*mut c_void>) {
        let Work::Record(event) = node(handle)?.work() else { return Err(INVALID_VALUE) };
        place.put(opaque(EVENTS.of(&event)?))
    }

    fn hipGraphEventWaitNodeGetEvent(handle: usize, place: Out<*mut c_void>) {
        let Work::Await(event) = node(handle)?.work() else { return Err(INVALID_VALUE) };
        place.put(opaque(EVENTS.of(&event)?))
    }

    fn hipGraphChildGraphNodeGetGraph(handle: usize, place: Out<*mut c_void>) {
        let Work::Child(graph) = node(handle)?.work() else { return Err(INVALID_VALUE) };
        let known = GRAPHS.of(&graph);
        place.put(opaque(known.unwrap_or_else(|_| GRAPHS.share(graph))))
    }

    fn hipGraphKernelNodeGetParams(handle: usize, asked: Out<hipKernelNodeParams>) {
        let Work::Kernel(launch) = node(handle)?.work() else { return Err(INVALID_VALUE) };
        asked.put(functions::node_of(&launch)?)
    }

    fn hipGraphMemcpyNodeGetParams(handle: usize, asked: Out<hipMemcpy3DParms>) {
        let Work::Copy(transfer) = node(handle)?.work() else { return Err(INVALID_VALUE) };
        asked.put(copies::node_of(&transfer))
    }

    fn hipGraphMemsetNodeGetParams(handle: usize, asked: Out<hipMemsetParams>) {
        let Work::Fill(fill) = node(handle)?.work() else { return Err(INVALID_VALUE) };
        asked.put(copies::fill_node_of(&fill))
    }

    fn hipGraphHostNodeGetParams(handle: usize, asked: Out<[usize; 2]>) {
        let Work::Host(callback) = node(handle)?.work() else { return Err(INVALID_VALUE) };
        // `hipHostNodeParams`: a function and its data.
        asked.put([callback.function, callback.data])
    }

    fn hipGraphNodeFindInClone(place: Out<*mut c_void>, origin: usize, clone: usize) {
        place.check()?;
        place.put(opaque(graph(clone)?.copy_of(origin)?.handle()))
    }

    fn hipUserObjectCreate(place: Out<*mut c_void>, data: usize, function: HostFunction, _count: c_uint, _flags: c_uint) {
        place.check()?;
        let end = callback(function, data)?;
        place.put(opaque(OBJECTS.insert(Object { end })))
    }

    fn hipUserObjectRelease(object: usize, _count: c_uint) {
        OBJECTS.remove(object).map(drop).map_err(|_| INVALID_VALUE)
    }

    fn hipGraphRetainUserObject(of: usize, object: usize, _count: c_uint, flags: c_uint) {
        let kept = OBJECTS.get(object).map_err(|_| INVALID_VALUE)?;
        graph(of)?.keep(kept);
        // Moved: the graph alone has it.
        if flags == hip::hipUserObjectRetainFlags_hipGraphUserObjectMove { OBJECTS.remove(object).map(drop) } else { Ok(()) }
    }

    fn hipGraphGetEdges(of: usize, from: Out<*mut c_void>, to: Out<*mut c_void>, count: Out<usize>) {
        let nodes = graph(of)?.nodes();
        let edges: Vec<(Arc<Node>, Arc<Node>)> = nodes
            .iter()
            .flat_map(|node| node.after().into_iter().map(|before| (before, Arc::clone(node))))
            .collect();
        let (before, after): (Vec<Arc<Node>>, Vec<Arc<Node>>) = edges.into_iter().unzip();
        if from.is_null() != to.is_null() {
            return Err(INVALID_VALUE);
        }
        if !from.is_null() {
            let mut room = count.read()?;
            list(&before, from, Out(&raw mut room))?;
        }
        list(&after, to, count)
    }

    fn hipGraphNodeGetDependentNodes(handle: usize, places: Out<*mut c_void>, count: Out<usize>) {
        let node = node(handle)?;
        let mut waiting: Vec<Arc<Node>> = GRAPHS.all().iter().flat_map(|graph| graph.nodes()).collect();
        waiting.retain(|other| other.after().iter().any(|before| Arc::ptr_eq(before, &node)));
        list(&waiting, places, count)
    }

    fn hipGraphRemoveDependencies(from: usize, before: Handles, waiting: Handles, count: usize) {
        graph(from)?;
        for (before, after) in nodes(before, count)?.into_iter().zip(nodes(waiting, count)?) {
            after.forget(&before)?;
        }
        Ok(())
    }

    fn hipGraphNodeSetEnabled(handle: usize, node: usize, enabled: c_uint) {
        executable(handle)?.enable(node, enabled != 0)
    }

    fn hipGraphNodeGetEnabled(handle: usize, node: usize, enabled: Out<c_uint>) {
        enabled.put(c_uint::from(executable(handle)?.is_enabled(node)?))
    }

    fn hipGraphAddDependencies(to: usize, from: Handles, waiting: Handles, count: usize) {
        graph(to)?;
        for (before, after) in nodes(from, count)?.into_iter().zip(nodes(waiting, count)?) {
            if Arc::ptr_eq(&before, &after) {
                return Err(INVALID_VALUE);
            }
            after.wait_for(&[before]);
        }
        Ok(())
    }

    fn hipGraphDestroyNode(handle: usize) {
        let node = node(handle)?;
        for graph in GRAPHS.all() {
            graph.remove(&node);
        }
        NODES.remove(handle).map(drop)
    }

    fn hipGraphNodeGetType(handle: usize, kind: Out<c_uint>) {
        kind.put(node(handle)?.work().node_type())
    }

    fn hipGraphGetNodes(of: usize, places: Out<*mut c_void>, count: Out<usize>) {
        list(&graph(of)?.nodes(), places, count)
    }

    fn hipGraphGetRootNodes(of: usize, places: Out<*mut c_void>, count: Out<usize>) {
        list(&graph(of)?.roots(), places, count)
    }

    fn hipGraphNodeGetDependencies(handle: usize, places: Out<*mut c_void>, count: Out<usize>) {
        list(&node(handle)?.after(), places, count)
    }

    fn hipGraphKernelNodeSetParams(handle: usize, asked: In<hipKernelNodeParams>) {
        node(handle)?.set(functions::of_node(asked)?)
    }

    fn hipGraphMemsetNodeSetParams(handle: usize, asked: In<hipMemsetParams>) {
        node(handle)?.set(copies::fill_of_node(asked)?)
    }

    fn hipGraphMemcpyNodeSetParams1D(handle: usize, to: *mut c_void, from: *const c_void, bytes: usize, _kind: hipMemcpyKind) {
        node(handle)?.set(copies::of_node(to, from, bytes)?)
    }

    fn hipGraphHostNodeSetParams(handle: usize, asked: In<hipHostNodeParams>) {
        node(handle)?.set(host(asked)?)
    }

    fn hipGraphInstantiate(place: Out<*mut c_void>, from: usize, _node: Out<usize>, _log: *mut c_char, _bytes: usize) {
        instantiate(place, from)
    }

    fn hipGraphInstantiateWithFlags(place: Out<*mut c_void>, from: usize, _flags: c_ulonglong) {
        instantiate(place, from)
    }

    fn hipGraphUpload(handle: usize, stream: usize) {
        stream::get(stream)?;
        executable(handle).map(drop)
    }

    fn hipGraphLaunch(handle: usize, stream: usize) {
        let work = executable(handle)?.work();
        stream::get(stream)?.submit(work)
    }

    fn hipGraphExecDestroy(handle: usize) {
        EXECUTABLES.remove(handle).map(drop).map_err(|_| INVALID_VALUE)
    }

    fn hipGraphExecKernelNodeSetParams(handle: usize, node: usize, asked: In<hipKernelNodeParams>) {
        executable(handle)?.set(node, functions::of_node(asked)?)
    }

    fn hipGraphExecMemsetNodeSetParams(handle: usize, node: usize, asked: In<hipMemsetParams>) {
        executable(handle)?.set(node, copies::fill_of_node(asked)?)
    }

    fn hipGraphExecMemcpyNodeSetParams1D(
        handle: usize, node: usize, to: *mut c_void, from: *const c_void, bytes: usize, _kind: hipMemcpyKind,
    ) {
        executable(handle)?.set(node, copies::of_node(to, from, bytes)?)
    }

    fn hipGraphExecHostNodeSetParams(handle: usize, node: usize, asked: In<hipHostNodeParams>) {
        executable(handle)?.set(node, host(asked)?)
    }

    fn hipGraphExecChildGraphNodeSetParams(handle: usize, node: usize, child: usize) {
        executable(handle)?.set(node, graph(child)?.as_work()?)
    }

    fn hipGraphExecUpdate(handle: usize, from: usize, node: Out<*mut c_void>, result: Out<c_uint>) {
        let (executable, graph) = (executable(handle)?, graph(from)?);
        let updated = executable.update(&graph);
        node.put_if(std::ptr::null_mut());
        result.put_if(match updated {
            Ok(()) => hip::hipGraphExecUpdateResult_hipGraphExecUpdateSuccess,
            Err(_) => hip::hipGraphExecUpdateResult_hipGraphExecUpdateErrorTopologyChanged,
        });
        updated
    }

    fn hipGraphDebugDotPrint(of: usize, path: Text, _flags: c_uint) {
        let text = dot(&*graph(of)?);
        std::fs::write(path.get()?, text).map_err(|_| hip::hipError_t_hipErrorOperatingSystem)
    }
}
