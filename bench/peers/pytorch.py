#!/usr/bin/env python3
"""The same model batches in PyTorch, to hold Cohort against: N copies of a network that read one shared input.

  bench/peers/pytorch.py --mode eager --network lenet5 --minibatch 16 --count 16
  bench/peers/pytorch.py --mode vmap --network mlp --minibatch 1,16 --count 1,4,16      six cases in one process

Modes: eager (members one after another), streams (one stream a member), graphs (one after another, captured into one CUDA
graph), stream_graphs (a captured graph with a stream a member), vmap (torch.func.vmap over stacked weights), compile
(torch.compile of each member), compile_vmap (torch.compile over vmap). Prints one JSON object a case with every repetition,
in whole nanoseconds a step. Outputs are compared with eager's. float32 without TF32 unless --tf32, as Cohort's float32.
Needs PyTorch; exit code 4 where it, or the device, is missing.
"""

import sys

from measured import parser_of, report, timed

try:
    import torch
    from torch import nn
except ImportError as error:
    print(f"PyTorch is missing: {error}", file=sys.stderr)
    sys.exit(4)


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


NETWORKS = {"mlp": mlp, "lenet5": lenet5, "smallcnn": smallcnn, "alexnet5": alexnet5, "resnet18": resnet18}


def make_members(options, device):
    members, shape = [], None
    for seed in range(options.count):
        torch.manual_seed(seed)
        member, shape = NETWORKS[options.network]()
        members.append(member.to(device).eval())
    torch.manual_seed(0)
    return members, torch.randn(options.minibatch, *shape, device=device)


def one_by_one(members, x):
    return lambda: [member(x) for member in members]


def on_streams(members, x):
    """A stream a member; the current stream waits for all of them."""
    streams = [torch.cuda.Stream() for _ in members]

    def step():
        main = torch.cuda.current_stream()
        outputs = []
        for member, stream in zip(members, streams):
            stream.wait_stream(main)
            with torch.cuda.stream(stream):
                outputs.append(member(x))
        for stream in streams:
            main.wait_stream(stream)
        return outputs

    return step


def captured(step):
    """The step in a CUDA graph. Run beforehand on a stream of its own, as capturing demands."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = step()

    def replay():
        graph.replay()
        return outputs

    return replay


def mapped(members, x):
    """One call over stacked weights."""
    weights, buffers = torch.func.stack_module_state(members)
    bare = members[0]

    def call(member_weights, member_buffers, value):
        return torch.func.functional_call(bare, (member_weights, member_buffers), (value,))

    every = torch.func.vmap(call, in_dims=(0, 0, None))
    return lambda: every(weights, buffers, x)


def make_step(mode, members, x):
    if mode == "eager":
        return one_by_one(members, x)
    if mode == "streams":
        return on_streams(members, x)
    if mode == "graphs":
        return captured(one_by_one(members, x))
    if mode == "stream_graphs":
        return captured(on_streams(members, x))
    if mode == "vmap":
        return mapped(members, x)
    if mode == "compile":
        return as_one_step(one_by_one([torch.compile(member, mode="reduce-overhead") for member in members], x))
    return as_one_step(torch.compile(mapped(members, x), mode="reduce-overhead"))


def as_one_step(step):
    """Says where a step begins: else the graphs of one compiled member may take the memory of another's output."""

    def marked():
        torch.compiler.cudagraph_mark_step_begin()
        return step()

    return marked


def synchronize(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def profiled(step, device, options):
    """Nanoseconds a step while PyTorch's profiler records host and device, as in timed()."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if device.type == "cuda":
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as recording:
        times, steps = timed(step, lambda _outputs: synchronize(device), options)
    return {"profiled_step_ns": times, "profiled_steps_in_a_block": steps, "profiled_events": len(recording.events())}


def largest_difference(outputs, expected):
    """As a share of the largest expected value, over all members."""
    worst = 0.0
    for got, right in zip(outputs, expected):
        scale = max(right.abs().max().item(), 1e-30)
        worst = max(worst, (got - right).abs().max().item() / scale)
    return worst


def measure(options, device):
    members, x = make_members(options, device)
    with torch.inference_mode(mode=not options.mode.endswith("vmap")), torch.no_grad():
        expected = [output.clone() for output in one_by_one(members, x)()]
        step = make_step(options.mode, members, x)
        times, steps = timed(step, lambda _outputs: synchronize(device), options)
        difference = largest_difference(list(step()), expected)
        under_profiler = profiled(step, device, options) if options.profiler else {}
    return {
        "peer": f"PyTorch {torch.__version__}", "mode": options.mode, "network": options.network,
        "minibatch": options.minibatch, "members": options.count, "tf32": options.tf32,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else device.type,
        "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(), "step_ns": times, "steps_in_a_block": steps,
        "largest_difference": difference, **under_profiler,
    }


def parsed():
    parser = parser_of(__doc__, NETWORKS, ["eager", "streams", "graphs", "stream_graphs", "vmap", "compile", "compile_vmap"],
                       ["cuda", "cpu"])
    parser.add_argument("--profiler", action="store_true", help="also with PyTorch's profiler on: what it costs")
    return parser.parse_args()


def main():
    options = parsed()
    device = torch.device(options.device)
    if device.type == "cuda" and not torch.cuda.is_available():
        print("PyTorch finds no CUDA device", file=sys.stderr)
        return 4
    torch.backends.cuda.matmul.allow_tf32 = options.tf32
    torch.backends.cudnn.allow_tf32 = options.tf32
    torch.backends.cudnn.benchmark = True
    return report(lambda case: measure(case, device), options, "eager")


if __name__ == "__main__":
    sys.exit(main())
