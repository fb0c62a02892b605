"""The stages in order of value, and what each of them runs."""

import importlib.util
import pathlib
import sys

from . import places
from .runner import Stage, Unit

NETWORKS = ["mlp", "lenet5", "smallcnn", "lstm", "alexnet5", "squeezenet1_1", "resnet18"]
PEER_NETWORKS = ["mlp", "lenet5", "smallcnn", "alexnet5", "resnet18"]
EQUALITY_NETWORKS = ["mlp", "lenet5", "smallcnn"]
COMPILED_NETWORKS = ["mlp", "lenet5", "resnet18"]
PART_SECONDS = 570  # 9.5 minutes


class Tools:
    """What is here to measure with. Each question is asked once."""

    def __init__(self, cohort):
        self.cohort = cohort
        self.help = places.output_of(cohort, "--help") or ""

    def command(self, name):
        """Why a command of cohort cannot be used, or None."""
        return None if f"\n  {name} " in self.help else f"this build of cohort has no command '{name}'"

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


def step(name, words, seconds=60):
    """A unit that is one of gpukit.steps."""
    files = [pathlib.Path(__file__).with_name("steps.py")]
    return Unit(" ".join([name, *map(str, words)]), [sys.executable, "-m", "gpukit.steps", name, *words], seconds, files)


def walls(networks, minibatches, counts, most=5):
    """Small cases first, so that a limit on the time leaves out the least."""
    return [step("wall", [network, "--minibatch", minibatch, "--count", count, "--most", most])
            for count in counts for minibatch in minibatches for network in networks]


def peers(module, modes, networks, minibatches, counts):
    script = places.root() / "bench" / "peers" / f"{module}.py"
    return [Unit(f"{module} {mode} {network} b{minibatch} n{count}",
                 [sys.executable, script, "--mode", mode, "--network", network, "--minibatch", minibatch, "--count", count],
                 60, [script])
            for network in networks for minibatch in minibatches for count in counts for mode in modes]


def modelbatch(networks):
    """ModelBatch's figures (SysML 2018): 2, many fully connected layers at once; 3, sharers of preprocessing; 4b."""
    units = [step("wall", ["mlp", "--set", f"inputs={width}", "--set", f"hidden={width}", "--set", "layers=1", "--set",
                           f"classes={width}", "--minibatch", minibatch, "--count", 64, "--most", 2])
             for width in (1000, 4000) for minibatch in (1, 16, 128, 2048)]
    units += [step("wall", ["alexnet5", "--minibatch", 16, "--count", 16, "--input", source, "--most", 3])
              for source in ("jpeg", "device")]
    units += [step("wall", ["smallcnn", "--minibatch", 16, "--count", count, "--input", "jpeg", "--most", 1])
              for count in (1, 2, 4, 8, 16)]
    return [unit for unit in units if unit.name.split()[1] in networks]


def gpu_tests(cohort):
    """The tests that need a GPU, where they are built: all strategies and ops against plain loops."""
    program = cohort.parent / "cuda_gpu_test"
    libraries = places.root() / "lib"  # of a bundle
    words = ["env", f"LD_LIBRARY_PATH={libraries}"] if libraries.is_dir() else []
    return [Unit("tests on the GPU", [*words, program, "--gtest_brief=1"], 45, [program])] if program.exists() else []


def part_a(tools, folders, networks):
    calibrate = [tools.cohort, "calibrate", "--device", folders.device, "--seconds", 85, "--json", "-f",
                 "-o", folders.traces / "calibration.trace.json.gz"]
    return [
        Stage("provenance and equality", "A", 60, lambda: [
            step("provenance", []),
            *gpu_tests(tools.cohort),
            *[step("equality", [network, "--count", 4], 30) for network in EQUALITY_NETWORKS if network in networks],
        ], gate=True),
        Stage("calibration", "A", 100, lambda: [Unit("calibrate", calibrate, 110)], lambda: tools.command("calibrate")),
        Stage("op table", "A", 120, lambda: [step("optable", [network, "--minibatch", minibatch])
                                            for minibatch in (1, 16) for network in networks]),
        Stage("counters", "A", 80, lambda: [step("counters", [network]) for network in networks],
              lambda: tools.program("ncu")),
        Stage("wall times", "A", 180, lambda: walls(networks, (1, 16), (4, 16))),
    ]


def part_b(tools, networks):
    return [
        Stage("more wall times", "B", 200, lambda: [
            *walls(networks, (64,), (4, 16), most=3), *walls(networks, (1, 16), (2, 8, 32), most=3),
            step("mixed", [network for network in EQUALITY_NETWORKS if network in networks]),
        ]),
        Stage("traces", "B", 80, lambda: [step("trace", [network, "--count", 16, "--most", 2]) for network in networks]),
        Stage("precisions", "B", 0, list, lambda: "plans of this build have float32 alone"),
        Stage("kernels of networks beside themselves and in pairs", "B", 80, list,
              lambda: "this build measures pairs of its own kernels (calibration) and fused ops (op table) alone"),
        Stage("ModelBatch's experiments", "B", 120, lambda: modelbatch(networks)),
        Stage("tracer overhead", "B", 40, lambda: [step("overhead", [network]) for network in ("lenet5", "resnet18")
                                                  if network in networks]),
        Stage("memory checks", "B", 20, lambda: [step("sanitizer", networks[:1])], lambda: tools.program("compute-sanitizer")),
    ]


def every_tenth(units):
    """A tenth of the units under other names, so that they are measured once more."""
    return [Unit(unit.name + " (again)", unit.command, unit.seconds, unit.files) for unit in units[::10]]


def part_c(tools, networks):
    scripts = places.root() / "bench" / "peers"
    return [
        Stage("PyTorch", "C", 150, lambda: peers("pytorch", ("eager", "streams", "graphs", "vmap"), [n for n in PEER_NETWORKS if n in networks], (1, 16),
                                                 (1, 4, 16)),
              lambda: first_reason(tools.module("torch"), tools.file(scripts / "pytorch.py"))),
        Stage("torch.compile", "C", 100, lambda: peers("pytorch", ("compile", "compile_vmap"),
                                                       [n for n in COMPILED_NETWORKS if n in networks], (1,), (16,)),
              lambda: first_reason(tools.module("torch"), tools.file(scripts / "pytorch.py"))),
        Stage("JAX", "C", 50, lambda: peers("jax_vmap", ("vmap",), [n for n in COMPILED_NETWORKS if n in networks], (1,), (16,)),
              lambda: first_reason(tools.module("jax"), tools.file(scripts / "jax_vmap.py"))),
        Stage("noise floor", "C", 60, lambda: every_tenth(walls(networks, (1, 16), (4, 16)))),
    ]


def all_stages(tools, folders, networks):
    return [*part_a(tools, folders, networks), *part_b(tools, networks), *part_c(tools, networks)]
