"""Command line of scripts/gpu-score."""

import argparse
import gzip
import itertools
import json
import math
import pathlib
import statistics
import sys
import tempfile

from . import findings, naive, places
from .results import Results, parts_in

HELD_OUT = ("squeezenet1_1", "resnet18")
AGAIN = " (again)"
CLOSE = 0.05  # a choice is good if it is at most this much slower than the fastest plan that was run


def lines_with_results(folder):
    """Units that gave figures; of one that was measured more than once, as after another build, each."""
    for file in parts_in(folder):
        for line in Results(file).lines:
            # Of several plans one may have failed: the others were measured all the same.
            if line.get("status") in ("ok", "failed") and isinstance(line.get("result"), dict):
                yield line


def measured_cases(folder):
    """Every result of several members: network, members, profile, and its plans in the order of the planner's ranking."""
    cases = {}
    for line in lines_with_results(folder):
        result = line["result"]
        if "plans" not in result or result.get("members", 0) < 2 or line["unit"].endswith(AGAIN):
            continue
        if all("plan_file" in plan for plan in result["plans"]):
            cases[line["unit"]] = result
    return cases


def fitted_figures(cohort, folder, into):
    """The device profile fitted to the recorded calibration; None where there is none, or it cannot be fitted to."""
    calibration, file = folder / "traces" / places.CALIBRATION, into / "device.profile.json"
    if not calibration.exists():
        return None
    return file if places.output_of(cohort, "calibrate", "--fit", calibration, "-o", file) is not None else None


def predicted(cohort, profile, plan, figures):
    """Speedup that the simulator gives a plan today, with figures of the GPU or the published ones, and whether with the
    algorithms that ran: those that the plan says, where it does and the profile knows them, and else its own choice.
    None, False where it cannot."""
    bare = {key: value for key, value in plan.items() if key not in ("resolved", "baselines")}
    for which in [plan, bare] if "resolved" in plan else [bare]:
        with tempfile.NamedTemporaryFile("w", suffix=".plan.json") as file:
            json.dump(which, file)
            file.flush()
            text = places.output_of(cohort, "simulate", profile, "--plan", file.name, "--json",
                                    *(["--device-profile", figures] if figures else []))
        if text:
            return json.loads(text)["predicted_speedup"], "resolved" in which
    return None, False


def device_name(profile):
    with gzip.open(profile, "rt") as text:
        return json.load(text).get("cohort", {}).get("device", {}).get("name", "")


def profile_from_step(cohort, result, profile, into):
    """A profile made from what one step of the network took one after another, all that a line of a log tells; None where that
    was not measured, or is more than a step of inference as the GPU does it."""
    baselines = [plan["measured"]["baseline"]["median_ns"] for plan in result["plans"] if "baseline" in plan.get("measured", {})]
    plain = not result.get("set") and result.get("input") in (None, "on the device") and result.get("layout", "usual") == "usual"
    if not baselines or result.get("train") or not plain:
        return None
    step = baselines[0] / result["members"] / 1e6
    table, made = into / "steps.csv", into / "from-steps.trace.json.gz"
    table.write_text(f"minibatch,step_ms,gpu_busy_ms\n{result['minibatch']},{step},{step}\n")
    said = places.output_of(cohort, "profile", result["network"], "--minibatch", result["minibatch"], "--times", table, "--device-profile", device_name(profile),
                            "--precision", result.get("precision", "float32"), "-f", "-o", made)
    return None if said is None else made


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
        into = pathlib.Path(into)
        return rows_of(cohort, folder, fitted_figures(cohort, folder, into), into)


def rows_of(cohort, folder, figures, into):
    rows, shares = [], {}
    for unit, result in measured_cases(folder).items():
        profile = folder / "traces" / result["profile"]
        if profile not in shares:
            shares[profile] = naive.share_of_device(profile) if profile.exists() else None
        from_step = profile_from_step(cohort, result, profile, into) if profile.exists() else None
        for rank, plan in enumerate(result["plans"]):
            speedup, as_it_ran = predicted(cohort, profile, plan["plan_file"], figures)
            rows.append({"case": unit, "network": result["network"], "set": result.get("set", []), "input": result.get("input"), "minibatch": result["minibatch"],
                         "members": result["members"], "rank": rank, "plan": plan["plan"],
                         "measured": plan["measured"]["measured_speedup"],
                         "predicted": speedup, "algorithms_that_ran": as_it_ran,
                         "published": predicted(cohort, profile, plan["plan_file"], None)[0] if figures else None,
                         "from_step_time": predicted(cohort, from_step, plan["plan_file"], figures)[0] if from_step else None,
                         "precision": result.get("precision", "float32"), "layout": result.get("layout", "usual"),
                         "train": result.get("train"),
                         "undisturbed": undisturbed(plan["plan_file"], result["members"]),
                         "by_capacity": by_capacity(plan["plan_file"], result["members"], shares[profile])})
    return rows


def spread(shares):
    """Median, 90th percentile and worst; None without any."""
    if not shares:
        return None
    shares = sorted(shares)
    return {"rows": len(shares), "median": statistics.median(shares), "p90": shares[min(len(shares) - 1, int(0.9 * len(shares)))],
            "worst": shares[-1]}


def summary(rows, key="predicted"):
    """Of the relative errors, as shares."""
    return spread([abs(row[key] - row["measured"]) / row["measured"] for row in rows if row[key] is not None])


def good_choices(rows):
    """In how many cases the plan that was ranked first ran about as fast as the fastest that was run."""
    cases = {}
    for row in rows:
        cases.setdefault(row["case"], []).append(row)
    good = sum(max(row["measured"] for row in case) <= (1 + CLOSE) * case[0]["measured"] for case in cases.values())
    return {"good": good, "of": len(cases)}


def kendalls_tau(pairs):
    """Kendall's tau-b of two rankings, 1 where they agree and -1 where one is the other reversed; None where one of them does
    not rank at all. Source: Kendall, "The treatment of ties in ranking problems", Biometrika 33 (1945)."""
    agreed = first = second = 0
    for (a, b), (c, d) in itertools.combinations(pairs, 2):
        agreed += ((a > c) - (a < c)) * ((b > d) - (b < d))
        first += a != c
        second += b != d
    return agreed / math.sqrt(first * second) if first and second else None


def ranking(rows, key="predicted"):
    """Kendall's tau between predicted and measured speedups of the plans of a case, averaged over the cases that have
    several; None without one."""
    cases = {}
    for row in rows:
        if row[key] is not None:
            cases.setdefault(row["case"], []).append((row[key], row["measured"]))
    found = [tau for tau in map(kendalls_tau, cases.values()) if tau is not None]
    return {"cases": len(found), "mean_tau": statistics.fmean(found)} if found else None


def figures_of(result):
    """What can be held against a second measurement, by kind and name: speedups of plans, times of ops and of peers' steps."""
    found = {}
    for place, plan in enumerate(result.get("plans", [])):
        found["plans", place] = plan.get("measured", {}).get("measured_speedup")
    for op in result.get("ops", []):
        found["ops", op["op"], op["strategy"], op["width"], op["algorithm"]] = op["warm_ns"]
    for case in findings.peer_cases(result):
        found["peers", case["minibatch"], case["members"]] = statistics.median(case["step_ns"])
    return {name: value for name, value in found.items() if value}


def noise(folder):
    """How far what was measured twice is apart, as a share, by kind: plans' speedups, ops alone, peers. None where nothing was."""
    first, second = {}, {}
    for line in lines_with_results(folder):
        kept = second if line["unit"].endswith(AGAIN) else first
        kept[line["unit"].removesuffix(AGAIN)] = figures_of(line["result"])
    found = {}
    for unit, figures in second.items():
        for name, value in figures.items():
            before = first.get(unit, {}).get(name)
            if before:
                found.setdefault(name[0], []).append(abs(before - value) / before)
    return {kind: spread(found.get(kind, [])) for kind in ("plans", "ops", "peers")}


def report_of(rows, folder):
    held = [row for row in rows if row["network"] in HELD_OUT]
    tuned = [row for row in rows if row["network"] not in HELD_OUT]
    return {"tuned": summary(tuned), "held_out": summary(held), "published_figures": summary(rows, "published"), "choices": good_choices(rows),
            "undisturbed_streams": summary(rows, "undisturbed"), "capacity_over_work": summary(rows, "by_capacity"),
            "predicted_where_kernels_are_known": summary([row for row in rows if row["by_capacity"] is not None]),
            **{"noise" if kind == "plans" else f"noise_of_{kind}": found for kind, found in noise(folder).items()},
            "ranking": ranking(rows), "ranking_held_out": ranking(held),
            "predicted_where_streams_are_alone": summary([row for row in rows if row["undisturbed"] is not None]),
            "from_one_step_time": summary(rows, "from_step_time"),
            "predicted_where_a_step_time_tells": summary([row for row in rows if row["from_step_time"] is not None]),
            "from_one_step_time_where_streams_are_alone": summary([row for row in rows if row["undisturbed"] is not None], "from_step_time"),
            "not_predicted": sum(row["predicted"] is None for row in rows)}


def line_of(name, found):
    if found is None:
        return f"{name}: no rows"
    return f"{name}: median {found['median']:.1%}, 90th percentile {found['p90']:.1%}, worst {found['worst']:.1%} ({found['rows']} rows)"


def text_of_row(row):
    guess = f"{row['predicted']:.2f}x" if row["predicted"] is not None else "not predicted"
    special = [*row["set"], *([f"input {row['input']}"] if row["input"] not in (None, "on the device") else []),
               *([row["precision"]] if row["precision"] != "float32" else []), *([row["layout"]] if row["layout"] != "usual" else []), *([f"trained by {row['train']}"] if row.get("train") else [])]
    return (f"{row['network']:14} b{row['minibatch']:<4} N {row['members']:<3} {guess:>8} predicted {row['measured']:6.2f}x measured  "
            f"{row['plan']}" + (f" ({', '.join(special)})" if special else ""))


def print_report(report):
    print(line_of("tuned networks", report["tuned"]))
    print(line_of("held out", report["held_out"]))
    if report["published_figures"]:
        print(line_of("all of them, with published figures instead of this calibration's", report["published_figures"]))
    print(line_of("streams alone", report["predicted_where_streams_are_alone"]))
    print(line_of("streams alone, guessed undisturbed", report["undisturbed_streams"]))
    print(line_of("streams with known kernels", report["predicted_where_kernels_are_known"]))
    print(line_of("streams with known kernels, guessed min(N, capacity / work)", report["capacity_over_work"]))
    print(line_of("from the time of one step alone, without a profile", report["from_one_step_time"]))
    print(line_of("the same plans from their profiles", report["predicted_where_a_step_time_tells"]))
    print(line_of("streams alone, from the time of one step", report["from_one_step_time_where_streams_are_alone"]))
    print(line_of("the same plan measured twice", report["noise"]))
    print(line_of("the same op measured twice", report["noise_of_ops"]))
    print(line_of("the same case of a peer measured twice", report["noise_of_peers"]))
    for name, of in (("plans of a case ranked", report["ranking"]), ("held out", report["ranking_held_out"])):
        if of is not None:
            print(f"{name}: Kendall's tau {of['mean_tau']:.2f} on average over {of['cases']} cases")
    print(f"the planner's choice within {CLOSE:.0%} of the best: {report['choices']['good']} of {report['choices']['of']}")


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
    lines = [line for line in lines_with_results(options.results) if not line["unit"].endswith(AGAIN)]
    found = {"peers": findings.against_peers(lines), "tracing": findings.tracer_overheads(lines), "modelbatch": findings.modelbatch(lines)}
    if options.json:
        print(json.dumps({"rows": rows, **report, **found}, indent=2))
        return 0
    for row in rows:
        print(text_of_row(row))
    print_report(report)
    print("\n".join(findings.text_of(*found.values())))
    return 0
