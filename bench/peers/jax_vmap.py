#!/usr/bin/env python3
"""The same model batches in JAX, to hold Cohort against: N copies of a network that read one shared input.

  bench/peers/jax_vmap.py --mode vmap --network lenet5 --minibatch 16 --count 16
  bench/peers/jax_vmap.py --mode vmap --network lenet5 --count 16 --device cpu --train momentum     training steps

Modes: vmap (jit of jax.vmap over stacked weights), one_by_one (the jitted network, called for each member in turn), unrolled
(one jit of all members, written out one after another). Of --minibatch and --count each may be several, separated by commas.
Prints one JSON object a case with every repetition, in whole nanoseconds a step. Outputs are compared with those of one_by_one.
float32 at the highest matmul precision unless --tf32, as Cohort's float32. With --train a step is forward, softmax
cross-entropy, gradients and update, of members with different learning rates; modes vmap (over grad) and one_by_one; the
losses of the first steps are compared. Needs JAX; exit code 4 where it, or the device, is missing.
"""

import os
import sys

from measured import parser_of, report, timed

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the GPU's memory is not ours alone

try:
    import jax
    import jax.numpy as jnp
    from jax import lax
    from jax_training import TrainingCase
except ImportError as error:
    print(f"JAX is missing: {error}", file=sys.stderr)
    sys.exit(4)


class Weights:
    """Draws weights in the order in which a network asks for them."""

    def __init__(self, seed):
        self.key, self.drawn = jax.random.PRNGKey(seed), []

    def tensor(self, *shape):
        self.key, key = jax.random.split(self.key)
        inputs = max(1, shape[0] if len(shape) == 2 else shape[1] * shape[2] * shape[3] if len(shape) == 4 else 1)
        self.drawn.append(jax.random.normal(key, shape, jnp.float32) / jnp.sqrt(inputs) if len(shape) > 1
                          else jnp.full(shape, 0.1, jnp.float32))


class Reader:
    """Hands weights out in the same order."""

    def __init__(self, weights):
        self.weights, self.place = weights, 0

    def __call__(self):
        self.place += 1
        return self.weights[self.place - 1]


def convolve(x, w, stride=1, padding=0):
    return lax.conv_general_dilated(x, w, (stride, stride), [(padding, padding)] * 2, dimension_numbers=("NCHW", "OIHW", "NCHW"))


def pooled(x, size, stride, padding=0, largest=True):
    start, combine = (-jnp.inf, lax.max) if largest else (0.0, lax.add)
    edges = [(0, 0), (0, 0), (padding, padding), (padding, padding)]
    y = lax.reduce_window(x, start, combine, (1, 1, size, size), (1, 1, stride, stride), edges)
    return y if largest else y / (size * size)


def channels(b):
    return b[None, :, None, None]


# A network: (layers, input shape). A layer is (what, its numbers); weights follow from it.
def mlp():
    return [("linear", 784, 256), ("relu",), ("linear", 256, 256), ("relu",), ("linear", 256, 10)], (784,)


def lenet5():
    return [("conv", 1, 6, 5, 1, 2), ("tanh",), ("mean", 2, 2), ("conv", 6, 16, 5, 1, 0), ("tanh",), ("mean", 2, 2), ("flatten",),
            ("linear", 400, 120), ("tanh",), ("linear", 120, 84), ("tanh",), ("linear", 84, 10)], (1, 28, 28)


def smallcnn():
    layers, before = [], 3
    for width in (16, 32, 32, 64, 64):
        layers += [("conv", before, width, 3, 2, 1), ("relu",)]
        before = width
    return [*layers, ("average",), ("linear", before, 10)], (3, 227, 227)


def lstm():
    return [("lstm", 128, 128), ("linear", 128, 128)], (20, None, 128)


def alexnet5():
    return [("conv", 3, 64, 11, 4, 0), ("relu",), ("max", 3, 2, 0), ("conv", 64, 192, 5, 1, 2), ("relu",), ("max", 3, 2, 0),
            ("conv", 192, 256, 3, 1, 1), ("relu",), ("max", 3, 2, 0), ("flatten",), ("linear", 256 * 6 * 6, 1024), ("relu",),
            ("linear", 1024, 1000)], (3, 227, 227)


def resnet18():
    layers, before = [("conv_norm", 3, 64, 7, 2, 3), ("relu",), ("max", 3, 2, 1)], 64
    for stage, width in enumerate((64, 128, 256, 512)):
        layers += [("block", before, width, 1 if stage == 0 else 2), ("block", width, width, 1)]
        before = width
    return [*layers, ("average",), ("linear", 512, 1000)], (3, 224, 224)


NETWORKS = {"mlp": mlp, "lenet5": lenet5, "smallcnn": smallcnn, "lstm": lstm, "alexnet5": alexnet5, "resnet18": resnet18}


def draw(layer, weights):
    """Weights of a layer, in the order in which apply() reads them."""
    what, *numbers = layer
    if what == "linear":
        weights.tensor(numbers[0], numbers[1])
        weights.tensor(numbers[1])
    elif what == "lstm":
        weights.tensor(numbers[0], 4 * numbers[1])
        weights.tensor(numbers[1], 4 * numbers[1])
        weights.tensor(4 * numbers[1])
    elif what in ("conv", "conv_norm"):
        weights.tensor(numbers[1], numbers[0], numbers[2], numbers[2])
        weights.tensor(numbers[1])
        if what == "conv_norm":  # scale beside the shift: a batch norm whose statistics are folded
            weights.tensor(numbers[1])
    elif what == "block":
        before, width, stride = numbers
        draw(("conv_norm", before, width, 3, stride, 1), weights)
        draw(("conv_norm", width, width, 3, 1, 1), weights)
        if stride != 1:
            draw(("conv_norm", before, width, 1, stride, 0), weights)


def recurrent(x, w, r, b):
    """An LSTM layer over x [steps, minibatch, features]; its outputs, steps and minibatch as one axis."""
    hidden = r.shape[0]

    def cell(state, before):
        h, c = state
        i, f, g, o = jnp.split(before + h @ r, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros((x.shape[1], hidden), x.dtype)
    return lax.scan(cell, (zero, zero), x @ w + b)[1].reshape(-1, hidden)


def apply(layer, read, x):
    what, *numbers = layer
    if what == "lstm":
        return recurrent(x, read(), read(), read())
    if what == "linear":
        w, b = read(), read()
        return x @ w + b
    if what == "conv":
        w, b = read(), read()
        return convolve(x, w, numbers[3], numbers[4]) + channels(b)
    if what == "conv_norm":
        w, scale, shift = read(), read(), read()
        return convolve(x, w, numbers[3], numbers[4]) * channels(scale) + channels(shift)
    if what == "block":
        before, width, stride = numbers
        y = jax.nn.relu(apply(("conv_norm", before, width, 3, stride, 1), read, x))
        y = apply(("conv_norm", width, width, 3, 1, 1), read, y)
        shortcut = apply(("conv_norm", before, width, 1, stride, 0), read, x) if stride != 1 else x
        return jax.nn.relu(y + shortcut)
    if what in ("max", "mean"):
        return pooled(x, *numbers, largest=what == "max")
    simple = {"relu": jax.nn.relu, "tanh": jnp.tanh, "flatten": lambda v: v.reshape(v.shape[0], -1),
              "average": lambda v: v.mean(axis=(2, 3))}
    return simple[what](x)


def forward(layers):
    def call(weights, x):
        read = Reader(weights)
        for layer in layers:
            x = apply(layer, read, x)
        return x

    return call


def make_members(options):
    layers, shape = NETWORKS[options.network]()
    members = []
    for seed in range(options.count):
        weights = Weights(seed)
        for layer in layers:
            draw(layer, weights)
        members.append(weights.drawn)
    if None in shape:
        extents = [options.minibatch if extent is None else extent for extent in shape]
    else:
        extents = [options.minibatch, *shape]
    return forward(layers), members, jax.random.normal(jax.random.PRNGKey(1_000_003), extents, jnp.float32)


def make_step(mode, call, members, x):
    if mode == "one_by_one":
        alone = jax.jit(call)
        return lambda: [alone(member, x) for member in members]
    if mode == "unrolled":
        every = jax.jit(lambda all_weights, value: [call(weights, value) for weights in all_weights])
        return lambda: every(members, x)
    stacked = [jnp.stack(tensors) for tensors in zip(*members)]
    every = jax.jit(jax.vmap(call, in_axes=(0, None)))
    return lambda: every(stacked, x)


def largest_difference(outputs, expected):
    """As a share of the largest expected value, over all members."""
    worst = 0.0
    for got, right in zip(outputs, expected):
        scale = max(float(jnp.abs(right).max()), 1e-30)
        worst = max(worst, float(jnp.abs(got - right).max()) / scale)
    return worst


FIRST_STEPS = 4  # whose losses are compared


def first_losses(step):
    return [loss for _ in range(FIRST_STEPS) for loss in step()]


def measure(options, device):
    with jax.default_device(device), jax.default_matmul_precision("tensorfloat32" if options.tf32 else "highest"):
        call, members, x = make_members(options)
        if options.train:
            case = TrainingCase(options.train, call, members, x)
            step = case.way(options.mode)
            difference = largest_difference(first_losses(step), first_losses(case.way("one_by_one")))
            times, steps = timed(step, jax.block_until_ready, options)
        else:
            expected = jax.block_until_ready(make_step("one_by_one", call, members, x)())
            step = make_step(options.mode, call, members, x)
            times, steps = timed(step, jax.block_until_ready, options)
            difference = largest_difference(list(step()), expected)
    return {"peer": f"JAX {jax.__version__}", "mode": options.mode, "network": options.network, "minibatch": options.minibatch,
            "members": options.count, "tf32": options.tf32, "device": device.device_kind, "step_ns": times, "steps_in_a_block": steps,
            "largest_difference": difference, **({"train": options.train} if options.train else {})}


def main():
    parser = parser_of(__doc__, NETWORKS, ["vmap", "one_by_one", "unrolled"], ["gpu", "cpu"])
    options = parser.parse_args()
    if options.train and options.mode == "unrolled":
        parser.error("--train goes with --mode vmap or one_by_one")
    try:
        device = jax.devices(options.device)[0]
    except RuntimeError as error:
        print(f"JAX finds no {options.device}: {error}", file=sys.stderr)
        return 4
    return report(lambda case: measure(case, device), options, "one_by_one")


if __name__ == "__main__":
    sys.exit(main())
