"""One measurement as a command that prints one JSON object. Started by the runner as `python3 -m gpukit.step NAME ...`,
with cohort, the device and the folders in the environment."""

import argparse
import json
import sys

from .plan_steps import buffers, launchers, layers, multiprocessors
from .steps import StepError, equality, mixed, optable, provenance, trace, wall
from .tool_steps import beside, counters, crash, overhead, sanitizer, tracer


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    for function in (wall, launchers, multiprocessors, buffers, layers, equality, optable, trace, beside, counters, overhead, crash,
                     sanitizer, tracer, mixed, provenance):
        step = steps.add_parser(function.__name__)
        step.set_defaults(function=function)
        if function is mixed:
            step.add_argument("networks", nargs="+")
        elif function is not provenance:
            step.add_argument("network")
        step.add_argument("--minibatch", type=int, default=1)
        step.add_argument("--count", type=int, default=4)
        step.add_argument("--most", type=int, default=5)
        step.add_argument("--blocks", type=int, default=7)
        step.add_argument("--width", type=int, default=1000)
        step.add_argument("--input")
        step.add_argument("--precision")
        step.add_argument("--layout")
        step.add_argument("--train")
        step.add_argument("--set", action="append", default=[])
        step.add_argument("--check", default="memcheck")
        step.add_argument("--again", action="store_true")
    arguments = parser.parse_args()
    try:
        print(json.dumps(arguments.function(arguments)))
    except StepError as error:
        if error.result is not None:
            print(json.dumps(error.result))
        print(error, file=sys.stderr)
        return error.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
