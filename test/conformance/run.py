#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs conformance cases through `tiffin run`, each in a process of its own.

    run.py TIFFIN                  the cases of passing.txt: a sample that is always the same, or with TIFFIN_CONFORMANCE=all every one
    run.py TIFFIN --all --update   every case there is; passing.txt becomes the list of those that pass
    run.py TIFFIN --only NAME ...  these

A case passes, is declined (UnsupportedOperator or UnsupportedType), or is a fault: a wrong value, another error, a crash, a time-out.
Exits with 1 if there is a fault or, without --all, a listed case that does not pass.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from cases import export_cases

LIST = Path(__file__).with_name("passing.txt")
TIME_LIMIT, SAMPLE = 60.0, 300
BFLOAT16_RTOL = 2.0**-6  # two steps of the type


def difference(actual, expected, rtol, atol):
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype}{list(actual.shape)}, expected {expected.dtype}{list(expected.shape)}"
    if expected.dtype.name == "bfloat16":
        rtol = max(rtol, BFLOAT16_RTOL)
    if expected.dtype.isbuiltin != 1:  # the small types; float32 holds all their values
        actual, expected = actual.astype(np.float32), expected.astype(np.float32)
    with np.errstate(all="ignore"):
        wrong = np.flatnonzero(~np.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=True))
    if wrong.size == 0:
        return ""
    return f"{wrong.size} of {actual.size} elements, the first is {actual.flat[wrong[0]]}, expected {expected.flat[wrong[0]]}"


def run_case(tiffin, folder):
    """(verdict, message); verdicts: pass, declined, wrong, error, crash, time-out."""
    rtol, atol = map(float, (folder / "tolerance").read_text().split())
    for data in sorted(folder.glob("set_*")):
        with tempfile.TemporaryDirectory() as outputs:
            words = [tiffin, "run", folder / "model.onnx", "--inputs", data, "--outputs", outputs, "--format", "pb", "--threads", "1"]
            try:
                done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=TIME_LIMIT)
            except subprocess.TimeoutExpired:
                return "time-out", f"no answer in {TIME_LIMIT:g} s"
            if done.returncode < 0:
                return "crash", f"signal {-done.returncode}: {done.stderr.strip()[-200:]}"
            if done.returncode != 0:
                message = next((line for line in done.stderr.splitlines() if "error[" in line), done.stderr.strip()[-200:])
                return ("declined" if done.returncode == 3 and "error[Unsupported" in message else "error"), message
            for index in range(len(list(data.glob("output_*.pb")))):
                expected = numpy_helper.to_array(onnx.load_tensor(data / f"output_{index}.pb"))
                if not Path(outputs, f"output_{index}.pb").exists():
                    return "wrong", f"output {index} is not written"
                actual = numpy_helper.to_array(onnx.load_tensor(Path(outputs, f"output_{index}.pb")))
                if found := difference(actual, expected, rtol, atol):
                    return "wrong", f"output {index}: {found}"
    return "pass", ""


def chosen_names(arguments, folder):
    if arguments.only:
        return arguments.only
    if arguments.all:
        return sorted(path.name for path in folder.iterdir())
    listed = [line for line in LIST.read_text().splitlines() if line and line[0] != "#"]
    if os.environ.get("TIFFIN_CONFORMANCE") == "all":
        return listed
    return listed[:: max(1, -(-len(listed) // SAMPLE))]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tiffin", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--only", nargs="+")
    arguments = parser.parse_args()
    if arguments.update and not arguments.all:
        parser.error("--update needs --all")
    return arguments


def main():
    arguments = parse_arguments()
    folder = export_cases()
    names = chosen_names(arguments, folder)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(zip(names, pool.map(lambda name: run_case(arguments.tiffin.resolve(), folder / name), names)))
    bad = ("wrong", "error", "crash", "time-out") if arguments.all else ("wrong", "error", "crash", "time-out", "declined")
    for name, (verdict, message) in outcomes:
        if verdict in bad:
            print(f"{verdict:<9} {name}: {message}")
    counts = Counter(verdict for _, (verdict, _) in outcomes)
    print(f"{len(names)} cases: " + ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    if arguments.update:
        before = set(LIST.read_text().splitlines()) if LIST.exists() else set()
        passing = [name for name, (verdict, _) in outcomes if verdict == "pass"]
        LIST.write_text("".join(f"{name}\n" for name in passing))
        for name in sorted(before - set(passing)):
            print(f"no longer in the list: {name}")
    return 1 if any(counts[verdict] for verdict in bad) else 0


if __name__ == "__main__":
    sys.exit(main())
