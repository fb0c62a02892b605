"""Random ONNX test cases: what chance decides, and one node with its inputs."""

import random

from node_cases import node_model, np, session

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
        """The model and its inputs by name."""
        results = [f"y{i}" for i in range(self.outputs)]
        return node_model(op_type, self.given, self.constant, results, {"": self.opset}, **self.attributes)


def outputs_of(model, inputs):
    """What ONNX Runtime gives, by name; or none, where it refuses the model."""
    try:
        run = session(model.SerializeToString())
        return dict(zip([each.name for each in run.get_outputs()], run.run(None, inputs)))
    except Exception:
        return None
