# SPDX-License-Identifier: Apache-2.0
"""One message names everything of a model that cannot be compiled, whichever stage finds it out."""
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


def value(name, shape, dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def save(folder, nodes, inputs, outputs, weights=(), domains=("org.example",)):
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(array, name) for name, array in weights])
    opsets = [helper.make_opsetid("", 17), *(helper.make_opsetid(domain, 1) for domain in domains)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), folder / "m.onnx")
    return folder / "m.onnx"


def branch(operator, *arguments, **keys):
    return helper.make_graph([helper.make_node(operator, *arguments, **keys)], operator, [], [value("z", [2, 3])])


def choose(condition, result, then_branch):
    return helper.make_node("If", [condition], [result], name="choice", then_branch=then_branch, else_branch=branch("Neg", ["x"], ["z"]))


@pytest.mark.parametrize("level", [0, 3])
def test_every_stage_s_findings_are_in_one_message(level, tiffin, tmp_path):
    body = helper.make_graph([helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Wobble", ["v"], ["w"], name="inner", domain="org.example")],
                             "body", [value("i", [], TensorProto.INT64), value("go", [], TensorProto.BOOL), value("v", [2, 3])],
                             [value("on", [], TensorProto.BOOL), value("w", [2, 3])])
    model = save(tmp_path, [
        helper.make_node("Frobnicate", ["x"], ["a"], name="frob_1", domain="org.example"),
        helper.make_node("Frobnicate", ["a"], ["b"], domain="org.example"),
        helper.make_node("Relu", ["b"], ["r"], name="after"),
        helper.make_node("Reshape", ["r", "flat"], ["s"], name="after_that"),
        helper.make_node("NonZero", ["x"], ["n"], name="find"),
        helper.make_node("NonZero", ["s"], ["n2"], name="find_behind"),
        helper.make_node("ReduceSum", ["x"], ["sum"], keepdims=0),
        helper.make_node("Greater", ["sum", "zero"], ["c"]),
        choose("c", "y", branch("Relu", ["x"], ["z"])),
        helper.make_node("Loop", ["trips", "", "x"], ["l"], name="again", body=body),
        helper.make_node("TopK", ["flags", "one"], ["t", "at"], name="top"),
    ], [value("x", [2, 3]), value("flags", [4], TensorProto.UINT8)], [value(name, None) for name in ("s", "n", "n2", "y", "l", "at")],
        [("flat", np.int64([6])), ("zero", np.float32(0)), ("trips", np.int64(3)), ("one", np.int64([1]))])
    message = tiffin.fails("UnsupportedOperator", "compile", model, "-o", tmp_path / "m.so", "-O", level, "--quiet", mentions=(
        str(model), "org.example.Frobnicate (2 nodes: 'frob_1', 'b')", "org.example.Wobble (1 node: 'inner')", "NonZero (2 nodes: 'find', 'find_behind')",
        "If with a condition that is computed (1 node: 'choice')", "Loop (1 node: 'again')"))
    assert "'after'" not in message and "'after_that'" not in message
    assert not (tmp_path / "m.so").exists()


def test_what_nothing_needs_is_not_asked_for(tiffin, tmp_path):
    model = save(tmp_path, [
        helper.make_node("Relu", ["x"], ["h"]),
        helper.make_node("Frobnicate", ["h"], ["unread"], domain="org.example"),
        choose("no", "y", branch("Frobnicate", ["h"], ["z"], domain="org.example")),
    ], [value("x", [2, 3])], [value("y", [2, 3])], [("no", np.bool_(False))])
    tiffin.ok("compile", model, "-o", tmp_path / "m.so", "--quiet")


def test_operators_come_before_open_dimensions(tiffin, tmp_path):
    model = save(tmp_path, [helper.make_node("Frobnicate", ["x"], ["y"], name="frob", domain="org.example")], [value("x", ["batch", 3])], [value("y", None)])
    tiffin.fails("UnsupportedOperator", "compile", model, "-o", tmp_path / "m.so", mentions=("org.example.Frobnicate (1 node: 'frob')",))
