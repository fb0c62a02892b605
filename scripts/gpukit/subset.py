"""A part of the results that is small enough to keep for good: every figure, the calibration, and as many traces as fit."""

import gzip
import pathlib
import shutil

from . import places
from .results import Results, parts_in

LEFT_OUT = "LEFT-OUT"


def packed(content):
    """The same content gives the same bytes."""
    return gzip.compress(content, 9, mtime=0)


def cases_by_profile(folder):
    """How many measured cases are predicted from each profile."""
    cases = {}
    for file in parts_in(folder):
        for line in Results(file).lines:
            name = line["result"].get("profile") if isinstance(line.get("result"), dict) else None
            cases[name] = cases.get(name, 0) + 1
    return cases


def traces_by_worth(folder):
    """Traces and device properties: what nothing can be predicted without, profiles by the cases that they serve for their
    size, then the rest, the small ones first."""
    folder, cases = pathlib.Path(folder), cases_by_profile(folder)

    def worth(file):
        size = file.stat().st_size
        if file.name == places.CALIBRATION or file.parent.name == "device":
            return 0, 0, str(file)
        if file.name in cases:
            return 1, size / cases[file.name], str(file)
        return 2, size, str(file)

    return sorted((file for file in (folder / "traces").rglob("*") if file.is_file() and file.suffix != ".of"), key=worth)


def keep_subset(folder, into, most):
    """Writes at most `most` bytes of the results in `folder` into another folder, which must be new: all lines, packed, and
    the calibration; then what of the traces fits. What does not is named in LEFT-OUT. Gives those names; None, and no
    folder, where lines and calibration alone are more than that."""
    folder, into = pathlib.Path(folder), pathlib.Path(into)
    lines = {file.name.removesuffix(".gz") + ".gz": packed(file.read_bytes()) if file.suffix != ".gz" else file.read_bytes()
             for file in parts_in(folder)}
    traces = traces_by_worth(folder)
    left_out, kept = [], []
    # As if LEFT-OUT named every trace.
    room = most - sum(map(len, lines.values())) - sum(len(str(file.relative_to(folder))) + 1 for file in traces)
    for file in traces:
        fits = file.stat().st_size <= room
        (kept if fits else left_out).append(file)
        room -= file.stat().st_size if fits else 0
    if room < 0 or any(file.name == places.CALIBRATION for file in left_out):
        return None
    into.mkdir(parents=True)
    for name, content in lines.items():
        (into / name).write_bytes(content)
    for file in kept:
        (into / file.relative_to(folder)).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, into / file.relative_to(folder))
    names = [str(file.relative_to(folder)) for file in left_out]
    if names:
        (into / LEFT_OUT).write_text("\n".join(names) + "\n")
    return names
