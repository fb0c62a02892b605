#!/usr/bin/env python3
"""A sweep over scikit-learn's digits: 64 small networks trained together, and how much faster than one after another.

Writes the 1,797 images of 8 x 8 as .npy files and a sweep file of 64 networks (8 learning rates, 2 weight decays, 4
widths), profiles their training steps, and trains them twice with `cohort train`: together, as the planner divides them
into model batches, and one after another (most_together = 1). Prints the best accuracy on the fifth of the images that is
held out, the speedup, predicted and measured, and how far a network's accuracy is from what it reaches alone: sums in
another order differ in their last digits, and some image on the border is told otherwise.

Needs scikit-learn and numpy (PyPI); exit code 4 where they are missing, 1 where the best is below --at-least.

  bench/digits.py                                   in a temporary folder
  bench/digits.py --folder digits --epochs 10       keeps data, sweep file, profiles and results
"""

import argparse
import json
import pathlib
import sys
import tempfile

from sweeps import ROOT, forecast, guarded, spent, train

try:
    import numpy as np
    from sklearn.datasets import load_digits
except ImportError as error:
    print(f"scikit-learn is missing: {error}", file=sys.stderr)
    sys.exit(4)

SWEEP = """# 64 networks on 1,438 images of handwritten digits, compared on the 359 that are held out.
model = "mlp"
minibatch = 32
epochs = {epochs}
optimizer = "adam"
{more}
[data]
train = "images.npy"
labels = "labels.npy"
held_out = 0.2

[space]
learning_rate = [0.0003, 0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02]
weight_decay = [0, 1e-4]
arguments.hidden = [16, 32, 64, 128]
"""


def write_inputs(folder, epochs):
    """The sweep files: together, and one after another."""
    folder.mkdir(parents=True, exist_ok=True)
    digits = load_digits()
    np.save(folder / "images.npy", digits.data.astype(np.float32))
    np.save(folder / "labels.npy", digits.target.astype(np.int32))
    files = folder / "sweep.toml", folder / "one-by-one.toml"
    for file, more in zip(files, ("", "most_together = 1\n")):
        file.write_text(SWEEP.format(epochs=epochs, more=more))
    return files


def accuracies(results):
    return {member["member"]: member["epochs"][-1]["accuracy"] if member["epochs"] else None for member in results["members"]}


def measured(options, folder):
    sweep, alone = write_inputs(folder, options.epochs)
    together = train(options.cohort, sweep, folder / "together")
    profiles = sorted((folder / "together" / "profiles").iterdir())
    one_by_one = train(options.cohort, alone, folder / "one-by-one", profiles)
    predicted, predicted_alone = forecast(options.cohort, sweep, profiles), forecast(options.cohort, alone, profiles)
    best = next(member for member in together["members"] if member["member"] == together["best"])
    reached, reached_alone = accuracies(together), accuracies(one_by_one)
    took, took_alone = spent(together), spent(one_by_one)
    whole, whole_alone = sum(took.values()), sum(took_alone.values())
    return {"members": len(reached), "best": best["epochs"][-1]["accuracy"], "best_hyperparameters": best["hyperparameters"],
            "predicted_s": sum(predicted.values()), "measured_s": whole, "one_by_one_predicted_s": sum(predicted_alone.values()),
            "one_by_one_measured_s": whole_alone, "predicted_speedup": sum(predicted_alone.values()) / sum(predicted.values()),
            "measured_speedup": whole_alone / whole, "parts": {"together": {"predicted_s": predicted, "measured_s": took},
                                                               "one_by_one": {"predicted_s": predicted_alone, "measured_s": took_alone}},
            "samples_per_second": together["run"]["samples_per_second"], "epochs": options.epochs,
            "largest_difference": max(abs(reached[name] - reached_alone[name]) for name in reached)}


def part_rows(row):
    """Seconds by part, measured and predicted; what goes into the device and out of it is measured with the steps."""
    for part in "steps", "evaluation", "files", "opening":
        words = f"  {part:<12}"
        for way, times in row["parts"].items():
            predicted = times["predicted_s"][part] + (times["predicted_s"]["input"] if part == "steps" else 0)
            words += f"{way.replace('_', ' '):>12} {times['measured_s'][part]:.3g} s (predicted {predicted:.3g} s)"
        yield words


def told(row):
    point = ", ".join(f"{name} {value:g}" for name, value in row["best_hyperparameters"].items())
    return (f"{row['members']} networks, {row['epochs']} epochs: best {row['best']:.1%} on the held-out fifth ({point})\n"
            f"together {row['measured_s']:.3g} s (predicted {row['predicted_s']:.3g} s), one after another {row['one_by_one_measured_s']:.3g} s "
            f"(predicted {row['one_by_one_predicted_s']:.3g} s)\n"
            f"speedup {row['measured_speedup']:.2f}x measured, {row['predicted_speedup']:.2f}x predicted; "
            f"{row['samples_per_second']:.0f} samples a second over all networks\n" +
            "\n".join(part_rows(row)) + "\n"
            f"accuracy differs by at most {row['largest_difference']:.2%} from what a network reaches alone")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cohort", default=ROOT / "build/release/bin/cohort")
    parser.add_argument("--folder", type=pathlib.Path, help="keep everything here; a temporary folder unless given")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--at-least", type=float, default=0.97, help="accuracy that the best must reach")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        row = measured(options, options.folder or pathlib.Path(temporary))
    print(json.dumps(row) if options.json else told(row))
    return 0 if row["best"] >= options.at_least else 1


if __name__ == "__main__":
    sys.exit(guarded(main))
