# SPDX-License-Identifier: Apache-2.0
"""The artifact as a file: reproducible, a plain ELF object, refused when damaged, never half written."""
import shutil
import signal
import struct
import subprocess
import time

import numpy as np
import pytest

from program import execute, same_bits

AARCH64 = ("--target", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72")


def test_two_compiles_give_equal_bytes(zoo, tiffin, tmp_path):
    for name in ("first.so", "second.so"):
        tiffin.ok("compile", zoo["conv_net"].path, "-o", tmp_path / name, "--quiet")
    tiffin.ok("compile", zoo["conv_net"].path, "-o", tmp_path / "one_thread.so", "--threads", 1, "--quiet")
    first = (tmp_path / "first.so").read_bytes()
    assert first == (tmp_path / "second.so").read_bytes(), "the output's path is in the bytes, or chance"
    assert first == (tmp_path / "one_thread.so").read_bytes(), "the compiler's threads are in the bytes"


def test_it_is_a_shared_object_that_needs_nothing(artifact_of):
    artifact = artifact_of("conv_net")
    dynamic = subprocess.run(["readelf", "-dW", artifact], capture_output=True, text=True, check=True).stdout
    assert "NEEDED" not in dynamic and "TEXTREL" not in dynamic
    symbols = subprocess.run(["nm", "-D", artifact], capture_output=True, text=True, check=True).stdout.splitlines()
    assert not [line for line in symbols if " U " in line]
    assert len([line for line in symbols if " T " in line]) == 1


def test_sizes_add_up_to_the_file(artifact_of, tiffin_run):
    sizes = tiffin_run.json("inspect", artifact_of("conv_net"))["sizes"]
    total = sizes.pop("total")
    assert total == sum(sizes.values()) == artifact_of("conv_net").stat().st_size


def test_a_stripped_file_runs(zoo, artifact_of, tiffin_run, tmp_path):
    shutil.copy(artifact_of("mlp"), tmp_path / "stripped.so")
    subprocess.run(["strip", tmp_path / "stripped.so"], check=True)
    wanted = execute(tiffin_run, artifact_of("mlp"), zoo["mlp"], tmp_path)
    assert same_bits(wanted, execute(tiffin_run, tmp_path / "stripped.so", zoo["mlp"], tmp_path))


def test_another_machines_file_is_inspected_and_not_run(artifact_of, tiffin_run):
    artifact = artifact_of("mlp", *AARCH64)
    header = artifact.read_bytes()[:20]
    assert header[:4] == b"\x7fELF" and struct.unpack("<H", header[18:20])[0] == 183
    assert "aarch64" in tiffin_run.ok("inspect", artifact)
    tiffin_run.fails("NoVariant", "run", artifact, "--fill", "zeros", mentions=("aarch64",))
    assert tiffin_run.run("doctor", artifact).returncode == 1


def test_a_cut_file_is_refused(artifact_of, tiffin_run, tmp_path):
    whole = artifact_of("mlp").read_bytes()
    for length in sorted({len(whole) * part // 48 for part in range(48)} | {1, 4, 63, 64, 65, 4095, 4096, 4097, len(whole) - 1}):
        (tmp_path / "cut.so").write_bytes(whole[:length])
        tiffin_run.fails(("Truncated", "NotAnArtifact"), "run", tmp_path / "cut.so", "--fill", "zeros")


def test_flipped_bits_never_crash_and_never_change_a_result_unnoticed(zoo, artifact_of, tiffin_run, tmp_path):
    artifact, case = artifact_of("mlp"), zoo["mlp"]
    whole = artifact.read_bytes()
    wanted = execute(tiffin_run, artifact, case, tmp_path)
    seed = 20261
    rng = np.random.default_rng(seed)
    head = [int(at) for at in rng.integers(0, min(len(whole), 16384), 60)]
    for at in head + [int(at) for at in rng.integers(0, len(whole), 60)]:
        changed = bytearray(whole)
        changed[at] ^= 1 << int(rng.integers(8))
        (tmp_path / "changed.so").write_bytes(changed)
        done = tiffin_run.run("run", tmp_path / "changed.so", "--inputs", tmp_path / "inputs", "--outputs", tmp_path / "outputs", "--verify", "all")
        assert done.returncode in (0, 3), f"seed {seed}, byte {at}: exit {done.returncode}: {done.stderr}"
        if done.returncode == 0:
            seen = [np.load(tmp_path / "outputs" / f"output_{index}.npy") for index in range(len(wanted))]
            assert same_bits(wanted, seen), f"seed {seed}, byte {at}: another result"
        else:
            assert "error[" in done.stderr


@pytest.mark.parametrize("moment", [0.1, 0.4, 0.7, 0.95])
def test_an_interrupted_compile_leaves_nothing(moment, zoo, tiffin, tmp_path):
    (tmp_path / "out").mkdir()
    words = [tiffin.path, "compile", zoo["conv_net"].path, "-o", tmp_path / "out" / "m.so", "--quiet"]
    start = time.perf_counter()
    subprocess.run(words, check=True, env={})
    seconds, whole = time.perf_counter() - start, (tmp_path / "out" / "m.so").read_bytes()
    (tmp_path / "out" / "m.so").unlink()
    process = subprocess.Popen(words, env={}, stderr=subprocess.DEVNULL)
    time.sleep(seconds * moment)
    process.send_signal(signal.SIGINT)
    process.wait(30)
    left = list((tmp_path / "out").iterdir())
    assert [path.name for path in left] in ([], ["m.so"])
    assert not left or left[0].read_bytes() == whole, "a half file under the final name"


def test_a_failed_compile_keeps_the_old_file(tiffin, tmp_path):
    (tmp_path / "broken.onnx").write_bytes(b"\x08\x08\x3a\x7f")
    (tmp_path / "m.so").write_text("the old one")
    tiffin.fails("InvalidModel", "compile", tmp_path / "broken.onnx", "-o", tmp_path / "m.so", mentions=("broken.onnx",))
    assert (tmp_path / "m.so").read_text() == "the old one"
