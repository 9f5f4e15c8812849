# SPDX-License-Identifier: Apache-2.0
"""Which file of a folder serves which input: the one of its name, else the one of its number. The same for artifacts, models and golden cases."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper


def difference(path, names, shape=(3,)):
    """A model that subtracts its second input from the first, or negates its only one."""
    shape = list(shape)
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in names]
    node = helper.make_node("Sub" if len(names) == 2 else "Neg", names, ["y"])
    graph = helper.make_graph([node], "difference", infos, [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def fill(folder, **files):
    folder.mkdir(exist_ok=True)
    for name, value in files.items():
        np.save(folder / f"{name}.npy", np.full(3, value, np.float32))
    return folder


CASES = [
    (["input_1", "input_0"], {"input_1": 10, "input_0": 1}, 9),
    (["input_1", "input_2"], {"input_1": 10, "input_2": 1}, 9),
    (["input_1"], {"input_0": 3}, -3),
    (["left", "right"], {"input_0": 10, "input_1": 1}, 9),
    (["output_mask"], {"output_mask": 3}, -3),
    (["output_0", "x"], {"output_0": 10, "x": 1, "output_1": 5}, 9),
]


@pytest.mark.parametrize("names, files, wanted", CASES)
@pytest.mark.parametrize("shape", [(3,), ("n",)])
def test_a_file_is_for_the_input_of_its_name_else_of_its_number(names, files, wanted, shape, tiffin, tiffin_run, tmp_path):
    model, folder = difference(tmp_path / "m.onnx", names, shape), fill(tmp_path / "in", **files)
    tiffin.ok("compile", model, "-o", tmp_path / "m.so", "--dim", "n=3", "--quiet") if shape == ("n",) else \
        tiffin.ok("compile", model, "-o", tmp_path / "m.so", "--golden-inputs", folder, "--quiet")
    for program, file in ((tiffin_run, "m.so"), (tiffin, "m.onnx")):
        program.ok("run", tmp_path / file, "--inputs", folder, "--outputs", tmp_path / "out", "--quiet")
        assert np.array_equal(np.load(tmp_path / "out" / "output_0.npy"), np.full(3, wanted, np.float32)), file
    if shape == (3,):
        assert tiffin_run.json("verify", tmp_path / "m.so")["golden"]["passed"] == 1


@pytest.mark.parametrize("shape", [(3,), ("n",)])
def test_a_number_does_not_stand_beside_a_name_unnoticed(shape, tiffin, tmp_path):
    model = difference(tmp_path / "m.onnx", ["input_1", "input_2"], shape)
    folder = fill(tmp_path / "in", input_0=1, input_1=2)
    tiffin.fails("InvalidArgument", "run", model, "--inputs", folder, mentions=("'input_1' is given twice", "input_0.npy", "keep one"))


def test_outputs_in_the_folder_of_inputs_are_passed_over(tiffin, tmp_path):
    model, folder = difference(tmp_path / "m.onnx", ["x"]), fill(tmp_path / "io", x=3)
    for _ in range(2):
        tiffin.ok("run", model, "--inputs", folder, "--outputs", folder, "--quiet")
    (folder / "output_0.npy").write_text("no tensor")
    tiffin.ok("run", model, "--inputs", folder, "--quiet")


@pytest.mark.parametrize("shape", [(3,), ("n",)])
def test_a_mistyped_input_is_named_whether_shapes_are_open_or_not(shape, tiffin, tmp_path):
    model = difference(tmp_path / "m.onnx", ["x", "x2"], shape)
    fill(tmp_path, a=1)
    words = ("run", model, "--input", f"x2={tmp_path / 'a.npy'}", "--input")
    tiffin.fails("UnknownInput", *words, f"X={tmp_path / 'a.npy'}", mentions=("'X'", "did you mean 'x'?"))
    tiffin.fails("Io", *words, f"x={tmp_path / 'absent.npy'}", mentions=("input 'x'", "absent.npy"))


def test_a_golden_case_that_lacks_an_input_says_what_to_add(tiffin, tmp_path):
    model, folder = difference(tmp_path / "m.onnx", ["left", "right"]), fill(tmp_path / "in", left=1)
    message = tiffin.fails("UnsetInput", "compile", model, "-o", tmp_path / "m.so", "--golden-inputs", folder, mentions=("'right'", "golden case"))
    assert "--fill" not in message and "--inputs DIR" not in message
