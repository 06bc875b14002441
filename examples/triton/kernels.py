"""Triton kernels, compiled for an AMD card on a machine without one: `python kernels.py gfx1100 FOLDER` writes a code object for each
kernel and `kernels.json`, what a launch needs to know. `check.py` launches them. Needs Triton (PyPI) and nothing of AMD."""
import json
import sys
from pathlib import Path

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, axis=0), mask=at < columns)


@triton.jit
def layer_norm(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + at, mask=at < columns, other=0.0)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        apart = tl.where(at < columns, tl.load(x + row * columns + at, mask=at < columns, other=0.0) - mean, 0.0)
        squares += apart * apart
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / columns + epsilon)
    for start in range(0, columns, BLOCK):
        at = start + tl.arange(0, BLOCK)
        inside = at < columns
        value = (tl.load(x + row * columns + at, mask=inside) - mean) * scale
        value = value * tl.load(weight + at, mask=inside) + tl.load(bias + at, mask=inside)
        tl.store(out + row * columns + at, value, mask=inside)


@triton.jit
def matmul(a, b, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr):
    rows, columns = tl.program_id(0) * M + tl.arange(0, M), tl.program_id(1) * N + tl.arange(0, N)
    total = tl.zeros([M, N], tl.float32)
    for start in range(0, k, K):
        inner = start + tl.arange(0, K)
        left = tl.load(a + rows[:, None] * k + inner[None, :], mask=(rows[:, None] < m) & (inner[None, :] < k), other=0.0)
        right = tl.load(b + inner[:, None] * n + columns[None, :], mask=(inner[:, None] < k) & (columns[None, :] < n), other=0.0)
        total = tl.dot(left, right, total, input_precision=PRECISION)
    tl.store(out + rows[:, None] * n + columns[None, :], total, mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def attention(q, k, v, out, length, scale, M: tl.constexpr, N: tl.constexpr, WIDTH: tl.constexpr):
    """Causal attention of one head in tiles of keys, with the sum of the powers kept beside the largest score so far."""
    head = tl.program_id(1) * length * WIDTH
    rows, lanes = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, WIDTH)
    query = tl.load(q + head + rows[:, None] * WIDTH + lanes[None, :], mask=rows[:, None] < length, other=0.0)
    most, total = tl.full([M], -float("inf"), tl.float32), tl.zeros([M], tl.float32)
    result = tl.zeros([M, WIDTH], tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * M, N):
        keys = start + tl.arange(0, N)
        there = keys < length
        key = tl.load(k + head + keys[None, :] * WIDTH + lanes[:, None], mask=there[None, :], other=0.0)
        score = tl.dot(query, key) * scale
        score = tl.where((keys[None, :] <= rows[:, None]) & there[None, :], score, -float("inf"))
        larger = tl.maximum(most, tl.max(score, axis=1))
        powers, less = tl.exp(score - larger[:, None]), tl.exp(most - larger)
        value = tl.load(v + head + keys[:, None] * WIDTH + lanes[None, :], mask=there[:, None], other=0.0)
        result = result * less[:, None] + tl.dot(powers.to(value.dtype), value)
        total, most = total * less + tl.sum(powers, axis=1), larger
    tl.store(out + head + rows[:, None] * WIDTH + lanes[None, :], result / total[:, None], mask=rows[:, None] < length)


@triton.jit
def cumulative_sum(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=0)
    tl.store(out + row * columns + at, tl.cumsum(values, axis=0), mask=at < columns)


@triton.jit
def histogram(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(x + at, mask=at < n, other=0), 1, mask=at < n)


# Name of the code object: kernel, types of its arguments, sizes that are compiled in, waves of a workgroup.
KERNELS = {
    "add": (add, "*fp32 *fp32 *fp32 i32", {"BLOCK": 256}, 4),
    "softmax": (softmax, "*fp32 *fp32 i32", {"BLOCK": 1024}, 4),
    "layer_norm": (layer_norm, "*fp32 *fp32 *fp32 *fp32 i32 fp32", {"BLOCK": 256}, 4),
    "matmul_f32": (matmul, "*fp32 *fp32 *fp32 i32 i32 i32", {"M": 32, "N": 32, "K": 32, "PRECISION": "ieee"}, 4),
    # Operands of 10 bits, in gfx942's matrix instructions alone.
    "matmul_tf32": (matmul, "*fp32 *fp32 *fp32 i32 i32 i32", {"M": 32, "N": 32, "K": 32, "PRECISION": "tf32"}, 4),
    "matmul_f16": (matmul, "*fp16 *fp16 *fp32 i32 i32 i32", {"M": 64, "N": 64, "K": 32, "PRECISION": "ieee"}, 4),
    "matmul_bf16": (matmul, "*bf16 *bf16 *fp32 i32 i32 i32", {"M": 64, "N": 64, "K": 32, "PRECISION": "ieee"}, 4),
    "attention": (attention, "*fp16 *fp16 *fp16 *fp32 i32 fp32", {"M": 64, "N": 32, "WIDTH": 64}, 4),
    "cumulative_sum": (cumulative_sum, "*i32 *i32 i32", {"BLOCK": 512}, 4),
    "histogram": (histogram, "*i32 *i32 i32", {"BLOCK": 256}, 4),
}


def main():
    card, folder = sys.argv[1], Path(sys.argv[2])
    wave = 64 if card.startswith("gfx9") else 32
    folder.mkdir(parents=True, exist_ok=True)
    launches = {"triton": triton.__version__, "card": card, "wave": wave, "kernels": {}}
    for name, (kernel, types, sizes, waves) in KERNELS.items():
        if sizes.get("PRECISION") == "tf32" and card != "gfx942":
            continue
        signature = dict(zip(kernel.arg_names, types.split())) | {size: "constexpr" for size in sizes}
        source = ASTSource(fn=kernel, signature=signature, constexprs={(kernel.arg_names.index(size),): at for size, at in sizes.items()})
        done = triton.compile(source, target=GPUTarget("hip", card, wave), options={"num_warps": waves})
        (folder / f"{name}.hsaco").write_bytes(done.asm["hsaco"])
        launches["kernels"][name] = {
            "function": done.metadata.name, "types": types, "sizes": sizes, "threads": waves * wave, "shared": done.metadata.shared,
        }
    (folder / "kernels.json").write_text(json.dumps(launches))


main()
