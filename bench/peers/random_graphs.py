#!/usr/bin/env python3
"""Random graphs of ONNX ops, run by `cohort verify` against what ONNX Runtime gives.

What reads a file merges ops, moves them past each other and computes in advance what is constant. Here ops of the kinds
that this knows meet at random: convolutions, products, normalisations, element-wise ops on constants and on earlier
tensors, whatever moves elements, and several readers of one tensor. Each case is a folder of model.onnx beside
test_data_set_0, as `cohort verify` reads them, with the outputs of ONNX Runtime without optimisation. It ends as verify
does: with 0 where no case failed.

Needs numpy, onnx and onnxruntime (PyPI), best in a virtual environment; without them it says so and ends with 77, which
test runners read as skipped.

  bench/peers/random_graphs.py                        500 graphs
  bench/peers/random_graphs.py --cases 5000 --seed 3
  bench/peers/random_graphs.py --ops 3 --keep FOLDER  of at most three ops, a Gelu of several nodes being one
"""

import argparse

import verify_cases
from node_cases import helper, np, numpy_helper, onnx, write
from random_cases import Draw, outputs_of

STEPS = {}


def step(chance):
    """Chosen in proportion to `chance` where it can be applied."""
    def keep(function):
        STEPS[function] = chance
        return function
    return keep


class Graph:
    """Nodes, and the value that each tensor has on the case's input."""

    def __init__(self, draw):
        self.draw, self.nodes, self.constants, self.values = draw, [], [], {}
        self.input = draw.floats(*draw.shape(draw.between(2, 5), draw.one(7, 7, 24)))
        self.values["x"] = self.input

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add(self, op_type, inputs, outputs=1, **attributes):
        """Names of the results; none where ONNX Runtime refuses the node or its results are of no use."""
        names = [f"t{len(self.nodes)}_{i}" for i in range(outputs)]
        node = helper.make_node(op_type, inputs, names, name=f"n{len(self.nodes)}", **attributes)
        fed = {name: self.values[name] for name in inputs if name in self.values}
        found = outputs_of(self.model([node], fed, names), fed)
        if found is None or not all(y.size and y.size < 5000 and np.all(np.abs(y) < 1e4) for y in found.values()):
            return None
        self.nodes.append(node)
        self.values.update(found)
        return names

    def model(self, nodes, inputs, outputs):
        infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
                 for name, value in inputs.items()]
        used = {name for node in nodes for name in node.input}
        constants = [constant for constant in self.constants if constant.name in used]
        graph = helper.make_graph(nodes, "graph", infos, [onnx.ValueInfoProto(name=name) for name in outputs], constants)
        return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 18)])

    def any(self):
        """Most often the newest tensor, and never a scalar."""
        names = [name for name, value in self.values.items() if value.ndim]
        return names[-1] if self.draw.whether(0.7) else self.draw.one(*names)


@step(6)
def with_constant(graph, x):
    draw, shape = graph.draw, graph.values[x].shape
    kind = draw.one((), (), draw.matching(shape), shape, (shape[1],) + (1,) * (len(shape) - 2) if len(shape) > 1 else ())
    c = np.abs(draw.floats(*kind)) + np.float32(0.5) if draw.whether() else np.asarray(draw.floats(*kind))
    if draw.whether(0.2):
        c = np.full(kind, draw.one(0.0, 1.0, -1.0, 2.0), np.float32)
    operands = [x, graph.constant(np.asarray(c, np.float32))]
    return graph.add(draw.one("Add", "Sub", "Mul", "Mul", "Div", "Min", "Max"), operands if draw.whether(0.75) else operands[::-1])


@step(3)
def with_earlier(graph, x):
    fitting = []
    for name, value in graph.values.items():
        try:
            np.broadcast_shapes(value.shape, graph.values[x].shape)
            fitting.append(name)
        except ValueError:
            pass
    operands = [x, graph.draw.one(*fitting)]
    return graph.add(graph.draw.one("Add", "Mul", "Sub", "Max"), operands if graph.draw.whether() else operands[::-1])


@step(6)
def unary(graph, x):
    draw = graph.draw
    op_type = draw.one("Relu", "Sigmoid", "Tanh", "Neg", "Abs", "Exp", "LeakyRelu", "Clip", "Erf", "HardSwish", "HardSigmoid", "Elu", "Softplus",
                       "Identity", "Dropout", "Mish", "Gelu", "Swish", "Square", "Root")
    if op_type == "Clip":
        return graph.add("Clip", [x, graph.constant(np.float32(draw.one(0.0, -1.0))), graph.constant(np.float32(draw.one(6.0, 1.0)))])
    if op_type == "Swish":
        gate = graph.add("Sigmoid", [x])
        return gate and graph.add("Mul", [x, gate[0]] if draw.whether() else [gate[0], x])
    if op_type == "Square":
        return graph.add("Pow", [x, graph.constant(np.float32(2))]) if draw.whether() else graph.add("Mul", [x, x])
    if op_type == "Root":
        size = graph.add("Abs", [x])
        return size and graph.add("Sqrt", size)
    if op_type == "Gelu":
        scaled = graph.add("Div", [x, graph.constant(np.float32(np.sqrt(2)))])
        error = scaled and graph.add("Erf", scaled)
        raised = error and graph.add("Add", [error[0], graph.constant(np.float32(1))])
        product = raised and graph.add("Mul", [x, raised[0]])
        return product and graph.add("Mul", [product[0], graph.constant(np.float32(0.5))])
    return graph.add(op_type, [x])


@step(4)
def transpose(graph, x):
    rank = graph.values[x].ndim
    return graph.add("Transpose", [x], perm=graph.draw.chance.sample(range(rank), rank))


@step(4)
def reshape(graph, x):
    draw, shape = graph.draw, list(graph.values[x].shape)
    way = draw.one("merge", "split", "flatten", "unsqueeze", "squeeze", "zero")
    if way == "merge" and len(shape) > 1:
        at = draw.between(0, len(shape) - 2)
        shape[at:at + 2] = [-1]
    elif way == "split":
        at = draw.between(0, len(shape) - 1)
        divisors = [d for d in range(1, shape[at] + 1) if shape[at] % d == 0]
        divisor = draw.one(*divisors)
        shape[at:at + 1] = [divisor, shape[at] // divisor]
    elif way == "flatten":
        return graph.add("Flatten", [x], axis=draw.between(0, len(shape)))
    elif way == "unsqueeze":
        return graph.add("Unsqueeze", [x, graph.constant(np.array([draw.between(0, len(shape))], np.int64))])
    elif way == "squeeze":
        ones = [i for i, extent in enumerate(shape) if extent == 1]
        return graph.add("Squeeze", [x, graph.constant(np.array([draw.one(*ones)], np.int64))]) if ones and len(shape) > 1 else None
    else:
        shape = [0] + [-1 if len(shape) > 1 else 1]
    return graph.add("Reshape", [x, graph.constant(np.array(shape, np.int64))])


@step(3)
def product(graph, x):
    draw, shape = graph.draw, graph.values[x].shape
    width = draw.between(1, 6)
    w = draw.floats(shape[-1], width) * np.float32(0.5)
    if draw.whether(0.3) and len(shape) == 2:
        bias = [graph.constant(draw.floats(width))] if draw.whether() else []
        turned = draw.whether()
        return graph.add("Gemm", [x, graph.constant(np.ascontiguousarray(w.T) if turned else w), *bias], transB=int(turned), alpha=draw.one(1.0, 0.5))
    if draw.whether(0.2) and len(shape) > 1:
        return graph.add("MatMul", [graph.constant(draw.floats(width, shape[-2])), x])
    return graph.add("MatMul", [x, graph.constant(w)])


@step(2)
def product_of_two(graph, x):
    rank = graph.values[x].ndim
    perm = list(range(rank))
    if rank < 2:
        return None
    perm[-2:] = perm[:-3:-1]
    turned = graph.add("Transpose", [x], perm=perm)
    return turned and graph.add("MatMul", [x, turned[0]] if graph.draw.whether() else [turned[0], x])


@step(4)
def convolution(graph, x):
    draw, shape = graph.draw, graph.values[x].shape
    if not 3 <= len(shape) <= 5:
        return None
    rank, groups = len(shape) - 2, draw.one(1, 1, shape[1])
    kernel = [draw.between(1, 3) for _ in range(rank)]
    w = draw.floats(groups * draw.between(1, 3), shape[1] // groups, *kernel) * np.float32(0.5)
    bias = [graph.constant(draw.floats(w.shape[0]))] if draw.whether() else []
    return graph.add("Conv", [x, graph.constant(w), *bias], group=groups, strides=[draw.between(1, 2) for _ in range(rank)],
                     pads=[draw.between(0, extent - 1) for extent in kernel] * 2)


@step(2)
def batch_normalization(graph, x):
    draw, shape = graph.draw, graph.values[x].shape
    if len(shape) < 2:
        return None
    rows = [draw.floats(shape[1]) for _ in range(3)] + [np.abs(draw.floats(shape[1])) + np.float32(0.2)]
    return graph.add("BatchNormalization", [x, *(graph.constant(row) for row in rows)])


@step(2)
def normalization(graph, x):
    draw, shape = graph.draw, graph.values[x].shape
    if draw.whether():
        return graph.add("LayerNormalization", [x, graph.constant(draw.floats(shape[-1])), graph.constant(draw.floats(shape[-1]))], axis=-1, epsilon=0.1)
    axes = graph.constant(np.array([-1], np.int64))
    mean = graph.add("ReduceMean", [x, axes])
    centred = mean and graph.add("Sub", [x, mean[0]])
    squares = centred and graph.add("Mul", [centred[0], centred[0]])
    variance = squares and graph.add("ReduceMean", [squares[0], axes])
    raised = variance and graph.add("Add", [variance[0], graph.constant(np.float32(0.1))])
    deviation = raised and graph.add("Sqrt", raised)
    return deviation and graph.add("Div", [centred[0], deviation[0]])


@step(1)
def softmax(graph, x):
    return graph.add(graph.draw.one("Softmax", "Softmax", "LogSoftmax"), [x], axis=graph.draw.axis(graph.values[x].ndim))


@step(3)
def reduce(graph, x):
    draw, rank = graph.draw, graph.values[x].ndim
    axes = graph.constant(np.array(draw.axes(rank), np.int64))
    return graph.add(draw.one("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceSumSquare"), [x, axes], keepdims=draw.one(0, 1, 1))


@step(2)
def pool(graph, x):
    draw, rank = graph.draw, graph.values[x].ndim - 2
    if not 1 <= rank <= 3:
        return None
    if draw.whether(0.3):
        return graph.add(draw.one("GlobalAveragePool", "GlobalMaxPool"), [x])
    kernel = [draw.between(1, 3) for _ in range(rank)]
    return graph.add(draw.one("MaxPool", "AveragePool"), [x], kernel_shape=kernel, strides=[draw.between(1, 2) for _ in range(rank)],
                     pads=[draw.between(0, extent - 1) for extent in kernel] * 2, ceil_mode=draw.one(0, 1))


@step(3)
def cut(graph, x):
    draw, shape = graph.draw, graph.values[x].shape
    axis = draw.between(0, len(shape) - 1)
    start = draw.between(0, shape[axis] - 1)
    lists = [[start], [draw.between(start + 1, shape[axis])], [axis], [draw.one(1, 1, 2)]]
    if draw.whether(0.2):
        lists = [[-1], [-2 ** 62], [axis], [-1]]
    return graph.add("Slice", [x, *(graph.constant(np.array(values, np.int64)) for values in lists)])


@step(3)
def join(graph, x):
    draw, value = graph.draw, graph.values[x]
    axis = draw.between(0, value.ndim - 1)
    others = [name for name, other in graph.values.items() if other.ndim == value.ndim and other.dtype == value.dtype and
              all(a == b for i, (a, b) in enumerate(zip(other.shape, value.shape)) if i != axis)]
    parts = [draw.one(*others) for _ in range(draw.between(1, 2))] + [x]
    if draw.whether(0.2):
        parts.append(graph.constant(draw.floats(*[1 if i == axis else extent for i, extent in enumerate(value.shape)])))
    return graph.add("Concat", parts, axis=axis)


@step(2)
def split(graph, x):
    draw, shape = graph.draw, graph.values[x].shape
    axis = draw.between(0, len(shape) - 1)
    if shape[axis] < 2:
        return None
    first = draw.between(1, shape[axis] - 1)
    return graph.add("Split", [x, graph.constant(np.array([first, shape[axis] - first], np.int64))], 2, axis=axis)


@step(2)
def pad(graph, x):
    draw, rank = graph.draw, graph.values[x].ndim
    pads = graph.constant(np.array([draw.one(0, 0, 1, 2) for _ in range(2 * rank)], np.int64))
    return graph.add("Pad", [x, pads], mode=draw.one("constant", "constant", "edge", "reflect"))


@step(2)
def gather(graph, x):
    draw, shape = graph.draw, graph.values[x].shape
    axis = draw.between(0, len(shape) - 1)
    return graph.add("Gather", [x, graph.constant(draw.integers(0, shape[axis] - 1, *draw.shape(draw.between(0, 1), 4)))], axis=axis)


@step(2)
def expand(graph, x):
    draw, shape = graph.draw, graph.values[x].shape
    if draw.whether():
        return graph.add("Tile", [x, graph.constant(draw.integers(1, 2, len(shape)))])
    return graph.add("Expand", [x, graph.constant(np.array([draw.between(1, 3) if extent == 1 else extent for extent in shape], np.int64))])


@step(1)
def resize(graph, x):
    draw, rank = graph.draw, graph.values[x].ndim
    if rank != 4:
        return None
    scales = graph.constant(np.array([1, 1, draw.one(1, 2), draw.one(1, 2, 3)], np.float32))
    return graph.add("Resize", [x, "", scales], mode=draw.one("nearest", "linear"), coordinate_transformation_mode=draw.one("asymmetric", "half_pixel"),
                     nearest_mode="floor")


@step(2)
def choose(graph, x):
    draw = graph.draw
    condition = graph.add(draw.one("Greater", "Less"), [x, graph.constant(np.float32(draw.one(0.0, 0.5)))])
    if condition is None:
        return None
    value = graph.constant(np.float32(draw.one(0.0, -1.0)))
    y = graph.add("Where", [condition[0], x, value] if draw.whether() else [condition[0], value, x])
    del graph.values[condition[0]]  # the other steps are for numbers
    return y


def random_graph(draw, most):
    graph = Graph(draw)
    functions, chances = list(STEPS), list(STEPS.values())
    for _ in range(draw.between(1, most)):
        for _ in range(5):
            if draw.chance.choices(functions, chances)[0](graph, graph.any()):
                break
    return graph


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=500, help="500 unless given")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ops", type=int, default=12, help="at most so many; 12 unless given")
    verify_cases.add_options(parser)
    options = parser.parse_args()
    with verify_cases.folder_of(options) as folder:
        made = 0
        for i in range(options.cases):
            graph = random_graph(Draw(f"{options.seed} {i}"), options.ops)
            read = {name for node in graph.nodes for name in node.input}
            outputs = [name for name in graph.values if name != "x" and (name not in read or graph.draw.whether(0.1))]
            if not outputs:
                continue
            model = graph.model(graph.nodes, {"x": graph.input}, outputs)
            found = outputs_of(model, {"x": graph.input})
            if found is None:
                continue
            # Differences of large numbers are as inexact as these.
            largest = max(float(np.max(np.abs(value))) for value in graph.values.values())
            write(folder / f"graph_{options.seed}_{i}", model, {"x": graph.input}, found, {"atol": 1e-6 * max(1.0, largest)})
            made += 1
        print(f"{made} graphs", flush=True)
        verify_cases.verify(options, folder)


if __name__ == "__main__":
    main()
