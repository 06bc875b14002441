// Checks of HIP's graphs. checks.hpp says how to run them.
#include "checks.hpp"

#include <unistd.h>

#include <thread>

constexpr unsigned ITEMS = 64;

__global__ void add(int* numbers, int more) { numbers[threadIdx.x] += more; }
__global__ void sum(const int* a, const int* b, int* out) { out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x]; }

struct Graph {
    hipGraph_t at = nullptr;
    Graph() { OK(hipGraphCreate(&at, 0)); }
    // What a stream captured since it began to.
    explicit Graph(hipStream_t stream) { OK(hipStreamEndCapture(stream, &at)); }
    Graph(const Graph&) = delete;
    ~Graph() { (void)hipGraphDestroy(at); }
    operator hipGraph_t() const { return at; }
    size_t nodes() const {
        size_t count = 0;
        OK(hipGraphGetNodes(at, nullptr, &count));
        return count;
    }
    size_t edges() const {
        size_t count = 0;
        OK(hipGraphGetEdges(at, nullptr, nullptr, &count));
        return count;
    }
};

struct Executable {
    hipGraphExec_t at = nullptr;
    explicit Executable(hipGraph_t graph) { OK(hipGraphInstantiate(&at, graph, nullptr, nullptr, 0)); }
    Executable(const Executable&) = delete;
    ~Executable() { (void)hipGraphExecDestroy(at); }
    operator hipGraphExec_t() const { return at; }
    void launch(hipStream_t stream = nullptr) const {
        OK(hipGraphLaunch(at, stream));
        OK(hipStreamSynchronize(stream));
    }
};

// A launch with its arguments, as nodes of kernels take it.
struct Launch {
    int *numbers, more;
    void* arguments[2] = {&numbers, &more};
    Launch(int* numbers, int more) : numbers(numbers), more(more) {}
    Launch(const Launch&) = delete;
    hipKernelNodeParams of() {
        hipKernelNodeParams of = {};
        of.func = reinterpret_cast<void*>(add);
        of.gridDim = dim3(1);
        of.blockDim = dim3(ITEMS);
        of.kernelParams = arguments;
        return of;
    }
};

static hipGraphNode_t kernel_node(hipGraph_t graph, std::vector<hipGraphNode_t> after, int* numbers, int more) {
    hipGraphNode_t node;
    Launch launch(numbers, more);
    hipKernelNodeParams of = launch.of();
    OK(hipGraphAddKernelNode(&node, graph, after.data(), after.size(), &of));
    return node;
}

static hipMemsetParams words(int* numbers, unsigned value, size_t count = ITEMS) {
    hipMemsetParams of = {};
    of.dst = numbers, of.elementSize = 4, of.value = value, of.width = count, of.height = 1;
    return of;
}

static hipGraphNode_t memset_node(hipGraph_t graph, std::vector<hipGraphNode_t> after, int* numbers, unsigned value) {
    hipGraphNode_t node;
    hipMemsetParams of = words(numbers, value);
    OK(hipGraphAddMemsetNode(&node, graph, after.data(), after.size(), &of));
    return node;
}

static void times_ten(void* data) {
    int* numbers = static_cast<int*>(data);
    for (unsigned i = 0; i < ITEMS; i++) numbers[i] *= 10;
}

static void count(void* data) { ++*static_cast<int*>(data); }

CHECK(capture) {
    Stream stream;
    Numbers<int> numbers(ITEMS);
    int* host;
    OK(hipHostMalloc(&host, ITEMS * sizeof(int), 0));
    OK(hipMemset(numbers, 0, numbers.bytes()));
    for (unsigned i = 0; i < ITEMS; i++) host[i] = -1;
    OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    OK(hipMemsetAsync(numbers, 0, numbers.bytes(), stream));
    add<<<1, ITEMS, 0, stream>>>(numbers, 3);
    OK(hipGetLastError());
    OK(hipMemcpyAsync(host, numbers, numbers.bytes(), hipMemcpyDeviceToHost, stream));
    OK(hipLaunchHostFunc(stream, times_ten, host));
    OK(hipMemcpyAsync(numbers, host, numbers.bytes(), hipMemcpyHostToDevice, stream));
    add<<<1, ITEMS, 0, stream>>>(numbers, 1);
    Graph graph(stream);
    SAME(graph.nodes(), size_t(6));
    SAME(graph.edges(), size_t(5));
    OK(hipDeviceSynchronize());
    // Nothing ran so far.
    ALL(host, ITEMS, i, -1);
    auto got = numbers.read();
    ALL(got, ITEMS, i, 0);
    Executable executable(graph);
    for (int round = 0; round < 3; round++) {
        OK(hipMemset(numbers, round, numbers.bytes()));
        executable.launch(round == 1 ? nullptr : stream.at);
        ALL(host, ITEMS, i, 30);
        got = numbers.read();
        ALL(got, ITEMS, i, 31);
    }
    OK(hipHostFree(host));
}

// Arguments are kept when a kernel is captured, not when it runs.
CHECK(captured_arguments) {
    Stream stream;
    Numbers<int> numbers(ITEMS);
    OK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
    for (int i = 1; i <= 4; i++) {
        int *at = numbers, more = i;
        void* arguments[] = {&at, &more};
        OK(hipLaunchKernel(reinterpret_cast<const void*>(add), dim3(1), dim3(ITEMS), arguments, 0, stream));
        more = 1000;
    }
    Graph graph(stream);
    Executable executable(graph);
    OK(hipMemset(numbers, 0, numbers.bytes()));
    for (int i = 0; i < 3; i++) OK(hipGraphLaunch(executable, stream));
    OK(hipStreamSynchronize(stream));
    auto got = numbers.read();
    ALL(got, ITEMS, i, 30);
}

CHECK(capture_of_a_fork) {
    Stream first, second;
    Event fork, join;
    Numbers<int> a(ITEMS), b(ITEMS), out(ITEMS);
    OK(hipStreamBeginCapture(first, hipStreamCaptureModeGlobal));
    OK(hipMemsetAsync(a, 0, a.bytes(), first));
    OK(hipEventRecord(fork, first));
    OK(hipStreamWaitEvent(second, fork, 0));
    hipStreamCaptureStatus status;
    OK(hipStreamIsCapturing(second, &status));
    SAME(status, hipStreamCaptureStatusActive);
    add<<<1, ITEMS, 0, first>>>(a, 5);
    OK(hipMemsetAsync(b, 0, b.bytes(), second));
    add<<<1, ITEMS, 0, second>>>(b, 70);
    OK(hipEventRecord(join, second));
    OK(hipStreamWaitEvent(first, join, 0));
    sum<<<1, ITEMS, 0, first>>>(a, b, out);
    Graph graph(first);
    OK(hipStreamIsCapturing(second, &status));
    SAME(status, hipStreamCaptureStatusNone);
    SAME(graph.nodes(), size_t(5));
    SAME(graph.edges(), size_t(5));
    size_t roots = 0;
    OK(hipGraphGetRootNodes(graph, nullptr, &roots));
    SAME(roots, size_t(1));
    Executable executable(graph);
    for (int i = 0; i < 3; i++) {
        OK(hipMemset(out, 0, out.bytes()));
        executable.launch(first);
        auto got = out.read();
        ALL(got, ITEMS, i, 75);
    }
}

CHECK(capture_status) {
    Stream stream;
    hipStreamCaptureStatus status;
    unsigned long long id = 0, same = 0;
    hipGraph_t within = nullptr;
    const hipGraphNode_t* after = nullptr;
    size_t count = 99;
    Numbers<int> numbers(ITEMS);
    OK(hipStreamIsCapturing(stream, &status));
    SAME(status, hipStreamCaptureStatusNone);
    OK(hipStreamGetCaptureInfo(stream, &status, &id));
    SAME(status, hipStreamCaptureStatusNone);
    OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    add<<<1, ITEMS, 0, stream>>>(numbers, 5);
    OK(hipStreamIsCapturing(stream, &status));
    SAME(status, hipStreamCaptureStatusActive);
    OK(hipStreamGetCaptureInfo(stream, &status, &id));
    SAME(status, hipStreamCaptureStatusActive);
    TRUE(id != 0);
    OK(hipStreamGetCaptureInfo_v2(stream, &status, &same, &within, &after, &count));
    SAME(status, hipStreamCaptureStatusActive);
    SAME(same, id);
    SAME(count, size_t(1));
    TRUE(within != nullptr && after != nullptr);
    // A node by hand, which what is captured then comes after.
    hipGraphNode_t by_hand = kernel_node(within, {after[0]}, numbers, 40);
    OK(hipStreamUpdateCaptureDependencies(stream, &by_hand, 1, hipStreamSetCaptureDependencies));
    add<<<1, ITEMS, 0, stream>>>(numbers, 300);
    Graph graph(stream);
    TRUE(graph.at == within);
    SAME(graph.nodes(), size_t(3));
    SAME(graph.edges(), size_t(2));
    Executable executable(graph);
    OK(hipMemset(numbers, 0, numbers.bytes()));
    executable.launch();
    auto got = numbers.read();
    ALL(got, ITEMS, i, 345);
    OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    OK(hipStreamGetCaptureInfo(stream, &status, &same));
    TRUE(same != id);
    Graph empty(stream);
    SAME(empty.nodes(), size_t(0));
}

CHECK(capture_errors) {
    Stream stream;
    Numbers<int> numbers(ITEMS);
    hipGraph_t graph = nullptr;
    FAILS(hipErrorIllegalState, hipStreamEndCapture(stream, &graph));
    // The null stream cannot capture.
    FAILS(hipErrorStreamCaptureUnsupported, hipStreamBeginCapture(nullptr, hipStreamCaptureModeGlobal));
    FAILS(hipErrorInvalidValue, hipStreamBeginCapture(stream, hipStreamCaptureMode(9)));
    OK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
    FAILS(hipErrorIllegalState, hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
    add<<<1, ITEMS, 0, stream>>>(numbers, 1);
    // A call that would wait makes what was captured useless.
    FAILS(hipErrorStreamCaptureUnsupported, hipStreamSynchronize(stream));
    hipStreamCaptureStatus status;
    OK(hipStreamIsCapturing(stream, &status));
    SAME(status, hipStreamCaptureStatusInvalidated);
    FAILS(hipErrorStreamCaptureInvalidated, hipStreamEndCapture(stream, &graph));
    TRUE(graph == nullptr);
    // A fork that does not come back.
    Event event;
    Stream left, right;
    OK(hipStreamBeginCapture(left, hipStreamCaptureModeRelaxed));
    add<<<1, ITEMS, 0, left>>>(numbers, 1);
    OK(hipEventRecord(event, left));
    OK(hipStreamWaitEvent(right, event, 0));
    add<<<1, ITEMS, 0, left>>>(numbers, 1);
    add<<<1, ITEMS, 0, right>>>(numbers, 1);
    FAILS(hipErrorStreamCaptureUnjoined, hipStreamEndCapture(left, &graph));
    // Other streams work as before. For AMD's runtimes those of a capture that failed capture for ever.
    Stream other;
    OK(hipMemsetAsync(numbers, 0, numbers.bytes(), other));
    add<<<1, ITEMS, 0, other>>>(numbers, 8);
    OK(hipStreamSynchronize(other));
    auto got = numbers.read();
    ALL(got, ITEMS, i, 8);
}

// Other streams and memory are used while one captures.
CHECK(capture_beside_work) {
    Stream stream, other(hipStreamNonBlocking);
    Numbers<int> numbers(ITEMS), more(ITEMS);
    OK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
    add<<<1, ITEMS, 0, stream>>>(numbers, 5);
    OK(hipMemsetAsync(more, 0, more.bytes(), other));
    add<<<1, ITEMS, 0, other>>>(more, 6);
    OK(hipStreamSynchronize(other));
    int* third = nullptr;
    OK(hipMalloc(&third, ITEMS * sizeof(int)));
    OK(hipMemsetAsync(third, 0, ITEMS * sizeof(int), stream));
    add<<<1, ITEMS, 0, stream>>>(third, 9);
    Graph graph(stream);
    auto got = more.read();
    ALL(got, ITEMS, i, 6);
    Executable executable(graph);
    // A stream that does not block does not wait for a fill, which 7.2 does not wait for either.
    OK(hipMemset(numbers, 0, numbers.bytes()));
    OK(hipDeviceSynchronize());
    executable.launch(other);
    got = numbers.read();
    ALL(got, ITEMS, i, 5);
    OK(hipMemcpy(got.data(), third, ITEMS * sizeof(int), hipMemcpyDeviceToHost));
    ALL(got, ITEMS, i, 9);
    OK(hipFree(third));
}

CHECK(nodes_by_hand) {
    Graph graph, child;
    Numbers<int> a(ITEMS), b(ITEMS);
    std::vector<int> from(ITEMS), to(ITEMS);
    for (unsigned i = 0; i < ITEMS; i++) from[i] = int(i);
    hipGraphNode_t in, cleared, empty, summed, out, called, within;
    OK(hipGraphAddMemcpyNode1D(&in, graph, nullptr, 0, a, from.data(), a.bytes(), hipMemcpyHostToDevice));
    cleared = memset_node(graph, {}, b, 1000);
    hipGraphNode_t both[] = {in, cleared};
    OK(hipGraphAddEmptyNode(&empty, graph, both, 2));
    hipGraphNode_t first = kernel_node(child, {}, b, 1), second = kernel_node(child, {first}, b, 2);
    (void)second;
    OK(hipGraphAddChildGraphNode(&within, graph, &empty, 1, child));
    int *pa = a, *pb = b;
    void* arguments[] = {&pa, &pb, &pb};
    hipKernelNodeParams of = {};
    of.func = reinterpret_cast<void*>(sum), of.gridDim = dim3(1), of.blockDim = dim3(ITEMS), of.kernelParams = arguments;
    OK(hipGraphAddKernelNode(&summed, graph, &within, 1, &of));
    OK(hipGraphAddMemcpyNode1D(&out, graph, &summed, 1, to.data(), b, b.bytes(), hipMemcpyDeviceToHost));
    hipHostNodeParams host = {times_ten, to.data()};
    OK(hipGraphAddHostNode(&called, graph, &out, 1, &host));
    Executable executable(graph);
    for (int round = 0; round < 3; round++) {
        std::fill(to.begin(), to.end(), 0);
        executable.launch();
        ALL(to, ITEMS, i, 10 * (1003 + i));
    }

    SAME(graph.nodes(), size_t(7));
    SAME(graph.edges(), size_t(6));
    size_t count = 7;
    std::vector<hipGraphNode_t> nodes(7), roots(7), to_nodes(7);
    OK(hipGraphGetNodes(graph, nodes.data(), &count));
    for (hipGraphNode_t node : {in, cleared, empty, within, summed, out, called}) {
        bool found = false;
        for (hipGraphNode_t listed : nodes) found |= listed == node;
        TRUE(found);
    }
    OK(hipGraphGetRootNodes(graph, roots.data(), &count));
    SAME(count, size_t(2));
    TRUE((roots[0] == in && roots[1] == cleared) || (roots[0] == cleared && roots[1] == in));
    hipGraphNodeType type;
    std::pair<hipGraphNode_t, hipGraphNodeType> types[] = {
        {in, hipGraphNodeTypeMemcpy}, {cleared, hipGraphNodeTypeMemset}, {empty, hipGraphNodeTypeEmpty}, {within, hipGraphNodeTypeGraph},
        {summed, hipGraphNodeTypeKernel}, {called, hipGraphNodeTypeHost},
    };
    for (auto [node, wanted] : types) {
        OK(hipGraphNodeGetType(node, &type));
        SAME(type, wanted);
    }
    OK(hipGraphNodeGetDependencies(empty, nullptr, &count));
    SAME(count, size_t(2));
    OK(hipGraphNodeGetDependencies(summed, nodes.data(), &count));
    SAME(count, size_t(1));
    TRUE(nodes[0] == within);
    OK(hipGraphNodeGetDependentNodes(empty, nodes.data(), &count));
    SAME(count, size_t(1));
    TRUE(nodes[0] == within);
    hipGraph_t inner = nullptr;
    OK(hipGraphChildGraphNodeGetGraph(within, &inner));
    OK(hipGraphGetNodes(inner, nullptr, &count));
    SAME(count, size_t(2));
    hipKernelNodeParams read;
    OK(hipGraphKernelNodeGetParams(summed, &read));
    TRUE(read.func == of.func);
    SAME(read.blockDim.x, ITEMS);
    hipMemsetParams set;
    OK(hipGraphMemsetNodeGetParams(cleared, &set));
    SAME(set.value, 1000u);
    SAME(set.width, size_t(ITEMS));
    OK(hipGraphHostNodeGetParams(called, &host));
    TRUE(host.fn == times_ten);
}

CHECK(dependencies) {
    Graph graph;
    Numbers<int> numbers(ITEMS);
    hipGraphNode_t set = memset_node(graph, {}, numbers, 4), added = kernel_node(graph, {}, numbers, 3);
    SAME(graph.edges(), size_t(0));
    OK(hipGraphAddDependencies(graph, &set, &added, 1));
    SAME(graph.edges(), size_t(1));
    FAILS(hipErrorInvalidValue, hipGraphAddDependencies(graph, &set, &set, 1));
    hipGraphNode_t spare = kernel_node(graph, {added}, numbers, 1000);
    SAME(graph.edges(), size_t(2));
    hipGraphNode_t from[2], to[2];
    size_t count = 2;
    OK(hipGraphGetEdges(graph, from, to, &count));
    SAME(count, size_t(2));
    OK(hipGraphRemoveDependencies(graph, &added, &spare, 1));
    SAME(graph.edges(), size_t(1));
    OK(hipGraphDestroyNode(spare));
    SAME(graph.nodes(), size_t(2));
    Executable executable(graph);
    OK(hipGraphUpload(executable, nullptr));
    executable.launch();
    auto got = numbers.read();
    ALL(got, ITEMS, i, 7);
}

CHECK(clone) {
    Numbers<int> numbers(ITEMS);
    hipGraph_t copy = nullptr;
    hipGraphNode_t added, set, found = nullptr;
    hipGraphExec_t executable = nullptr;
    {
        Graph graph;
        set = memset_node(graph, {}, numbers, 1);
        added = kernel_node(graph, {set}, numbers, 5);
        OK(hipGraphClone(&copy, graph));
        OK(hipGraphNodeFindInClone(&found, added, copy));
        TRUE(found != nullptr && found != added);
        Launch launch(numbers, 50);
        hipKernelNodeParams of = launch.of();
        OK(hipGraphKernelNodeSetParams(found, &of));
        // The original is as it was.
        Executable of_graph(graph);
        of_graph.launch();
        auto got = numbers.read();
        ALL(got, ITEMS, i, 6);
    }
    // The copy outlives it, and what is instantiated the copy.
    OK(hipGraphInstantiateWithFlags(&executable, copy, 0));
    OK(hipGraphDestroy(copy));
    OK(hipGraphLaunch(executable, nullptr));
    OK(hipDeviceSynchronize());
    auto got = numbers.read();
    ALL(got, ITEMS, i, 51);
    OK(hipGraphExecDestroy(executable));
}

// Nodes of what is instantiated are changed, one kind after another.
CHECK(changed_nodes) {
    Graph graph, child, other_child;
    Numbers<int> numbers(ITEMS), more(ITEMS);
    std::vector<int> to(ITEMS), elsewhere(ITEMS);
    int calls = 0, others = 0;
    hipGraphNode_t set = memset_node(graph, {}, numbers, 1), added = kernel_node(graph, {set}, numbers, 2), within, out, called;
    (void)kernel_node(child, {}, numbers, 10);
    (void)kernel_node(other_child, {}, numbers, 20);
    OK(hipGraphAddChildGraphNode(&within, graph, &added, 1, child));
    OK(hipGraphAddMemcpyNode1D(&out, graph, &within, 1, to.data(), numbers, numbers.bytes(), hipMemcpyDeviceToHost));
    hipHostNodeParams host = {count, &calls};
    OK(hipGraphAddHostNode(&called, graph, &out, 1, &host));
    Executable executable(graph);
    executable.launch();
    ALL(to, ITEMS, i, 13);
    SAME(calls, 1);
    {
        Launch launch(numbers, 7);
        hipKernelNodeParams of = launch.of();
        OK(hipGraphExecKernelNodeSetParams(executable, added, &of));
    }
    executable.launch();
    ALL(to, ITEMS, i, 18);
    hipMemsetParams of = words(numbers, 100);
    OK(hipGraphExecMemsetNodeSetParams(executable, set, &of));
    executable.launch();
    ALL(to, ITEMS, i, 117);
    OK(hipGraphExecChildGraphNodeSetParams(executable, within, other_child));
    executable.launch();
    ALL(to, ITEMS, i, 127);
    OK(hipGraphExecMemcpyNodeSetParams1D(executable, out, elsewhere.data(), numbers, numbers.bytes() / 2, hipMemcpyDeviceToHost));
    std::fill(to.begin(), to.end(), 0);
    executable.launch();
    ALL(to, ITEMS, i, 0);
    ALL(elsewhere, ITEMS, i, i < ITEMS / 2 ? 127 : 0);
    SAME(calls, 5);
    host.userData = &others;
    OK(hipGraphExecHostNodeSetParams(executable, called, &host));
    executable.launch();
    SAME(calls, 5);
    SAME(others, 1);
    // The graph itself is as it was.
    Executable again(graph);
    again.launch();
    ALL(to, ITEMS, i, 13);
}

CHECK(switched_off) {
    Graph graph;
    Numbers<int> numbers(ITEMS);
    hipGraphNode_t set = memset_node(graph, {}, numbers, 1), added = kernel_node(graph, {set}, numbers, 2);
    (void)kernel_node(graph, {added}, numbers, 4);
    Executable executable(graph);
    unsigned on = 99;
    OK(hipGraphNodeGetEnabled(executable, added, &on));
    SAME(on, 1u);
    OK(hipGraphNodeSetEnabled(executable, added, 0));
    OK(hipGraphNodeGetEnabled(executable, added, &on));
    SAME(on, 0u);
    executable.launch();
    auto got = numbers.read();
    ALL(got, ITEMS, i, 5);
    OK(hipGraphNodeSetEnabled(executable, added, 1));
    executable.launch();
    got = numbers.read();
    ALL(got, ITEMS, i, 7);
}

// What is instantiated takes over another graph of the same shape.
CHECK(update) {
    Stream stream;
    Numbers<int> numbers(ITEMS);
    auto captured = [&](int more, int kernels) {
        OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
        OK(hipMemsetAsync(numbers, 0, numbers.bytes(), stream));
        for (int i = 0; i < kernels; i++) add<<<1, ITEMS, 0, stream>>>(numbers, more);
    };
    captured(3, 2);
    Graph graph(stream);
    Executable executable(graph);
    executable.launch();
    auto got = numbers.read();
    ALL(got, ITEMS, i, 6);
    captured(40, 2);
    Graph alike(stream);
    hipGraphNode_t node = nullptr;
    hipGraphExecUpdateResult result = hipGraphExecUpdateError;
    OK(hipGraphExecUpdate(executable, alike, &node, &result));
    SAME(result, hipGraphExecUpdateSuccess);
    executable.launch();
    got = numbers.read();
    ALL(got, ITEMS, i, 80);
    captured(5, 3);
    Graph longer(stream);
    FAILS(hipErrorGraphExecUpdateFailure, hipGraphExecUpdate(executable, longer, &node, &result));
    SAME(result, hipGraphExecUpdateErrorTopologyChanged);
    executable.launch();
    got = numbers.read();
    ALL(got, ITEMS, i, 80);
}

__device__ int table[ITEMS];

CHECK(boxes_and_symbols) {
    Graph graph;
    Numbers<int> numbers(ITEMS);
    std::vector<int> from(ITEMS), to(ITEMS, -1);
    for (unsigned i = 0; i < ITEMS; i++) from[i] = 3 * int(i);
    hipGraphNode_t in, onto, off, out, set;
    // 8 lines of 4 numbers, of lines of 8.
    hipMemcpy3DParms box = {};
    box.srcPtr = make_hipPitchedPtr(from.data(), 32, 8, 8);
    box.dstPtr = make_hipPitchedPtr(numbers.at, 32, 8, 8);
    box.extent = make_hipExtent(16, 8, 1);
    box.kind = hipMemcpyHostToDevice;
    hipMemsetParams lines = words(numbers, 9);
    OK(hipGraphAddMemsetNode(&set, graph, nullptr, 0, &lines));
    OK(hipGraphAddMemcpyNode(&in, graph, &set, 1, &box));
    OK(hipGraphAddMemcpyNodeToSymbol(&onto, graph, &in, 1, HIP_SYMBOL(table), numbers, numbers.bytes(), 0, hipMemcpyDeviceToDevice));
    hipGraphNode_t added = kernel_node(graph, {onto}, numbers, 1000);
    OK(hipGraphAddMemcpyNodeFromSymbol(&off, graph, &added, 1, numbers, HIP_SYMBOL(table), 64, 128, hipMemcpyDeviceToDevice));
    OK(hipGraphAddMemcpyNode1D(&out, graph, &off, 1, to.data(), numbers, numbers.bytes(), hipMemcpyDeviceToHost));
    Executable executable(graph);
    executable.launch();
    auto placed = [](int i) { return i % 8 < 4 ? 3 * i : 9; };
    ALL(to, ITEMS, i, i < 16 ? placed(int(i) + 32) : placed(int(i)) + 1000);
    hipMemcpy3DParms read = {};
    OK(hipGraphMemcpyNodeGetParams(in, &read));
    SAME(read.extent.width, size_t(16));
    SAME(read.extent.height, size_t(8));
}

CHECK(event_nodes) {
    Graph graph;
    Numbers<int> numbers(ITEMS);
    Event start, stop, read;
    hipGraphNode_t begin, end, waited;
    OK(hipGraphAddEventRecordNode(&begin, graph, nullptr, 0, start));
    hipGraphNode_t set = memset_node(graph, {begin}, numbers, 2), added = kernel_node(graph, {set}, numbers, 6);
    OK(hipGraphAddEventRecordNode(&end, graph, &added, 1, stop));
    OK(hipGraphAddEventWaitNode(&waited, graph, &end, 1, stop));
    (void)kernel_node(graph, {waited}, numbers, 10);
    hipEvent_t event = nullptr;
    OK(hipGraphEventRecordNodeGetEvent(end, &event));
    TRUE(event == stop);
    OK(hipGraphEventWaitNodeGetEvent(waited, &event));
    TRUE(event == stop);
    Executable executable(graph);
    executable.launch();
    OK(hipEventSynchronize(stop));
    float milliseconds = -1;
    OK(hipEventElapsedTime(&milliseconds, start, stop));
    TRUE(milliseconds >= 0);
    auto got = numbers.read();
    ALL(got, ITEMS, i, 18);
}

// A graph that allocates: what was allocated is filled, and read before it is freed.
CHECK(memory_nodes) {
    Graph graph;
    Numbers<int> numbers(ITEMS);
    hipGraphNode_t allocated, copied, freed;
    hipMemAllocNodeParams of = {};
    of.poolProps.allocType = hipMemAllocationTypePinned;
    of.poolProps.location.type = hipMemLocationTypeDevice;
    of.bytesize = numbers.bytes();
    OK(hipGraphAddMemAllocNode(&allocated, graph, nullptr, 0, &of));
    TRUE(of.dptr != nullptr);
    int* at = static_cast<int*>(of.dptr);
    hipGraphNode_t set = memset_node(graph, {allocated}, at, 30), added = kernel_node(graph, {set}, at, 4);
    OK(hipGraphAddMemcpyNode1D(&copied, graph, &added, 1, numbers, at, numbers.bytes(), hipMemcpyDeviceToDevice));
    OK(hipGraphAddMemFreeNode(&freed, graph, &copied, 1, at));
    Executable executable(graph);
    for (int i = 0; i < 3; i++) {
        OK(hipMemset(numbers, 0, numbers.bytes()));
        executable.launch();
        auto got = numbers.read();
        ALL(got, ITEMS, i, 34);
    }
    OK(hipDeviceGraphMemTrim(0));
}

CHECK(drawn_graph) {
    Graph graph;
    Numbers<int> numbers(ITEMS);
    (void)kernel_node(graph, {memset_node(graph, {}, numbers, 1)}, numbers, 2);
    std::string path = name_of_a_file();
    int file = mkstemp(path.data());
    const char* name = path.c_str();
    TRUE(file >= 0);
    hipError_t error = hipGraphDebugDotPrint(graph, name, hipGraphDebugDotFlagsVerbose);
    char text[4096] = {};
    ssize_t bytes = read(file, text, sizeof text - 1);
    close(file);
    unlink(name);
    OK(error);
    TRUE(bytes > 0);
    TRUE(std::strstr(text, "digraph") != nullptr);
    TRUE(std::strstr(text, "->") != nullptr);
}

CHECK(user_objects) {
    static int destroyed;
    destroyed = 0;
    hipUserObject_t object = nullptr;
    {
        Graph graph;
        OK(hipUserObjectCreate(&object, &destroyed, [](void* count) { ++*static_cast<int*>(count); }, 1, hipUserObjectNoDestructorSync));
        OK(hipGraphRetainUserObject(graph, object, 1, hipGraphUserObjectMove));
        SAME(destroyed, 0);
    }
    SAME(destroyed, 1);
}

CHECK(graph_errors) {
    Graph graph;
    Numbers<int> numbers(ITEMS);
    hipGraphNode_t node;
    hipGraphExec_t executable = nullptr;
    Launch launch(numbers, 1);
    hipKernelNodeParams of = launch.of();
    FAILS(hipErrorInvalidValue, hipGraphCreate(nullptr, 0));
    FAILS(hipErrorInvalidValue, hipGraphDestroy(nullptr));
    FAILS(hipErrorInvalidValue, hipGraphInstantiate(nullptr, graph, nullptr, nullptr, 0));
    FAILS(hipErrorInvalidValue, hipGraphInstantiate(&executable, nullptr, nullptr, nullptr, 0));
    FAILS(hipErrorInvalidValue, hipGraphLaunch(nullptr, nullptr));
    FAILS(hipErrorInvalidValue, hipGraphExecDestroy(nullptr));
    FAILS(hipErrorInvalidValue, hipGraphAddKernelNode(nullptr, graph, nullptr, 0, &of));
    FAILS(hipErrorInvalidValue, hipGraphAddKernelNode(&node, nullptr, nullptr, 0, &of));
    FAILS(hipErrorInvalidValue, hipGraphAddKernelNode(&node, graph, nullptr, 1, &of));
    FAILS(hipErrorInvalidValue, hipGraphAddKernelNode(&node, graph, nullptr, 0, nullptr));
    of.func = nullptr;
    FAILS(hipErrorInvalidValue, hipGraphAddKernelNode(&node, graph, nullptr, 0, &of));
    FAILS(hipErrorInvalidValue, hipGraphAddMemcpyNode1D(&node, graph, nullptr, 0, nullptr, numbers, 4, hipMemcpyDeviceToHost));
    SAME(graph.nodes(), size_t(0));
    // A graph of nothing.
    Executable nothing(graph);
    nothing.launch();
}
