# SPDX-License-Identifier: Apache-2.0
"""Differences between parameter files: shown, written as a delta, applied; never to another base, never from a damaged file."""
import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

FORMATS = ("safetensors", "params", "tfw")


@pytest.fixture(scope="module")
def sets(tiffin, zoo, tmp_path_factory):
    """old.* and new.* in every format: one bias and a few elements of one weight differ."""
    folder = tmp_path_factory.mktemp("deltas")
    model = zoo["mlp"]
    tiffin.ok("compile", model.path, "-o", folder / "m.so", "--quiet", *model.options)
    tiffin.ok("params", "extract", folder / "m.so", "-o", folder / "old.safetensors")
    tiffin.ok("params", "extract", folder / "m.so", "-o", folder / "old.tfw")
    tiffin.ok("params", "convert", folder / "old.tfw", "-o", folder / "old.params")
    arrays = load_file(folder / "old.safetensors")
    arrays["bias_0"] = arrays["bias_0"] + np.float32(0.5)
    save_file(arrays, folder / "new.safetensors")
    tiffin.ok("params", "convert", folder / "new.safetensors", "-o", folder / "new.params")
    tiffin.ok("params", "delta", folder / "old.safetensors", folder / "new.safetensors", "-o", folder / "d")
    tiffin.ok("params", "apply", folder / "old.tfw", folder / "d", "-o", folder / "new.tfw")
    return folder


def differences(tiffin, *words):
    done = tiffin.run("params", "diff", *words, "--json")
    return done.returncode, json.loads(done.stdout)


def test_diff_names_what_changed(sets, tiffin_run):
    for suffix in FORMATS:
        code, seen = differences(tiffin_run, sets / f"old.{suffix}", sets / f"new.{suffix}")
        changed = {tensor["name"]: tensor for tensor in seen["tensors"] if tensor["change"] != "equal"}
        assert code == 1 and not seen["same"] and set(changed) == {"bias_0"} and changed["bias_0"]["change"] == "changed"
        assert abs(changed["bias_0"]["max_difference"] - 0.5) < 1e-6
        assert all(tensor["max_difference"] == 0 for tensor in seen["tensors"] if tensor["change"] == "equal")
    assert "bias_0" in tiffin_run.run("params", "diff", sets / "old.tfw", sets / "new.tfw").stdout


def test_diff_of_equal_sets_is_0_whatever_the_format(sets, tiffin_run):
    for suffix in FORMATS:
        code, seen = differences(tiffin_run, sets / "old.tfw", sets / f"old.{suffix}")
        assert code == 0 and seen["same"], suffix
    assert differences(tiffin_run, sets / "m.so", sets / "old.params")[0] == 0


def test_diff_names_what_came_and_went(sets, tiffin_run, tmp_path):
    arrays = load_file(sets / "old.safetensors")
    arrays["fresh"] = arrays.pop("bias_0")
    arrays["bias_1"] = arrays["bias_1"].astype(np.float64)
    save_file(arrays, tmp_path / "x.safetensors")
    code, seen = differences(tiffin_run, sets / "old.safetensors", tmp_path / "x.safetensors")
    changes = {tensor["name"]: (tensor["change"], tensor["max_difference"]) for tensor in seen["tensors"]}
    assert code == 1 and changes["bias_0"] == ("removed", None) and changes["fresh"] == ("added", None) and changes["bias_1"] == ("changed", None)


@pytest.mark.parametrize("base", FORMATS)
@pytest.mark.parametrize("out", FORMATS)
def test_base_and_delta_give_the_new_set(base, out, sets, tiffin, tmp_path):
    tiffin.ok("params", "delta", sets / f"old.{base}", sets / f"new.{out}", "-o", tmp_path / "d")
    assert (tmp_path / "d").stat().st_size < 4096
    words = ("params", "apply", sets / f"old.{base}", tmp_path / "d", "-o", tmp_path / f"built.{out}")
    if out == "tfw" and base != "tfw":
        tiffin.fails("InvalidArgument", *words, mentions=("storage plan",))
    else:
        tiffin.ok(*words)
        assert tiffin.run("params", "diff", tmp_path / f"built.{out}", sets / "new.tfw").returncode == 0


def test_apply_gives_the_bytes_of_the_new_weights(sets, tiffin, tmp_path):
    tiffin.ok("params", "delta", sets / "old.tfw", sets / "new.tfw", "-o", tmp_path / "d")
    tiffin.ok("params", "apply", sets / "m.so", tmp_path / "d", "-o", tmp_path / "built.tfw")
    assert (tmp_path / "built.tfw").read_bytes() == (sets / "new.tfw").read_bytes()


def test_another_base_is_refused(sets, tiffin, tmp_path):
    for base in ("new.tfw", "new.safetensors"):
        tiffin.fails("StaleGeneration", "params", "apply", sets / base, sets / "d", "-o", tmp_path / "x.tfw")
    assert not list(tmp_path.iterdir())


def test_damaged_deltas_are_refused(sets, tiffin_run, tmp_path):
    whole = (sets / "d").read_bytes()
    for length in range(0, len(whole), 37):
        (tmp_path / "cut").write_bytes(whole[:length])
        tiffin_run.fails("Truncated", "params", "apply", sets / "old.tfw", tmp_path / "cut", "-o", tmp_path / "x.tfw")
    altered = bytearray(whole)
    altered[-8] ^= 4
    (tmp_path / "cut").write_bytes(altered)
    tiffin_run.fails("DigestMismatch", "params", "apply", sets / "old.tfw", tmp_path / "cut", "-o", tmp_path / "x.tfw")
    tiffin_run.fails("InvalidParams", "params", "apply", sets / "old.tfw", sets / "old.tfw", "-o", tmp_path / "x.tfw")
    assert tiffin_run.run("params", "apply", sets / "old.tfw", sets / "d", "-o", tmp_path / "x.weights").returncode == 2
    assert {path.name for path in tmp_path.iterdir()} == {"cut"}


def test_a_file_may_be_replaced_by_itself_changed(sets, tiffin, tmp_path):
    (tmp_path / "w.tfw").write_bytes((sets / "old.tfw").read_bytes())
    tiffin.ok("params", "apply", tmp_path / "w.tfw", sets / "d", "-o", tmp_path / "w.tfw")
    assert (tmp_path / "w.tfw").read_bytes() == (sets / "new.tfw").read_bytes()


def test_a_delta_does_not_replace_what_it_is_made_of(sets, tiffin, tmp_path):
    for name in ("old.tfw", "new.tfw"):
        shutil.copy(sets / name, tmp_path)
    for name in ("old.tfw", "new.tfw"):
        tiffin.fails("InvalidArgument", "params", "delta", tmp_path / "old.tfw", tmp_path / "new.tfw", "-o", tmp_path / name, mentions=("two files",))
        assert (tmp_path / name).read_bytes() == (sets / name).read_bytes()
    tiffin.ok("params", "delta", tmp_path / "old.tfw", tmp_path / "new.tfw", "-o", tmp_path / "d.tfw")
    tiffin.fails("InvalidArgument", "params", "apply", tmp_path / "old.tfw", tmp_path / "d.tfw", "-o", tmp_path / "d.tfw", mentions=("two files",))


def test_a_delta_is_no_set_of_parameters(sets, tiffin_run):
    tiffin_run.fails("InvalidParams", "params", "list", sets / "d", mentions=("delta", "tiffin params apply"))
