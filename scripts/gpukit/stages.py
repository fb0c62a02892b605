"""The stages in order of value, and what each of them runs."""

import importlib.util
import os
import pathlib
import sys

from . import places
from .runner import Stage, Unit

NETWORKS = ["mlp", "lenet5", "smallcnn", "lstm", "alexnet5", "squeezenet1_1", "resnet18"]
PEER_NETWORKS = ["mlp", "lenet5", "smallcnn", "alexnet5", "resnet18"]
EQUALITY_NETWORKS = ["mlp", "lenet5", "smallcnn"]
COMPILED_NETWORKS = ["mlp", "lenet5", "resnet18"]
PRECISION_NETWORKS = ["alexnet5", "resnet18", "mlp"]
LAUNCH_NETWORKS = ["mlp", "lenet5"]  # of many short kernels
OVERHEAD_NETWORKS = ["lenet5", "resnet18"]
PRECISIONS = ["tf32", "bfloat16", "float16"]
PART_SECONDS = 570  # 9.5 minutes
STEP_FILES = ["step.py", "steps.py", "tool_steps.py"]


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


def walls(networks, minibatches, counts, most=5, precision=None):
    """Small cases first, so that a limit on the time leaves out the least."""
    extra = ["--precision", precision] if precision else []
    return [step("wall", [network, "--minibatch", minibatch, "--count", count, "--most", most, *extra])
            for count in counts for minibatch in minibatches for network in networks]


def peer_script(module):
    return places.root() / "bench" / "peers" / f"{module}.py"


def peers(module, modes, networks, minibatches, counts, extra=()):
    script = peer_script(module)
    label = "".join(" " + str(word).lstrip("-") for word in extra)
    return [Unit(f"{module} {mode} {network} b{minibatch} n{count}{label}",
                 [sys.executable, script, "--mode", mode, "--network", network, "--minibatch", minibatch, "--count", count, *extra],
                 60, [script, peer_script("measured")])
            for count in counts for minibatch in minibatches for network in networks for mode in modes]


def needs_peer(tools, module, package):
    return first_reason(tools.module(package), tools.file(peer_script(module)))


def modelbatch(networks):
    """ModelBatch's figures (SysML 2018): 2, many fully connected layers at once; 3, sharers of preprocessing; 4b."""
    units = [step("wall", ["alexnet5", "--minibatch", 16, "--count", 16, "--input", source, "--most", 3])
             for source in ("jpeg", "device")]
    units += [step("wall", ["mlp", "--set", "layers=0", "--set", f"inputs={width}", "--set", f"classes={width}",
                            "--minibatch", minibatch, "--count", 64, "--most", 2])
              for width in (1000, 4000) for minibatch in (1, 16, 64, 128, 512, 2048)]
    units += [step("wall", ["smallcnn", "--minibatch", 16, "--count", count, "--input", "jpeg", "--most", 1])
              for count in (1, 2, 4, 8, 16)]
    return [unit for unit in units if unit.name.split()[1] in networks]


# Tests of tests/cuda/gpu_test.cpp. What a plan is made of must be right, or nothing else is worth measuring; of the many ways
# to run an op one that fails is left out of profiles. The same tests on the fake are for machines without a GPU.
STRATEGY_TESTS = "*/gpu:-*.EveryAlternative*:*.EveryWay*"
WAY_TESTS = "*.EveryAlternative*/gpu:*.EveryWay*/gpu"


def gpu_tests(cohort, name, chosen, seconds):
    """Tests that need a GPU, where they are built: against plain loops on the host."""
    program = cohort.parent / "cuda_gpu_test"
    if not program.exists():
        return []
    libraries = places.root() / "lib"  # of a bundle
    search = [str(libraries), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]  # the driver may be found by it
    words = ["env", "LD_LIBRARY_PATH=" + ":".join(search)] if libraries.is_dir() else []
    return [Unit(name, [*words, program, "--gtest_brief=1", f"--gtest_filter={chosen}"], seconds, [program])]


def part_a(tools, folders, networks):
    calibrate = [tools.cohort, "calibrate", "--device", folders.device, "--seconds", 85, "--json", "-f",
                 "-o", folders.traces / places.CALIBRATION]
    return [
        Stage("provenance and equality", "A", 60, lambda: [
            step("provenance", []),
            *gpu_tests(tools.cohort, "tests on the GPU", STRATEGY_TESTS, 45),
            *[step("equality", [network, "--count", 4], 30) for network in only(EQUALITY_NETWORKS, networks)],
        ], gate=True),
        Stage("calibration", "A", 100, lambda: [Unit("calibrate", calibrate, 110)], lambda: tools.command("calibrate")),
        Stage("op table", "A", 120, lambda: [step("optable", [network, "--minibatch", minibatch])
                                            for minibatch in (1, 16) for network in networks]),
        Stage("counters", "A", 80, lambda: [step("counters", [network]) for network in networks],
              lambda: tools.program("ncu")),
        Stage("wall times", "A", 180, lambda: walls(networks, (1, 16), (4, 16))),
        Stage("every way to run an op", "A", 30, lambda: gpu_tests(tools.cohort, "tests of every way to run an op", WAY_TESTS, 60),
              lambda: tools.file(tools.cohort.parent / "cuda_gpu_test")),
    ]


def part_b(tools, networks):
    return [
        Stage("more wall times", "B", 150, lambda: [
            *walls(networks, (1, 16), (8,), most=3),
            step("mixed", only(EQUALITY_NETWORKS, networks)),
            *[step("launchers", [network, "--count", 16]) for network in only(LAUNCH_NETWORKS, networks)],
            *walls(networks, (64,), (4, 16), most=3), *walls(networks, (1, 16), (2, 32, 1), most=3),
        ]),
        Stage("precisions", "B", 50, lambda: [
            unit for precision in PRECISIONS
            for unit in walls(only(PRECISION_NETWORKS, networks), (16,), (4,), most=2, precision=precision)],
              lambda: tools.option("profile", "--precision")),
        Stage("traces", "B", 80, lambda: [step("trace", [network, "--count", 16, "--most", 2]) for network in networks]),
        Stage("kernels of networks beside themselves and in pairs", "B", 80,
              lambda: [step("beside", [network, "--minibatch", minibatch]) for minibatch in (1, 16) for network in networks],
              lambda: tools.option("profile", "--beside")),
        Stage("ModelBatch's experiments", "B", 120, lambda: modelbatch(networks)),
        Stage("tracer overhead", "B", 40, lambda: [
            *[step("overhead", [network]) for network in only(OVERHEAD_NETWORKS, networks)],
            *(peers("pytorch", ("eager",), only(OVERHEAD_NETWORKS, networks), (1,), (4,), ["--profiler"])
              if needs_peer(tools, "pytorch", "torch") is None else [])]),
        Stage("memory checks", "B", 20, lambda: [step("sanitizer", networks[:1])], lambda: tools.program("compute-sanitizer")),
    ]


def every_tenth(units):
    """A tenth of the units under other names, so that they are measured once more."""
    return [Unit(unit.name + " (again)", unit.command, unit.seconds, unit.files) for unit in units[::10]]


def part_c(tools, networks):
    torch = needs_peer(tools, "pytorch", "torch")
    eager = peers("pytorch", ("eager", "streams", "graphs", "vmap"), only(PEER_NETWORKS, networks), (1, 16), (16, 4, 1))
    # Wall times of parts A and B, and the peers that are here.
    measured = [*walls(networks, (1, 16), (4, 16)), *walls(networks, (1, 16), (8,), most=3), *(eager if torch is None else [])]
    return [
        Stage("PyTorch", "C", 150, lambda: eager, lambda: torch),
        Stage("torch.compile", "C", 100, lambda: peers("pytorch", ("compile", "compile_vmap"), only(COMPILED_NETWORKS, networks),
                                                       (1,), (16,)), lambda: torch),
        Stage("JAX", "C", 50, lambda: peers("jax_vmap", ("vmap", "one_by_one"), only(COMPILED_NETWORKS, networks), (1,), (16,)),
              lambda: needs_peer(tools, "jax_vmap", "jax")),
        Stage("noise floor", "C", 60, lambda: every_tenth(measured)),
    ]


def all_stages(tools, folders, networks):
    return [*part_a(tools, folders, networks), *part_b(tools, networks), *part_c(tools, networks)]
