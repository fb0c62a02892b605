#!/usr/bin/env python3
"""The same model batches in PyTorch, to hold Cohort against: N copies of a network that read one shared input.

  bench/peers/pytorch.py --mode eager --network lenet5 --minibatch 16 --count 16
  bench/peers/pytorch.py --mode vmap --network mlp --minibatch 1,16 --count 1,4,16      six cases in one process
  bench/peers/pytorch.py --mode vmap --network mlp --count 16 --device cpu --train momentum     training steps

Modes: eager (members one after another), streams (one stream a member), graphs (one after another, captured into one CUDA
graph), stream_graphs (a captured graph with a stream a member), vmap (torch.func.vmap over stacked weights), compile
(torch.compile of each member), compile_vmap (torch.compile over vmap). Prints one JSON object a case with every repetition,
in whole nanoseconds a step. Outputs are compared with eager's. float32 without TF32 unless --tf32, as Cohort's float32.
With --train a step is forward, softmax cross-entropy, gradients and update, of members with different learning rates; modes
eager, vmap (over grad), compile and compile_vmap; the losses of the first steps are compared with eager's.
Needs PyTorch; exit code 4 where it, or the device, is missing.
"""

import sys

from measured import parser_of, report, timed

try:
    import torch
    from pytorch_networks import MAPPED, NETWORKS, input_of
    from pytorch_training import TrainingCase
except ImportError as error:
    print(f"PyTorch is missing: {error}", file=sys.stderr)
    sys.exit(4)


def make_members(options, device):
    members, shape = [], None
    make = NETWORKS[options.network]
    if options.mode.endswith("vmap"):
        make = MAPPED.get(options.network, make)
    for seed in range(options.count):
        torch.manual_seed(seed)
        member, shape = make()
        members.append(member.to(device).train(options.train is not None))
    torch.manual_seed(0)
    return members, torch.randn(*input_of(shape, options.minibatch), device=device)


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


FIRST_STEPS = 4  # whose losses are compared


def first_losses(step):
    return [loss.clone() for _ in range(FIRST_STEPS) for loss in step()]


def measure_training(options, members, x):
    case = TrainingCase(options.train, options.network, members, x)
    step = case.way(options.mode)
    difference = largest_difference(first_losses(step), first_losses(case.way("eager")))
    times, steps = timed(step, lambda _losses: synchronize(x.device), options)
    return times, steps, difference, {"train": options.train}


def measure_inference(options, members, x):
    with torch.inference_mode(mode=not options.mode.endswith("vmap")), torch.no_grad():
        expected = [output.clone() for output in one_by_one(members, x)()]
        step = make_step(options.mode, members, x)
        times, steps = timed(step, lambda _outputs: synchronize(x.device), options)
        difference = largest_difference(list(step()), expected)
        under_profiler = profiled(step, x.device, options) if options.profiler else {}
    return times, steps, difference, under_profiler


def measure(options, device):
    members, x = make_members(options, device)
    measured = measure_training if options.train else measure_inference
    times, steps, difference, more = measured(options, members, x)
    return {
        "peer": f"PyTorch {torch.__version__}", "mode": options.mode, "network": options.network,
        "minibatch": options.minibatch, "members": options.count, "tf32": options.tf32,
        "device": torch.cuda.get_device_name() if device.type == "cuda" else device.type,
        "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(), "step_ns": times, "steps_in_a_block": steps,
        "largest_difference": difference, **more,
    }


TRAINED = ("eager", "vmap", "compile", "compile_vmap")


def parsed():
    parser = parser_of(__doc__, NETWORKS, ["eager", "streams", "graphs", "stream_graphs", "vmap", "compile", "compile_vmap"],
                       ["cuda", "cpu"])
    parser.add_argument("--profiler", action="store_true", help="also with PyTorch's profiler on: what it costs")
    options = parser.parse_args()
    if options.train and (options.mode not in TRAINED or options.profiler):
        parser.error(f"--train goes with --mode {', '.join(TRAINED)}, and not with --profiler")
    return options


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
