#!/usr/bin/env python3
"""Single ONNX ops with random attributes and shapes, run by `cohort verify` against what ONNX Runtime gives.

The cases of the ONNX project have each attribute once or twice; here they meet each other, and shapes that they are
seldom tried with: strides longer than kernels, pads of one side, axes from behind, extents of 1. Each case is a folder
of model.onnx beside test_data_set_0, as `cohort verify` reads them, with the outputs of ONNX Runtime without
optimisation. What ONNX Runtime refuses is counted and left out. It ends as verify does: with 0 where no case failed.

Needs numpy, onnx and onnxruntime (PyPI), best in a virtual environment; without them it says so and ends with 77, which
test runners read as skipped.

  bench/peers/random_nodes.py                            20 cases of each op
  bench/peers/random_nodes.py --cases 200 --seed 3
  bench/peers/random_nodes.py --ops Conv,LSTM --keep FOLDER
"""

import argparse
import json
import random
import sys

import verify_cases

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}; pip install onnxruntime onnx numpy", file=sys.stderr)
    sys.exit(77)

OPS = {}


def op(*names):
    """The function makes a random case of each of the ops named."""
    def keep(function):
        for name in names:
            OPS[name] = function
        return function
    return keep


class Draw:
    """What chance decides. `scale`: of extents, so that loops over blocks and vectors are met, too."""

    def __init__(self, seed, scale=1):
        self.chance, self.scale = random.Random(seed), scale
        self.numbers = np.random.default_rng(self.chance.randrange(1 << 30))

    def one(self, *values):
        return self.chance.choice(values)

    def between(self, low, high):
        return self.chance.randint(low, high)

    def whether(self, part=0.5):
        return self.chance.random() < part

    def shape(self, rank=None, most=6):
        rank = self.between(1, 4) if rank is None else rank
        return [self.between(1, most * self.scale if rank < 4 else most) for _ in range(rank)]

    def floats(self, *shape):
        return self.numbers.standard_normal(shape).astype(np.float32)

    def integers(self, low, high, *shape, kind=np.int64):
        return self.numbers.integers(low, high, shape, endpoint=True).astype(kind)

    def axis(self, rank):
        """Counted from the front or from behind."""
        return self.between(-rank, rank - 1)

    def axes(self, rank, least=1):
        """Some, each once, in any order, each counted from the front or from behind."""
        chosen = self.chance.sample(range(rank), self.between(min(least, rank), rank))
        return [axis - rank if self.whether(0.3) else axis for axis in chosen]

    def matching(self, shape):
        """A shape that broadcasts with `shape`."""
        start = self.between(0, len(shape)) if self.whether(0.3) else 0
        return [1 if self.whether(0.3) else extent for extent in shape[start:]]


class Case:
    """One node. `given`: its inputs, None where one is left out; those at the positions `constant` stand in the file.
    `atol`: how far an output may be off."""

    def __init__(self, given, constant=(), outputs=1, opset=18, atol=None, **attributes):
        self.given, self.constant, self.outputs, self.opset, self.atol = given, constant, outputs, opset, atol
        self.attributes = {key: value for key, value in attributes.items() if value is not None}

    def model(self, op_type):
        names = [f"i{i}" if value is not None else "" for i, value in enumerate(self.given)]
        results = [f"y{i}" for i in range(self.outputs)]
        node = helper.make_node(op_type, names, results, name="op", **self.attributes)
        self.inputs = {names[i]: value for i, value in enumerate(self.given)
                       if value is not None and i not in self.constant}
        infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
                 for name, value in self.inputs.items()]
        constants = [numpy_helper.from_array(self.given[i], names[i]) for i in self.constant
                     if i < len(self.given) and self.given[i] is not None]
        # Types of outputs are ONNX Runtime's to find.
        graph = helper.make_graph([node], op_type, infos, [onnx.ValueInfoProto(name=name) for name in results], constants)
        return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", self.opset)])


def window(draw, rank):
    """Attributes of convolutions and pools over `rank` axes."""
    kernel = [draw.between(1, 4) for _ in range(rank)]
    words = {"kernel_shape": kernel}
    if draw.whether(0.7):
        words["strides"] = [draw.between(1, 5) for _ in range(rank)]
    if draw.whether(0.3):
        words["dilations"] = [draw.between(1, 3) for _ in range(rank)]
    padding = draw.one("pads", "pads", "SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET", None)
    if padding == "pads":
        words["pads"] = [draw.between(0, max(0, kernel[i % rank] - 1)) for i in range(2 * rank)]
    elif padding:
        words["auto_pad"] = padding
    if padding in ("SAME_UPPER", "SAME_LOWER"):
        # Strides longer than the kernel: ONNX Runtime cuts off what ONNX's reference and TensorFlow keep.
        words["strides"] = [draw.between(1, extent) for extent in kernel]
    return words


def image(draw, channels=None):
    rank = draw.between(1, 3)
    most = 6 if rank == 3 else 12 * draw.scale if rank == 1 else 6 + 6 * draw.scale
    return rank, draw.floats(draw.between(1, 2), channels or draw.between(1, 4 * draw.scale), *[draw.between(1, most) for _ in range(rank)])


@op("Conv")
def conv(draw):
    groups = draw.one(1, 1, 2, 4, 8 * draw.scale)
    rank, x = image(draw, groups * draw.between(1, 1 if groups > 4 else 3 * draw.scale))
    words = window(draw, rank)
    outputs = groups * draw.between(1, 2 if groups > 4 else 3 * draw.scale)
    w = draw.floats(outputs, x.shape[1] // groups, *words["kernel_shape"])
    bias = draw.floats(outputs) if draw.whether() else None
    if draw.whether(0.3):
        del words["kernel_shape"]
    return Case([x, w, bias][:3 if bias is not None else 2], draw.one((), (1, 2)), group=groups, **words)


@op("ConvTranspose")
def conv_transpose(draw):
    groups = draw.one(1, 1, 2)
    rank, x = image(draw, groups * draw.between(1, 3 * draw.scale))
    words = window(draw, rank)
    w = draw.floats(x.shape[1], draw.between(1, 3 * draw.scale), *words["kernel_shape"])
    strides, dilations = words.get("strides", [1] * rank), words.get("dilations", [1] * rank)
    if draw.whether(0.3):
        words["output_padding"] = [draw.between(0, max(stride, dilation) - 1) for stride, dilation in zip(strides, dilations)]
    if draw.whether(0.3):
        words["output_shape"] = [max(1, strides[i] * (x.shape[i + 2] - 1) + words["kernel_shape"][i] + draw.between(-2, 3))
                                 for i in range(rank)]
    bias = draw.floats(w.shape[1] * groups) if draw.whether() else None
    return Case([x, w, bias][:3 if bias is not None else 2], (1, 2), group=groups, **words)


def pool_window(draw, rank):
    words = window(draw, rank)
    if words.get("auto_pad", "").startswith("SAME"):
        words.pop("dilations", None)  # which ONNX Runtime leaves out of the pads
    return words


@op("MaxPool")
def max_pool(draw):
    rank, x = image(draw)
    return Case([x], outputs=draw.one(1, 1, 2), ceil_mode=draw.one(None, 0, 1), storage_order=draw.one(None, None, 1),
                opset=draw.one(12, 18, 22), **pool_window(draw, rank))


@op("AveragePool")
def average_pool(draw):
    rank, x = image(draw)
    words = pool_window(draw, rank)
    opset = draw.one(11, 18, 19, 22)
    if opset < 19:
        words.pop("dilations", None)
    return Case([x], ceil_mode=draw.one(None, 0, 1), count_include_pad=draw.one(None, 0, 1), opset=opset, **words)


@op("LpPool")
def lp_pool(draw):
    rank, x = image(draw)
    words = window(draw, rank)
    words.pop("dilations", None)
    return Case([x], p=draw.one(None, 1, 2, 3), opset=draw.one(11, 18), **words)


def recurrent(draw, gates, activations):
    directions, steps, batch, size, hidden = draw.one(1, 2), draw.between(1, 5), draw.between(1, 3), draw.between(1, 4 * draw.scale), draw.between(1, 4 * draw.scale)
    words = {"hidden_size": hidden,
             "direction": "bidirectional" if directions == 2 else draw.one("forward", "reverse")}
    given = [draw.floats(steps, batch, size), draw.floats(directions, gates * hidden, size),
             draw.floats(directions, gates * hidden, hidden),
             draw.floats(directions, 2 * gates * hidden) if draw.whether() else None,
             draw.integers(0 if draw.whether(0.2) else 1, steps, batch, kind=np.int32) if draw.whether(0.3) else None,
             draw.floats(directions, batch, hidden) if draw.whether() else None]
    if draw.whether(0.3):
        words["clip"] = draw.one(0.1, 0.5, 1.0)
    if draw.whether(0.4):
        words["activations"] = [draw.one(*activations) for _ in range(directions * (gates - 1 if gates > 1 else 1))]
    return given, words


KINDS = ("Sigmoid", "Tanh", "Relu", "HardSigmoid", "Softsign", "Softplus", "Affine", "LeakyRelu", "ThresholdedRelu", "Elu", "ScaledTanh")


@op("LSTM")
def lstm(draw):
    given, words = recurrent(draw, 4, KINDS[:5])
    directions, batch, hidden = given[1].shape[0], given[0].shape[1], words["hidden_size"]
    given.append(draw.floats(directions, batch, hidden) if draw.whether() else None)
    given.append(draw.floats(directions, 3 * hidden) if draw.whether(0.3) else None)
    return Case(given, (1, 2, 3, 7), outputs=draw.one(1, 2, 3), input_forget=draw.one(None, None, 0, 1), **words)


@op("GRU")
def gru(draw):
    given, words = recurrent(draw, 3, KINDS[:5])
    return Case(given, (1, 2, 3), outputs=draw.one(1, 2), linear_before_reset=draw.one(None, 0, 1), **words)


@op("RNN")
def rnn(draw):
    given, words = recurrent(draw, 1, KINDS[:5])
    return Case(given, (1, 2, 3), outputs=draw.one(1, 2), **words)


@op("Resize")
def resize(draw):
    mode = draw.one("nearest", "linear", "cubic")
    rank = draw.one(2, 4) if mode == "cubic" else draw.between(1, 4)
    x = draw.floats(*draw.shape(rank, 7))
    free = range(rank) if rank < 3 else range(2, rank)
    factors = [draw.one(0.4, 0.5, 0.75, 1.0, 1.5, 2.0, 2.6, 3.0) if i in free else 1.0 for i in range(rank)]
    transform = draw.one("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric", "tf_crop_and_resize")
    roi = None
    if transform == "tf_crop_and_resize":
        # ONNX Runtime crops no axis that keeps its extent.
        cropped = [i in free and int(x.shape[i] * factors[i]) != x.shape[i] and factors[i] != 1 for i in range(rank)]
        roi = np.array([draw.one(0.0, 0.1, 0.25) if crop else 0.0 for crop in cropped] +
                       [draw.one(0.7, 1.0, 1.2) if crop else 1.0 for crop in cropped], np.float32)
    scales, sizes = np.array(factors, np.float32), None
    if draw.whether(0.4) and all(int(extent * factor) for extent, factor in zip(x.shape, factors)):
        scales, sizes = None, np.array([int(extent * factor) for extent, factor in zip(x.shape, factors)], np.int64)
    opset = 19 if transform == "half_pixel_symmetric" else draw.one(11, 13, 18, 19)
    if opset == 11 and roi is None:
        roi = np.zeros(0, np.float32)
    if opset == 11 and scales is None:
        scales = np.zeros(0, np.float32)
    return Case([x, roi, scales, sizes] if sizes is not None else [x, roi, scales], (1, 2, 3), opset=opset, mode=mode,
                coordinate_transformation_mode=transform,
                nearest_mode=draw.one("round_prefer_floor", "round_prefer_ceil", "floor", "ceil") if mode == "nearest" else None,
                cubic_coeff_a=draw.one(None, -0.5) if mode == "cubic" else None,
                exclude_outside=draw.one(None, 1) if mode == "cubic" else None,
                extrapolation_value=draw.one(None, 2.5) if roi is not None and roi.size else None,
                antialias=draw.one(None, None, 1) if opset >= 18 and mode != "nearest" else None)


@op("Pad")
def pad(draw):
    x = draw.floats(*draw.shape())
    mode = draw.one("constant", "reflect", "edge", "wrap")
    opset = 19 if mode == "wrap" else draw.one(11, 13, 18, 21)
    axes = draw.axes(x.ndim) if opset >= 18 and draw.whether(0.3) else list(range(x.ndim))
    most = [x.shape[axis] - 1 for axis in axes] if mode in ("reflect", "wrap") else [3] * len(axes)
    least = -1 if draw.whether(0.3) else 0
    pads = np.array([draw.between(least, most[i % len(axes)]) for i in range(2 * len(axes))], np.int64)
    value = np.array(draw.one(0.0, -2.0), np.float32) if draw.whether() else None
    given = [x, pads, value]
    if axes != list(range(x.ndim)):
        given.append(np.array(axes, np.int64))
    return Case(given[:2] if len(given) == 3 and value is None else given, (1, 2, 3), opset=opset, mode=mode)


@op("Slice")
def slice_of(draw):
    x = draw.floats(*draw.shape())
    axes = draw.axes(x.ndim)
    steps = [draw.one(1, 1, 2, 3, -1, -2) for _ in axes]
    starts, ends = [], []
    for axis, step in zip(axes, steps):
        extent = x.shape[axis]
        start, end = sorted((draw.between(-extent, extent), draw.between(-extent, extent) % (extent + 1)))
        start %= extent + 1
        starts.append(start if step > 0 else draw.one(-1, extent, 10 ** 9))
        ends.append(draw.one(end, extent, -1 if extent > 1 else extent, 2 ** 62) if step > 0 else draw.one(-extent - 1, -2 ** 62, 0))
    given = [x, *(np.array(values, np.int64) for values in (starts, ends, axes, steps))]
    if all(step == 1 for step in steps) and draw.whether():
        given.pop()
    return Case(given, (1, 2, 3, 4), opset=draw.one(11, 13))


@op("Gather")
def gather(draw):
    x = draw.floats(*draw.shape())
    axis = draw.axis(x.ndim)
    indices = draw.integers(-x.shape[axis], x.shape[axis] - 1, *draw.shape(draw.between(0, 2), 4), kind=draw.one(np.int64, np.int32))
    return Case([x, indices], draw.one((), (1,)), axis=axis)


@op("GatherElements")
def gather_elements(draw):
    x = draw.floats(*draw.shape())
    axis = draw.axis(x.ndim)
    shape = [draw.between(1, extent) for extent in x.shape]
    shape[axis] = draw.between(1, 5)
    return Case([x, draw.integers(-x.shape[axis], x.shape[axis] - 1, *shape)], draw.one((), (1,)), axis=axis)


@op("GatherND")
def gather_nd(draw):
    x = draw.floats(*draw.shape(draw.between(1, 4)))
    batch = draw.between(0, x.ndim - 1) if draw.whether(0.4) else 0
    length = draw.between(1, x.ndim - batch)
    outer = list(x.shape[:batch]) + draw.shape(draw.between(0 if batch else 1, 2), 3)
    columns = [draw.integers(-x.shape[batch + i], x.shape[batch + i] - 1, *outer, 1) for i in range(length)]
    return Case([x, np.concatenate(columns, -1)], draw.one((), (1,)), batch_dims=batch or None)


@op("ScatterElements")
def scatter_elements(draw):
    x = draw.floats(*draw.shape())
    axis = draw.axis(x.ndim)
    reduction = draw.one(None, "none", "add", "mul", "max", "min")
    shape = [draw.between(1, extent) for extent in x.shape]
    if reduction in (None, "none"):  # each place once, else the order would decide
        order = np.argsort(draw.floats(*x.shape), axis=axis)
        indices = order[tuple(slice(0, extent) for extent in shape)]
    else:
        indices = draw.integers(-x.shape[axis], x.shape[axis] - 1, *shape)
    return Case([x, np.ascontiguousarray(indices).astype(np.int64), draw.floats(*indices.shape)], draw.one((), (1,)), axis=axis, reduction=reduction)


@op("ScatterND")
def scatter_nd(draw):
    x = draw.floats(*draw.shape(draw.between(1, 3)))
    length = draw.between(1, x.ndim)
    reduction = draw.one(None, "add", "mul", "max", "min")
    places = np.array(list(np.ndindex(*x.shape[:length])))
    chosen = places[draw.numbers.permutation(len(places))[:draw.between(1, len(places))]]
    return Case([x, chosen.astype(np.int64), draw.floats(len(chosen), *x.shape[length:])], draw.one((), (1,)), reduction=reduction)


@op("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
    "ReduceLogSumExp", "ReduceSumSquare")
def reduce(draw):
    x = draw.floats(*draw.shape())
    x = np.abs(x) + 0.1 if draw.whether(0.5) else x
    axes = np.array(draw.axes(x.ndim), np.int64) if draw.whether(0.8) else None
    old = draw.whether(0.4)
    keep = draw.one(None, 0, 1)
    if old:
        return Case([x], axes=None if axes is None else axes.tolist(), keepdims=keep, opset=11)
    return Case([x, axes] if axes is not None else [x], (1,), keepdims=keep, noop_with_empty_axes=draw.one(None, 1))


@op("ArgMax", "ArgMin")
def arg_max(draw):
    x = draw.floats(*draw.shape()) if draw.whether() else draw.integers(0, 2, *draw.shape()).astype(np.float32)
    return Case([x], axis=draw.one(None, draw.axis(x.ndim)), keepdims=draw.one(None, 0, 1), select_last_index=draw.one(None, 1), opset=13)


@op("TopK")
def top_k(draw):
    x = draw.floats(*draw.shape()) if draw.whether(0.7) else draw.integers(0, 3, *draw.shape()).astype(np.float32)
    axis = draw.axis(x.ndim)
    return Case([x, np.array([draw.between(1, x.shape[axis])], np.int64)], (1,), outputs=2, axis=axis, largest=draw.one(None, 0, 1),
                sorted=1, opset=11)


@op("Softmax", "LogSoftmax", "Hardmax")
def softmax(draw):
    x = draw.floats(*draw.shape())
    return Case([x], axis=draw.one(None, draw.axis(x.ndim)), opset=draw.one(11, 13))


@op("Flatten")
def flatten(draw):
    x = draw.floats(*draw.shape())
    return Case([x], axis=draw.one(None, draw.between(-x.ndim, x.ndim)), opset=13)


@op("Transpose")
def transpose(draw):
    x = draw.floats(*draw.shape(draw.between(1, 6), 4))
    return Case([x], perm=draw.one(None, draw.chance.sample(range(x.ndim), x.ndim)))


@op("Concat")
def concat(draw):
    shape = draw.shape()
    axis = draw.axis(len(shape))
    given = [draw.floats(*[draw.between(1, 4) if i == axis % len(shape) else extent for i, extent in enumerate(shape)])
             for _ in range(draw.between(1, 4))]
    return Case(given, draw.one((), (0,)), axis=axis)


@op("Split")
def split(draw):
    x = draw.floats(*draw.shape(most=9))
    axis = draw.axis(x.ndim)
    parts = draw.between(1, min(4, x.shape[axis]))
    if draw.whether():
        cuts = sorted(draw.chance.sample(range(1, x.shape[axis]), parts - 1)) if parts > 1 else []
        sizes = np.diff([0, *cuts, x.shape[axis]]).astype(np.int64)
        return Case([x, sizes], (1,), outputs=parts, axis=axis)
    if x.shape[axis] % parts == 0 and draw.whether():
        return Case([x], outputs=parts, axis=axis, opset=13)
    return Case([x], outputs=parts, axis=axis, num_outputs=parts)


@op("DepthToSpace", "SpaceToDepth")
def depth_to_space(draw):
    block = draw.between(1, 3)
    x = draw.floats(draw.between(1, 2), draw.between(1, 2) * block * block, draw.between(1, 3) * block, draw.between(1, 3) * block)
    return Case([x], blocksize=block)


@op("GridSample")
def grid_sample(draw):
    rank = draw.one(2, 2, 3)
    x = draw.floats(draw.between(1, 2), draw.between(1, 3), *draw.shape(rank))
    mode = draw.one("linear", "nearest", "cubic") if rank == 2 else draw.one("linear", "nearest")
    grid = (draw.floats(x.shape[0], *draw.shape(rank), rank) * 0.8).astype(np.float32)
    return Case([x, grid], opset=20, mode=mode, padding_mode=draw.one(None, "zeros", "border", "reflection"), align_corners=draw.one(None, 1))


@op("LRN")
def lrn(draw):
    return Case([draw.floats(*draw.shape(4))], size=draw.one(1, 3, 5), alpha=draw.one(None, 0.1), beta=draw.one(None, 0.5), bias=draw.one(None, 2.0))


@op("BatchNormalization")
def batch_normalization(draw):
    x = draw.floats(*draw.shape(draw.between(2, 5)))
    rows = [draw.floats(x.shape[1]) for _ in range(4)]
    rows[3] = np.abs(rows[3])
    return Case([x, *rows], (1, 2, 3, 4), epsilon=draw.one(None, 0.1), opset=15)


@op("InstanceNormalization")
def instance_normalization(draw):
    x = draw.floats(*draw.shape(draw.between(3, 5)))
    return Case([x, draw.floats(x.shape[1]), draw.floats(x.shape[1])], (1, 2), epsilon=draw.one(None, 0.1))


@op("GroupNormalization")
def group_normalization(draw):
    groups = draw.between(1, 3)
    x = draw.floats(draw.between(1, 3), groups * draw.between(1, 3), *draw.shape(draw.between(1, 3)))
    return Case([x, draw.floats(x.shape[1]), draw.floats(x.shape[1])], (1, 2), num_groups=groups, epsilon=draw.one(None, 0.1), opset=21)


@op("LayerNormalization")
def layer_normalization(draw):
    x = draw.floats(*draw.shape())
    axis = draw.axis(x.ndim)
    shape = x.shape[axis:]
    bias = draw.floats(*shape) if draw.whether() else None
    return Case([x, draw.floats(*shape), bias][:3 if bias is not None else 2], (1, 2), axis=axis, epsilon=draw.one(None, 0.1), outputs=draw.one(1, 1, 3))


@op("MeanVarianceNormalization")
def mean_variance(draw):
    # ONNX Runtime makes NaN of what does not vary.
    x = draw.floats(*[extent + 1 for extent in draw.shape(4, 4)])
    return Case([x], axes=draw.one(None, sorted(axis % 4 for axis in draw.axes(4))), opset=13)


@op("LpNormalization")
def lp_normalization(draw):
    x = draw.floats(*draw.shape())
    return Case([x], axis=draw.one(None, draw.axis(x.ndim)), p=draw.one(None, 1, 2))


@op("Gemm")
def gemm(draw):
    m, k, n = draw.shape(3)
    a, b = draw.one(None, 1), draw.one(None, 1)
    c = draw.floats(*draw.matching([m, n])) if draw.whether(0.7) else None
    return Case([draw.floats(*((k, m) if a else (m, k))), draw.floats(*((n, k) if b else (k, n))), c][:3 if c is not None else 2],
                draw.one((), (1,), (1, 2)), transA=a, transB=b, alpha=draw.one(None, 0.5), beta=draw.one(None, 0.25), opset=13)


@op("MatMul")
def matmul(draw):
    outer = draw.shape(draw.between(0, 3), 3)
    m, k, n = draw.shape(3)
    a = draw.matching(outer) + [m, k] if draw.whether(0.8) else [k]
    b = draw.matching(outer) + [k, n] if draw.whether(0.8) else [k]
    return Case([draw.floats(*a), draw.floats(*b)], draw.one((), (1,), (0,)))


@op("Einsum")
def einsum(draw):
    extents = {letter: draw.between(1, 4) for letter in "abcde"}
    left = draw.chance.sample("abcde", draw.between(1, 4))
    right = draw.chance.sample("abcde", draw.between(1, 4))
    both = sorted(set(left + right))
    kept = draw.chance.sample(both, draw.between(0, len(both)))
    return Case([draw.floats(*[extents[c] for c in left]), draw.floats(*[extents[c] for c in right])], draw.one((), (1,)),
                equation=f"{''.join(left)},{''.join(right)}->{''.join(kept)}")


@op("CumSum")
def cum_sum(draw):
    x = draw.floats(*draw.shape())
    return Case([x, np.array(draw.axis(x.ndim), np.int64)], (1,), exclusive=draw.one(None, 1), reverse=draw.one(None, 1), opset=14)


@op("Trilu")
def trilu(draw):
    x = draw.floats(*draw.shape(draw.between(2, 4)))
    given = [x, np.array(draw.between(-5, 5), np.int64)] if draw.whether(0.8) else [x]
    return Case(given, (1,), upper=draw.one(None, 0, 1))


@op("OneHot")
def one_hot(draw):
    indices = draw.integers(-5, 4, *draw.shape(draw.between(1, 3), 4))
    return Case([indices, np.array(5, np.int64), draw.floats(2)], (1, 2), axis=draw.one(None, draw.axis(indices.ndim + 1)), opset=11)


@op("Add", "Sub", "Mul", "Div", "PRelu", "Min", "Max", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual")
def binary(draw):
    shape = draw.shape(draw.between(0, 5), 4)
    a, b = draw.floats(*shape), draw.floats(*draw.matching(shape))
    if draw.whether(0.3):
        a, b = np.round(a), np.round(b) + (np.round(b) == 0)
    return Case([np.asarray(a, np.float32), np.asarray(b, np.float32)], draw.one((), (1,)), opset=draw.one(13, 16))


@op("Mod")
def mod(draw):
    shape = draw.shape(draw.between(0, 4), 4)
    whole = draw.whether()
    if whole:
        a, b = draw.integers(-20, 20, *shape), draw.integers(1, 5, *draw.matching(shape)) * draw.one(1, -1)
        return Case([np.asarray(a), np.asarray(b)], draw.one((), (1,)), fmod=draw.one(None, 1), opset=13)
    return Case([np.asarray(draw.floats(*shape) * 5, np.float32), np.asarray(draw.floats(*draw.matching(shape)), np.float32)], fmod=1, opset=13)


@op("Pow")
def power(draw):
    shape = draw.shape(draw.between(0, 4), 4)
    if draw.whether(0.3):
        return Case([np.asarray(draw.integers(-3, 5, *shape)), np.asarray(draw.integers(0, 4, *draw.matching(shape)))], draw.one((), (1,)), opset=15)
    b = draw.one(np.asarray(draw.floats(*draw.matching(shape)), np.float32), np.array(draw.one(-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0, 4.0), np.float32))
    a = np.asarray(draw.floats(*shape), np.float32)
    return Case([np.abs(a) if draw.whether(0.7) else a, b], draw.one((), (1,)), opset=15)


@op("Where")
def where(draw):
    shape = draw.shape(draw.between(0, 4), 4)
    return Case([np.asarray(draw.integers(0, 1, *draw.matching(shape)), bool), np.asarray(draw.floats(*shape), np.float32), np.asarray(draw.floats(*draw.matching(shape)), np.float32)],
                draw.one((), (1,), (0,), (2,)), opset=16)


@op("Clip")
def clip(draw):
    bounds = [np.array(-0.5, np.float32) if draw.whether(0.7) else None, np.array(draw.one(0.7, -1.0), np.float32) if draw.whether(0.7) else None]
    return Case([draw.floats(*draw.shape()), *bounds], (1, 2), opset=13)


@op("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor", "Log", "Neg",
    "Reciprocal", "Relu", "Round", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", "HardSwish", "Mish", "IsNaN")
def unary(draw):
    x = draw.floats(*draw.shape(draw.between(0, 4))) * draw.one(0.5, 1, 20)
    if draw.whether(0.2):
        x = np.round(np.asarray(x) * 4) / 2
    x = np.asarray(x, np.float32)
    if draw.whether(0.2) and x.size:
        x.flat[0] = draw.one(np.inf, -np.inf, np.nan, 0.0, -0.0)
    return Case([x], opset=18)


@op("Elu", "LeakyRelu", "Selu", "Celu", "ThresholdedRelu", "HardSigmoid", "Shrink", "Gelu")
def activation(draw):
    x = np.asarray(draw.floats(*draw.shape()) * draw.one(1, 5), np.float32)
    alpha, beta = draw.one(None, 0.3, 1.5), draw.one(None, 0.4)
    return lambda op_type: Case([x], opset=20, atol=1e-6, **{
        "Elu": {"alpha": alpha}, "LeakyRelu": {"alpha": alpha}, "Selu": {"alpha": alpha, "gamma": beta}, "Celu": {"alpha": alpha},
        "ThresholdedRelu": {"alpha": alpha}, "HardSigmoid": {"alpha": alpha, "beta": beta}, "Shrink": {"lambd": alpha, "bias": beta},
        "Gelu": {"approximate": draw.one(None, "tanh")}}[op_type])


@op("Expand")
def expand(draw):
    x = draw.floats(*draw.matching(draw.shape(4)))
    shape = [draw.one(1, extent) if extent > 1 else draw.between(1, 3) for extent in x.shape]
    shape = draw.shape(draw.between(0, 2), 3) + shape[draw.between(0, len(shape)):]
    return Case([x, np.array(shape, np.int64)], (1,))


@op("Tile")
def tile(draw):
    x = draw.floats(*draw.shape(most=3))
    return Case([x, draw.integers(1, 3, x.ndim)], (1,))


@op("Reshape")
def reshape(draw):
    x = draw.floats(*draw.shape())
    shape = draw.one([-1], [0, -1], [1, -1], [-1, x.shape[-1]], [0] * x.ndim, [x.size, 1])
    return Case([x, np.array(shape, np.int64)], (1,), opset=14)


@op("Squeeze", "Unsqueeze")
def squeeze(draw):
    x = draw.floats(*[draw.one(1, 1, 3) for _ in range(draw.between(1, 4))])
    ones = [axis for axis in range(x.ndim) if x.shape[axis] == 1]
    return Case([x, np.array([draw.one(axis, axis - x.ndim) for axis in ones] or [0], np.int64)], (1,))


@op("ReverseSequence")
def reverse_sequence(draw):
    x = draw.floats(*draw.shape(draw.between(2, 4)))
    batch = draw.one(0, 1)
    return Case([x, draw.integers(1, x.shape[1 - batch], x.shape[batch])], draw.one((), (1,)), batch_axis=batch, time_axis=1 - batch)


@op("QuantizeLinear")
def quantize(draw):
    x = np.asarray(draw.floats(*draw.shape(draw.between(1, 4))) * 4, np.float32)
    kind = draw.one(np.uint8, np.int8)
    if draw.whether():
        return Case([x, np.array(0.05, np.float32), np.array(3, kind)], (1, 2), opset=13)
    axis = draw.axis(x.ndim)
    return Case([x, np.abs(draw.floats(x.shape[axis])) * 0.1 + 0.01, draw.integers(0, 9, x.shape[axis], kind=kind)], (1, 2), axis=axis, opset=13)


@op("DequantizeLinear")
def dequantize(draw):
    kind = draw.one(np.uint8, np.int8)
    x = draw.integers(0, 100, *draw.shape(), kind=kind)
    if draw.whether():
        return Case([x, np.array(0.05, np.float32), np.array(3, kind)], (1, 2), opset=13)
    axis = draw.axis(x.ndim)
    return Case([x, np.abs(draw.floats(x.shape[axis])) * 0.1 + 0.01, draw.integers(0, 9, x.shape[axis], kind=kind)], (1, 2), axis=axis, opset=13)


@op("Cast")
def cast(draw):
    kinds = (np.float32, np.int64, np.int32, np.uint8, np.int8, np.bool_, np.float64, np.float16)
    x = (draw.floats(*draw.shape()) * draw.one(1, 50, 300)).astype(draw.one(np.float32, np.int64, np.int32))
    return Case([x], to=helper.np_dtype_to_tensor_dtype(np.dtype(draw.one(*kinds))))


@op("Sum", "Mean")
def variadic(draw):
    shape = draw.shape(draw.between(0, 4), 4)
    return Case([np.asarray(draw.floats(*draw.matching(shape)), np.float32) for _ in range(draw.between(1, 4))])


@op("And", "Or", "Xor")
def logic(draw):
    shape = draw.shape(draw.between(0, 4), 4)
    return Case([np.asarray(draw.integers(0, 1, *shape), bool), np.asarray(draw.integers(0, 1, *draw.matching(shape)), bool)], draw.one((), (1,)))


@op("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bits(draw):
    shape = draw.shape(draw.between(0, 4), 4)
    kind = draw.one(np.int32, np.uint8, np.int8, np.int16)
    low = 0 if kind is np.uint8 else -100
    return Case([np.asarray(draw.integers(low, 100, *shape, kind=kind)), np.asarray(draw.integers(low, 100, *draw.matching(shape), kind=kind))])


@op("Add", "Sub", "Mul", "Div", "Min", "Max", "Less", "Equal")
def whole_binary(draw):
    if draw.whether():
        return binary(draw)
    shape = draw.shape(draw.between(0, 4), 4)
    kind = draw.one(np.int32, np.int64)
    b = draw.integers(1, 9, *draw.matching(shape), kind=kind) * kind(draw.one(1, -1))
    return Case([np.asarray(draw.integers(-50, 50, *shape, kind=kind)), np.asarray(b)], draw.one((), (1,)), opset=draw.one(13, 16))


@op("Abs", "Neg", "Sign")
def whole_unary(draw):
    return Case([draw.integers(-9, 9, *draw.shape(), kind=draw.one(np.int32, np.int64))]) if draw.whether() else unary(draw)


@op("IsInf")
def is_inf(draw):
    x = draw.floats(*draw.shape())
    x.flat[0], x.flat[-1] = np.inf, draw.one(-np.inf, np.nan)
    return Case([x], detect_negative=draw.one(None, 0), detect_positive=draw.one(None, 0))


@op("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(draw):
    return Case([draw.floats(*draw.shape(draw.between(3, 5)))])


@op("Compress")
def compress(draw):
    x = draw.floats(*draw.shape())
    axis = draw.one(None, draw.axis(x.ndim))
    condition = draw.integers(0, 1, draw.between(1, x.size if axis is None else x.shape[axis])).astype(bool)
    condition[0] = True
    return Case([x, condition], (1,), axis=axis)


@op("DFT")
def dft(draw):
    x = draw.floats(draw.between(1, 3), *draw.shape(draw.between(1, 2), 9), draw.one(1, 2))
    inverse = draw.one(None, 1) if x.shape[-1] == 2 else None
    sided = draw.one(None, 1) if x.shape[-1] == 1 and not inverse else None
    length = draw.one(None, np.array(draw.between(2, 9), np.int64))
    axis = draw.between(1, x.ndim - 2)
    if draw.whether():
        return Case([x, length] if length is not None else [x], (1,), opset=17, atol=1e-4, axis=axis, inverse=inverse, onesided=sided)
    return Case([x, length, np.array(draw.one(axis, axis - x.ndim), np.int64)], (1, 2), opset=20, atol=1e-4, inverse=inverse, onesided=sided)


@op("STFT")
def stft(draw):
    step, length = draw.between(1, 4), draw.between(2, 8)
    x = draw.floats(draw.between(1, 2), draw.between(length, 24), 1)
    window_values = draw.floats(length) if draw.whether() else None
    return Case([x, np.array(step, np.int64), window_values, np.array(length, np.int64)], (1, 2, 3), opset=17, onesided=draw.one(None, 0, 1))


@op("RMSNormalization")
def rms_normalization(draw):
    x = draw.floats(*draw.shape())
    axis = draw.axis(x.ndim)
    return Case([x, draw.floats(*x.shape[axis:])], (1,), axis=axis, epsilon=draw.one(None, 0.1), opset=23)


@op("RotaryEmbedding")
def rotary(draw):
    heads, size, length, batch = draw.between(1, 3), 2 * draw.between(1, 4), draw.between(1, 4), draw.between(1, 2)
    part = draw.one(None, 2 * draw.between(1, size // 2))
    flat = draw.whether()
    x = draw.floats(batch, length, heads * size) if flat else draw.floats(batch, heads, length, size)
    half = (part or size) // 2
    positions = draw.whether()
    angles = draw.floats(8, half) if positions else draw.floats(batch, length, half)
    given = [x, np.cos(angles), np.sin(angles)] + ([draw.integers(0, 7, batch, length)] if positions else [])
    return Case(given, (1, 2), opset=23, interleaved=draw.one(None, 1), num_heads=heads if flat else draw.one(None, heads), rotary_embedding_dim=part)


@op("Attention")
def attention(draw):
    groups, kv, size, out, batch = draw.between(1, 2), draw.between(1, 2), draw.between(1, 5), draw.between(1, 5), draw.between(1, 2)
    heads, lq, lk = groups * kv, draw.between(1, 4), draw.between(1, 5)
    flat = draw.whether()
    shapes = [(heads, lq, size), (kv, lk, size), (kv, lk, out)]
    given = [draw.floats(batch, l, h * s) if flat else draw.floats(batch, h, l, s) for h, l, s in shapes]
    mask = None
    if draw.whether():
        shape = draw.one((lq, lk), (1, 1, lq, lk), (batch, 1, lq, lk), (batch, heads, lq, lk))
        mask = draw.floats(*shape) if draw.whether() else draw.integers(0, 1, *shape).astype(bool) | np.eye(*shape[-2:], dtype=bool) | (np.arange(shape[-1]) == 0)
    return Case(given + ([mask] if mask is not None else []), opset=23, is_causal=draw.one(None, 1), scale=draw.one(None, 0.3), softcap=draw.one(None, 1.5),
                q_num_heads=heads if flat else None, kv_num_heads=kv if flat else None)


@op("MatMulInteger")
def matmul_integer(draw):
    m, k, n = draw.shape(3)
    kinds = draw.one(np.uint8, np.int8), draw.one(np.uint8, np.int8)
    a, b = draw.integers(0, 100, m, k, kind=kinds[0]), draw.integers(0, 100, k, n, kind=kinds[1])
    return Case([a, b, np.array(draw.between(0, 9), kinds[0]), np.array(draw.between(0, 9), kinds[1])][:draw.between(2, 4)], draw.one((1, 3), (1, 2, 3)))


@op("QLinearMatMul")
def qlinear_matmul(draw):
    m, k, n = draw.shape(3)
    kind = draw.one(np.uint8, np.int8)
    return Case([draw.integers(0, 100, m, k, kind=kind), np.array(0.1, np.float32), np.array(draw.between(0, 9), kind),
                 draw.integers(0, 100, k, n, kind=kind), np.array(0.05, np.float32), np.array(draw.between(0, 9), kind),
                 np.array(3.0, np.float32), np.array(draw.between(0, 9), kind)], (1, 2, 3, 4, 5, 6, 7), atol=1)


@op("QLinearConv")
def qlinear_conv(draw):
    groups = draw.one(1, 1, 2)
    channels, outputs = groups * draw.between(1, 3), groups * draw.between(1, 3)
    words = window(draw, 2)
    x = draw.integers(0, 100, 1, channels, draw.between(3, 9), draw.between(3, 9), kind=np.uint8)
    kind = draw.one(np.uint8, np.int8)
    w = draw.integers(0, 100, outputs, channels // groups, *words["kernel_shape"], kind=kind)
    bias = draw.integers(-500, 500, outputs, kind=np.int32) if draw.whether() else None
    scale = np.abs(draw.floats(outputs)) * 0.02 + 0.01 if draw.whether() else np.array(0.02, np.float32)
    return Case([x, np.array(0.1, np.float32), np.array(draw.between(0, 99), np.uint8), w, scale, np.zeros(scale.shape, kind),
                 np.array(0.5, np.float32), np.array(draw.between(0, 99), np.uint8), bias][:9 if bias is not None else 8], tuple(range(1, 9)), group=groups, atol=1, **words)


@op("DynamicQuantizeLinear")
def dynamic_quantize(draw):
    return Case([draw.floats(*draw.shape()) + np.float32(draw.one(0, 3, -3))], outputs=3)


@op("Upsample")
def upsample(draw):
    x = draw.floats(*draw.shape(4))
    return Case([x, np.array([1, 1, draw.one(1.0, 1.5, 2.0, 3.0), draw.one(1.0, 2.0, 2.5)], np.float32)], (1,), mode=draw.one("nearest", "linear"), opset=9)


@op("Col2Im")
def col2im(draw):
    block, image_shape = [draw.between(1, 3), draw.between(1, 3)], [draw.between(4, 8), draw.between(4, 8)]
    strides, dilations = [draw.between(1, 3), draw.between(1, 2)], [draw.between(1, 2), draw.between(1, 2)]
    pads = [draw.between(0, 1) for _ in range(4)]
    blocks = [(image_shape[i] + pads[i] + pads[i + 2] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in (0, 1)]
    x = draw.floats(draw.between(1, 2), draw.between(1, 3) * block[0] * block[1], blocks[0] * blocks[1])
    return Case([x, np.array(image_shape, np.int64), np.array(block, np.int64)], (1, 2), strides=strides, dilations=dilations, pads=pads)


@op("Det")
def det(draw):
    n = draw.between(1, 5)
    return Case([draw.floats(*draw.shape(draw.between(0, 2), 3), n, n)])


@op("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(draw):
    x = draw.floats(draw.between(1, 4), draw.between(2, 4), *draw.shape(draw.between(0, 2), 3))
    labels = draw.integers(0, x.shape[1] - 1, x.shape[0], *x.shape[2:])
    labels.flat[0] = 1
    weight = [np.abs(draw.floats(x.shape[1])) + np.float32(0.1)] if draw.whether() else []
    return Case([x, labels, *weight], draw.one((), (2,)), reduction=draw.one(None, "none", "sum", "mean"), ignore_index=draw.one(None, 0), opset=13)


def outputs_of(model, inputs):
    """What ONNX Runtime gives; or none, where it refuses the model."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return session.run(None, inputs)
    except Exception:
        return None


def save(folder, model, inputs, outputs, atol=None):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    for kind, arrays in (("input", inputs), ("output", outputs)):
        for i, array in enumerate(arrays):
            (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    if atol:
        (folder / "data.json").write_text(json.dumps({"atol": atol}) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20, help="of each op; 20 unless given")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ops", help="only these, with commas between them")
    verify_cases.add_options(parser)
    options = parser.parse_args()
    chosen = options.ops.split(",") if options.ops else list(OPS)
    unknown = [name for name in chosen if name not in OPS]
    if unknown:
        sys.exit(f"random_nodes.py: error: there are no random cases of {unknown[0]}; of {', '.join(sorted(OPS))}")
    with verify_cases.folder_of(options) as folder:
        made = refused = 0
        for name in chosen:
            for i in range(options.cases):
                case = OPS[name](Draw(f"{name} {options.seed} {i}", 8 if i % 4 == 3 else 1))
                case = case(name) if callable(case) else case
                model = case.model(name)
                outputs = outputs_of(model, case.inputs)
                if outputs is None or not all(isinstance(y, np.ndarray) and y.size for y in outputs):
                    refused += 1
                    continue
                save(folder / f"{name.lower()}_{options.seed}_{i}", model, case.inputs.values(), outputs, case.atol)
                made += 1
        print(f"{made} cases, {refused} refused by ONNX Runtime", flush=True)
        verify_cases.verify(options, folder)


if __name__ == "__main__":
    main()
