#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the speed of `tiffin-run verify` with the hash library's own on the same file in the page cache.

    verify_speed.py FILE [--build build/release] [--rounds 7]

Rounds alternate and the minima count. `verify` reads a file twice over: the digest of each section, and the digest of the whole; what is compared is
the bytes hashed in a second. FILE should hold 100 MB of weights or more. Exit status 1 below 0.8 of the library's speed.
"""
import argparse
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
    size, ours, theirs = options.file.stat().st_size, [], []
    for _ in range(options.rounds):
        start = time.perf_counter()
        subprocess.run([options.build / "bin" / "tiffin-run", "verify", options.file], check=True, stdout=subprocess.DEVNULL)
        ours.append(time.perf_counter() - start)
        theirs.append(float(subprocess.run([options.build / "bench" / "hash_speed", options.file, "1"], check=True, capture_output=True, text=True).stdout))
    speed = 1e-9 * size / min(theirs)
    print(f"the hash library: {speed:.2f} GB/s")
    for name, passes in (("verify, a file read once", 1), ("verify, bytes hashed", 2)):
        print(f"{name}: {1e-9 * passes * size / min(ours):.2f} GB/s, {passes * min(theirs) / min(ours):.2f} of it")
    return 1 if 2 * min(theirs) / min(ours) < TO_REACH else 0


if __name__ == "__main__":
    sys.exit(main())
