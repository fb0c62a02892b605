"""What users ask first: is it faster than the others, and how far are the targets. From results alone."""

import math
import statistics

TARGETS = {"peers": 1.3, "overhead": 0.02, "shared images": 13.5}  # of design.md, the last for inference


def plans_of(line):
    """Of a unit with plans: those that ran in float32 on made-up input, networks as they are built in."""
    result = line["result"]
    as_peers_have_it = result.get("input") == "on the device" and result.get("precision") == "float32" and not result.get("set")
    return result.get("plans", []) if as_peers_have_it else []


def case_of(result):
    return (result["network"], result["minibatch"], result["members"], result.get("train") or "")


def ours(lines):
    """The fastest plan by (network, minibatch, members, optimizer of training steps): nanoseconds a step, and its name."""
    best = {}
    for line in lines:
        for plan in plans_of(line):
            case = case_of(line["result"])
            best[case] = min(best.get(case, (math.inf, "")), (plan["measured"]["plan"]["median_ns"], plan["plan"]))
    return best


def peer_cases(result):
    """Of a peer's unit: one that measured a single case gives it bare. Cases of other kinds of units are none."""
    cases = [*(result.get("cases") or []), result]
    return [case for case in cases if isinstance(case, dict) and "peer" in case and "step_ns" in case]


def theirs(lines):
    """The same of peers, without TF32 as ours."""
    best = {}
    for line in lines:
        for case in peer_cases(line["result"]):
            key = case_of(case)
            if not case["tf32"]:
                best[key] = min(best.get(key, (math.inf, "")), (statistics.median(case["step_ns"]), f"{case['peer']} {case['mode']}"))
    return best


def against_peers(lines):
    """A row for each case that both measured, and the geometric mean of how much faster we are; None without a row."""
    we, they = ours(lines), theirs(lines)
    rows = [{"network": case[0], "minibatch": case[1], "members": case[2], "train": case[3], "plan": we[case][1], "plan_ns": we[case][0],
             "peer": they[case][1], "peer_ns": they[case][0], "faster": they[case][0] / we[case][0]}
            for case in sorted(we.keys() & they.keys())]
    if not rows:
        return None
    return {"rows": rows, "geometric_mean": math.exp(statistics.fmean(math.log(row["faster"]) for row in rows)),
            "target": TARGETS["peers"]}


def change(before, after):
    return after / before - 1 if before and after else None


def tracer_overheads(lines):
    """How much longer a step takes, as a share: with our tracer in the process and injected, and with PyTorch's profiler."""
    found = []
    for line in lines:
        result = line["result"]
        if "in_process" in result:
            run, injected = result["in_process"], result["injected"]
            traced = run.get("traced_samples_ns")
            found.append({"network": result["network"], "members": result["members"],
                          "in_process": change(run["plan"]["median_ns"], statistics.median(traced) if traced else None),
                          "injected": change(*(injected.get(which, {}).get("plan", {}).get("median_ns")
                                               for which in ("run_untraced", "run_traced")))})
        for case in peer_cases(result):
            if "profiled_step_ns" in case:
                found.append({"network": case["network"], "members": case["members"], "peer": case["peer"],
                              "profiled": change(*(statistics.median(case[key]) for key in ("step_ns", "profiled_step_ns")))})
    return found


def modelbatch(lines):
    """ModelBatch's figures. 2: layers at once, by what runs them; 3: the input's share of a step; 4a: training steps together,
    by kind of plan; 4b: models that share images or have made-up input."""
    layers, sharing, together, training = [], [], [], []
    for line in lines:
        result = line["result"]
        for row in result.get("ways", []):
            layers.append({"width": result["width"], "minibatch": result["minibatch"], "members": result["members"], "way": row["way"],
                           "measured": row["measured"]["measured_speedup"], "predicted": row.get("predicted_speedup")})
        if result.get("preprocessing"):
            sharing.append({"network": result["network"], "members": result["members"], **result["preprocessing"]})
        if result.get("train"):
            training += [{"network": result["network"], "minibatch": result["minibatch"], "members": result["members"], "plan": plan["plan"],
                          "measured": plan["measured"]["measured_speedup"], "predicted": plan["predicted_speedup"]}
                         for plan in result.get("plans", [])]
        if line["unit"].startswith("wall alexnet5") and "--input" in line["unit"] and result.get("plans"):
            best = max(result["plans"], key=lambda plan: plan["measured"]["measured_speedup"])
            together.append({"members": result["members"], "input": result["input"], "plan": best["plan"],
                             "measured": best["measured"]["measured_speedup"], "predicted": best["predicted_speedup"]})
    return {"layers": layers, "preprocessing": sorted(sharing, key=lambda row: row["members"]), "models": together, "training": training,
            "target": TARGETS["shared images"]}


def percent(share):
    return "not measured" if share is None else f"{share:+.1%}"


def speedups(row):
    predicted = "not predicted" if row["predicted"] is None else f"{row['predicted']:.2f}x predicted"
    return f"{row['measured']:.2f}x measured, {predicted}"


def text_of(peers, overheads, figures):
    """Lines to print; what was not measured is said."""
    lines = ["", "against the fastest peer (float32, made-up input)"]
    for row in peers["rows"] if peers else []:
        lines.append(f"  {row['network']:14} b{row['minibatch']:<4} N {row['members']:<3} {'trained, ' if row['train'] else ''}{row['plan_ns'] / 1e3:9.1f} us {row['plan']}; "
                     f"{row['peer_ns'] / 1e3:9.1f} us {row['peer']}: {row['faster']:.2f}x")
    lines.append(f"  geometric mean {peers['geometric_mean']:.2f}x over {len(peers['rows'])} cases (target {peers['target']}x)" if peers
                 else "  no case that both measured")
    lines.append(f"tracing, by how much a step takes longer (target {TARGETS['overhead']:.0%})")
    for row in overheads:
        what = (f"{row['peer']}'s profiler {percent(row['profiled'])}" if "peer" in row
                else f"in the process {percent(row['in_process'])}, injected {percent(row['injected'])}")
        lines.append(f"  {row['network']} N {row['members']}: {what}")
    lines += [] if overheads else ["  not measured"]
    lines.append("ModelBatch's figure 2: fully connected layers at once against one after another")
    lines += [f"  {row['width']}x{row['width']} b{row['minibatch']:<5} x{row['members']} {row['way']}: {speedups(row)}"
              for row in figures["layers"]] or ["  not measured"]
    lines.append("ModelBatch's figure 3: preprocessing's share of a step")
    lines += [f"  {row['network']} x{row['members']}: {percent(row['share']).lstrip('+')}" for row in figures["preprocessing"]] or ["  not measured"]
    lines.append("ModelBatch's figure 4a: training steps together against one after another")
    lines += [f"  {row['network']} b{row['minibatch']:<4} x{row['members']}: {speedups(row)}, {row['plan']}" for row in figures["training"]] or ["  not measured"]
    lines.append(f"ModelBatch's figure 4b: models together against one after another (target with images {figures['target']}x)")
    lines += [f"  alexnet5 x{row['members']}, input {row['input']}: {speedups(row)}, {row['plan']}" for row in figures["models"]] or ["  not measured"]
    return lines
