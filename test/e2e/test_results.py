# SPDX-License-Identifier: Apache-2.0
"""Every model of the zoo, compiled, and run in another process: the values of ONNX Runtime, whatever level, threads and machine."""
import pytest

from program import assert_close, execute, same_bits, zoo_paths

NAMES = [path.stem for path in zoo_paths()]


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_onnxruntime(name, level, zoo, artifact_of, tiffin_run, tmp_path):
    artifact = artifact_of(name, "-O", level)
    one = execute(tiffin_run, artifact, zoo[name], tmp_path, "--threads", 1)
    assert_close(one, zoo[name].expected())
    assert same_bits(one, execute(tiffin_run, artifact, zoo[name], tmp_path, "--threads", 2)), "two threads give other bits"


@pytest.mark.parametrize("cpu", ["x86-64-v2", "x86-64-v3"])
@pytest.mark.parametrize("name", ["conv_net", "transformer"])
def test_older_processors_get_the_same_values(name, cpu, zoo, artifact_of, tiffin_run, tmp_path):
    artifact = artifact_of(name, "--target", f"llvm -mcpu={cpu}")
    assert_close(execute(tiffin_run, artifact, zoo[name], tmp_path), zoo[name].expected())


def test_run_of_a_model_compiles_it_in_memory(zoo, tiffin, artifact_of, tiffin_run, tmp_path):
    case = zoo["mlp"]
    compiled = execute(tiffin_run, artifact_of("mlp"), case, tmp_path)
    assert same_bits(compiled, execute(tiffin, case.path, case, tmp_path))


def test_open_dimensions_are_taken_from_the_inputs(zoo, tiffin, artifact_of, tiffin_run, tmp_path):
    case = zoo["dynamic"]
    compiled = execute(tiffin_run, artifact_of("dynamic"), case, tmp_path)
    assert same_bits(compiled, execute(tiffin, case.path, case, tmp_path))


def test_tiffin_and_tiffin_run_give_the_same_bits(zoo, tiffin, tiffin_run, artifact_of, tmp_path):
    artifact = artifact_of("unet")
    assert same_bits(execute(tiffin, artifact, zoo["unet"], tmp_path), execute(tiffin_run, artifact, zoo["unet"], tmp_path))
