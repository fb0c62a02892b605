"""Folders of ONNX test cases that a script has made, and `cohort verify` on them: its options, its run."""

import contextlib
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def add_options(parser):
    parser.add_argument("--cohort", default=str(ROOT / "build/release/bin/cohort"))
    parser.add_argument("--device", help="device to run on; the CPU unless given")
    parser.add_argument("--filter", help="only cases whose name matches this regular expression")
    parser.add_argument("--keep", type=pathlib.Path, help="keep the folders here")


@contextlib.contextmanager
def folder_of(options):
    """Where the cases go: for good with --keep, else until the end."""
    with tempfile.TemporaryDirectory() as temporary:
        yield options.keep or pathlib.Path(temporary)


def verify(options, folder):
    """Ends the script as `cohort verify` ends."""
    words = [options.cohort, "verify", str(folder)]
    for name in ("device", "filter"):
        if getattr(options, name):
            words += [f"--{name}", getattr(options, name)]
    sys.exit(subprocess.run(words).returncode)
