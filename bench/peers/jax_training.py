"""Training steps of a model batch in JAX: members one after another, or all in one call of vmap over grad, both with jit.
Needs JAX.

A step is the forward pass, softmax cross-entropy, the gradients and the optimizer's update of every member, all of which
read the same minibatch. Members differ in their weights and in their learning rate. Weights and moments are donated, so
that they are updated where they lie.
"""

import jax
import jax.numpy as jnp

from measured import learning_rates

MOMENTUM, BETAS, EPSILON = 0.9, (0.9, 0.999), 1e-8
MOMENTS = {"sgd": 0, "momentum": 1, "adam": 2}


def updated(rule, weight, moments, gradient, rate, step):
    """The next value of a tensor and of its moments, as PyTorch defines them; step counts from 1."""
    if rule == "sgd":
        return weight - rate * gradient, ()
    if rule == "momentum":
        velocity = MOMENTUM * moments[0] + gradient
        return weight - rate * velocity, (velocity,)
    first = BETAS[0] * moments[0] + (1 - BETAS[0]) * gradient
    second = BETAS[1] * moments[1] + (1 - BETAS[1]) * gradient * gradient
    below = jnp.sqrt(second / (1 - BETAS[1] ** step)) + EPSILON
    return weight - rate / (1 - BETAS[0] ** step) * first / below, (first, second)


def training_step(rule, call):
    """(weights, moments), x, labels, rate, step -> (weights, moments), loss; of one member."""

    def loss_of(weights, x, labels):
        scores = jax.nn.log_softmax(call(weights, x))
        return -jnp.take_along_axis(scores, labels[:, None], axis=1).mean()

    def step(state, x, labels, rate, number):
        weights, moments = state
        loss, gradients = jax.value_and_grad(loss_of)(weights, x, labels)
        pairs = [updated(rule, *tensors, rate, number) for tensors in zip(weights, moments, gradients)]
        return ([pair[0] for pair in pairs], [pair[1] for pair in pairs]), loss

    return step


class OneByOne:
    """A step calls the jitted step of each member in turn; the losses that were reached."""

    def __init__(self, case):
        self.case, self.number = case, 0
        self.states = [case.state(member) for member in case.members]
        self.step = jax.jit(case.step, donate_argnums=0)

    def __call__(self):
        self.number += 1
        losses = []
        for i, (state, rate) in enumerate(zip(self.states, self.case.rates)):
            self.states[i], loss = self.step(state, self.case.x, self.case.labels, rate, self.number)
            losses.append(loss)
        return losses


class Mapped:
    """A step is one call over stacked weights."""

    def __init__(self, case):
        self.case, self.number = case, 0
        self.state = case.state([jnp.stack(tensors) for tensors in zip(*case.members)])
        self.rates = jnp.asarray(case.rates)
        self.step = jax.jit(jax.vmap(case.step, in_axes=(0, None, None, 0, None)), donate_argnums=0)

    def __call__(self):
        self.number += 1
        self.state, losses = self.step(self.state, self.case.x, self.case.labels, self.rates, self.number)
        return losses


class TrainingCase:
    """Members with what they train on. Their weights stay as they are: a way to train them has copies."""

    def __init__(self, rule, call, members, x):
        self.rule, self.members, self.x = rule, members, x
        self.rates = learning_rates(rule, len(members))
        outputs = jax.eval_shape(call, members[0], x).shape
        self.labels = jax.random.randint(jax.random.PRNGKey(7), outputs[:1], 0, outputs[1])
        self.step = training_step(rule, call)

    def state(self, weights):
        weights = [jnp.copy(tensor) for tensor in weights]
        return weights, [tuple(jnp.zeros_like(tensor) for _ in range(MOMENTS[self.rule])) for tensor in weights]

    def way(self, mode):
        return {"vmap": Mapped, "one_by_one": OneByOne}[mode](self)
