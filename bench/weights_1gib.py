#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what 1 GiB of weights costs: export, load, bind, first output, private memory, questions.

    weights_1gib.py [--bin build/release/bin] [--folder SCRATCH] [--size 8192] [--rounds 5]

The model is four square products; --size is their width. Export is compared with a copy and fsync of the same file in the same run; of everything
else the minimum of all rounds counts, as in docs/how_to/measure.md. Needs 6 GiB of disk in SCRATCH (a temporary folder if not given).
Exit status 1 when a figure is not reached.
"""
import argparse
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYERS = 4
MB = 1e6


def write_model(folder, size):
    rng = np.random.default_rng(0)
    weights = [numpy_helper.from_array(rng.standard_normal((size, size), np.float32) / np.float32(size ** 0.5), f"w{index}") for index in range(LAYERS)]
    names = ["x", *(f"h{index}" for index in range(1, LAYERS)), "y"]
    nodes = [helper.make_node("MatMul", [names[index], f"w{index}"], [names[index + 1]]) for index in range(LAYERS)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size]) for name in ("x", "y")]
    model = helper.make_model(helper.make_graph(nodes, "large", ends[:1], ends[1:], weights), opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "m.onnx", save_as_external_data=True, location="m.bin")


class Figures:
    """Lines of the table; the last column is what has to be reached."""

    def __init__(self):
        self.missed = 0

    def show(self, name, value, unit, limit=None, is_at_least=False):
        reached = limit is None or (value >= limit if is_at_least else value <= limit)
        self.missed += not reached
        wanted = "" if limit is None else f"{'at least' if is_at_least else 'at most'} {limit:g}{'' if reached else '   NOT REACHED'}"
        print(f"{name:<52}{value:>10.2f} {unit:<6}{wanted}", flush=True)


def timed(*words):
    """Seconds and peak resident bytes of a process."""
    start = time.perf_counter()
    process = subprocess.Popen([str(word) for word in words])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit {process.returncode}")
    return time.perf_counter() - start, usage.ru_maxrss * 1024


def copy_and_sync(source, target):
    start = time.perf_counter()
    shutil.copyfile(source, target)
    with open(target, "rb+") as stream:
        os.fsync(stream.fileno())
    seconds = time.perf_counter() - start
    os.remove(target)
    return seconds


def bench(program, *words):
    done = subprocess.run([program, "bench", *map(str, words), "--fill", "random:1", "--threads", "1", "--warmup", "0", "--json"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def private_bytes(program, *words):
    """Of a process that runs the model, while another one does, too."""
    command = [program, "bench", *map(str, words), "--fill", "random:1", "--threads", "1", "--seconds", "4"]
    two = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
    time.sleep(3)
    rollup = Path(f"/proc/{two[1].pid}/smaps_rollup").read_text().splitlines()
    for process in two:
        process.kill()
        process.wait()
    return 1024 * sum(int(line.split()[1]) for line in rollup if line.startswith("Private_"))


def measure_export(figures, tiffin, folder, rounds):
    """Weights in a file of their own, and embedded; each beside a copy of the file that holds them."""
    ways = {"export of a .tfw": (["-o", folder / "thin.so", "--params-out", folder / "w.tfw"], folder / "w.tfw"),
            "export with the weights inside": (["-o", folder / "all.so"], folder / "all.so")}
    seen = {way: [] for way in ways}
    for _ in range(rounds):
        for way, (outputs, large) in ways.items():
            seconds, peak = timed(tiffin, "compile", folder / "m.onnx", *outputs, "--quiet")
            seen[way].append((seconds, peak, copy_and_sync(large, folder / "copy")))
    for way, rows in seen.items():
        seconds, peaks, copies = zip(*rows)
        figures.show(f"{way}, at best", min(seconds), "s")
        figures.show("  copy and fsync of the same file, at best", min(copies), "s")
        figures.show("  as a part of the speed of that copy", min(copies) / min(seconds), "", 0.5, is_at_least=True)
        figures.show("  peak memory above the model's mapping", (max(peaks) - (folder / "m.bin").stat().st_size) / MB, "MB", 500)


def measure_binding(figures, program, folder, rounds):
    size = (folder / "m.bin").stat().st_size
    seen = [bench(program, folder / "thin.so", "--params", folder / "w.tfw", "--repeat", 3) for _ in range(rounds + 1)][1:]
    figures.show("load", min(one["load_ms"] for one in seen), "ms", 1)
    figures.show("bind a .tfw", min(one["bind_ms"] for one in seen), "ms", 5)
    figures.show("bind a .tfw, bytes copied or made", max(one["report"]["copied_bytes"] + one["report"]["repacked_bytes"] for one in seen), "bytes", 0)
    first = min(one["load_ms"] + one["bind_ms"] + one["latency_ms"]["max"] - one["latency_ms"]["min"] for one in seen)
    figures.show("first output, beyond one run", first, "ms", 100)
    subprocess.run([program, "params", "convert", folder / "w.tfw", "-o", folder / "w.safetensors"], check=True, stdout=subprocess.DEVNULL)
    # The first round brings the file into memory.
    binds = [bench(program, folder / "thin.so", "--params", folder / "w.safetensors", "--repeat", 1)["bind_ms"] for _ in range(rounds + 1)][1:]
    figures.show("bind safetensors (hash and place), one thread", size / (1e6 * min(binds)), "GB/s", 1, is_at_least=True)


def measure_questions(figures, program, folder, rounds):
    for word in ("doctor", "inspect"):
        spent = []
        for _ in range(4 * rounds):
            start = time.perf_counter()
            subprocess.run([program, word, folder / "all.so", "--json"], check=True, stdout=subprocess.DEVNULL)
            spent.append(time.perf_counter() - start)
        figures.show(f"{word}, as a whole process", 1e3 * min(spent), "ms", 5)
    arena = json.loads(subprocess.run([program, "inspect", folder / "all.so", "--json"], check=True, capture_output=True).stdout)["memory"]["arena_bytes"]
    figures.show("private memory of one more process, arena apart", (private_bytes(program, folder / "all.so") - arena) / MB, "MB", 2)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default="build/release/bin", type=Path)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--size", default=8192, type=int)
    parser.add_argument("--rounds", default=5, type=int)
    options = parser.parse_args()
    figures, tiffin, program = Figures(), options.bin.resolve() / "tiffin", options.bin.resolve() / "tiffin-run"
    with tempfile.TemporaryDirectory(dir=options.folder) as scratch:
        folder = Path(scratch)
        # In a process of its own: what this one holds would count as the peak of every program that it starts.
        writer = multiprocessing.Process(target=write_model, args=(folder, options.size))
        writer.start()
        writer.join()
        if writer.exitcode != 0:
            sys.exit("the model could not be written")
        print(f"{(folder / 'm.bin').stat().st_size / 2**20:.0f} MiB of weights")
        measure_export(figures, tiffin, folder, options.rounds)
        measure_binding(figures, program, folder, options.rounds)
        measure_questions(figures, program, folder, options.rounds)
    return 1 if figures.missed else 0


if __name__ == "__main__":
    sys.exit(main())
