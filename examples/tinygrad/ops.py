"""Operations of tinygrad on its device, compared with numpy in f64: `DEV=HIP python ops.py`. A line for each; it exits 1 when one is
wrong. Needs tinygrad and numpy, and for DEV=HIP AMD's HIP runtime and code object manager below ROCM_PATH."""
import sys

import numpy
from tinygrad import Tensor, dtypes

random = numpy.random.default_rng(20261123)
NORMAL = random.standard_normal((3, 17, 33)).astype(numpy.float32)
POSITIVE = random.uniform(0.1, 4, (45, 65)).astype(numpy.float32)
LEFT, RIGHT = (random.standard_normal(shape).astype(numpy.float32) for shape in [(70, 50), (50, 90)])
IMAGE, FILTER = (random.standard_normal(shape).astype(numpy.float32) for shape in [(2, 4, 19, 23), (6, 4, 3, 3)])
INTEGERS = random.integers(-1000, 1000, (37, 29), dtype=numpy.int32)
IDS = random.integers(0, 45, 31, dtype=numpy.int32)


def softmax(x):
    powers = numpy.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def conv2d(x, w):
    windows = numpy.lib.stride_tricks.sliding_window_view(numpy.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), axis=(2, 3))
    return numpy.einsum("bcyxij,ocij->boyx", windows[:, :, ::2, ::2], w)


# Name: what tinygrad does with the inputs, what numpy does in f64, the inputs, the largest error relative to the largest value.
OPS = {
    "add": (lambda x: x + x, lambda x: x + x, [NORMAL], 0),
    "mul by a row": (lambda x: x * x[:1, :1], lambda x: x * x[:1, :1], [NORMAL], 1e-7),
    "div": (lambda x: x / (x * x + 1), lambda x: x / (x * x + 1), [NORMAL], 3e-7),
    "exp": (Tensor.exp, numpy.exp, [NORMAL], 1e-6),
    "log": (Tensor.log, numpy.log, [POSITIVE], 1e-6),
    "sqrt": (Tensor.sqrt, numpy.sqrt, [POSITIVE], 2e-7),
    "rsqrt": (Tensor.rsqrt, lambda x: 1 / numpy.sqrt(x), [POSITIVE], 3e-7),
    "sin": (Tensor.sin, numpy.sin, [NORMAL], 1e-6),
    "tanh": (Tensor.tanh, numpy.tanh, [NORMAL], 1e-6),
    "sigmoid": (Tensor.sigmoid, lambda x: 1 / (1 + numpy.exp(-x)), [NORMAL], 1e-6),
    "relu": (Tensor.relu, lambda x: numpy.maximum(x, 0), [NORMAL], 0),
    "floor": (Tensor.floor, numpy.floor, [NORMAL], 0),
    "round": (Tensor.round, numpy.round, [NORMAL], 0),
    "power": (lambda x: x**2.5, lambda x: x**2.5, [POSITIVE], 3e-6),
    "where": (lambda x: (x > 0).where(x, -x), numpy.abs, [NORMAL], 0),
    "f16": (lambda x: x.half().contiguous().float(), lambda x: x.astype(numpy.float16), [NORMAL], 0),
    "bf16": (lambda x: x.cast(dtypes.bfloat16).float(), lambda x: x, [NORMAL], 2**-8),
    "integer division": (lambda x: x // 7, lambda x: numpy.floor(x / 7), [INTEGERS], 0),
    "bits": (lambda x: (x ^ 0x55) & 0x3FF, lambda x: (x.astype(int) ^ 0x55) & 0x3FF, [INTEGERS], 0),
    "sum": (Tensor.sum, numpy.sum, [NORMAL], 1e-5),
    "sum of rows": (lambda x: x.sum(axis=-1), lambda x: x.sum(axis=-1), [NORMAL], 1e-6),
    "sum of columns": (lambda x: x.sum(axis=0), lambda x: x.sum(axis=0), [NORMAL], 1e-6),
    "sum of integers": (Tensor.sum, numpy.sum, [INTEGERS], 0),
    "max": (lambda x: x.max(axis=1), lambda x: x.max(axis=1), [NORMAL], 0),
    "mean": (lambda x: x.mean(axis=(1, 2)), lambda x: x.mean(axis=(1, 2)), [NORMAL], 2e-6),
    "variance": (lambda x: x.var(axis=-1), lambda x: x.var(axis=-1, ddof=1), [NORMAL], 2e-6),
    "argmax": (lambda x: x.argmax(axis=-1), lambda x: x.argmax(axis=-1), [NORMAL], 0),
    "cumulative sum": (lambda x: x.cumsum(axis=1), lambda x: x.cumsum(axis=1), [INTEGERS], 0),
    "sort": (lambda x: x.sort(dim=-1)[0], lambda x: numpy.sort(x, axis=-1), [INTEGERS], 0),
    "softmax": (Tensor.softmax, softmax, [NORMAL], 1e-6),
    "layer norm": (
        lambda x: x.layernorm(),
        lambda x: (x - x.mean(-1, keepdims=True)) / numpy.sqrt(x.var(-1, keepdims=True) + 1e-5), [NORMAL], 3e-6,
    ),
    "transposed": (lambda x: x.permute(2, 0, 1).contiguous(), lambda x: x.transpose(2, 0, 1), [NORMAL], 0),
    "flipped": (lambda x: x.flip(1).contiguous(), lambda x: x[:, ::-1], [NORMAL], 0),
    "padded": (lambda x: x.pad(((2, 1), (0, 3))), lambda x: numpy.pad(x, ((2, 1), (0, 3))), [POSITIVE], 0),
    "joined": (lambda x: x.cat(x, dim=1), lambda x: numpy.concatenate([x, x], axis=1), [POSITIVE], 0),
    "rows by id": (lambda x, ids: x[ids], lambda x, ids: x[ids.astype(int)], [POSITIVE, IDS], 0),
    "product": (lambda a, b: a @ b, lambda a, b: a @ b, [LEFT, RIGHT], 2e-6),
    "product in f16": (lambda a, b: (a.half() @ b.half()).float(), lambda a, b: a @ b, [LEFT, RIGHT], 2e-3),
    "convolution": (lambda x, w: x.conv2d(w, stride=2, padding=1), conv2d, [IMAGE, FILTER], 2e-6),
    "largest of windows": (
        lambda x: x.max_pool2d((2, 2)),
        lambda x: x[:, :, :18, :22].reshape(2, 4, 9, 2, 11, 2).max(axis=(3, 5)), [IMAGE], 0,
    ),
    "gradient": (lambda x: (x.tanh() * x).sum().gradient(x)[0], lambda x: numpy.tanh(x) + x / numpy.cosh(x) ** 2, [NORMAL], 2e-6),
}


def main():
    wrong = 0
    for name, (ours, right, inputs, limit) in OPS.items():
        got = ours(*(Tensor(array) for array in inputs)).numpy().astype(float)
        right = numpy.asarray(right(*(array.astype(float) for array in inputs)), float)
        # NaN is not within any limit, and neither is another shape.
        error = numpy.abs(got - right).max() / max(numpy.abs(right).max(), 1e-30) if got.shape == right.shape else numpy.nan
        good = bool(error <= limit)
        wrong += not good
        print(f"{name}: {'OK' if good else 'FAIL'}, error {error:.2e}, limit {limit:.0e}", flush=True)
    sys.exit(1 if wrong else 0)


main()
