#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares Tiffin with ONNX Runtime on the same machine, in the same minutes, on the same inputs.

    compare_onnxruntime.py MODEL.onnx ... [--bin build/release/bin] [--threads 1 2] [--rounds 5] [--seconds 1] [--dim NAME=N] [--json OUT.json]

Rounds alternate between the two, so that a busy or throttled machine hits both; what counts is each side's minimum, and the ratio of the two minima.
Tiffin runs as `tiffin-run bench`, in a process of its own; ONNX Runtime in this one. Without models: the test zoo.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

sys.path.append(str(Path(__file__).resolve().parent.parent / "scripts" / "zoo"))
from make_models import make_models, zoo_folder  # noqa: E402

OPEN_DIMENSION = 1  # for dimensions that --dim leaves open


def draw(rng, value, dims):
    tensor = value.type.tensor_type
    shape = [dim.dim_value or dims.get(dim.dim_param, OPEN_DIMENSION) for dim in tensor.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    if dtype.kind in "iu":  # token ids lie below every vocabulary, masks are ones
        return np.ones(shape, dtype) if "mask" in value.name else rng.integers(0, 2 if "type" in value.name else 100, shape, dtype)
    return np.ones(shape, dtype) if dtype.kind == "b" else rng.standard_normal(shape).astype(dtype)


def model_inputs(path, dims):
    graph = onnx.load(path, load_external_data=False).graph
    stored, rng = {tensor.name for tensor in graph.initializer}, np.random.default_rng(1)
    return {value.name: draw(rng, value, dims) for value in graph.input if value.name not in stored}


class Theirs:
    def __init__(self, path, inputs, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.log_severity_level = 3
        start = time.perf_counter()
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.inputs = inputs
        self.session.run(None, inputs)
        self.first_ms = 1e3 * (time.perf_counter() - start)

    def round(self, seconds):
        times, end = [], time.perf_counter() + seconds
        while time.perf_counter() < end or len(times) < 3:
            start = time.perf_counter()
            self.session.run(None, self.inputs)
            times.append(1e3 * (time.perf_counter() - start))
        return times


class Ours:
    def __init__(self, programs, path, inputs, folder):
        self.run_program, self.artifact, self.inputs = programs / "tiffin-run", folder / "model.so", folder / "inputs"
        self.inputs.mkdir()
        for index, array in enumerate(inputs.values()):
            np.save(self.inputs / f"input_{index}.npy", array)
        shapes = [word for name, array in inputs.items() for word in ("--input-shape", f"{name}={'x'.join(map(str, array.shape))}") if array.ndim]
        words = [programs / "tiffin", "compile", path, "-o", self.artifact, "--threads", "1", "--quiet", *shapes]
        self.compile_s, self.compile_mb = measured(words)

    def bench(self, *words):
        command = [self.run_program, "bench", self.artifact, "--inputs", self.inputs, "--json", *map(str, words)]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measured(words):
    """Processor seconds and the peak of resident megabytes of a command. Raises with its message when it fails."""
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    message = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if status != 0:
        raise RuntimeError(message.strip().splitlines()[0] if message.strip() else f"status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3


def compare(path, arguments, folder):
    inputs = model_inputs(path, arguments.dims)
    ours = Ours(arguments.bin, path, inputs, folder)
    model_mb, file_mb = path.stat().st_size / 1e6, ours.artifact.stat().st_size / 1e6
    row = {"model": path.stem, "compile_s": ours.compile_s, "compile_mb": ours.compile_mb, "model_mb": model_mb, "file_mb": file_mb, "threads": {}}
    for threads in arguments.threads:
        theirs, own_rounds, their_rounds = Theirs(path, inputs, threads), [], []
        first = ours.bench("--threads", threads, "--warmup", 0, "--repeat", 1)
        for _ in range(arguments.rounds):
            own_rounds.append(ours.bench("--threads", threads, "--seconds", arguments.seconds)["latency_ms"])
            their_rounds.append(theirs.round(arguments.seconds))
        own, other = min(latency["min"] for latency in own_rounds), min(map(min, their_rounds))
        row["threads"][threads] = {
            "ours_min_ms": own, "theirs_min_ms": other, "ratio": own / other,
            "ours_median_ms": float(np.median([latency["median"] for latency in own_rounds])),
            "theirs_median_ms": float(np.median(np.concatenate(their_rounds))),
            "ours_load_ms": first["load_ms"], "ours_bind_ms": first["bind_ms"],
            "ours_to_first_output_ms": first["load_ms"] + first["bind_ms"] + first["latency_ms"]["max"], "theirs_to_first_output_ms": theirs.first_ms}
    return row


def print_row(row):
    print(f"\n{row['model']}: model {row['model_mb']:.2f} MB, artifact {row['file_mb']:.2f} MB; "
          f"compiled in {row['compile_s']:.2f} s of one core with {row['compile_mb']:.0f} MB")
    for threads, seen in row["threads"].items():
        verdict = "ahead" if seen["ratio"] <= 1 else "BEHIND"
        print(f"  {threads} thread{'s' if threads > 1 else ' '}  ours {seen['ours_min_ms']:9.4f} ms (median {seen['ours_median_ms']:9.4f})   "
              f"onnxruntime {seen['theirs_min_ms']:9.4f} ms (median {seen['theirs_median_ms']:9.4f})   {seen['ratio']:5.2f}x {verdict}")
        print(f"             to the first output: ours {seen['ours_to_first_output_ms']:.2f} ms (load {seen['ours_load_ms']:.2f}, "
              f"bind {seen['ours_bind_ms']:.2f}), onnxruntime {seen['theirs_to_first_output_ms']:.2f} ms")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", type=Path, nargs="*")
    parser.add_argument("--bin", type=Path, default=Path(__file__).resolve().parent.parent / "build/release/bin")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each side in each round")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=N")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    arguments.dims = {name: int(size) for name, size in (item.rsplit("=", 1) for item in arguments.dim)}
    if not arguments.models:
        make_models(zoo_folder())
        arguments.models = sorted(zoo_folder().glob("*.onnx"))
    return arguments


def main():
    arguments, rows, failed = parse_arguments(), [], []
    for path in arguments.models:
        with tempfile.TemporaryDirectory() as folder:
            try:
                rows.append(compare(path, arguments, Path(folder)))
                print_row(rows[-1])
            except RuntimeError as error:
                failed.append(f"{path.stem}: {error}")
                print(f"\n{failed[-1]}")
    print("\nratio of minima, ours / onnxruntime; more than 1 is behind")
    for row in rows:
        ratios = {threads: seen["ratio"] for threads, seen in row["threads"].items()}
        loses = [str(threads) for threads, ratio in ratios.items() if ratio > 1]
        print(f"  {row['model']:<20}" + "".join(f"  {threads}T {ratio:5.2f}x" for threads, ratio in ratios.items())
              + (f"   behind with {' and '.join(loses)}" if loses else ""))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
