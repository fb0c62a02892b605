"""One plan in versions that differ in one field, measured in turn. See gpukit.step."""

import copy
import json

from .steps import DEVICE, WORK, StepError, cohort, fitted_figures, images, measured_together, planned, profile


def plan_of_streams(arguments, suits=lambda _: True):
    """The best plan of four streams or more that suits, with the profile that it was ranked by."""
    file = profile(arguments.network, arguments.minibatch)
    _, files = planned(f"streams-{arguments.network}-b{arguments.minibatch}-n{arguments.count}", file, arguments.count)
    plans = [json.loads(file.read_text()) for file in files]
    plan = next((plan for plan in plans if plan["streams"] >= 4 and suits(plan)), None)
    if plan is None:
        raise StepError(f"{arguments.network}: the planner ranks no such plan of four streams", 4)
    return file, plan


def in_versions(name, profile_file, field, versions, blocks, iterations=1):
    """Times of versions of one plan, by the value of the field that tells them apart, each with the algorithms that recorded
    costs choose for it, and with what is predicted of it. Without a profile: with the device's first choices, and nothing
    is predicted."""
    folder = WORK / name
    folder.mkdir(parents=True, exist_ok=True)
    rows, files = [], []
    for value, plan in versions.items():
        plan.pop("resolved", None)  # was for another plan
        file = folder / f"{field}-{value}.json"
        file.write_text(json.dumps(plan))
        files.append(file)
        rows.append({field: value})
        if profile_file is not None:
            predicted = cohort("plan", profile_file, "--resolve", file, *fitted_figures(), "-f", "--json", "-o", file)
            rows[-1].update({"predicted_speedup": predicted["predicted_speedup"], "predicted_step_ns": predicted["step_ns"]})
    for row, file, ran in zip(rows, files, measured_together(name, files, blocks, iterations)):
        row.update({"measured": ran, "plan_file": json.loads(file.read_text())})
    return rows


def described(arguments, **more):
    return {"network": arguments.network, "minibatch": arguments.minibatch, "members": arguments.count, **more}


def launchers(arguments):
    """Streams launched one by one, by 1, 2 and 4 host threads: what the driver's locks leave of them."""
    file, plan = plan_of_streams(arguments)
    versions = {threads: {**plan, "launch": "single", "launch_threads": threads} for threads in (1, 2, 4)}
    rows = in_versions(f"launchers-{arguments.network}", file, "launch_threads", versions, arguments.blocks)
    return described(arguments, threads=rows)


def multiprocessors(arguments):
    """Concurrent members whose matrix products are made for all of the multiprocessors, a half and a quarter of them."""
    device = next((each for each in cohort("devices", "--json") if each["id"] == DEVICE), {})
    there = int(device.get("settings", {}).get("multiprocessors", 0))
    if there == 0:
        raise StepError(f"{DEVICE} has no multiprocessors to share out", 4)
    file, plan = plan_of_streams(arguments, lambda plan: any(group["strategy"] == "concurrent" for group in plan["groups"]))
    versions = {}
    for asked in (0, there // 2, there // 4):
        versions[asked] = copy.deepcopy(plan)
        for group in versions[asked]["groups"]:
            if group["strategy"] == "concurrent":
                group["multiprocessors"] = asked
    rows = in_versions(f"multiprocessors-{arguments.network}", file, "multiprocessors", versions, arguments.blocks)
    return described(arguments, multiprocessors=there, versions=rows)


def buffers(arguments):
    """Images read with 1, 2 and 3 minibatches in flight: how far copies overlap steps."""
    data = images()
    file = profile(arguments.network, arguments.minibatch, data=data)
    name = f"buffers-{arguments.network}"
    _, files = planned(name + "-ranked", file, arguments.count, ["--data", data])
    plan = json.loads(files[0].read_text())
    versions = {count: {**plan, "input": {**plan.get("input", {}), "buffers": count}} for count in (1, 2, 3)}
    rows = in_versions(name, file, "buffers", versions, arguments.blocks, 20)  # enough images for every decode worker
    return described(arguments, buffers=rows)


STREAMS = 32  # as many as there are hardware queues


def layer_plan(arguments, strategy, streams=1, launch="graph"):
    """Fully connected layers of one size, each with an input of its own, nothing resolved."""
    settings = {"layers": "0", "inputs": str(arguments.width), "classes": str(arguments.width)}
    member = {"name": "layer", "model": "mlp", "arguments": settings, "minibatch": arguments.minibatch, "seed": 0, "count": arguments.count}
    return {"format": "cohort.plan", "version": 1, "device": DEVICE, "members": [member],
            "input": {"source": "generated", "sharing": "separate", "decode_workers": 1, "buffers": 1, "seed": 0, "bad_images": "skip"},
            "streams": streams, "layout": "nhwc", "launch": launch,
            "groups": [{"name": "layers", "members": f"0-{arguments.count - 1}", "strategy": strategy}]}


def layers(arguments):
    """ModelBatch's figure 2: many fully connected layers at once against one after another; on streams, as the figure has it,
    on streams of one graph, and as one batched product. Predicted, too, where `most` is not 0, which takes a profile."""
    versions = {"streams": layer_plan(arguments, "concurrent", STREAMS, "single"),
                "streams of a graph": layer_plan(arguments, "concurrent", STREAMS), "one batch": layer_plan(arguments, "strided_batch")}
    settings = [f"{name}={value}" for name, value in versions["streams"]["members"][0]["arguments"].items()]
    file = profile(arguments.network, arguments.minibatch, settings) if arguments.most else None
    rows = in_versions(f"layers-{arguments.width}-b{arguments.minibatch}", file, "way", versions, arguments.blocks)
    return described(arguments, width=arguments.width, ways=rows)
