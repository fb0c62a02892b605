"""The guess min(N, capacity / work): streams overlap as far as their kernels leave room, and cost each other nothing."""

import gzip
import json
import math

MODEL_TRACK = "kernels of the model"
WARP = 32
REGISTER_UNIT = 256  # registers are given to a warp in such units
SHARED_RESERVED = 1024  # bytes a block, by the system
BLOCKS_PER_SM = 32
FACTS = {"multiprocessors", "maxThreadsPerMultiprocessor", "regsPerMultiprocessor", "sharedMemPerMultiprocessor"}


def product(sizes):
    """Of a grid or block: a list, or its text."""
    return math.prod(json.loads(sizes) if isinstance(sizes, str) else sizes)


def resident_blocks(kernel, settings):
    """Blocks of a kernel that one SM holds."""
    warps = math.ceil(product(kernel["block"]) / WARP)
    shared = kernel.get("shared memory", 0) + SHARED_RESERVED
    registers = warps * math.ceil(max(1, kernel.get("registers per thread", 0)) * WARP / REGISTER_UNIT) * REGISTER_UNIT
    return max(1, min(int(settings["maxThreadsPerMultiprocessor"]) // (warps * WARP), BLOCKS_PER_SM,
                      int(settings["regsPerMultiprocessor"]) // registers, int(settings["sharedMemPerMultiprocessor"]) // shared))


def share_of_device(file):
    """What part of the device's room for blocks the kernels of one model fill, on average over their time: work / capacity.
    None where the profile has no kernels, or does not say what the device holds."""
    with gzip.open(file, "rt") as text:
        trace = json.load(text)
    settings = trace.get("cohort", {}).get("device", {}).get("settings", {})
    if not FACTS <= settings.keys():
        return None
    tracks = {(event["pid"], event["tid"]) for event in trace["traceEvents"]
              if event.get("ph") == "M" and event.get("name") == "thread_name" and event["args"]["name"] == MODEL_TRACK}
    filled = time = 0.0
    for event in trace["traceEvents"]:
        if event.get("cat") != "kernel" or (event["pid"], event["tid"]) not in tracks:
            continue
        room = resident_blocks(event["args"], settings) * int(settings["multiprocessors"])
        filled += event["dur"] * min(1.0, product(event["args"]["grid"]) / room)
        time += event["dur"]
    return filled / time if time > 0 and filled > 0 else None
