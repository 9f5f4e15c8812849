# SPDX-License-Identifier: Apache-2.0
"""Kernels as data: the same results by the interpreter, chosen last, the only thing that runs without trust in code, and safe when damaged."""
import random
import subprocess

import pytest

from program import assert_close, execute, same_bits

PORTABLE = ("--target", "portable-ir")
SEED = 5


@pytest.mark.parametrize("name", ["conv_net", "mlp", "recurrent", "transformer", "unet"])
def test_models_give_the_results_of_onnx_runtime(name, zoo, artifact_of, tiffin_run, tmp_path):
    case = zoo[name]
    outputs = execute(tiffin_run, artifact_of(name, *PORTABLE), case, tmp_path, "--trust", "data")
    for actual, expected in zip(outputs, case.expected(), strict=True):
        assert_close(actual, expected)
    assert same_bits(outputs, execute(tiffin_run, artifact_of(name, *PORTABLE), case, tmp_path, "--threads", 3))


def test_it_holds_no_code(artifact_of):
    dump = subprocess.run(["readelf", "-SlW", artifact_of("conv_net", *PORTABLE)], capture_output=True, text=True, check=True).stdout
    assert ".text" not in dump and " R E " not in dump


def test_code_is_preferred_and_refused_without_trust(zoo, tiffin, tiffin_run, tmp_path):
    path = zoo["conv_net"].path
    both, native, portable = tmp_path / "both.tar", tmp_path / "native.so", tmp_path / "portable.so"
    tiffin.ok("compile", path, "-o", both, "--target", "llvm", *PORTABLE, "--quiet")
    tiffin.ok("compile", path, "-o", native, "--quiet")
    tiffin.ok("compile", path, "-o", portable, *PORTABLE, "--quiet")
    run = ("--fill", "zeros")
    assert "interpreter" not in tiffin_run.ok("run", both, *run)
    assert "interpreter" in tiffin_run.ok("run", both, *run, "--trust", "data")
    tiffin_run.fails("NotTrusted", "run", native, *run, "--trust", "data", mentions=["native.so"])
    tiffin_run.fails("Strict", "run", portable, *run, "--strict", mentions=["interpreter"])


# Digests are not looked at, so that the records themselves meet the damage.
def test_damaged_records_are_refused_or_harmless(artifact_of, tiffin_run, tmp_path):
    whole = bytearray(artifact_of("conv_net", *PORTABLE).read_bytes())
    dump = subprocess.run(["readelf", "-SW", artifact_of("conv_net", *PORTABLE)], capture_output=True, text=True, check=True).stdout
    row = next(line for line in dump.splitlines() if ".tiffin.ir" in line).split("]", 1)[1].split()
    offset, length = int(row[3], 16), int(row[4], 16)
    draw = random.Random(SEED)
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[offset + draw.randrange(length)] ^= 1 << draw.randrange(8)
        target = tmp_path / "damaged.so"
        target.write_bytes(damaged)
        try:
            done = tiffin_run.run("run", target, "--fill", "random:1", "--verify", "none", "--quiet")
        except subprocess.TimeoutExpired:
            continue  # a loop's bound may be damaged: it runs as often as the record says
        assert done.returncode in (0, 3), f"exit {done.returncode}: {done.stderr}"
        assert done.returncode == 0 or "error[" in done.stderr
