# SPDX-License-Identifier: Apache-2.0
"""Artifacts made on this machine for 64-bit ARM, run there: by the cross-built tiffin-run under qemu-user.

TIFFIN_CROSS_BIN: the folder of that program; CTest builds it beforehand (preset aarch64).
"""
import json
import os
import platform
import shutil
from pathlib import Path

import pytest

import program
from program import assert_close, execute, same_bits

SYSTEM_ROOT = "/usr/aarch64-linux-gnu"
AARCH64 = ("--target", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72")
MODELS = ("mlp", "mlp_mnist", "unet", "recurrent", "transformer")
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the tests' own machine is no x86-64 one")


class Emulated(program.Program):
    """An executable of another machine."""

    def run(self, *words, folder=None, cpu="cortex-a72", page_bytes=4096):
        emulator = program.Program(shutil.which("qemu-aarch64") or "qemu-aarch64")
        return emulator.run("-cpu", cpu, "-p", page_bytes, "-L", SYSTEM_ROOT, self.path, *words, folder=folder)


@pytest.fixture(scope="module")
def tiffin_arm():
    path = Path(os.environ["TIFFIN_CROSS_BIN"]) / "tiffin-run"
    assert path.exists(), f"{path} is not there: scripts/build aarch64 makes it"
    return Emulated(path)


@pytest.fixture(scope="module")
def portable(tiffin, zoo, tmp_path_factory):
    """portable(name): a bundle for x86-64 and 64-bit ARM."""
    folder = tmp_path_factory.mktemp("portable")

    def bundle(name):
        if not (made := folder / f"{name}.tar").exists():
            tiffin.ok("compile", zoo[name].path, "-o", made, "--targets", "portable", "--golden", 1, "--quiet", *zoo[name].options)
        return made

    return bundle


@pytest.mark.parametrize("name", MODELS)
def test_a_bundle_gives_the_models_values_there(name, zoo, portable, tiffin_arm, tiffin_run, tmp_path):
    there = execute(tiffin_arm, portable(name), zoo[name], tmp_path)
    assert_close(there, zoo[name].expected())
    assert_close(there, execute(tiffin_run, portable(name), zoo[name], tmp_path))


def test_golden_cases_hold_there(portable, tiffin_arm):
    seen = tiffin_arm.json("verify", portable("conv_net"))
    assert seen["ok"] and seen["golden"]["cases"] == seen["golden"]["passed"] == 1, seen


def test_a_shared_object_for_it(zoo, artifact_of, tiffin_arm, tmp_path):
    artifact = artifact_of("conv_net", *AARCH64)
    assert_close(execute(tiffin_arm, artifact, zoo["conv_net"], tmp_path), zoo["conv_net"].expected())
    assert tiffin_arm.json("verify", artifact)["ok"]
    report = tiffin_arm.json("run", artifact, "--fill", "random:1")["report"]
    assert not report["fallbacks"] and report["copied_bytes"] == 0, report


def test_the_bits_do_not_depend_on_threads(zoo, artifact_of, tiffin_arm, tmp_path):
    one, four = (execute(tiffin_arm, artifact_of("mlp_mnist", *AARCH64), zoo["mlp_mnist"], tmp_path, "--threads", count) for count in (1, 4))
    assert same_bits(one, four)


def test_weights_written_here_are_bound_there(zoo, tiffin, tiffin_arm, tmp_path):
    tiffin.ok("compile", zoo["mlp"].path, "-o", tmp_path / "thin.so", "--params-out", tmp_path / "w.tfw", "--quiet", *AARCH64)
    tiffin.ok("compile", zoo["mlp"].path, "-o", tmp_path / "embedded.so", "--quiet", *AARCH64)
    tiffin.ok("params", "convert", tmp_path / "w.tfw", "-o", tmp_path / "w.safetensors")
    wanted = execute(tiffin_arm, tmp_path / "embedded.so", zoo["mlp"], tmp_path)
    for name in ("w.tfw", "w.safetensors"):
        assert same_bits(wanted, execute(tiffin_arm, tmp_path / "thin.so", zoo["mlp"], tmp_path, "--params", tmp_path / name)), name


def test_kernels_as_data_give_the_bits_of_this_machine(zoo, artifact_of, tiffin_arm, tiffin_run, tmp_path):
    artifact = artifact_of("mlp", "--target", "portable-ir")
    assert same_bits(execute(tiffin_run, artifact, zoo["mlp"], tmp_path), execute(tiffin_arm, artifact, zoo["mlp"], tmp_path))


def test_files_of_this_machine_are_explained_there(artifact_of, tiffin_arm):
    artifact = artifact_of("mlp")
    tiffin_arm.fails("NoVariant", "run", artifact, "--fill", "zeros", mentions=("x86-64", "aarch64", "remedy: "))
    assert tiffin_arm.run("doctor", artifact).returncode == 1
    assert "x86" in tiffin_arm.ok("inspect", artifact)


def test_damage_is_found_there(artifact_of, tiffin_arm, tmp_path):
    content = bytearray(artifact_of("mlp", *AARCH64).read_bytes())
    content[len(content) // 2] ^= 1
    (tmp_path / "flipped.so").write_bytes(content)
    assert tiffin_arm.run("verify", tmp_path / "flipped.so").returncode == 1


@pytest.mark.parametrize("page_bytes", [4096, 16384, 65536])
def test_machines_with_pages_of_every_size(page_bytes, zoo, portable, artifact_of, tiffin, tiffin_arm, tmp_path):
    """Code and weights are mapped in place, from a file of each kind."""
    tiffin.ok("compile", zoo["mlp"].path, "-o", tmp_path / "thin.so", "--params-out", tmp_path / "w.tfw", "--quiet", *AARCH64)
    for words in ((portable("mlp"),), (artifact_of("mlp", *AARCH64),), (tmp_path / "thin.so", "--params", tmp_path / "w.tfw")):
        done = tiffin_arm.run("run", *words, "--fill", "ones", "--strict", "--json", page_bytes=page_bytes)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)["report"]
        assert report["copied_bytes"] == report["repacked_bytes"] == 0 and not report["fallbacks"], report
