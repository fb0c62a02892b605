"""Random cases of convolutions, pools, recurrent layers, normalisations, products, attention, spectra and 8-bit ops."""

from node_cases import np
from random_cases import Case, op


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
    opset = draw.one(11, 18, 22)
    return Case([x], p=draw.one(None, 1, 2, 3), ceil_mode=draw.one(None, 0, 1) if opset >= 18 else None, opset=opset, **words)


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


@op("Softmax", "LogSoftmax", "Hardmax")
def softmax(draw):
    x = draw.floats(*draw.shape())
    return Case([x], axis=draw.one(None, draw.axis(x.ndim)), opset=draw.one(11, 13))


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


@op("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(draw):
    return Case([draw.floats(*draw.shape(draw.between(3, 5)))])


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


@op("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(draw):
    x = draw.floats(draw.between(1, 4), draw.between(2, 4), *draw.shape(draw.between(0, 2), 3))
    labels = draw.integers(0, x.shape[1] - 1, x.shape[0], *x.shape[2:])
    labels.flat[0] = 1
    weight = [np.abs(draw.floats(x.shape[1])) + np.float32(0.1)] if draw.whether() else []
    return Case([x, labels, *weight], draw.one((), (2,)), reduction=draw.one(None, "none", "sum", "mean"), ignore_index=draw.one(None, 0), opset=13)
