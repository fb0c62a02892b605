"""Random ONNX test cases: what chance decides, one node with its inputs, and its folder as `cohort verify` reads it."""

import json
import random
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
except ImportError as error:
    print(f"skipped: {error}; pip install onnxruntime onnx numpy", file=sys.stderr)
    sys.exit(77)

OPS = {}  # by type, what makes a random case of it


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
