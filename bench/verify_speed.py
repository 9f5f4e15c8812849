#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a load with `--verify all` and the command `verify` with the hash library's own speed on the same file in the page cache.

    verify_speed.py FILE [--build build/release] [--rounds 7]

Rounds alternate and the minima count. FILE, which carries its weights, should have 100 MB or more. Exit status 1 when one is below 0.8 of the
library's speed.
"""
import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

TO_REACH = 0.8


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--build", default="build/release", type=Path)
    parser.add_argument("--rounds", default=7, type=int)
    options = parser.parse_args()
    program, size, loads, commands, theirs = options.build / "bin" / "tiffin-run", options.file.stat().st_size, [], [], []
    for _ in range(options.rounds):
        start = time.perf_counter()
        subprocess.run([program, "verify", options.file], check=True, stdout=subprocess.DEVNULL)
        commands.append(time.perf_counter() - start)
        words = [program, "bench", options.file, "--verify", "all", "--fill", "zeros", "--warmup", "0", "--repeat", "1", "--json"]
        loads.append(json.loads(subprocess.run(words, check=True, capture_output=True).stdout)["load_ms"] / 1e3)
        theirs.append(float(subprocess.run([options.build / "bench" / "hash_speed", options.file, "1"], check=True, capture_output=True, text=True).stdout))
    for name, seconds in (("the hash library", theirs), ("load with --verify all", loads), ("the command verify", commands)):
        print(f"{name}: {1e-9 * size / min(seconds):.2f} GB/s, {min(theirs) / min(seconds):.2f} of the library's speed")
    return 1 if min(theirs) / max(min(loads), min(commands)) < TO_REACH else 0


if __name__ == "__main__":
    sys.exit(main())
