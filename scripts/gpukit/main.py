"""Command line of scripts/gpu-check."""

import argparse
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import re
from typing import Optional

from . import places
from .results import Results, content_hash, pack, parts_in
from .runner import Interrupted, Runner, choose
from .stages import NETWORKS, PART_SECONDS, Tools, all_stages
from .subset import LEFT_OUT, keep_subset


@dataclasses.dataclass
class Folders:
    results: pathlib.Path
    device: str
    onnx: Optional[pathlib.Path] = None  # folders of cases for `cohort verify`

    @property
    def traces(self):
        return self.results / "traces"

    @property
    def work(self):
        return self.results / "work"


def parsed(text, arguments):
    parser = argparse.ArgumentParser(prog="gpu-check", description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["A", "B", "C", "D", "all"], default="all")
    parser.add_argument("--budget", type=float, metavar="SECONDS", help="all the time there is; the least valuable is left out")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("gpu-results"), metavar="FOLDER")
    parser.add_argument("--pack", type=pathlib.Path, metavar="FILE",
                        help="also keep all results in this .tar.gz, renewed every half minute and after every stage; what is "
                        "more than 15 MB goes into FILE-2.tar.gz and so on, four in all")
    parser.add_argument("--subset", type=pathlib.Path, metavar="FOLDER",
                        help="measure nothing: of the results there are, write all figures, the calibration and what of the traces "
                        "fits into a new FOLDER of at most --subset-mb")
    parser.add_argument("--subset-mb", type=float, default=8.5, metavar="MB",
                        help="8.5 unless given: beside what is in traces/ that is less than 10 MB")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--cohort", type=pathlib.Path, help="the program; the bundle's, the gpu build's or the release build's unless given")
    parser.add_argument("--networks", default=",".join(NETWORKS), help="only these, separated by commas")
    parser.add_argument("--onnx", type=pathlib.Path, metavar="FOLDER",
                        help="ONNX test data to verify; that of Python's onnx package or of Debian's libonnx-testdata unless given")
    parser.add_argument("--keep-going", action="store_true",
                        help="go on after a wrong result; calibration and peers do not depend on it")
    parser.add_argument("--only", type=re.compile, metavar="REGEX", help="only measurements whose name this is found in")
    parser.add_argument("--list", action="store_true", help="print the stages and end")
    parser.add_argument("--scale", type=float, default=1.0, help="shorten all times by this factor, for rehearsals")
    return parser.parse_args(arguments)


def device_named(cohort, device, environment):
    """The device as cohort lists it, and why it cannot be used (or None)."""
    listed = places.output_of(cohort, "devices", "--json", environment=environment)
    if listed is None:
        return None, f"{cohort} does not start here"
    found = next((entry for entry in json.loads(listed) if entry["id"] == device), None)
    if found is None:
        return None, f"cohort knows no device {device}"
    return found, None if found["available"] else found["reason"]


def environment_for(folders, cohort):
    environment = dict(os.environ)
    environment.update({"GPUKIT_COHORT": str(cohort), "GPUKIT_DEVICE": folders.device,
                        "GPUKIT_WORK": str(folders.work.resolve()), "GPUKIT_TRACES": str(folders.traces.resolve()),
                        "PYTHONPATH": str(pathlib.Path(__file__).resolve().parent.parent)})
    environment.setdefault("COHORT_PLUGINS", str(cohort.parent.parent / "lib" / "cohort"))
    environment.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")
    libraries = [environment.get("COHORT_CUDA_LIBRARIES", ""), *places.cuda_library_folders()]
    environment["COHORT_CUDA_LIBRARIES"] = ":".join(folder for folder in libraries if folder)
    return environment


def identity_of(cohort, device):
    """Results are for this program with these modules on this device, and on no other."""
    return content_hash(cohort.resolve(), *places.plugin_files(cohort), device.get("name", ""), json.dumps(device.get("settings", {})))


def only_some(stages, pattern):
    """Stages with those of their units whose names a pattern is found in, and none without any."""
    if pattern is None:
        return stages
    chosen = [(stage, [unit for unit in stage.units() if pattern.search(unit.name)]) for stage in stages]
    return [dataclasses.replace(stage, units=lambda units=units: units) for stage, units in chosen if units]


def run_parts(runner, chosen, dropped, wanted, folders, budget):
    """A part ends after its own time, and all of them after `budget` seconds; None: no more than their times."""
    begin = runner.now()
    for part in wanted:
        print(f"part {part}", flush=True)
        Results(folders.results / f"part-{part}.jsonl").add(
            {"stage": "begin", "status": "begin", "time": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
             "host": platform.machine()})
        left = PART_SECONDS if budget is None else min(PART_SECONDS, budget - (runner.now() - begin) / runner.scale)
        if not runner.run(part, [s for s in chosen if s.part == part], [s for s in dropped if s.part == part], max(0.0, left)):
            return 1
    return 1 if runner.failed else 0


def write_subset(folder, into, most_mb):
    """The exit code."""
    if not parts_in(folder):
        print(f"gpu-check: no results in {folder}")
        return 3
    if into.exists():
        print(f"gpu-check: --subset {into} is there already; name a new folder")
        return 2
    left_out = keep_subset(folder, into, int(most_mb * 1e6))
    if left_out is None:
        print(f"gpu-check: figures and calibration alone are more than {most_mb:g} MB")
        return 5
    print(f"a subset is in {into}" + (f"; {len(left_out)} traces did not fit, {LEFT_OUT} names them" if left_out else ""))
    return 0


def main(text, arguments=None):
    options = parsed(text, arguments)
    if options.subset:
        return write_subset(options.results, options.subset, options.subset_mb)
    folders = Folders(options.results, options.device, options.onnx or places.onnx_cases())
    cohort = places.cohort_program(options.cohort)
    wanted = ["A", "B", "C", "D"] if options.part == "all" else [options.part]
    if cohort is None:
        print("gpu-check: no cohort program here; build it (scripts/build gpu), or run from a bundle")
        return 4
    cohort = cohort.resolve()
    networks = [network for network in NETWORKS if network in options.networks.split(",")]
    stages = only_some([stage for stage in all_stages(Tools(cohort), folders, networks) if stage.part in wanted], options.only)
    budget = options.budget if options.budget is not None else PART_SECONDS * len(wanted)
    chosen, dropped = choose(stages, budget)
    if options.list:
        for stage in stages:
            left_out = "" if stage in chosen else "  (left out of this budget)"
            print(f"{stage.part}  {stage.seconds:4.0f} s  {stage.name}: {len(stage.units())} measurements{left_out}")
        return 0
    environment = environment_for(folders, cohort)
    if options.onnx and not options.onnx.is_dir():
        print(f"gpu-check: --onnx {options.onnx}: no such folder")
        return 2
    if options.pack and not options.pack.name.endswith(".tar.gz"):
        print(f"gpu-check: --pack {options.pack}: a name that ends in .tar.gz")
        return 2
    device, reason = device_named(cohort, options.device, environment)
    if reason is not None:
        print(f"gpu-check: {options.device}: {reason}")
        return 4
    for folder in (folders.work, folders.traces):
        folder.mkdir(parents=True, exist_ok=True)
    identity = identity_of(cohort, device)
    runner = Runner(folders.results, identity, {**environment, "GPUKIT_IDENTITY": identity},
                    lambda line: print(line, flush=True), options.scale, options.keep_going)
    runner.install_handlers()
    if options.pack:
        runner.keep = lambda: pack(folders.results, options.pack)
    try:
        code = run_parts(runner, chosen, dropped, wanted, folders, options.budget)
    except Interrupted:
        print("gpu-check: interrupted; the same command goes on from here")
        return 130
    print(f"results are in {folders.results}")
    return code
