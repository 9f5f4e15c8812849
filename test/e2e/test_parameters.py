# SPDX-License-Identifier: Apache-2.0
"""Weights inside and beside the artifact: the same bits, the model's own tensors back, and no mix-up unnoticed."""
import shutil
import subprocess

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from safetensors.numpy import load_file, save_file

from program import Case, execute, same_bits

FORMATS = ("safetensors", "params", "tfw")
NAMES = ("mlp", "conv_net", "transformer", "unet", "recurrent")


@pytest.fixture(scope="module")
def external(tiffin, zoo, tmp_path_factory):
    """(artifact without weights, parameter file) by name and format."""
    folder = tmp_path_factory.mktemp("external")
    made = {}

    def compiled(name, suffix):
        if (name, suffix) not in made:
            made[name, suffix] = folder / f"{name}_{suffix}.so", folder / f"{name}.{suffix}"
            thin, weights = made[name, suffix]
            tiffin.ok("compile", zoo[name].path, "-o", thin, "--params-out", weights, "--quiet", *zoo[name].options)
        return made[name, suffix]

    return compiled


@pytest.mark.parametrize("name", NAMES)
def test_external_gives_the_bits_of_embedded(name, zoo, artifact_of, external, tiffin_run, tmp_path):
    embedded = execute(tiffin_run, artifact_of(name), zoo[name], tmp_path)
    for suffix in FORMATS:
        thin, weights = external(name, suffix)
        assert same_bits(embedded, execute(tiffin_run, thin, zoo[name], tmp_path, "--params", weights)), suffix


@pytest.mark.parametrize("name", NAMES)
def test_extraction_gives_the_models_own_tensors(name, zoo, artifact_of, external, tiffin, tmp_path):
    sources = [("extract", artifact_of(name))] + [("convert", external(name, suffix)[1]) for suffix in FORMATS]
    for source in sources:
        tiffin.ok("params", *source, "-o", tmp_path / "back.safetensors")
        back = load_file(tmp_path / "back.safetensors")
        for key, array in zoo[name].parameters.items():
            assert key in back and same_bits([back[key]], [array]), f"{source[0]} {source[1].name}: {key}"


def test_every_kind_of_artifact_gives_its_parameters(zoo, artifact_of, external, tiffin, tiffin_run, tmp_path):
    """Contents decide, not the name."""
    tiffin.ok("compile", zoo["mlp"].path, "-o", tmp_path / "b.tar", "--quiet")
    (tmp_path / "unpacked").mkdir()
    subprocess.run(["tar", "xf", tmp_path / "b.tar", "-C", tmp_path / "unpacked"], check=True)
    shutil.copy(tmp_path / "b.tar", tmp_path / "nameless")
    listed = tiffin_run.json("params", "list", artifact_of("mlp"))
    weights = external("mlp", "tfw")[1]
    tiffin.ok("params", "delta", weights, weights, "-o", tmp_path / "d")
    for name in ("b.tar", "nameless", "unpacked"):
        assert tiffin_run.json("params", "list", tmp_path / name) == listed
        tiffin_run.ok("params", "extract", tmp_path / name, "-o", tmp_path / "back.tfw")
        assert (tmp_path / "back.tfw").read_bytes() == weights.read_bytes()
        tiffin_run.ok("params", "diff", tmp_path / name, weights)
        tiffin_run.ok("params", "apply", tmp_path / name, tmp_path / "d", "-o", tmp_path / "applied.tfw")
    (tmp_path / "empty").mkdir()
    tiffin_run.fails("Io", "params", "list", tmp_path / "empty", mentions=("no unpacked bundle",))


def test_without_its_parameters_nothing_runs(external, tiffin_run):
    thin, _ = external("mlp", "tfw")
    tiffin_run.fails("MissingParam", "run", thin, "--fill", "zeros", mentions=("weight_0", "--params"))


def test_a_forgotten_an_extra_and_a_misshapen_tensor_are_all_named(external, tiffin_run, tmp_path):
    thin, weights = external("mlp", "safetensors")
    arrays = load_file(weights)
    arrays["surplus"] = arrays.pop("bias_0")
    arrays["weight_1"] = np.ascontiguousarray(arrays["weight_1"].T)
    arrays["bias_1"] = arrays["bias_1"].astype(np.float64)
    save_file(arrays, tmp_path / "wrong.safetensors")
    tiffin_run.fails("MissingParam", "run", thin, "--fill", "zeros", "--params", tmp_path / "wrong.safetensors",
                     mentions=("bias_0", "surplus", "weight_1", "bias_1", "float64"))


def test_other_weights_need_to_be_meant(zoo, external, tiffin, tiffin_run, tmp_path):
    thin, weights = external("mlp", "safetensors")
    arrays = {name: array * np.float32(2) for name, array in load_file(weights).items()}
    save_file(arrays, tmp_path / "doubled.safetensors")
    tiffin_run.fails("ParamDigestMismatch", "run", thin, "--fill", "zeros", "--params", tmp_path / "doubled.safetensors", mentions=("weight_0",))
    # On purpose it is the network of the other weights.
    other = zoo["mlp"].model.__class__()
    other.CopyFrom(zoo["mlp"].model)
    for tensor in other.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(arrays[tensor.name], tensor.name))
    (tmp_path / "other.onnx").write_bytes(other.SerializeToString())
    tiffin.ok("compile", tmp_path / "other.onnx", "-o", tmp_path / "other.so", "--quiet")
    wanted = execute(tiffin_run, tmp_path / "other.so", Case(tmp_path / "other.onnx"), tmp_path)
    assert same_bits(wanted, execute(tiffin_run, thin, zoo["mlp"], tmp_path, "--params", tmp_path / "doubled.safetensors", "--new-weights"))


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_cut_parameter_file_is_refused(suffix, external, tiffin_run, tmp_path):
    thin, weights = external("mlp", suffix)
    whole, cut = weights.read_bytes(), tmp_path / f"cut.{suffix}"
    for part in range(16):
        cut.write_bytes(whole[: len(whole) * part // 16])
        tiffin_run.fails(("Truncated", "InvalidParams"), "run", thin, "--fill", "zeros", "--params", cut)


def test_a_weightless_file_holds_no_weights(external, zoo):
    for name in NAMES:
        thin, _ = external(name, "tfw")
        for key, array in zoo[name].parameters.items():
            if array.nbytes >= 256:
                assert array.tobytes() not in thin.read_bytes(), f"{name}: {key} lies in the file"


def test_weights_of_a_branch_that_is_taken_are_parameters(tiffin, tiffin_run, tmp_path):
    """As every initializer; those of the other branch go with it."""
    x, w, v = (np.arange(6, dtype=np.float32).reshape(2, 3) + i for i in range(3))
    branches = [helper.make_graph([helper.make_node("Add", ["x", name], ["z"])], name, [], [helper.make_tensor_value_info("z", 1, [2, 3])],
                                  [numpy_helper.from_array(array, name)]) for name, array in (("w", w), ("v", v))]
    graph = helper.make_graph([helper.make_node("If", ["yes"], ["y"], then_branch=branches[0], else_branch=branches[1])], "g",
                              [helper.make_tensor_value_info("x", 1, [2, 3])], [helper.make_tensor_value_info("y", 1, [2, 3])],
                              [numpy_helper.from_array(np.bool_(True), "yes")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    tiffin.ok("compile", tmp_path / "m.onnx", "-o", tmp_path / "m.so", "--params-out", tmp_path / "w.safetensors", "--quiet")
    stored = load_file(tmp_path / "w.safetensors")
    assert "v" not in stored
    np.testing.assert_array_equal(stored["w"], w)
    np.save(tmp_path / "x.npy", x)
    tiffin_run.ok("run", tmp_path / "m.so", "--params", tmp_path / "w.safetensors", "--input", f"x={tmp_path / 'x.npy'}", "--outputs", tmp_path / "out", "--quiet")
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "output_0.npy"), x + w)


def test_stored_tensors_are_what_the_parameters_make_them(zoo, tiffin, tiffin_run, tmp_path):
    """A folded scale is no parameter: where values are verified it is made again and compared."""
    rng = np.random.default_rng(5)
    weights = {"k": rng.standard_normal((4, 3, 3, 3)).astype(np.float32), **{name: rng.random(4).astype(np.float32) + 1 for name in ("s", "b", "m", "v")}}
    graph = helper.make_graph([helper.make_node("Conv", ["x", "k"], ["c"]), helper.make_node("BatchNormalization", ["c", "s", "b", "m", "v"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", 1, [1, 3, 8, 8])], [helper.make_tensor_value_info("y", 1, [1, 4, 6, 6])],
                              [numpy_helper.from_array(array, name) for name, array in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    tiffin.ok("compile", tmp_path / "m.onnx", "-o", tmp_path / "m.so", "--params-out", tmp_path / "w.tfw", "--quiet")
    scale = (weights["s"] / np.sqrt(weights["v"] + np.float32(1e-5))).astype(np.float32)
    good = (tmp_path / "w.tfw").read_bytes()
    at = good.find(scale[:1].tobytes())
    assert at > 0, "the folded scale is stored"
    (tmp_path / "bad.tfw").write_bytes(good[:at] + np.float32(1000).tobytes() + good[at + 4:])
    run = ("--fill", "ones", "--quiet")
    tiffin_run.ok("run", tmp_path / "m.so", "--params", tmp_path / "w.tfw", "--verify", "all", *run)
    tiffin_run.fails("DigestMismatch", "run", tmp_path / "m.so", "--params", tmp_path / "bad.tfw", "--verify", "all", *run, mentions=("stored tensor",))
    done = tiffin_run.run("verify", tmp_path / "m.so", "--params", tmp_path / "bad.tfw")
    assert done.returncode == 1 and "stored tensor" in done.stdout + done.stderr
