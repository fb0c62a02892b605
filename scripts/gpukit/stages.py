"""The stages in order of value, and what each of them runs."""

import dataclasses
import importlib.util
import itertools
import os
import pathlib
import re
import sys

from . import places
from .runner import Stage, Unit

NETWORKS = ["mlp", "lenet5", "smallcnn", "lstm", "alexnet5", "squeezenet1_1", "resnet18"]
PEER_NETWORKS = ["mlp", "lenet5", "smallcnn", "alexnet5", "resnet18"]
EQUALITY_NETWORKS = ["mlp", "lenet5", "smallcnn"]
COMPILED_NETWORKS = ["mlp", "lenet5", "resnet18"]
PRECISION_NETWORKS = ["alexnet5", "resnet18", "mlp"]
LAUNCH_NETWORKS = ["mlp", "lenet5"]  # of many short kernels
IMAGE_NETWORKS = ["smallcnn"]
LAYOUT_NETWORKS = ["resnet18"]  # of convolutions; in float32 the usual layout is nchw
HEAVY_NETWORK = "alexnet5"  # whose steps take long enough that seconds of them make no large trace
OVERHEAD_NETWORKS = ["lenet5", "resnet18"]
COUNTER_NETWORKS = ["resnet18", "alexnet5", "lstm", "squeezenet1_1", "smallcnn", "mlp", "lenet5"]  # most time in kernels first
TRAINED_NETWORKS = ["mlp", "lenet5", "smallcnn", "resnet18"]
OPTIMIZER = "momentum"
PRECISIONS = ["tf32", "bfloat16", "float16"]
PART_SECONDS = 570  # 9.5 minutes
STEP_FILES = ["step.py", "steps.py", "plan_steps.py", "tool_steps.py"]


class Tools:
    """What is here to measure with. Each question is asked once."""

    def __init__(self, cohort):
        self.cohort = cohort
        self.help = {}

    def _help(self, *command):
        if command not in self.help:
            self.help[command] = places.output_of(self.cohort, *command, "--help") or ""
        return self.help[command]

    def command(self, name):
        """Why a command of cohort cannot be used, or None."""
        return None if f"\n  {name} " in self._help() else f"this build of cohort has no command '{name}'"

    def option(self, command, name):
        return None if name in self._help(command) else f"this build's 'cohort {command}' has no option {name}"

    @staticmethod
    def program(name):
        return None if places.tool(name) else f"{name} was not found"

    @staticmethod
    def module(name):
        return None if importlib.util.find_spec(name) else f"Python has no module {name}"

    @staticmethod
    def file(path):
        return None if path.exists() else f"{path.name} is not there"


def first_reason(*reasons):
    return next((reason for reason in reasons if reason), None)


def only(names, networks):
    """Those asked for; where none of them is, whatever is first."""
    return [name for name in names if name in networks] or networks[:1]


def step(name, words, seconds=60):
    """A unit that is one of gpukit.steps."""
    files = [pathlib.Path(__file__).with_name(file) for file in STEP_FILES]
    return Unit(" ".join([name, *map(str, words)]), [sys.executable, "-m", "gpukit.step", name, *words], seconds, files)


def walls(networks, minibatches, counts, most=5, precision=None, train=None):
    """In the order given, networks innermost, so that a limit on the time leaves out whole sizes and no network."""
    extra = (["--precision", precision] if precision else []) + (["--train", train] if train else [])
    return [step("wall", [network, "--minibatch", minibatch, "--count", count, "--most", most, *extra])
            for count in counts for minibatch in minibatches for network in networks]


def in_turn(first, second):
    """All pairs, so that the first few already hold each of both."""
    return [(first[(place + shift) % len(first)], second[place % len(second)])
            for shift, place in itertools.product(range(len(first)), range(len(second)))]


def more_walls(networks, sizes, most=3):
    """Of every network and size some before more of any: (minibatch, count) pairs that part A leaves out."""
    return [unit for (minibatch, count), network in in_turn(sizes, networks)
            for unit in walls([network], [minibatch], [count], most)]


def peer_script(module):
    return places.root() / "bench" / "peers" / f"{module}.py"


def peers(module, modes, networks, minibatches, counts, extra=()):
    """A process for each network and mode, which measures every size: what it imports takes seconds to load."""
    script = peer_script(module)
    label = "".join(" " + str(word).lstrip("-") for word in extra)
    sizes = [",".join(map(str, numbers)) for numbers in (minibatches, counts)]
    return [Unit(f"{module} {mode} {network} b{sizes[0]} n{sizes[1]}{label}",
                 [sys.executable, script, "--mode", mode, "--network", network, "--minibatch", sizes[0], "--count", sizes[1], *extra],
                 60, [script, peer_script("measured")])
            for network in networks for mode in modes]


def needs_peer(tools, module, package):
    return first_reason(tools.module(package), tools.file(peer_script(module)))


def modelbatch(networks):
    """ModelBatch's figures (SysML 2018): 4b; 3, sharers of preprocessing; 2, many fully connected layers at once. What says
    most of each comes first."""
    def layers(width, minibatch, most=0):
        return step("layers", ["mlp", "--width", width, "--minibatch", minibatch, "--count", 64, "--most", most])

    def sharers(count):
        return step("wall", ["smallcnn", "--minibatch", 16, "--count", count, "--input", "jpeg", "--most", 1])

    units = [step("wall", ["alexnet5", "--minibatch", 16, "--count", 16, "--input", source, "--most", 3])
             for source in ("jpeg", "device")]
    units += [sharers(16), sharers(1), layers(1000, 64, 1), layers(4000, 64), layers(1000, 1), layers(1000, 2048), sharers(4)]
    units += [layers(1000, 512), layers(1000, 16), layers(4000, 1), sharers(2), layers(4000, 2048), sharers(8)]
    units += [layers(width, minibatch) for minibatch in (256, 4, 1024) for width in (1000, 4000)]
    return [unit for unit in units if unit.name.split()[1] in networks]


# Tests of tests/cuda/gpu_test.cpp. What a plan is made of must be right, or nothing else is worth measuring; of the many ways
# to run an op one that fails is left out of profiles. The same tests on the fake are for machines without a GPU.
STRATEGY_TESTS = "*/gpu:-*.EveryAlternative*:*.EveryWay*"
WAY_TESTS = "*.EveryAlternative*/gpu:*.EveryWay*/gpu"


def nothing_tested(text):
    """Of what tests print that all passed: they must be some. Skipped ones pass."""
    passed = re.search(r"\[  PASSED  \] (\d+) test", text)
    if passed and int(passed[1]) > 0:
        return None
    skipped = re.search(r"\[  SKIPPED \] (\d+) test", text)
    return f"no test ran: {skipped[1]} were skipped" if skipped else "no test ran"


def gpu_tests(cohort, name, chosen, seconds):
    """Tests that need a GPU, where they are built: against plain loops on the host."""
    program = cohort.parent / "cuda_gpu_test"
    if not program.exists():
        return []
    libraries = places.root() / "lib"  # of a bundle
    search = [str(libraries), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]  # the driver may be found by it
    # Without a plugin that opens the tests would be skipped, and that is no success.
    words = ["env", "COHORT_REQUIRE_GPU=1"] + (["LD_LIBRARY_PATH=" + ":".join(search)] if libraries.is_dir() else [])
    return [Unit(name, [*words, program, "--gtest_brief=1", f"--gtest_filter={chosen}"], seconds, [program], nothing_tested)]


def part_a(tools, folders, networks):
    calibrate = [tools.cohort, "calibrate", "--device", folders.device, "--seconds", 25, "--json", "-f",
                 "-o", folders.traces / places.CALIBRATION]
    return [
        Stage("provenance and equality", "A", 130, lambda: [
            step("provenance", []),
            *gpu_tests(tools.cohort, "tests on the GPU", STRATEGY_TESTS, 90),
            *[step("equality", [network, "--count", 4], 30) for network in only(EQUALITY_NETWORKS, networks)],
            step("tracer", [networks[0]], 25),
        ], gate=True),
        Stage("calibration", "A", 30, lambda: [Unit("calibrate", calibrate, 40)], lambda: tools.command("calibrate")),
        Stage("op table", "A", 120, lambda: [step("optable", [network, "--minibatch", minibatch])
                                            for minibatch in (1, 16) for network in networks]),
        Stage("counters", "A", 80, lambda: [step("counters", [network, "--minibatch", minibatch, "--most", 12])
                                            for minibatch in (1, 16) for network in only(COUNTER_NETWORKS, networks)],
              lambda: tools.program("ncu")),
        Stage("wall times", "A", 180, lambda: walls(networks, (1, 16), (16, 4, 1))),
        Stage("every way to run an op", "A", 30, lambda: gpu_tests(tools.cohort, "tests of every way to run an op", WAY_TESTS, 60),
              lambda: tools.file(tools.cohort.parent / "cuda_gpu_test")),
    ]


def part_b(tools, networks):
    return [
        Stage("more wall times", "B", 150, lambda: [
            step("mixed", only(EQUALITY_NETWORKS, networks)),
            *[step("launchers", [network, "--count", 16]) for network in only(LAUNCH_NETWORKS, networks)],
            *[step("wall", [network, "--minibatch", 16, "--count", 16, "--most", 2, "--layout", "nhwc"])
              for network in only(LAYOUT_NETWORKS, networks)],
            *more_walls(networks, [(1, 8), (64, 16), (1, 32), (16, 8), (1, 2), (64, 4), (16, 32), (16, 2)]),
        ]),
        Stage("precisions", "B", 50, lambda: [
            unit for precision, network in in_turn(PRECISIONS, only(PRECISION_NETWORKS, networks))
            for unit in walls([network], (16,), (4,), most=2, precision=precision)],
              lambda: tools.option("profile", "--precision")),
        Stage("traces", "B", 80, lambda: [step("trace", [network, "--count", 16, "--most", 2]) for network in networks]),
        Stage("kernels of networks beside themselves and in pairs", "B", 80,
              lambda: [step("beside", [network, "--minibatch", minibatch]) for minibatch in (1, 16) for network in networks],
              lambda: tools.option("profile", "--beside")),
        Stage("ModelBatch's experiments", "B", 120, lambda: modelbatch(networks)),
        Stage("tracer overhead", "B", 40, lambda: [
            unit for network in only(OVERHEAD_NETWORKS, networks)
            for unit in [step("overhead", [network]),
                         *(peers("pytorch", ("eager",), [network], (1,), (4,), ["--profiler"])
                           if network in PEER_NETWORKS and needs_peer(tools, "pytorch", "torch") is None else [])]]),
        Stage("memory checks", "B", 20, lambda: [step("sanitizer", [networks[0], "--check", check])
                                                for check in ("memcheck", "racecheck")],
              lambda: tools.program("compute-sanitizer")),
        Stage("parts of the multiprocessors, buffers and a crash", "B", 30, lambda: [
            *[step("multiprocessors", [network, "--count", 16]) for network in only(LAUNCH_NETWORKS, networks)[:1]],
            *[step("buffers", [network, "--minibatch", 16]) for network in only(IMAGE_NETWORKS, networks)],
            step("crash", [*only([HEAVY_NETWORK], networks), "--minibatch", 16])]),
    ]


def onnx_cases(tools, folders):
    """In a few processes, so that one that takes too long does not take all results with it."""
    verify = [tools.cohort, "verify", "--device", folders.device, "--json", "--quiet", folders.onnx, "--filter"]
    return [Unit(f"ONNX cases {letters}", [*verify, f"^test_[{letters}]"]) for letters in ("a-b", "c-l", "m-r", "s-z")]


def part_c(tools, folders, networks):
    torch = needs_peer(tools, "pytorch", "torch")
    return [
        Stage("PyTorch", "C", 150, lambda: peers("pytorch", ("eager", "vmap", "graphs", "streams"), only(PEER_NETWORKS, networks),
                                                 (1, 16), (16, 4, 1)), lambda: torch),
        Stage("torch.compile", "C", 100, lambda: peers("pytorch", ("compile", "compile_vmap"), only(COMPILED_NETWORKS, networks),
                                                       (1,), (16,)), lambda: torch),
        Stage("JAX", "C", 50, lambda: peers("jax_vmap", ("vmap", "one_by_one"), only(COMPILED_NETWORKS, networks), (1,), (16,)),
              lambda: needs_peer(tools, "jax_vmap", "jax")),
        Stage("ONNX cases", "C", 100, lambda: onnx_cases(tools, folders),
              lambda: None if folders.onnx else "no ONNX test data here; --onnx names a folder"),
    ]


def part_d(tools, networks):
    """Training steps: ModelBatch's figure 4a, one after another, side by side and as one batch; and peers. Whether they are right is
    tested in part A."""
    trained, train = only(TRAINED_NETWORKS, networks), ["--train", OPTIMIZER]
    return [
        Stage("training steps", "D", 300, lambda: walls(trained, (16, 1), (16, 4, 1), most=4, train=OPTIMIZER),
              lambda: tools.option("profile", "--train")),
        Stage("PyTorch's training steps", "D", 120, lambda: peers("pytorch", ("eager", "vmap"), trained, (1, 16), (16, 4, 1), train),
              lambda: needs_peer(tools, "pytorch", "torch")),
        Stage("JAX's training steps", "D", 100, lambda: peers("jax_vmap", ("vmap",), only(COMPILED_NETWORKS, networks), (16,), (16, 4), train),
              lambda: needs_peer(tools, "jax_vmap", "jax")),
    ]


# Stages of which a tenth is measured again, what decides most first. Calibrations repeat every figure themselves; what says
# right or wrong, and traces to look at, give no figure to compare.
REPEATED = ["wall times", "op table", "PyTorch", "more wall times", "precisions", "ModelBatch's experiments",
            "kernels of networks beside themselves and in pairs", "tracer overhead", "JAX", "counters", "torch.compile"]


def again(unit):
    """A unit under another name, so that it is measured once more."""
    command = [*unit.command, "--again"] if "gpukit.step" in unit.command else unit.command
    return dataclasses.replace(unit, name=unit.name + " (again)", command=command)


def a_tenth_again(stages):
    """A tenth of the units of each stage that can be run here, one of each stage in turn."""
    found = {stage.name: [again(unit) for unit in stage.units()[::10]] for stage in stages if stage.missing() is None}
    rounds = itertools.zip_longest(*[found[name] for name in REPEATED if name in found])
    return [unit for turn in rounds for unit in turn if unit is not None]


def all_stages(tools, folders, networks):
    stages = [*part_a(tools, folders, networks), *part_b(tools, networks), *part_c(tools, folders, networks)]
    return [*stages, Stage("noise floor", "C", 60, lambda: a_tenth_again(stages)), *part_d(tools, networks)]
