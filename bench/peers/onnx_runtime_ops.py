#!/usr/bin/env python3
"""Ops that ONNX Runtime has beside ONNX's own (com.microsoft), run by `cohort verify` against what ONNX Runtime gives.

Each case is a folder of model.onnx beside test_data_set_0, as `cohort verify` reads them, with one such op on random
inputs and the outputs of ONNX Runtime without optimisation. It ends as verify does: with 0 where no case failed.

Needs numpy, onnx and onnxruntime (PyPI), best in a virtual environment; without them it says so and ends with 77, which
test runners read as skipped.

  bench/peers/onnx_runtime_ops.py                      on the CPU
  bench/peers/onnx_runtime_ops.py --keep FOLDER        keeps the cases
  bench/peers/onnx_runtime_ops.py --optimise FILE...   instead: those files as ONNX Runtime's optimiser writes them
"""

import argparse
import pathlib
import sys

import verify_cases
from node_cases import helper, node_model, np, onnx, onnxruntime, session, write

random = np.random.default_rng(5)


def floats(*shape):
    return random.standard_normal(shape).astype(np.float32)


def levels(*shape, kind=np.uint8):
    return random.integers(np.iinfo(kind).min // 2, np.iinfo(kind).max // 2, shape, kind)


def scalar(value, kind=np.float32):
    return np.array(value, kind)


class Case:
    """One op. `given`: its inputs in their order, None where one is left out; those named in `weights` by position are
    constants of the file."""

    def __init__(self, name, op, given, weights=(), outputs=1, domain="com.microsoft", rtol=None, atol=None, **attributes):
        results = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else list(outputs)
        self.name, self.tolerance = name, {key: value for key, value in (("rtol", rtol), ("atol", atol)) if value}
        self.model, self.inputs = node_model(op, given, weights, results, {"": 16, "com.microsoft": 1}, domain, **attributes)


def normalisations():
    gamma, beta, bias = floats(8), floats(8), floats(8)
    x, skip = floats(2, 3, 8), floats(2, 3, 8)
    yield Case("skip_layer_normalization", "SkipLayerNormalization", [x, skip, gamma, beta, bias], (2, 3, 4), ["y", "", "", "sum"])
    yield Case("skip_layer_normalization_plain", "SkipLayerNormalization", [x, skip, gamma], (2,), epsilon=1e-3)
    yield Case("skip_layer_normalization_small", "SkipLayerNormalization", [x * 1e-4, skip * 1e-4, gamma, beta], (2, 3))
    yield Case("skip_simplified_small", "SkipSimplifiedLayerNormalization", [x * 1e-4, skip * 1e-4, gamma], (2,))
    yield Case("skip_simplified", "SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], (2, 3), ["y", "", "", "sum"])
    yield Case("simplified", "SimplifiedLayerNormalization", [x, gamma], (1,), domain="", axis=-1, epsilon=1e-5)
    words = random.integers(0, 10, (2, 4), np.int32)
    rows = [floats(10, 8), floats(6, 8), floats(2, 8)]
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    segments = random.integers(0, 2, (2, 4), np.int32)
    yield Case("embedding", "EmbedLayerNormalization", [words, segments, *rows, gamma, beta, mask], (2, 3, 4, 5, 6), 2)
    yield Case("embedding_sum", "EmbedLayerNormalization", [words, None, rows[0], rows[1], None, gamma, beta], (2, 3, 5, 6), 3)
    positions = random.integers(0, 6, (2, 4), np.int32)
    yield Case("embedding_positions", "EmbedLayerNormalization",
               [words, segments, *rows, gamma, beta, None, positions], (2, 3, 4, 5, 6), 2)
    tables = [levels(10, 8), levels(6, 8), levels(2, 8), levels(8), levels(8)]
    scales, zeros = [scalar(0.02 * (i + 1)) for i in range(5)], [scalar(60 + i, np.uint8) for i in range(5)]
    for name, some in (("qembedding", segments), ("qembedding_words", None)):
        given = [words, some, *tables, mask, *scales, *zeros]
        if some is None:
            given[4] = given[10] = given[15] = None
        yield Case(name, "QEmbedLayerNormalization", given, (*range(2, 7), *range(8, 18)), 2)


def fused():
    x = floats(2, 3, 4)
    yield Case("gelu", "Gelu", [x])
    yield Case("bias_gelu", "BiasGelu", [x, floats(4)], (1,))
    yield Case("fast_gelu", "FastGelu", [x])
    yield Case("fast_gelu_bias", "FastGelu", [x, floats(4)], (1,))
    yield Case("quick_gelu", "QuickGelu", [x], alpha=1.5)
    yield Case("fused_matmul", "FusedMatMul", [floats(2, 4, 3), floats(2, 5, 4)], alpha=0.25, transA=1, transB=1)
    yield Case("fused_matmul_weight", "FusedMatMul", [floats(2, 3, 4), floats(5, 4)], (1,), transB=1)
    yield Case("fused_matmul_batch", "FusedMatMul", [floats(3, 2, 5, 4), floats(2, 5, 4, 6)], transBatchA=1)
    yield Case("fused_matmul_batches", "FusedMatMul", [floats(4, 2, 3), floats(5, 2, 4)], transBatchA=1, transBatchB=1, transA=1, transB=1)
    yield Case("transpose_matmul", "TransposeMatMul", [floats(3, 4), floats(5, 4)], transB=1)
    yield Case("trilu", "Trilu", [floats(2, 4, 4)], upper=0)
    yield Case("gather_nd", "GatherND", [floats(3, 4), np.array([[0, 1], [2, 3]], np.int64)])
    yield Case("fused_matmul_plain", "FusedMatMul", [floats(3, 4), floats(4, 5)], (1,), alpha=2.0)
    image, kernel = floats(1, 4, 7, 7), floats(6, 4, 3, 3)
    for activation, parameters in (("Relu", None), ("Clip", [-0.5, 1.0]), ("LeakyRelu", [0.2]), ("HardSigmoid", [0.2, 0.5]),
                                   ("Sigmoid", None), ("Tanh", None)):
        more = {"activation_params": parameters} if parameters else {}
        yield Case(f"fused_conv_{activation.lower()}", "FusedConv", [image, kernel, floats(6)], (1, 2), activation=activation,
                   pads=[1, 1, 1, 1], strides=[2, 2], **more)
    yield Case("fused_conv_add", "FusedConv", [image, kernel, floats(6), floats(1, 6, 5, 5)], (1, 2), activation="Relu")
    yield Case("fused_gemm", "FusedGemm", [floats(3, 4), floats(5, 4), floats(5)], (1, 2), transB=1, alpha=0.5,
               activation="LeakyRelu", activation_alpha=0.1)


def attention():
    x, weights, bias = floats(2, 5, 12), floats(12, 36), floats(36)
    lengths, raw = np.array([3, 5], np.int32), np.array([[1, 1, 0, 1, 1], [1, 0, 0, 0, 1]], np.int32)
    yield Case("attention", "Attention", [x, weights, bias], (1, 2), num_heads=3)
    yield Case("attention_causal", "Attention", [x, weights, bias], (1, 2), num_heads=3, unidirectional=1)
    yield Case("attention_lengths", "Attention", [x, weights, bias, lengths], (1, 2), num_heads=3)
    yield Case("attention_mask", "Attention", [x, weights, bias, raw], (1, 2), num_heads=3)
    yield Case("attention_rows", "Attention", [x, weights, bias, np.tile(raw[:, None, :], (1, 5, 1))], (1, 2), num_heads=3)
    yield Case("attention_added", "Attention", [x, weights, bias, raw, None, floats(2, 3, 5, 5)], (1, 2), num_heads=3)
    yield Case("attention_sizes", "Attention", [x, floats(12, 30), floats(30)], (1, 2), num_heads=3, qkv_hidden_sizes=[12, 12, 6])
    yield Case("attention_scale", "Attention", [x, weights, bias], (1, 2), num_heads=2, scale=0.3)
    q, k, v = floats(2, 4, 12), floats(2, 6, 12), floats(2, 6, 12)
    padding = np.array([[1, 1, 1, 1, 0, 0], [1, 1, 1, 1, 1, 1]], np.int32)
    yield Case("heads", "MultiHeadAttention", [q, k, v], num_heads=3)
    yield Case("heads_bias", "MultiHeadAttention", [q, k, v, floats(36)], (3,), num_heads=3)
    yield Case("heads_padding", "MultiHeadAttention", [q, k, v, None, padding], num_heads=3)
    yield Case("heads_added", "MultiHeadAttention", [q, k, v, None, None, floats(1, 3, 4, 6)], num_heads=3)
    yield Case("heads_cross", "MultiHeadAttention", [q, floats(2, 3, 6, 4), floats(2, 3, 6, 4)], num_heads=3)
    yield Case("heads_past", "MultiHeadAttention",
               [q, floats(2, 4, 12), floats(2, 4, 12), None, None, None, floats(2, 3, 2, 4), floats(2, 3, 2, 4)], (), 3, num_heads=3)
    cosines, sines = floats(8, 2), floats(8, 2)
    positions = np.array([[0, 1, 2, 3], [3, 4, 5, 6]], np.int64)
    yield Case("rotary", "RotaryEmbedding", [floats(2, 4, 12), positions, cosines, sines], (2, 3))
    yield Case("rotary_interleaved", "RotaryEmbedding", [floats(2, 4, 12), positions, cosines, sines], (2, 3), interleaved=1)
    yield Case("rotary_from", "RotaryEmbedding", [floats(2, 3, 4, 4), np.array([2], np.int64), cosines, sines], (2, 3))


def group_attention():
    """Six query heads share two, without past keys and with five."""
    size = 16  # ONNX Runtime turns multiples of it only
    width, shared = 6 * size, 2 * size
    cosines, sines = floats(32, size // 2), floats(32, size // 2)
    def case(name, samples, length, past, rotary=False, bias=False, packed=False, places=None, **attributes):
        new = [floats(samples, length, width + 2 * shared), None, None] if packed else [
            floats(samples, length, width), floats(samples, length, shared), floats(samples, length, shared)]
        cache = [floats(samples, 2, past, size), floats(samples, 2, past, size)] if past else [None, None]
        last, total = np.full(samples, past + length - 1, np.int32), np.array(past + length, np.int32)
        more = [cosines, sines] if rotary else [None, None]
        added = [places, floats(1, 6, length, past + length)] if bias else [] if places is None else [places]
        if rotary:
            attributes["do_rotary"] = 1
        return Case(name, "GroupQueryAttention", [*new, *cache, last, total, *more, *added], (6, 7, 8), 3, num_heads=6,
                    kv_num_heads=2, **attributes)
    yield case("groups", 2, 4, 0)
    yield case("groups_past", 2, 1, 5)
    yield case("groups_pasts", 1, 3, 5)
    yield case("groups_packed", 2, 4, 0, packed=True)
    yield case("groups_rotary", 2, 4, 0, rotary=True)
    yield case("groups_rotary_past", 2, 1, 5, rotary=True)
    # Without a past ONNX Runtime counts on from the first sample's first position, whatever the others are.
    yield case("groups_rotary_places", 2, 3, 0, rotary=True, places=np.array([[3, 4, 5], [3, 4, 5]], np.int64))
    yield case("groups_rotary_places_past", 2, 1, 5, rotary=True, places=np.array([[4], [9]], np.int64))
    yield case("groups_rotary_interleaved", 1, 3, 5, rotary=True, rotary_interleaved=1)
    yield case("groups_rotary_packed", 2, 4, 0, rotary=True, packed=True)
    yield case("groups_window", 2, 6, 0, local_window_size=3)
    yield case("groups_window_past", 2, 1, 5, local_window_size=3)
    yield case("groups_bent", 2, 4, 0, softcap=2.0, scale=0.5)
    yield case("groups_added", 2, 4, 0, bias=True)


def quantised():
    scales = [scalar(0.02), scalar(0.05), scalar(0.04)]
    zeros = [scalar(100, np.uint8), scalar(90, np.uint8), scalar(80, np.uint8)]
    a, b = levels(2, 3, 4), levels(2, 3, 4)
    yield Case("quantize", "QuantizeLinear", [floats(2, 3, 4), scales[0], zeros[0]], (1, 2))
    yield Case("dequantize", "DequantizeLinear", [a, scales[0], zeros[0]], (1, 2))
    one_level = {"atol": 1.001, "rtol": 1e-6}  # rounding may go either way
    for op in ("QLinearAdd", "QLinearMul"):
        yield Case(op.lower(), op, [a, scales[0], zeros[0], b, scales[1], zeros[1], scales[2], zeros[2]], (1, 2, 4, 5, 6, 7), **one_level)
    none = scalar(0, np.int8)
    signed = [levels(2, 3, kind=np.int8), scales[0], none, levels(2, 3, kind=np.int8), scales[1], none, scales[2], none]
    yield Case("qlinearadd_signed", "QLinearAdd", signed, (1, 2, 4, 5, 6, 7), **one_level)
    for op, given, more in (("QLinearLeakyRelu", a, {"alpha": 0.1}), ("QLinearSigmoid", a, {}),
                            ("QLinearGlobalAveragePool", levels(1, 3, 5, 5), {}),
                            ("QLinearAveragePool", levels(1, 3, 6, 6), {"kernel_shape": [2, 2], "strides": [2, 2]}),
                            ("QLinearSoftmax", a, {"axis": -1, "opset": 13})):
        out = [scalar(1 / 256), scalar(0, np.uint8)] if op in ("QLinearSigmoid", "QLinearSoftmax") else [scales[1], zeros[1]]
        yield Case(op.lower(), op, [given, scales[0], zeros[0], *out], (1, 2, 3, 4), **one_level, **more)
    yield Case("qlinearconcat", "QLinearConcat", [scales[2], zeros[2], a, scales[0], zeros[0], b, scales[1], zeros[1]],
               (0, 1, 3, 4, 6, 7), axis=1, **one_level)
    weights, weight_scales = levels(4, 5, kind=np.int8), np.abs(floats(5)) * 0.1
    yield Case("dynamic_matmul", "DynamicQuantizeMatMul", [floats(3, 4), weights, weight_scales, np.zeros(5, np.int8), floats(5)],
               (1, 2, 3, 4), rtol=1e-3, atol=1e-3)
    yield Case("integer_matmul", "MatMulIntegerToFloat",
               [levels(3, 4), weights, scales[0], weight_scales, zeros[0], np.zeros(5, np.int8), floats(5)], (1, 2, 3, 4, 5, 6))
    bias = random.integers(-50, 50, 5, np.int32)
    gemm = [levels(3, 4), scales[0], zeros[0], levels(4, 5), scales[1], zeros[1], bias]
    yield Case("qgemm", "QGemm", [*gemm, scalar(0.3), zeros[2]], range(1, 9), **one_level)
    yield Case("qgemm_float", "QGemm", [*gemm, None, None], range(1, 7), alpha=0.5)
    yield Case("qlinearwhere", "QLinearWhere", [np.array([True, False, True, False]), a, scales[0], zeros[0], b, scales[1], zeros[1],
                                                scales[2], zeros[2]], (2, 3, 5, 6, 7, 8), **one_level)
    yield from dynamic_lstm()
    yield from block_weights()
    yield from block_tables()
    yield Case("qattention", "QAttention", [levels(2, 5, 12), levels(12, 36, kind=np.int8), floats(36), scales[0], scalar(0.01), None,
                                            zeros[0], scalar(0, np.int8)], (1, 2, 3, 4, 6, 7), num_heads=3, rtol=1e-3, atol=1e-4)


def dynamic_lstm():
    """ONNX Runtime quantises x and the state as well."""
    steps, samples, features, hidden = 5, 2, 6, 4
    for directions, by_row, kind in ((1, False, np.uint8), (2, True, np.int8), (1, True, np.uint8)):
        w, r = levels(directions, features, 4 * hidden, kind=kind), levels(directions, hidden, 4 * hidden, kind=kind)
        shape = (directions, 4 * hidden) if by_row else (directions,)
        scale = [random.uniform(0.005, 0.01, shape).astype(np.float32) for _ in range(2)]
        zero = [np.full(shape, 0 if kind == np.int8 else 63, kind) for _ in range(2)]
        yield Case(f"dynamic_lstm_{directions}_{np.dtype(kind).name}{'_rows' if by_row else ''}", "DynamicQuantizeLSTM",
                   [floats(steps, samples, features), w, r, floats(directions, 8 * hidden), None, None, None, None, scale[0], zero[0],
                    scale[1], zero[1]], (1, 2, 3, 8, 9, 10, 11), 3, hidden_size=hidden, direction="bidirectional" if directions > 1 else
                   "forward", rtol=2e-2, atol=2e-2)


def block_weights():
    """Products with weights of few bits."""
    k, n, block = 40, 6, 16
    blocks = (k + block - 1) // block
    for bits in (2, 4, 8):
        packed, scales = random.integers(0, 256, (n, blocks, block * bits // 8), np.uint8), np.abs(floats(n, blocks))
        how = {"K": k, "N": n, "bits": bits, "block_size": block}
        yield Case(f"bits{bits}", "MatMulNBits", [floats(3, k), packed, scales], (1, 2), **how)
        yield Case(f"bits{bits}_zeros", "MatMulNBits", [floats(2, 3, k), packed, scales, levels(n, (blocks * bits + 7) // 8)], (1, 2, 3), **how)
        if bits == 4:
            groups = random.integers(0, blocks, k, np.int32)
            yield Case("bits4_groups", "MatMulNBits", [floats(3, k), packed, scales, None, groups], (1, 2, 4), **how)
        yield Case(f"bits{bits}_bias", "MatMulNBits", [floats(3, k), packed, scales, None, None, floats(n)], (1, 2, 5), **how)


def block_tables():
    """Rows of tables whose values are of few bits."""
    for bits in (2, 4, 8):
        table, scales = levels(10, 64 * bits // 8), np.abs(floats(10, 4))
        how = {"bits": bits, "block_size": 16, "gather_axis": 0, "quantize_axis": 1}
        rows = random.integers(0, 10, (2, 3), np.int64)
        yield Case(f"table{bits}", "GatherBlockQuantized", [table, rows, scales], (0, 2), **how)
        yield Case(f"table{bits}_zeros", "GatherBlockQuantized", [table, rows, scales, levels(10, 4 * bits // 8)], (0, 2, 3), **how)


def write_op(case, folder):
    model = case.model.SerializeToString()
    run = session(model)
    names = [each.name for each in run.get_outputs()]
    outputs = dict(zip(names, run.run(names, case.inputs)))
    for info in case.model.graph.output:  # as a file has them
        kind = helper.np_dtype_to_tensor_dtype(outputs[info.name].dtype)
        info.CopyFrom(helper.make_tensor_value_info(info.name, kind, None))
    write(folder / case.name, case.model, case.inputs, outputs, case.tolerance)


def write_optimised(file, folder):
    """The file as ONNX Runtime's optimiser leaves it, with the case's inputs and outputs if it lies beside some."""
    into = folder / pathlib.Path(file).resolve().parent.name
    if into.exists():
        sys.exit(f"{into} is there already: cases are named after the folders of their files")
    into.mkdir(parents=True)
    session(file, onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED, into / "model.onnx")
    data = pathlib.Path(file).parent / "test_data_set_0"
    (into / data.name).mkdir(exist_ok=True)
    for part in data.glob("*.pb"):
        (into / data.name / part.name).write_bytes(part.read_bytes())
    ops = sorted({node.op_type for node in onnx.load(into / "model.onnx").graph.node if node.domain == "com.microsoft"})
    print(f"{into.name}: {', '.join(ops) or 'none of its own ops'}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verify_cases.add_options(parser)
    parser.add_argument("--optimise", nargs="+", metavar="FILE", help="ONNX files beside test_data_set_0")
    options = parser.parse_args()
    with verify_cases.folder_of(options) as folder:
        if options.optimise:
            for file in options.optimise:
                write_optimised(file, folder)
        else:
            for make in (normalisations, fused, attention, group_attention, quantised):
                for case in make():
                    write_op(case, folder)
        print(f"ONNX Runtime {onnxruntime.__version__}", flush=True)
        verify_cases.verify(options, folder)


if __name__ == "__main__":
    main()
