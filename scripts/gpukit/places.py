"""Where things are: our program, CUDA's libraries, NVIDIA's tools."""

import glob
import importlib.util
import os
import pathlib
import shutil
import site
import subprocess
import sysconfig

CALIBRATION = "calibration.trace.json.gz"  # among the recorded traces


def root():
    """The checkout, or the bundle, that these scripts are in."""
    return pathlib.Path(__file__).resolve().parent.parent.parent


def commit():
    """What all of this was built from: the file in a bundle, or what git says of a checkout. None: neither tells."""
    told = root() / "COMMIT"
    if told.exists():
        return told.read_text().strip()
    text = output_of("git", "-C", root(), "describe", "--always", "--dirty", "--abbrev=12")
    return text.strip() if text else None


def cohort_program(given=None):
    """The program: the one given, the bundle's, the gpu build's, or the release build's."""
    if given:
        return pathlib.Path(given)
    for place in ("bin/cohort", "build/gpu/bin/cohort", "build/release/bin/cohort"):
        if (root() / place).exists():
            return root() / place
    return None


def plugin_files(program):
    """Our modules, whose content results depend on as much as on the program's."""
    return sorted((program.resolve().parent.parent / "lib" / "cohort").glob("*.so"))


def cuda_library_folders():
    """Folders with CUDA's libraries: of Python's nvidia packages in this interpreter, then of toolkits."""
    folders = []
    packages = {sysconfig.get_paths()["purelib"], site.getusersitepackages(), *site.getsitepackages()}
    for package in sorted(packages):
        folders += sorted(glob.glob(os.path.join(package, "nvidia", "*", "lib")))
    for toolkit in [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), *sorted(glob.glob("/usr/local/cuda*"))]:
        if toolkit:
            folders += [os.path.join(toolkit, part) for part in ("lib64", "lib", "extras/CUPTI/lib64")]
    return [folder for folder in dict.fromkeys(folders) if os.path.isdir(folder)]


def onnx_cases():
    """The ONNX project's test data: of Python's onnx package, or of Debian's libonnx-testdata. None: not here."""
    package = importlib.util.find_spec("onnx")
    folders = [pathlib.Path(place) for place in (package.submodule_search_locations or [] if package else [])]
    folders.append(pathlib.Path("/usr/lib/python3/dist-packages/onnx"))
    found = [folder / "backend" / "test" / "data" / "node" for folder in folders]
    return next((folder for folder in found if folder.is_dir()), None)


def tool(name):
    """One of NVIDIA's tools (ncu, compute-sanitizer), on the PATH or in a toolkit."""
    found = shutil.which(name)
    if found:
        return found
    patterns = [f"/usr/local/cuda*/bin/{name}", f"/opt/nvidia/nsight-compute/*/{name}",
                f"/usr/local/cuda*/compute-sanitizer/{name}"]
    for pattern in patterns:
        matches = sorted(glob.glob(pattern))
        if matches:
            return matches[-1]
    return None


def output_of(*command, environment=None):
    """What a command prints, or None where it is missing or fails."""
    try:
        ran = subprocess.run([str(word) for word in command], capture_output=True, text=True, errors="replace", timeout=60,
                             check=False, env=environment)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ran.stdout if ran.returncode == 0 else None
