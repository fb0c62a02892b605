"""Random cases of ops as earlier versions of ONNX have them: what is an input today was an attribute, and broadcasts,
flattening and counting from behind were other. A name is the op's with the version that its form ends before."""

from node_cases import helper, np
from random_cases import Case, op
from random_layers import image, pool_window, window


@op("Clip<11")
def clip(draw):
    return Case([draw.floats(*draw.shape())], min=draw.one(None, -0.5), max=draw.one(None, 0.7), opset=draw.between(7, 10))


@op("Slice<10")
def slice_of(draw):
    x = draw.floats(*draw.shape())
    axes = draw.axes(x.ndim)
    named = draw.whether(0.7)
    if not named:
        axes = list(range(len(axes)))
    starts, ends = [], []
    for axis in axes:
        extent = x.shape[axis]
        start = draw.between(0, extent - 1)
        end = draw.between(start + 1, extent)
        starts.append(draw.one(start, start - extent))
        ends.append(draw.one(end, end - extent if end < extent else 10 ** 9, extent, 2 ** 62))
    return Case([x], starts=starts, ends=ends, axes=[axis % x.ndim for axis in axes] if named else None, opset=draw.between(7, 9))


@op("Slice<11")
def slice_by_inputs(draw):
    x = draw.floats(*draw.shape())
    axes = draw.axes(x.ndim)
    kind = draw.one(np.int32, np.int64)
    rows = [np.array([draw.between(0, x.shape[axis] - 1) for axis in axes], kind), np.array([x.shape[axis] for axis in axes], kind),
            np.array([axis % x.ndim for axis in axes], kind), np.array([draw.one(1, 2) for _ in axes], kind)]
    return Case([x, *rows[:draw.one(3, 4)]], (1, 2, 3, 4), opset=10)


@op("Squeeze<13", "Unsqueeze<13")
def squeeze(draw):
    x = draw.floats(*[draw.one(1, 1, 3) for _ in range(draw.between(1, 4))])
    ones = [axis for axis in range(x.ndim) if x.shape[axis] == 1]
    opset = draw.between(7, 12)
    behind = opset >= 11 and draw.whether(0.3)
    axes = [axis - x.ndim if behind else axis for axis in ones] or [0]
    return lambda op_type: Case([x], axes=None if op_type == "Squeeze" and not ones else axes, opset=opset)


@op("Pad<11")
def pad(draw):
    x = draw.floats(*draw.shape())
    mode = draw.one(None, "constant", "reflect", "edge")
    most = [extent - 1 if mode == "reflect" else 3 for extent in x.shape]
    pads = [draw.between(-1 if mode in (None, "constant") and draw.whether(0.3) and x.shape[i % x.ndim] > 2 else 0, most[i % x.ndim])
            for i in range(2 * x.ndim)]
    return Case([x], mode=mode, pads=pads, value=draw.one(None, -2.0), opset=draw.between(7, 10))


@op("Dropout<12")
def dropout(draw):
    return Case([draw.floats(*draw.shape())], ratio=draw.one(None, 0.3), outputs=1, opset=draw.between(7, 11))


@op("BatchNormalization<14")
def batch_normalization(draw):
    x = draw.floats(*draw.shape(draw.between(2, 5)))
    opset = draw.between(7, 13)
    apart = opset < 9 and draw.whether(0.3) and x.ndim > 2
    rows = [draw.floats(*(x.shape[1:] if apart else x.shape[1:2])) for _ in range(4)]
    rows[3] = np.abs(rows[3])
    return Case([x, *rows], (1, 2, 3, 4), epsilon=draw.one(None, 0.1), momentum=draw.one(None, 0.5),
                spatial=0 if apart else draw.one(None, 1) if opset < 9 else None, opset=opset)


@op("TopK<10")
def top_k(draw):
    x = draw.floats(*draw.shape())
    axis = draw.between(-1, x.ndim - 1)
    return Case([x], k=draw.between(1, x.shape[axis]), axis=draw.one(None, axis) if axis == -1 else axis, outputs=2, opset=draw.between(7, 9))


@op("TopK<11")
def top_k_by_input(draw):
    x = draw.floats(*draw.shape())
    axis = draw.between(-1, x.ndim - 1)
    return Case([x, np.array([draw.between(1, x.shape[axis])], np.int64)], (1,), axis=axis, outputs=2, opset=10)


@op("Upsample<9")
def upsample(draw):
    x = draw.floats(*draw.shape(4))
    return Case([x], scales=[1.0, 1.0, draw.one(1.0, 1.5, 2.0, 3.0), draw.one(1.0, 2.0, 2.5)], mode=draw.one(None, "nearest", "linear"),
                opset=draw.between(7, 8))


@op("Resize<11")
def resize(draw):
    x = draw.floats(*draw.shape(4))
    factors = [1, 1, draw.one(0.5, 0.7, 1.0, 1.5, 2.0, 3.0), draw.one(0.5, 1.0, 2.0, 2.5)]
    return Case([x, np.array(factors, np.float32)], (1,), mode=draw.one(None, "nearest", "linear"), opset=10)


@op("Split<13")
def split(draw):
    x = draw.floats(*draw.shape(most=9))
    opset = draw.between(7, 12)
    axis = draw.axis(x.ndim) if opset >= 11 else draw.between(0, x.ndim - 1)
    parts = draw.between(1, min(4, x.shape[axis]))
    cuts = sorted(draw.chance.sample(range(1, x.shape[axis]), parts - 1)) if parts > 1 else []
    sizes = np.diff([0, *cuts, x.shape[axis]]).tolist()
    even = x.shape[axis] % parts == 0 and draw.whether()
    return Case([x], outputs=parts, axis=axis if axis != 0 else draw.one(None, 0), split=None if even else sizes, opset=opset)


@op("ReduceSum<13", "ReduceMean<18", "ReduceMax<18", "ReduceMin<18", "ReduceProd<18", "ReduceL1<18", "ReduceL2<18",
    "ReduceLogSum<18", "ReduceLogSumExp<18", "ReduceSumSquare<18")
def reduce(draw):
    x = draw.floats(*draw.shape())
    x = np.abs(x) + 0.1 if draw.whether(0.5) else x
    opset = draw.between(7, 12)
    axes = [axis if opset >= 11 else axis % x.ndim for axis in draw.axes(x.ndim)]
    return Case([x], axes=draw.one(None, axes), keepdims=draw.one(None, 0, 1), opset=opset)


@op("Softmax<13", "LogSoftmax<13", "Hardmax<13")
def softmax(draw):
    x = draw.floats(*draw.shape(draw.between(2, 4)))
    opset = draw.between(7, 12)
    return Case([x], axis=draw.one(None, draw.axis(x.ndim) if opset >= 11 else draw.between(0, x.ndim - 1)), opset=opset)


@op("Flatten<11")
def flatten(draw):
    x = draw.floats(*draw.shape())
    return Case([x], axis=draw.one(None, draw.between(0, x.ndim)), opset=draw.between(7, 10))


@op("Gemm<11")
def gemm(draw):
    m, k, n = draw.shape(3)
    a, b = draw.one(None, 0, 1), draw.one(None, 0, 1)
    return Case([draw.floats(*((k, m) if a else (m, k))), draw.floats(*((n, k) if b else (k, n))), draw.floats(*draw.matching([m, n]))],
                draw.one((), (1,), (1, 2)), transA=a, transB=b, alpha=draw.one(None, 0.5), beta=draw.one(None, 0.25), opset=draw.between(7, 10))


@op("OneHot<11")
def one_hot(draw):
    indices = draw.integers(0, 4, *draw.shape(draw.between(1, 3), 4))
    depth = draw.one(np.array(5, np.int64), np.array([5], np.int64))
    return Case([indices, depth, draw.floats(2)], (1, 2), axis=draw.one(None, draw.between(-1, indices.ndim)), opset=draw.between(9, 10))


@op("ArgMax<12", "ArgMin<12")
def arg_max(draw):
    x = draw.integers(0, 3, *draw.shape()).astype(np.float32)
    opset = draw.between(7, 11)
    return Case([x], axis=draw.one(None, draw.axis(x.ndim) if opset >= 11 else draw.between(0, x.ndim - 1)), keepdims=draw.one(None, 0, 1), opset=opset)


@op("Gather<11")
def gather(draw):
    x = draw.floats(*draw.shape())
    axis = draw.between(0, x.ndim - 1)
    indices = draw.integers(0, x.shape[axis] - 1, *draw.shape(draw.between(0, 2), 4), kind=draw.one(np.int64, np.int32))
    return Case([x, indices], draw.one((), (1,)), axis=axis if axis else draw.one(None, 0), opset=draw.between(7, 10))


@op("Scatter<11")
def scatter(draw):
    x = draw.floats(*draw.shape())
    axis = draw.between(0, x.ndim - 1)
    order = np.argsort(draw.floats(*x.shape), axis=axis)
    indices = order[tuple(slice(0, draw.between(1, extent)) for extent in x.shape)]
    return Case([x, np.ascontiguousarray(indices).astype(np.int64), draw.floats(*indices.shape)], draw.one((), (1,)), axis=axis, opset=draw.between(9, 10))


@op("MaxPool<11")
def max_pool(draw):
    rank, x = image(draw)
    words = pool_window(draw, rank)
    opset = draw.between(7, 10)
    if opset < 10:
        words.pop("dilations", None)
    return Case([x], outputs=draw.one(1, 1, 2) if opset >= 8 else 1, ceil_mode=draw.one(None, 0, 1) if opset >= 10 else None,
                storage_order=draw.one(None, None, 1) if opset >= 8 else None, opset=opset, **words)


@op("AveragePool<11")
def average_pool(draw):
    rank, x = image(draw)
    words = pool_window(draw, rank)
    words.pop("dilations", None)
    opset = draw.between(7, 10)
    return Case([x], ceil_mode=draw.one(None, 0, 1) if opset >= 10 else None, count_include_pad=draw.one(None, 0, 1), opset=opset, **words)


@op("Conv<11", "ConvTranspose<11")
def conv(draw):
    groups = draw.one(1, 1, 2)
    rank, x = image(draw, groups * draw.between(1, 3))
    words = window(draw, rank)
    outputs = draw.between(1, 3)
    opset = draw.between(7, 10)

    def of(op_type):
        per = (groups * outputs, x.shape[1] // groups) if op_type == "Conv" else (x.shape[1], outputs)
        return Case([x, draw.floats(*per, *words["kernel_shape"])], draw.one((), (1,)), group=groups, opset=opset, **words)
    return of


@op("Add<13", "Sub<13", "Mul<13", "Div<13", "Pow<13", "Less<13", "Greater<13", "PRelu<13")
def binary(draw):
    shape = draw.shape(draw.between(0, 4), 4)
    return Case([np.asarray(np.abs(draw.floats(*shape)), np.float32), np.asarray(draw.floats(*draw.matching(shape)), np.float32)],
                draw.one((), (1,)), opset=draw.between(7, 12))


@op("Sum<13", "Mean<13", "Max<13", "Min<13")
def variadic(draw):
    shape = draw.shape(draw.between(1, 4), 4)
    opset = draw.between(7, 12)
    return Case([draw.floats(*(shape if opset < 8 else draw.matching(shape))) for _ in range(draw.between(1, 4))], opset=opset)


@op("Expand<13")
def expand(draw):
    x = draw.floats(*draw.matching(draw.shape(4)))
    shape = [draw.one(1, extent) if extent > 1 else draw.between(1, 3) for extent in x.shape]
    return Case([x, np.array(shape, np.int64)], (1,), opset=draw.between(8, 12))


@op("Reshape<13")
def reshape(draw):
    x = draw.floats(*draw.shape())
    shape = draw.one([-1], [0, -1], [1, -1], [-1, x.shape[-1]], [0] * x.ndim, [x.size, 1])
    return Case([x, np.array(shape, np.int64)], (1,), opset=draw.between(7, 12))


@op("Cast<13")
def cast(draw):
    kinds = (np.float32, np.int64, np.int32, np.uint8, np.int8, np.bool_, np.float64, np.float16)
    x = (draw.floats(*draw.shape()) * draw.one(1, 50)).astype(draw.one(np.float32, np.int64, np.int32, np.bool_))
    return Case([x], to=helper.np_dtype_to_tensor_dtype(np.dtype(draw.one(*kinds))), opset=draw.between(7, 12))


@op("LSTM<14", "GRU<14", "RNN<14")
def recurrent(draw):
    directions, steps, batch, size, hidden = draw.one(1, 2), draw.between(1, 4), draw.between(1, 3), draw.between(1, 4), draw.between(1, 4)
    opset = draw.between(7, 13)

    def of(op_type):
        gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op_type]
        given = [draw.floats(steps, batch, size), draw.floats(directions, gates * hidden, size), draw.floats(directions, gates * hidden, hidden),
                 draw.floats(directions, 2 * gates * hidden) if draw.whether() else None]
        return Case(given, (1, 2, 3), outputs=draw.one(1, 2), hidden_size=hidden, opset=opset, clip=draw.one(None, 0.5),
                    direction="bidirectional" if directions == 2 else draw.one("forward", "reverse"),
                    linear_before_reset=draw.one(None, 1) if op_type == "GRU" else None)
    return of


@op("DepthToSpace<11")
def depth_to_space(draw):
    block = draw.between(1, 3)
    x = draw.floats(draw.between(1, 2), draw.between(1, 2) * block * block, draw.between(1, 3), draw.between(1, 3))
    return Case([x], blocksize=block, opset=draw.between(7, 10))


@op("DepthToSpace")
def depth_to_space_by_mode(draw):
    block = draw.between(1, 3)
    x = draw.floats(draw.between(1, 2), draw.between(1, 2) * block * block, draw.between(1, 3), draw.between(1, 3))
    return Case([x], blocksize=block, mode=draw.one(None, "DCR", "CRD"), opset=draw.one(11, 13))


@op("QuantizeLinear<13", "DequantizeLinear<13")
def quantize(draw):
    kind = draw.one(np.uint8, np.int8)
    values = draw.integers(0, 100, *draw.shape(), kind=kind)
    rows = [np.array(0.05, np.float32), np.array(3, kind)][:draw.one(1, 2) if kind is np.uint8 else 2]
    return lambda op_type: Case([values.astype(np.float32) / 10 if op_type == "QuantizeLinear" else values, *rows], (1, 2),
                                opset=draw.between(10, 12))


@op("GroupNormalization<21")
def group_normalization(draw):
    groups = draw.between(1, 3)
    x = draw.floats(draw.between(1, 3), groups * draw.between(1, 3), *draw.shape(draw.between(1, 3)))
    return Case([x, draw.floats(groups), draw.floats(groups)], (1, 2), num_groups=groups, epsilon=draw.one(None, 0.1), opset=draw.between(18, 20))


@op("LpNormalization<22", "GlobalLpPool<22", "LpPool<11")
def norm(draw):
    x = draw.floats(*draw.shape(4))
    opset = draw.between(7, 10)
    axis, kernel = draw.between(-1, 3), [draw.between(1, min(3, extent)) for extent in x.shape[2:]]
    return lambda op_type: Case([x], p=draw.one(None, 1, 2), opset=opset, **{
        "LpNormalization": {"axis": axis}, "GlobalLpPool": {}, "LpPool": {"kernel_shape": kernel}}[op_type])


@op("LayerNormalization<18")
def layer_normalization(draw):
    x = draw.floats(*draw.shape())
    axis = draw.axis(x.ndim)
    return Case([x, draw.floats(*x.shape[axis:])], (1,), axis=axis, opset=17)


@op("Shape", "Size")
def shape(draw):
    x = draw.floats(*draw.shape())
    opset = draw.one(7, 13, 15, 19)
    return lambda op_type: Case([x], opset=opset, **({"start": draw.one(None, draw.axis(x.ndim)), "end": draw.one(None, draw.axis(x.ndim))}
                                                     if op_type == "Shape" and opset >= 15 else {}))
