#!/usr/bin/env python3
"""The ONNX project's node cases, as new as the onnx package that is installed, run by `cohort verify`.

Debian's libonnx-testdata has those of one release. Newer ones come as Python code in PyPI's onnx: this writes each as
a folder of model.onnx beside test_data_set_0, as `cohort verify` reads them, and runs it on all. It ends as verify does:
with 0 where no case failed, and with 1 where one did.

Needs onnx (PyPI), best in a virtual environment; without it it says so and ends with 77, which test runners read as
skipped.

  bench/peers/onnx_cases.py                                 on the CPU
  bench/peers/onnx_cases.py --device reference --filter '^test_resize_'
  bench/peers/onnx_cases.py --write-only --keep FOLDER      the folders alone
"""

import argparse
import json
import sys
import warnings

import verify_cases

try:
    import numpy as np
    import onnx
    from onnx import numpy_helper
    from onnx.backend.test.case.node import collect_testcases
except ImportError as error:
    print(f"skipped: {error}; pip install onnx", file=sys.stderr)
    sys.exit(77)

ONNX_ATOL = 1e-7  # of cases that state none
PROTOS = (onnx.TensorProto, onnx.SequenceProto, onnx.OptionalProto, onnx.SparseTensorProto)


def proto(value, name):
    """A value of a case as the message that its file holds."""
    if isinstance(value, PROTOS):
        return value
    if value is None:
        return numpy_helper.from_optional(value, name)
    if isinstance(value, list):
        return numpy_helper.from_list(value, name)
    if isinstance(value, dict):
        return numpy_helper.from_dict(value, name)
    return numpy_helper.from_array(np.asarray(value), name)


def write(case, folder):
    for i, data_set in enumerate(case.data_sets):
        into = folder / f"test_data_set_{i}"
        into.mkdir(parents=True, exist_ok=True)
        for kind, values, infos in zip(("input", "output"), data_set, (case.model.graph.input, case.model.graph.output)):
            for j, (value, info) in enumerate(zip(values, infos)):
                (into / f"{kind}_{j}.pb").write_bytes(proto(value, info.name).SerializeToString())
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    tolerance = {"rtol": case.rtol}
    if case.atol != ONNX_ATOL:  # else `cohort verify` takes its own, which follows the tensor's largest element
        tolerance["atol"] = case.atol
    (folder / "data.json").write_text(json.dumps(tolerance) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verify_cases.add_options(parser)
    parser.add_argument("--write-only", action="store_true", help="run nothing")
    options = parser.parse_args()
    if options.write_only and not options.keep:
        parser.error("--write-only needs --keep FOLDER")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cases overflow and divide by zero on purpose
        cases = [case for case in collect_testcases(None) if case.model is not None]
    with verify_cases.folder_of(options) as folder:
        for case in cases:
            write(case, folder / case.name)
        print(f"{len(cases)} node cases of onnx {onnx.__version__}", flush=True)
        if options.write_only:
            return
        verify_cases.verify(options, folder)


if __name__ == "__main__":
    main()
