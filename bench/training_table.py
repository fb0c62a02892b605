#!/usr/bin/env python3
"""Training steps of every built-in network: what is predicted of model batches, and what is measured.

As bench/model_table.py, of training steps: for every network, with 4 and with 16 members, profiles the step with the
defaults, plans, and runs in turn the plan, one member after another and the best candidates of other kinds of plan. The
table tells held-out networks apart. Large networks train small minibatches, so that 16 of them fit a small machine.
Needs nothing beyond Python's library; writes a Markdown table.

  bench/training_table.py --output bench/results/training-models.md
  bench/training_table.py --networks mlp lenet5 --members 4 --minutes 2     a few rows
  bench/training_table.py --optimizer adam --minibatch 32
"""

import os
import pathlib
import sys
import tempfile

from model_table import Bench, measure, parser_of
from speedup_table import provenance

SMALL = {"mlp": 16, "lenet5": 16, "lstm": 16, "gru": 16, "smallcnn": 16, "encoder": 4}  # others: 2


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--optimizer", default="momentum", help="as cohort profile --train has it")
    parser.add_argument("--minibatch", type=int, help="of every network; 16 of small ones and 2 of large ones unless given")
    options = parser.parse_args()

    def how(name):
        return ["--train", options.optimizer, "--minibatch", options.minibatch or SMALL.get(name, 2)]

    made = (f"`{' '.join(['bench/training_table.py', *sys.argv[1:]])}`, {provenance()}; optimizer {options.optimizer}; load of the "
            f"machine at the start {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as temporary:
        measure(Bench(options, pathlib.Path(temporary), how), {name: name for name in options.networks},
                "Training steps of every built-in network, CPU device", made)


if __name__ == "__main__":
    main()
