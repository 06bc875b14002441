"""Launches the kernels that `kernels.py` compiled, by AMD's HIP runtime, and compares what they computed with numpy in f64:
`python check.py FOLDER [LIBRARY]`. A line for each kernel; it exits 1 when one is wrong. Needs numpy and libamdhip64."""
import ctypes
import json
import struct
import sys
from pathlib import Path

import numpy

TO_DEVICE, TO_HOST = 1, 2
# How types of Triton's signatures lie in the kernel's arguments: the format of `struct`, which is also the alignment.
FORMATS = {"i32": "i", "fp32": "f"}


class Hip:
    """The functions of the HIP runtime that a launch needs. An error ends the program."""

    def __init__(self, library):
        self.library = ctypes.CDLL(library)
        self.library.hipGetErrorString.restype = ctypes.c_char_p

    def call(self, name, *arguments):
        error = getattr(self.library, name)(*arguments)
        if error != 0:
            sys.exit(f"{name}: {self.library.hipGetErrorString(error).decode()}")

    def upload(self, array):
        address = ctypes.c_void_p()
        self.call("hipMalloc", ctypes.byref(address), ctypes.c_size_t(max(array.nbytes, 1)))
        self.call("hipMemcpy", address, array.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(array.nbytes), TO_DEVICE)
        return address

    def download(self, address, array):
        self.call("hipMemcpy", array.ctypes.data_as(ctypes.c_void_p), address, ctypes.c_size_t(array.nbytes), TO_HOST)


def arguments(kernel, values):
    """The kernel's arguments as they lie in memory. Triton appends two pointers, to scratch memory, which these kernels do not use."""
    packed = b""
    for kind, value in [*zip(kernel["types"].split(), values, strict=True), ("*", 0), ("*", 0)]:
        format = "Q" if kind.startswith("*") else FORMATS[kind]
        packed += b"\0" * (-len(packed) % struct.calcsize(format))
        packed += struct.pack(format, value.value if isinstance(value, ctypes.c_void_p) else value)
    return packed


def launch(hip, folder, name, kernel, grid, values, out):
    """Uploads the arrays among `values`, launches, and reads `out` back."""
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    hip.call("hipModuleLoad", ctypes.byref(module), str(folder / f"{name}.hsaco").encode())
    hip.call("hipModuleGetFunction", ctypes.byref(function), module, kernel["function"].encode())
    places = {id(value): hip.upload(value) for value in values if isinstance(value, numpy.ndarray)}
    packed = arguments(kernel, [places.get(id(value), value) for value in values])
    memory, size = ctypes.create_string_buffer(packed, len(packed)), ctypes.c_size_t(len(packed))
    # HIP_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE and _END of hip_runtime_api.h.
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(memory), 2, ctypes.addressof(size), 3)
    sizes = [ctypes.c_uint(part) for part in [*grid, *[1] * (3 - len(grid)), kernel["threads"], 1, 1, kernel["shared"]]]
    hip.call("hipModuleLaunchKernel", function, *sizes, None, None, extra)
    hip.call("hipDeviceSynchronize")
    hip.download(places[id(out)], out)
    for place in places.values():
        hip.call("hipFree", place)
    hip.call("hipModuleUnload", module)
    return out


def bf16(array):
    """The upper halves of f32 values, rounded to nearest, ties to even."""
    bits = array.astype(numpy.float32).view(numpy.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(numpy.uint16)


def of_bf16(bits):
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


def cases(random):
    """For each kernel: grid, arguments with the result among them, the right result, and how far from it relative to its largest value."""
    normal = lambda *shape: random.standard_normal(shape).astype(numpy.float32)
    up = lambda n, block: (n + block - 1) // block
    x, y = normal(5000), normal(5000)
    out = numpy.full(5000, numpy.nan, numpy.float32)
    yield "add", lambda sizes: (up(5000, sizes["BLOCK"]),), [x, y, out, 5000], out, x + y, 0
    x = normal(37, 781)
    out = numpy.full_like(x, numpy.nan)
    powers = numpy.exp(x.astype(float) - x.max(axis=1, keepdims=True))
    yield "softmax", lambda _: (37,), [x, out, 781], out, powers / powers.sum(axis=1, keepdims=True), 1e-6
    x, weight, bias = normal(29, 1151), normal(1151), normal(1151)
    out, wide = numpy.full_like(x, numpy.nan), x.astype(float)
    right = (wide - wide.mean(axis=1, keepdims=True)) / numpy.sqrt(wide.var(axis=1, keepdims=True) + 1e-5) * weight + bias
    yield "layer_norm", lambda _: (29,), [x, weight, bias, out, 1151, 1e-5], out, right, 2e-6
    m, n, k = 150, 90, 200
    same, f16 = lambda array: array, lambda array: array.astype(numpy.float16)
    # With operands of 10 bits every product is off by 2^-10 at most, relative to its size.
    for name, narrow, wide, limit in [("f32", same, same, 2e-6), ("tf32", same, same, 1e-3), ("f16", f16, same, 2e-6), ("bf16", bf16, of_bf16, 2e-6)]:
        a, b = narrow(normal(m, k)), narrow(normal(k, n))
        out = numpy.full((m, n), numpy.nan, numpy.float32)
        right = wide(a).astype(float) @ wide(b).astype(float)
        yield f"matmul_{name}", lambda sizes: (up(m, sizes["M"]), up(n, sizes["N"])), [a, b, out, m, n, k], out, right, limit
    heads, length, width = 3, 130, 64
    q, k, v = (normal(heads, length, width).astype(numpy.float16) for _ in range(3))
    out = numpy.full((heads, length, width), numpy.nan, numpy.float32)
    score = numpy.einsum("hqd,hkd->hqk", q.astype(float), k.astype(float)) * 0.125
    score[:, numpy.triu(numpy.ones((length, length), bool), 1)] = -numpy.inf
    powers = numpy.exp(score - score.max(axis=2, keepdims=True))
    right = numpy.einsum("hqk,hkd->hqd", powers / powers.sum(axis=2, keepdims=True), v.astype(float))
    # The powers meet the values in f16: half a unit of its last place each.
    yield "attention", lambda sizes: (up(length, sizes["M"]), heads), [q, k, v, out, length, 0.125], out, right, 1e-3
    x = random.integers(-1000, 1000, (11, 500), dtype=numpy.int32)
    out = numpy.full_like(x, -(2**31))
    yield "cumulative_sum", lambda _: (11,), [x, out, 500], out, numpy.cumsum(x, axis=1), 0
    x, out = random.integers(0, 16, 3000, dtype=numpy.int32), numpy.zeros(16, numpy.int32)
    yield "histogram", lambda sizes: (up(3000, sizes["BLOCK"]),), [x, out, 3000], out, numpy.bincount(x, minlength=16), 0


def main():
    folder, library = Path(sys.argv[1]), (sys.argv[2:] or ["libamdhip64.so"])[0]
    hip, kernels, wrong, done = Hip(library), json.loads((folder / "kernels.json").read_text())["kernels"], 0, set()
    for name, grid, values, out, right, limit in cases(numpy.random.default_rng(20261123)):
        kernel = kernels.get(name)
        if kernel is None:
            print(f"{name}: not for this card")
            continue
        got = launch(hip, folder, name, kernel, grid(kernel["sizes"]), values, out)
        error = numpy.abs(got - right).max() / max(numpy.abs(right).max(), 1e-30)
        # NaN is not within any limit.
        good = bool(error <= limit)
        wrong += not good
        done.add(name)
        print(f"{name}: {'OK' if good else 'FAIL'}, error {error:.2e}, limit {limit:.0e}")
    if done != set(kernels):
        sys.exit(f"not launched: {', '.join(sorted(set(kernels) - done))}")
    sys.exit(1 if wrong else 0)


main()
