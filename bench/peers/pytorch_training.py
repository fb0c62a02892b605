"""Training steps of a model batch in PyTorch: members one after another, or all in one call by torch.func.vmap over grad.
Needs PyTorch.

A step is the forward pass, softmax cross-entropy, the gradients and the optimizer's update of every member, all of which
read the same minibatch. Members differ in their weights and in their learning rate. PyTorch's defaults but for what is
faster on a CPU: the fused optimizers.
"""

import copy
import inspect

import torch
from torch.nn import functional

from measured import learning_rates
from pytorch_networks import classes_of

MOMENTUM, BETAS, EPSILON = 0.9, (0.9, 0.999), 1e-8


def optimizer_of(rule, member, rate):
    if rule == "adam":
        return torch.optim.Adam(member.parameters(), rate, BETAS, EPSILON, fused=True)
    more = {"fused": True} if "fused" in inspect.signature(torch.optim.SGD).parameters else {}
    return torch.optim.SGD(member.parameters(), rate, MOMENTUM if rule == "momentum" else 0, **more)


class OneByOne:
    """A step trains a member after another; the losses that were reached."""

    def __init__(self, case, compiled=False):
        self.case, self.members = case, copy.deepcopy(case.members)
        self.optimizers = [optimizer_of(case.rule, member, rate) for member, rate in zip(self.members, case.rates)]
        self.forward = [torch.compile(member) if compiled else member for member in self.members]

    def __call__(self):
        losses = []
        for forward, optimizer in zip(self.forward, self.optimizers):
            optimizer.zero_grad(set_to_none=True)
            loss = functional.cross_entropy(forward(self.case.x), self.case.labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return losses


class Mapped:
    """A step is one call over stacked weights; the update of each stacked tensor is one call, too."""

    def __init__(self, case, compiled=False):
        self.case = case
        self.weights, self.buffers = torch.func.stack_module_state(copy.deepcopy(case.members))
        self.weights = {name: tensor.detach() for name, tensor in self.weights.items()}
        bare = copy.deepcopy(case.members[0])

        def loss_of(weights, buffers, x):
            return functional.cross_entropy(torch.func.functional_call(bare, (weights, buffers), (x,)), case.labels)

        every = torch.func.vmap(torch.func.grad_and_value(loss_of), in_dims=(0, 0, None))
        self.every = torch.compile(every) if compiled else every
        self.moments = [{name: torch.zeros_like(tensor) for name, tensor in self.weights.items()}
                        for _ in range({"sgd": 0, "momentum": 1, "adam": 2}[case.rule])]
        self.steps = 0
        rates = torch.tensor(case.rates, device=case.x.device)
        self.rates = {name: rates.view(-1, *[1] * (tensor.dim() - 1)) for name, tensor in self.weights.items()}

    def __call__(self):
        with torch.no_grad():
            gradients, losses = self.every(self.weights, self.buffers, self.case.x)
            self.steps += 1
            for name, gradient in gradients.items():
                self.update(name, gradient)
        return list(losses)

    def update(self, name, gradient):
        weight, rate = self.weights[name], self.rates[name]
        if self.case.rule == "sgd":
            weight.addcmul_(gradient, rate, value=-1)
        elif self.case.rule == "momentum":
            velocity = self.moments[0][name].mul_(MOMENTUM).add_(gradient)
            weight.addcmul_(velocity, rate, value=-1)
        else:
            first = self.moments[0][name].lerp_(gradient, 1 - BETAS[0])
            second = self.moments[1][name].mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
            correction1, correction2 = (1 - beta ** self.steps for beta in BETAS)
            below = (second / correction2).sqrt_().add_(EPSILON)
            weight.addcdiv_(first * rate, below, value=-1 / correction1)


class TrainingCase:
    """Members with what they train on. Their weights stay as they are: a way to train them has copies."""

    def __init__(self, rule, network, members, x):
        self.rule, self.members, self.x = rule, members, x
        self.rates = learning_rates(rule, len(members))
        torch.manual_seed(1)
        samples = x.shape[0] * x.shape[1] if network in ("lstm", "gru") else x.shape[0]
        self.labels = torch.randint(classes_of(network), (samples,), device=x.device)

    def way(self, mode):
        kind = Mapped if mode.endswith("vmap") else OneByOne
        return kind(self, compiled=mode.startswith("compile"))
