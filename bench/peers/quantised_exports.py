#!/usr/bin/env python3
"""Exported networks as ONNX Runtime's quantiser writes them, from folders that torch_exports.py has made.

Of each folder build/exports/NAME it makes build/exports/NAME_FORM: model.onnx beside what ONNX Runtime computes with it
from the same input. Forms are qdq and qlinear (levels uint8, weights int8, calibrated by the folder's input and two
random ones) and dynamic. `cohort verify` reads the folders; where levels of random networks flip, outputs differ by more
than its tolerance.

  bench/peers/quantised_exports.py qlinear mobilenet_v3_small efficientnet_b0
  bench/peers/quantised_exports.py qdq mobilenet_v3_small --by-channel
  bench/peers/quantised_exports.py dynamic albert deberta
  bench/peers/side_by_side.py build/exports/albert_dynamic/model.onnx --tolerance 0.05

Needs numpy, onnx and onnxruntime (PyPI), best in a virtual environment; without them it says so and ends with 77, which
test runners read as skipped.
"""

import argparse
import logging
import pathlib
import shutil
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import numpy_helper
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic, quantize_static
except ImportError as error:
    print(f"skipped: {error}; pip install numpy onnx onnxruntime", file=sys.stderr)
    sys.exit(77)

FOLDER = pathlib.Path(__file__).resolve().parent.parent.parent / "build" / "exports"
DATA = "test_data_set_0"


def given_inputs(folder):
    inputs = {}
    for file in sorted((folder / DATA).glob("input_*.pb")):
        tensor = onnx.load_tensor(file)
        inputs[tensor.name] = numpy_helper.to_array(tensor)
    return inputs


class Samples(CalibrationDataReader):
    """The input given, and others of the same shapes: random where it holds floats."""

    def __init__(self, inputs):
        random = np.random.default_rng(1)

        def drawn(array):
            return random.standard_normal(array.shape, np.float32) if array.dtype == np.float32 else array

        self.samples = iter([inputs] + [{name: drawn(array) for name, array in inputs.items()} for _ in range(2)])

    def get_next(self):
        return next(self.samples, None)


def quantise(form, source, target, by_channel):
    model, result = source / "model.onnx", target / "model.onnx"
    inputs = given_inputs(source)
    target.mkdir()
    if form == "dynamic":
        quantize_dynamic(model, result, per_channel=by_channel)
    else:
        written = QuantFormat.QDQ if form == "qdq" else QuantFormat.QOperator
        quantize_static(model, result, Samples(inputs), quant_format=written, per_channel=by_channel,
                        activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)
    (target / DATA).mkdir()
    for file in (source / DATA).glob("input_*.pb"):
        shutil.copy(file, target / DATA)
    session = onnxruntime.InferenceSession(result, providers=["CPUExecutionProvider"])
    names = {value.name for value in session.get_inputs()}
    outputs = session.run(None, {name: array for name, array in inputs.items() if name in names})
    for i, (info, value) in enumerate(zip(session.get_outputs(), outputs)):
        onnx.save_tensor(numpy_helper.from_array(value, info.name), target / DATA / f"output_{i}.pb")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("form", choices=("qdq", "qlinear", "dynamic"))
    parser.add_argument("names", nargs="+", metavar="NAME", help="folders in --folder")
    parser.add_argument("--folder", type=pathlib.Path, default=FOLDER, help="where exports are (default: build/exports)")
    parser.add_argument("--by-channel", action="store_true", help="a scale for each output of a layer's weights")
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    failed = []
    for name in options.names:
        target = options.folder / f"{name}_{options.form}"
        if target.exists():
            print(f"{target.name}: exists already")
            continue
        try:
            quantise(options.form, options.folder / name, target, options.by_channel)
            print(f"{target.name}: written")
        except Exception as error:  # whatever it is, the others are made
            shutil.rmtree(target, ignore_errors=True)
            failed.append(name)
            print(f"{target.name}: {str(error).strip().splitlines()[0]}", file=sys.stderr)
    if failed:
        sys.exit(f"not quantised: {', '.join(failed)}")


if __name__ == "__main__":
    main()
