"""A model in ONNX Runtime beside the same model in Cohort: sessions with their inputs, timed blocks, equal outputs.

Needs numpy and onnxruntime (PyPI), best in a virtual environment; without them whatever imports this says so and ends
with 77, which test runners read as skipped.
"""

import json
import math
import pathlib
import shlex
import sys
import time

try:
    import numpy as np
    import onnxruntime
except ImportError as error:
    print(f"skipped: {error}; pip install onnxruntime numpy", file=sys.stderr)
    sys.exit(77)

VERSION = onnxruntime.__version__
# Largest difference of an output element, as part of the largest output: deep networks of random weights lose digits.
TOLERANCE = 1e-4
HALF_TOLERANCE = 1e-2  # of models in float16, which Cohort computes in float32
TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(bool)": bool,
         "tensor(double)": np.float64, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8, "tensor(int8)": np.int8}


def made_up(session, dims, values, seed):
    """Inputs by name. `dims`: sizes that the file leaves open, by their name or INPUT:POSITION; `values`: constants."""
    generator = np.random.default_rng(seed)
    inputs = {}
    for node in session.get_inputs():
        shape = [size if isinstance(size, int) else dims.get(f"{node.name}:{i}", dims.get(size, 1))
                 for i, size in enumerate(node.shape)]
        kind = TYPES[node.type]
        if node.name in values:
            inputs[node.name] = np.full(shape, values[node.name], kind)
        elif kind in (np.uint8, np.int8):  # pixels and the like
            inputs[node.name] = generator.integers(np.iinfo(kind).min, np.iinfo(kind).max + 1, shape, kind)
        elif kind in (np.float16, np.float32, np.float64):
            inputs[node.name] = generator.uniform(-1, 1, shape).astype(kind)
        else:
            inputs[node.name] = np.zeros(shape, kind)
    return inputs


class Peer:
    """ONNX Runtime on one model, its input and output bound, unless a file says wrongly what shape an output has."""

    def __init__(self, file, threads, dims=None, values=None, seed=0, profile=False):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3  # not its warnings of what a file holds in vain
        options.enable_profiling = profile
        options.profile_file_prefix = str(file.with_suffix(""))
        self.session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        self.inputs = made_up(self.session, dims or {}, values or {}, seed)
        is_half = any(node.type == "tensor(float16)" for node in self.session.get_outputs())
        self.tolerance = HALF_TOLERANCE if is_half else TOLERANCE
        self.binding = self.session.io_binding()
        for name, array in self.inputs.items():
            self.binding.bind_cpu_input(name, array)
        for node in self.session.get_outputs():
            self.binding.bind_output(node.name)
        try:
            for _ in range(2):  # the first time no output has memory yet
                self.run()
        except RuntimeError:
            self.run = lambda: self.session.run(None, self.inputs)

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def outputs(self):
        names = [node.name for node in self.session.get_outputs()]
        return dict(zip(names, self.session.run(names, self.inputs)))


def block(peers, seconds):
    """Nanoseconds in which all of them run once, over a block of at least `seconds`."""
    rounds, begin = 0, time.perf_counter_ns()
    while True:
        for _ in range(1 + rounds // 4):
            for peer in peers:
                peer.run()
            rounds += 1
        spent = time.perf_counter_ns() - begin
        if spent >= seconds * 1e9:
            return spent / rounds


def files_of(name):
    """How Cohort may name an array's file: it leaves out a prefix that all names of a model have in common."""
    return name.replace("/", "_"), name.rsplit("/")[-1]


def outputs_of_plan(cohort, plan, inputs, folder):
    """What Cohort's plan makes of the inputs, by name."""
    arrays = folder / "inputs"
    arrays.mkdir(parents=True, exist_ok=True)
    for name, values in inputs.items():
        for file in files_of(name):
            np.save(arrays / f"{file}.npy", values)
    text = json.loads(plan.read_text())
    text["input"] = {**text["input"], "source": "arrays", "path": str(arrays)}
    fed = folder / "fed.plan.json"
    fed.write_text(json.dumps(text))
    cohort.call("run", fed, "-f", "--blocks", 1, "--block-ms", 1, "--iterations", 1, "-o", folder / "fed.json.gz",
                "--outputs", folder / "outputs")
    return {file.stem: np.load(file) for file in sorted((folder / "outputs").glob("*/*.npy"))}


def distance(found, expected):
    """Largest difference of an element, relative to the largest that is expected; infinite where only one of both is no number.

    Of outputs that are all below 0.002 that counts as the largest: ONNX Runtime's sigmoid is off by 1e-7 near 0, where Cohort's is not.
    """
    neither = np.isnan(found) & np.isnan(expected)
    found, expected = np.where(neither, 0, found), np.where(neither, 0, expected).astype(np.float64)
    worst = float(np.max(np.abs(found - expected))) / max(float(np.max(np.abs(expected))), 2e-3)
    return math.inf if math.isnan(worst) else worst


def difference(ours, theirs):
    """distance() of the output that differs most."""
    return max(distance(next(ours[file] for file in files_of(name) if file in ours).reshape(expected.shape), expected)
               for name, expected in theirs.items())


class Model:
    """A model as it is given: its name or file, and the options of `cohort profile` that settle what the file leaves open."""

    def __init__(self, text):
        self.text = text
        self.path, *self.options = shlex.split(text)
        path = pathlib.Path(self.path)
        self.name = path.parent.name if path.stem == "model" else path.stem
        self.dims, self.values = {}, {}
        for option, value in zip(self.options, self.options[1:]):
            key, _, number = value.partition("=")
            if option == "--dim":
                self.dims[key] = int(number)
            elif option == "--set-input":
                self.values[key] = float(number)
            elif option in ("--from", "--until"):
                sys.exit(f"{self.path}: ONNX Runtime computes a whole file; cut it at {value} beforehand")

    def session(self, file, threads, seed=0):
        return Peer(file, threads, self.dims, self.values, seed)
