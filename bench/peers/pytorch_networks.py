"""Cohort's built-in networks in PyTorch: each with the shape of a sample. Needs PyTorch."""

import torch
from torch import nn


def mlp():
    return nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)), (784,)


def lenet5():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2), nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10)), (1, 28, 28)


def smallcnn():
    layers, channels = [], 3
    for width in (16, 32, 32, 64, 64):
        layers += [nn.Conv2d(channels, width, 3, stride=2, padding=1), nn.ReLU()]
        channels = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10)), (3, 227, 227)


def alexnet5():
    return nn.Sequential(
        nn.Conv2d(3, 64, 11, stride=4), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(),
        nn.MaxPool2d(3, 2), nn.Conv2d(192, 256, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Flatten(),
        nn.Linear(256 * 6 * 6, 1024), nn.ReLU(), nn.Linear(1024, 1000)), (3, 227, 227)


class Block(nn.Module):
    """Two 3x3 convolutions with a shortcut, projected where the shape changes."""

    def __init__(self, before, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, channels, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.shortcut = nn.Identity()
        if stride != 1:
            self.shortcut = nn.Sequential(nn.Conv2d(before, channels, 1, stride, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


def resnet18():
    layers, before = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for stage, channels in enumerate((64, 128, 256, 512)):
        layers += [Block(before, channels, 1 if stage == 0 else 2), Block(channels, channels, 1)]
        before = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)), (3, 224, 224)


class Recurrent(nn.Module):
    """One recurrent layer and a fully connected one at each of its steps; input [steps, minibatch, features]."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.fc = layer(128, 128), nn.Linear(128, 128)

    def forward(self, x):
        return self.fc(self.layer(x)[0].flatten(0, 1))


class UnrolledLstm(nn.Module):
    """The same as nn.LSTM, of which vmap has no rule on a CPU: a step after another."""

    def __init__(self, inputs, hidden):
        super().__init__()
        self.like = nn.LSTM(inputs, hidden)

    def forward(self, x):
        like = self.like
        before = x @ like.weight_ih_l0.T + (like.bias_ih_l0 + like.bias_hh_l0)
        h = c = torch.zeros_like(before[0, :, :like.hidden_size])
        outputs = []
        for of_input in before:
            i, f, g, o = (of_input + h @ like.weight_hh_l0.T).chunk(4, dim=-1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            outputs.append(h)
        return torch.stack(outputs), None


def lstm():
    return Recurrent(nn.LSTM), (20, None, 128)


def lstm_unrolled():
    return Recurrent(UnrolledLstm), (20, None, 128)


def gru():
    return Recurrent(nn.GRU), (20, None, 128)


def alexnet():
    return nn.Sequential(
        nn.Conv2d(3, 64, 11, 4, 2), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(),
        nn.MaxPool2d(3, 2), nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(), nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(),
        nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Flatten(), nn.Linear(256 * 6 * 6, 4096),
        nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000)), (3, 224, 224)


class Fire(nn.Module):
    def __init__(self, before, squeeze, expand):
        super().__init__()
        self.squeeze = nn.Conv2d(before, squeeze, 1)
        self.narrow, self.wide = nn.Conv2d(squeeze, expand, 1), nn.Conv2d(squeeze, expand, 3, padding=1)

    def forward(self, x):
        x = torch.relu(self.squeeze(x))
        return torch.cat([torch.relu(self.narrow(x)), torch.relu(self.wide(x))], 1)


def squeezenet1_1():
    layers, before = [nn.Conv2d(3, 64, 3, 2), nn.ReLU()], 64
    for squeeze, expand in ((None, None), (16, 64), (16, 64), (None, None), (32, 128), (32, 128), (None, None), (48, 192),
                            (48, 192), (64, 256), (64, 256)):
        if squeeze is None:
            layers.append(nn.MaxPool2d(3, 2, ceil_mode=True))
        else:
            layers.append(Fire(before, squeeze, expand))
            before = 2 * expand
    return nn.Sequential(*layers, nn.Conv2d(512, 1000, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()), (3, 224, 224)


class Inverted(nn.Module):
    """MobileNetV2's block: wider, a convolution a channel, narrower."""

    def __init__(self, before, channels, expansion, stride):
        super().__init__()
        hidden = before * expansion
        wider = [] if expansion == 1 else [nn.Conv2d(before, hidden, 1, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6()]
        self.layers = nn.Sequential(
            *wider, nn.Conv2d(hidden, hidden, 3, stride, 1, groups=hidden, bias=False), nn.BatchNorm2d(hidden), nn.ReLU6(),
            nn.Conv2d(hidden, channels, 1, bias=False), nn.BatchNorm2d(channels))
        self.adds = stride == 1 and before == channels

    def forward(self, x):
        return x + self.layers(x) if self.adds else self.layers(x)


def mobilenet_v2():
    layers, before = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6()], 32
    for expansion, channels, blocks, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                                (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(blocks):
            layers.append(Inverted(before, channels, expansion, stride if i == 0 else 1))
            before = channels
    return nn.Sequential(*layers, nn.Conv2d(320, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.ReLU6(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(1280, 1000)), (3, 224, 224)


NETWORKS = {"mlp": mlp, "lenet5": lenet5, "smallcnn": smallcnn, "lstm": lstm, "gru": gru, "alexnet5": alexnet5,
            "alexnet": alexnet, "squeezenet1_1": squeezenet1_1, "mobilenet_v2": mobilenet_v2, "resnet18": resnet18}
# What a vmap computes instead, where it has no rule for a layer.
MAPPED = {"lstm": lstm_unrolled}


def input_of(shape, minibatch):
    """The shape of a minibatch: its size stands where a network says None, else in front."""
    return [minibatch if extent is None else extent for extent in shape] if None in shape else [minibatch, *shape]


def classes_of(network):
    """How many classes the outputs of a network tell apart."""
    return 10 if network in ("mlp", "lenet5", "smallcnn") else 128 if network in ("lstm", "gru") else 1000
