#!/usr/bin/env python3
"""Single ONNX ops with random attributes and shapes, run by `cohort verify` against what ONNX Runtime gives.

The cases of the ONNX project have each attribute once or twice; here they meet each other, and shapes that they are
seldom tried with: strides longer than kernels, pads of one side, axes from behind, extents of 1. Each case is a folder
of model.onnx beside test_data_set_0, as `cohort verify` reads them, with the outputs of ONNX Runtime without
optimisation. What ONNX Runtime refuses is counted and left out. It ends as verify does: with 0 where no case failed.

Needs numpy, onnx and onnxruntime (PyPI), best in a virtual environment; without them it says so and ends with 77, which
test runners read as skipped.

  bench/peers/random_nodes.py                            20 cases of each op
  bench/peers/random_nodes.py --cases 200 --seed 3
  bench/peers/random_nodes.py --ops Conv,LSTM --keep FOLDER
"""

import argparse
import sys

import random_elements  # noqa: F401, fills OPS
import random_layers  # noqa: F401
import random_old  # noqa: F401
import verify_cases
from node_cases import np, write
from random_cases import OPS, Draw, outputs_of


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=20, help="of each op; 20 unless given")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--element", choices=("float16", "float64"), help="of what is float32 else")
    parser.add_argument("--ops", help="only these, with commas between them")
    verify_cases.add_options(parser)
    options = parser.parse_args()
    chosen = options.ops.split(",") if options.ops else list(OPS)
    unknown = [name for name in chosen if name not in OPS]
    if unknown:
        sys.exit(f"random_nodes.py: error: there are no random cases of {unknown[0]}; of {', '.join(sorted(OPS))}")
    with verify_cases.folder_of(options) as folder:
        made = refused = 0
        for name in chosen:
            for i in range(options.cases):
                case = OPS[name](Draw(f"{name} {options.seed} {i}", 8 if i % 4 == 3 else 1))
                op_type = name.partition("<")[0]
                case = case(op_type) if callable(case) else case
                if options.element:
                    case.given = [value.astype(options.element) if value is not None and value.dtype == np.float32 else value for value in case.given]
                model, inputs = case.model(op_type)
                outputs = outputs_of(model, inputs)
                if outputs is None or not all(isinstance(y, np.ndarray) and y.size for y in outputs.values()):
                    refused += 1
                    continue
                tolerance = {"atol": case.atol} if case.atol else {}
                if options.element == "float16":
                    tolerance = {"rtol": 0.02, "atol": max(0.01, case.atol or 0)}
                label = name.lower().replace("<", "_before_")
                write(folder / f"{label}_{options.seed}_{i}", model, inputs, outputs, tolerance)
                made += 1
        print(f"{made} cases, {refused} refused by ONNX Runtime", flush=True)
        verify_cases.verify(options, folder)


if __name__ == "__main__":
    main()
