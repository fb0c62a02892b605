"""Command line of scripts/gpu-score."""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile

from . import naive, places
from .results import Results

HELD_OUT = ("squeezenet1_1", "resnet18")
CLOSE = 0.05  # a choice is good if it is at most this much slower than the fastest plan that was run


def measured_cases(folder):
    """Every result of several members: network, members, profile, and its plans in the order of the planner's ranking."""
    cases = {}
    for file in sorted(folder.glob("part-*.jsonl")):
        for line in Results(file).lines:
            result = line.get("result") or {}
            if line.get("status") != "ok" or "plans" not in result or result.get("members", 0) < 2:
                continue
            if not all("plan_file" in plan for plan in result["plans"]) or line["unit"].endswith(" (again)"):
                continue
            cases[line["unit"]] = result
    return cases


def fitted_figures(cohort, folder, into):
    """The device profile fitted to the recorded calibration; None where there is none, or it cannot be fitted to."""
    calibration, file = folder / "traces" / places.CALIBRATION, into / "device.profile.json"
    if not calibration.exists():
        return None
    return file if places.output_of(cohort, "calibrate", "--fit", calibration, "-o", file) is not None else None


def predicted(cohort, profile, plan, figures):
    """Speedup that the simulator gives a plan today, with figures of the GPU or the published ones; None where it cannot."""
    with tempfile.NamedTemporaryFile("w", suffix=".plan.json") as file:
        json.dump(plan, file)
        file.flush()
        text = places.output_of(cohort, "simulate", profile, "--plan", file.name, "--json",
                                *(["--device-profile", figures] if figures else []))
    return json.loads(text)["predicted_speedup"] if text else None


def undisturbed(plan, members):
    """The guess that streams do not disturb each other; None for plans that fuse ops."""
    if {group["strategy"] for group in plan["groups"]} - {"serial", "concurrent"}:
        return None
    return float(min(members, plan["streams"]))


def by_capacity(plan, members, share):
    """min(streams, capacity / work); None for plans that fuse ops, or without recorded kernels."""
    alone = undisturbed(plan, members)
    return None if alone is None or share is None else max(1.0, min(alone, 1.0 / share))


def scored(cohort, folder):
    """A row for every plan that was run. `predicted` is with the figures fitted to the calibration, where there is one."""
    with tempfile.TemporaryDirectory() as into:
        return rows_of(cohort, folder, fitted_figures(cohort, folder, pathlib.Path(into)))


def rows_of(cohort, folder, figures):
    rows, shares = [], {}
    for unit, result in measured_cases(folder).items():
        profile = folder / "traces" / result["profile"]
        if profile not in shares:
            shares[profile] = naive.share_of_device(profile) if profile.exists() else None
        for rank, plan in enumerate(result["plans"]):
            rows.append({"case": unit, "network": result["network"], "minibatch": result["minibatch"],
                         "members": result["members"], "rank": rank, "plan": plan["plan"],
                         "measured": plan["measured"]["measured_speedup"],
                         "predicted": predicted(cohort, profile, plan["plan_file"], figures),
                         "published": predicted(cohort, profile, plan["plan_file"], None) if figures else None,
                         "precision": result.get("precision", "float32"),
                         "undisturbed": undisturbed(plan["plan_file"], result["members"]),
                         "by_capacity": by_capacity(plan["plan_file"], result["members"], shares[profile])})
    return rows


def summary(rows, key="predicted"):
    """Median, 90th percentile and worst of the relative errors, as shares; None without rows."""
    errors = sorted(abs(row[key] - row["measured"]) / row["measured"] for row in rows if row[key] is not None)
    if not errors:
        return None
    return {"rows": len(errors), "median": statistics.median(errors), "p90": errors[min(len(errors) - 1, int(0.9 * len(errors)))],
            "worst": errors[-1]}


def good_choices(rows):
    """In how many cases the plan that was ranked first ran about as fast as the fastest that was run."""
    cases = {}
    for row in rows:
        cases.setdefault(row["case"], []).append(row)
    good = sum(max(row["measured"] for row in case) <= (1 + CLOSE) * case[0]["measured"] for case in cases.values())
    return {"good": good, "of": len(cases)}


def noise(folder):
    """How far speedups of plans that were measured twice are apart, as a share; None where none were."""
    first, again = {}, {}
    for file in sorted(folder.glob("part-*.jsonl")):
        for line in Results(file).lines:
            result = line.get("result") or {}
            if line.get("status") != "ok" or not all("measured" in plan for plan in result.get("plans", [{}])):
                continue
            name = line["unit"]
            kept = again if name.endswith(" (again)") else first
            kept[name.removesuffix(" (again)")] = [plan["measured"]["measured_speedup"] for plan in result["plans"]]
    apart = sorted(abs(a - b) / a for name, values in again.items() for a, b in zip(first.get(name, []), values) if a > 0)
    if not apart:
        return None
    return {"rows": len(apart), "median": statistics.median(apart), "p90": apart[min(len(apart) - 1, int(0.9 * len(apart)))],
            "worst": apart[-1]}


def report_of(rows, folder):
    held = [row for row in rows if row["network"] in HELD_OUT]
    tuned = [row for row in rows if row["network"] not in HELD_OUT]
    return {"tuned": summary(tuned), "held_out": summary(held), "published_figures": summary(rows, "published"), "choices": good_choices(rows),
            "undisturbed_streams": summary(rows, "undisturbed"), "capacity_over_work": summary(rows, "by_capacity"),
            "predicted_where_kernels_are_known": summary([row for row in rows if row["by_capacity"] is not None]),
            "noise": noise(folder),
            "predicted_where_streams_are_alone": summary([row for row in rows if row["undisturbed"] is not None]),
            "not_predicted": sum(row["predicted"] is None for row in rows)}


def line_of(name, found):
    if found is None:
        return f"{name}: no rows"
    return f"{name}: median {found['median']:.1%}, 90th percentile {found['p90']:.1%}, worst {found['worst']:.1%} ({found['rows']} rows)"


def main(text, arguments=None):
    parser = argparse.ArgumentParser(prog="gpu-score", description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--cohort", type=pathlib.Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    cohort = places.cohort_program(options.cohort)
    if cohort is None:
        print("gpu-score: no cohort program here; build it (scripts/build)", file=sys.stderr)
        return 4
    rows = scored(cohort, options.results)
    if not rows:
        print(f"gpu-score: no wall times in {options.results}", file=sys.stderr)
        return 3
    report = report_of(rows, options.results)
    if options.json:
        print(json.dumps({"rows": rows, **report}, indent=2))
        return 0
    for row in rows:
        guess = f"{row['predicted']:.2f}x" if row["predicted"] is not None else "not predicted"
        print(f"{row['network']:14} b{row['minibatch']:<4} N {row['members']:<3} {guess:>8} predicted {row['measured']:6.2f}x measured  "
              f"{row['plan']}")
    print(line_of("tuned networks", report["tuned"]))
    print(line_of("held out", report["held_out"]))
    if report["published_figures"]:
        print(line_of("all of them, with published figures instead of this calibration's", report["published_figures"]))
    print(line_of("streams alone", report["predicted_where_streams_are_alone"]))
    print(line_of("streams alone, guessed undisturbed", report["undisturbed_streams"]))
    print(line_of("streams with known kernels", report["predicted_where_kernels_are_known"]))
    print(line_of("streams with known kernels, guessed min(N, capacity / work)", report["capacity_over_work"]))
    print(line_of("the same plan measured twice", report["noise"]))
    print(f"the planner's choice within {CLOSE:.0%} of the best: {report['choices']['good']} of {report['choices']['of']}")
    return 0
