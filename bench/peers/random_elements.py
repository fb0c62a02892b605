"""Random cases of ops that compute, move, choose or reduce elements."""

from node_cases import helper, np
from random_cases import Case, op


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


@op("Compress")
def compress(draw):
    x = draw.floats(*draw.shape())
    axis = draw.one(None, draw.axis(x.ndim))
    condition = draw.integers(0, 1, draw.between(1, x.size if axis is None else x.shape[axis])).astype(bool)
    condition[0] = True
    return Case([x, condition], (1,), axis=axis)
