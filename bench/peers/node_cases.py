"""ONNX test cases as `cohort verify` reads them: models of one node, what ONNX Runtime makes of them, and their folders."""

import json
import sys

try:
    import numpy as np  # noqa: F401, for the scripts
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}; pip install onnxruntime onnx numpy", file=sys.stderr)
    sys.exit(77)


def node_model(op_type, given, constant, results, opsets, domain="", **attributes):
    """The model, and its inputs by name. `given`: the node's inputs, None where one is left out; those at the positions
    `constant` stand in the file. `results`: names, empty where one is left out. `opsets`: versions by domain."""
    names = [f"i{i}" if value is not None else "" for i, value in enumerate(given)]
    node = helper.make_node(op_type, names, results, domain=domain, name="op", **attributes)
    inputs = {names[i]: value for i, value in enumerate(given) if value is not None and i not in constant}
    infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
             for name, value in inputs.items()]
    constants = [numpy_helper.from_array(given[i], names[i]) for i in constant if i < len(given) and given[i] is not None]
    # Types of outputs are ONNX Runtime's to find.
    graph = helper.make_graph([node], op_type, infos, [onnx.ValueInfoProto(name=name) for name in results if name], constants)
    imports = [helper.make_opsetid(name, version) for name, version in opsets.items()]
    return helper.make_model(graph, ir_version=9 if opsets[""] > 18 else 8, opset_imports=imports), inputs


def session(model, level=onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL, written=None):
    """Of a model's bytes or file, on one thread. `written`: where the optimised model goes."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    if written:
        options.optimized_model_filepath = str(written)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def write_data(folder, inputs, outputs):
    """Arrays by name, beside the model in `folder`."""
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    for kind, arrays in (("input", inputs), ("output", outputs)):
        for i, (name, array) in enumerate(arrays.items()):
            (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(array, name).SerializeToString())


def write(folder, model, inputs, outputs, tolerance):
    """`tolerance`: "rtol" and "atol" where they are others than verify's own."""
    write_data(folder, inputs, outputs)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    if tolerance:
        (folder / "data.json").write_text(json.dumps(tolerance) + "\n")
