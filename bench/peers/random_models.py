#!/usr/bin/env python3
"""Random models on Cohort's devices and on ONNX Runtime: all of them must agree.

Runs the tests that make random models of every kind of op (random_models_test): these hold the plain loops against
oneDNN and against the models written as ONNX and read again, and write every model with its inputs and outputs as
files. ONNX Runtime then computes each file; an element may differ by 1e-4 of the largest output. Some it refuses: it has
LRN on images and with odd sizes only, and reflects in fewer ways. These are counted apart.

Needs numpy and onnxruntime (PyPI); without them it says so and ends with 77, which test runners read as skipped.

  bench/peers/random_models.py                1,000 models
  bench/peers/random_models.py --models 50
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnxruntime
except ImportError as error:
    print(f"skipped: {error}; pip install onnxruntime numpy", file=sys.stderr)
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOLERANCE = 1e-4


def arrays(folder, kind):
    count = len(list(folder.glob(f"{kind}_*.npy")))
    return [np.load(folder / f"{kind}_{i}.npy") for i in range(count)]


def difference(found, expected):
    """Largest difference in units of the largest output, or of 1; infinite where only one is a number."""
    worst, largest = 0.0, 1.0
    for a, b in zip(found, expected):
        if a.shape != b.shape or not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return float("inf")
        numbers = np.isfinite(b)
        if numbers.any():
            worst = max(worst, float(np.max(np.abs(a[numbers].astype(np.float64) - b[numbers]))))
            largest = max(largest, float(np.max(np.abs(b[numbers]))))
    return worst / largest


def check(folder):
    """How far ONNX Runtime is off; or a text, why it does not run the model."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
        names = [node.name for node in session.get_inputs()]
        found = session.run(None, dict(zip(names, arrays(folder, "input"))))
    except Exception as error:  # its exceptions have no common base but this
        return str(error).splitlines()[0]
    return difference(found, arrays(folder, "output"))


def without_names(message):
    """The reason alone, so that equal ones can be counted."""
    message = re.sub(r".*(Status Message: |failed:|initialization: )", "", message)
    return re.sub(r"\(\w+\)|\d+|\{[\d,]*\}|Input shape:.*|/\S+:", "", message).strip()[:120]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=1000)
    parser.add_argument("--test", default=str(ROOT / "build/release/bin/random_models_test"))
    parser.add_argument("--keep", type=pathlib.Path, help="keep the files here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        environment = {**os.environ, "COHORT_RANDOM_MODELS": str(options.models), "COHORT_RANDOM_MODELS_TO": str(folder)}
        ours = subprocess.run([options.test, "--gtest_brief=1"], env=environment)
        cases = sorted((path.parent for path in folder.glob("*/model.onnx")), key=lambda path: int(path.name))
        agree, differ, refused = 0, 0, {}
        for case in cases:
            answer = check(case)
            if isinstance(answer, str):
                refused.setdefault(without_names(answer), []).append(case.name)
            elif answer <= TOLERANCE:
                agree += 1
            else:
                differ += 1
                print(f"model {case.name} differs by {answer:.2g}")
    for reason, names in sorted(refused.items(), key=lambda item: -len(item[1])):
        print(f"ONNX Runtime does not run {len(names)} (the first is {names[0]}): {reason}")
    print(f"plain loops and oneDNN {'agree' if ours.returncode == 0 else 'differ'}; ONNX Runtime {onnxruntime.__version__} agrees "
          f"on {agree} of {len(cases)} models, differs on {differ}, does not run {len(cases) - agree - differ}")
    sys.exit(0 if ours.returncode == 0 and differ == 0 and len(cases) == options.models else 1)


if __name__ == "__main__":
    main()
