"""What the peers on a GPU share: their command line, how a step is timed, and what is printed. Needs nothing but Python."""

import argparse
import json
import sys
import time

# Outputs of two ways to compute the same agree within this share of the largest value, without and with TF32.
TOLERANCE = {False: 1e-3, True: 3e-2}

# As Cohort calls them.
OPTIMIZERS = ["sgd", "momentum", "adam"]


def learning_rates(rule, count):
    """Of each member that trains, from a tenth of the usual one up to it."""
    usual = 1e-3 if rule == "adam" else 1e-2
    return [usual * (1 + 9 * i / max(1, count - 1)) / 10 for i in range(count)]


def numbers(text):
    """Of "1,16": [1, 16]."""
    return [int(word) for word in text.split(",")]


def cases_of(options):
    """The options of each case that was asked for: of every count each minibatch, in the order given."""
    for count in options.count:
        for minibatch in options.minibatch:
            yield argparse.Namespace(**{**vars(options), "count": count, "minibatch": minibatch})


def parser_of(text, networks, modes, devices):
    """Options of a peer; the first mode and the first device are taken unless others are asked for."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mode", default=modes[0], choices=modes)
    parser.add_argument("--network", choices=sorted(networks), required=True)
    parser.add_argument("--minibatch", type=numbers, default=[1], metavar="N[,N...]")
    parser.add_argument("--count", type=numbers, default=[1], metavar="N[,N...]")
    parser.add_argument("--device", default=devices[0], choices=devices)
    parser.add_argument("--train", choices=OPTIMIZERS, help="training steps instead of inference, with this optimizer")
    parser.add_argument("--tf32", action="store_true")
    parser.add_argument("--blocks", type=int, default=7)
    parser.add_argument("--block-ms", type=float, default=50)
    parser.add_argument("--warmup", type=int, default=5)
    return parser


def timed(step, wait, options):
    """Nanoseconds a step in blocks of at least block_ms, by the host's clock from idle to idle, and steps in a block.
    `wait` returns when what a step gave is there and the device is idle."""
    for _ in range(options.warmup):
        wait(step())
    begin = time.perf_counter_ns()
    wait(step())
    steps = max(1, round(options.block_ms * 1e6 / max(1, time.perf_counter_ns() - begin)))
    times = []
    for _ in range(options.blocks):
        begin = time.perf_counter_ns()
        for _ in range(steps):
            outputs = step()
        wait(outputs)
        times.append((time.perf_counter_ns() - begin) // steps)
    return times, steps


def report(measure, options, against):
    """Measures each case and prints it as one JSON object a line, at once, so that what ends the process leaves those before
    it. One that is wrong is told instead, and the next is measured. The exit code."""
    code = 0
    for case in cases_of(options):
        result = measure(case)
        if result["largest_difference"] <= TOLERANCE[result["tf32"]]:
            print(json.dumps(result), flush=True)
        else:
            print(f"{result['mode']} of {result['members']} members at minibatch {result['minibatch']} differs from {against} by "
                  f"{result['largest_difference']}", file=sys.stderr)
            code = 1
    return code
