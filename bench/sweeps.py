"""What measurements of sweeps share: cohort train, its forecast, and lines in a figure. Needs nothing but Python."""

import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Failed(Exception):
    """Cohort ended with an error."""


def cohort(program, *arguments):
    """Standard output, of --json what it says."""
    result = subprocess.run([str(program), *map(str, arguments)], capture_output=True, text=True)
    if result.returncode != 0:
        raise Failed(f"cohort {' '.join(map(str, arguments))}: {result.stderr.strip()}")
    return json.loads(result.stdout) if "--json" in arguments else result.stdout


def train(program, sweep, folder, profiles=()):
    """The results of a sweep that trains from the start. Without profiles it makes them, in folder / "profiles"."""
    given = [word for profile in profiles for word in ("--profile", profile)] or ["--make-profiles"]
    return cohort(program, "train", sweep, "-f", "-o", folder, *given, "--json")


PARTS = "steps", "input", "evaluation", "files", "opening"


def forecast(program, sweep, profiles):
    """Seconds that each part of a sweep is predicted to take."""
    given = [word for profile in profiles for word in ("--profile", profile)]
    predicted = cohort(program, "train", sweep, "--dry-run", *given, "--json")
    return {part: predicted["parts"]["together"][f"{part}_ns"] / 1e9 for part in PARTS}


def spent(results):
    """Seconds that each part of a sweep took; input is part of the steps."""
    run = results["run"]
    took = {"steps": "steps_ns", "evaluation": "evaluation_ns", "opening": "loading_ns"}
    return {part: run[key] / 1e9 for part, key in took.items()} | {"files": (run["checkpoints_ns"] + run["results_ns"]) / 1e9}


def guarded(main):
    """Runs it; an error of Cohort's is told, and ends with code 1."""
    try:
        return main()
    except Failed as error:
        print(error, file=sys.stderr)
        return 1


# ---------------------------------------------------------------------------------------------------------------- Figures

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#882255"]
WIDTH, HEIGHT, LEFT, TOP, GAP = 340, 240, 60, 46, 90


def text(x, y, words, anchor="middle", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>{words}</text>'


def ticks_to(largest):
    """Round numbers from 0 to at least `largest`, four to eight of them."""
    step = 10 ** math.floor(math.log10(largest / 4))
    step *= next(factor for factor in (1, 2, 5, 10) if largest / (step * factor) <= 7)
    return [step * i for i in range(math.ceil(largest / step) + 1)]


def panel(left, title, unit, places, lines):
    """A chart of lines: name to (values, dashed); places, on a logarithmic axis, are the numbers below."""
    ticks = ticks_to(max(max(values) for values, _ in lines.values()))

    def x(place):
        low, high = math.log(places[0]), math.log(max(places[-1], places[0] * 2))
        return left + WIDTH * (math.log(place) - low) / (high - low)

    def y(value):
        return TOP + HEIGHT * (1 - value / ticks[-1])

    out = [text(left, TOP - 24, title, "start", 'font-weight="600"'), text(left, TOP - 8, unit, "start", 'fill="#57606a"')]
    for tick in ticks:
        out += [f'<line x1="{left}" y1="{y(tick):.1f}" x2="{left + WIDTH}" y2="{y(tick):.1f}" stroke="#e4e8ec"/>',
                text(left - 8, y(tick) + 4, f"{tick:g}", "end", 'fill="#57606a"')]
    out += [text(x(place), TOP + HEIGHT + 18, place, more='fill="#57606a"') for place in places]
    out.append(text(left + WIDTH / 2, TOP + HEIGHT + 38, "models that train together", more='fill="#57606a"'))
    colours = {}
    for name, (values, dashed) in lines.items():
        colour = colours.setdefault(name.split(",")[0], COLOURS[len(colours) % len(COLOURS)])
        points = " ".join(f"{x(place):.1f},{y(value):.1f}" for place, value in zip(places, values))
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        if not dashed:
            out += [f'<circle cx="{x(place):.1f}" cy="{y(value):.1f}" r="3.5" fill="{colour}"/>' for place, value in zip(places, values)]
    for i, (name, colour) in enumerate(colours.items()):
        row = TOP + HEIGHT + 62 + 18 * i
        out += [f'<line x1="{left}" y1="{row - 4}" x2="{left + 22}" y2="{row - 4}" stroke="{colour}" stroke-width="2"/>',
                text(left + 28, row, name, "start")]
    return out


def figure(panels):
    """An SVG of charts side by side: (title, unit, places, lines) each. Dashed lines are predictions."""
    width = LEFT + len(panels) * (WIDTH + GAP) - GAP + 30
    height = TOP + HEIGHT + 76 + 18 * max(len({name.split(",")[0] for name in lines}) for *_, lines in panels)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
           'font-family="sans-serif" font-size="13" fill="#1b1f24">', f'<rect width="{width}" height="{height}" fill="#ffffff"/>']
    for i, (title, unit, places, lines) in enumerate(panels):
        out += panel(LEFT + i * (WIDTH + GAP), title, unit, places, lines)
    out += [text(width - 24, height - 12, "lines: measured; dashed: predicted", "end", 'fill="#57606a"'), "</svg>"]
    return "\n".join(out) + "\n"
