# SPDX-License-Identifier: Apache-2.0
"""Models of one or two nodes, in forms that real models seldom have, against the evaluator of the onnx package."""
import warnings

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

RNG = np.random.default_rng(3)
W = RNG.standard_normal((3, 4)).astype(np.float32)
KERNEL = RNG.standard_normal((8, 8, 1, 1)).astype(np.float32)
IMAGE = RNG.standard_normal((1, 8, 5, 5)).astype(np.float32)
WHOLE = np.arange(-6, 6, dtype=np.int32).reshape(3, 4)
NAN = np.full(4, np.nan, np.float32)
SQUARE = RNG.standard_normal((4, 4)).astype(np.float32)
TURNED = [0, 2, 3, 1]


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(","), outputs.split(","), **attributes)


def root_mean_square(epsilon, exponent=()):
    """x / sqrt(mean(x ** 2) + epsilon), where the numbers may have more axes than x."""
    return ([node("Pow", "x,two", "q"), node("ReduceMean", "q", "m", axes=[-1]), node("Add", "m,e", "v"), node("Sqrt", "v", "s"), node("Div", "x,s", "y")],
            {"x": W}, {"e": np.full(epsilon, 1e-3, np.float32), "two": np.full(exponent, 2, np.float32)}, "y")


# name: nodes, inputs, weights, outputs
CASES = {
    "an output of parameters alone": ([node("Add", "w,w", "y")], {}, {"w": W}, "y"),
    "a parameter as it is": ([node("Relu", "x", "z"), node("Identity", "w", "y")], {"x": W}, {"w": W}, "z,y"),
    "a parameter that is an output": ([node("Relu", "x", "z")], {"x": W}, {"w": W}, "z,w"),
    "a moved parameter, read and given": ([node("Transpose", "w", "y"), node("MatMul", "x,y", "z")], {"x": W}, {"w": W}, "y,z"),
    "a sum of parameters, read and given": ([node("Add", "b,b", "y"), node("Add", "x,y", "z")], {"x": W}, {"b": W[0]}, "y,z"),
    "integer Gemm by fractions": ([node("Gemm", "x,w,c", "y", alpha=0.5, beta=1.5)], {"x": WHOLE}, {"w": WHOLE.T.copy(), "c": WHOLE[0, :3]}, "y"),
    "Gemm that does not read C": ([node("Gemm", "x,w,c", "y", beta=0.0)], {"x": W}, {"w": W.T.copy(), "c": NAN[:3]}, "y"),
    "Clip between convolutions, maximum alone": (
        [node("Conv", "x,k", "a"), node("Clip", "a,,m", "b"), node("Conv", "b,k", "y")], {"x": IMAGE}, {"k": KERNEL, "m": np.float32(0.5)}, "y"),
    "Shrink of unsigned integers": ([node("Shrink", "x", "y", lambd=1.5, bias=1.0)], {"x": np.arange(6, dtype=np.uint8)}, {}, "y"),
    "Shrink of integers by a fraction": ([node("Shrink", "x", "y", lambd=1.0, bias=0.5)], {"x": WHOLE}, {}, "y"),
    "a value and its transpose in a product": (
        [node("Transpose", "x", "t"), node("Relu", "t", "v"), node("Transpose", "v", "u"), node("MatMul", "v,u", "y")], {"x": W}, {}, "y"),
    "a value and its transpose as outputs": (
        [node("Transpose", "x", "t"), node("Relu", "t", "v"), node("Transpose", "v", "u")], {"x": W}, {}, "v,u"),
    "a value less its transpose": (
        [node("Relu", "x", "v"), node("Transpose", "v", "u"), node("Sub", "v,u", "d"), node("Transpose", "d", "t"), node("Softmax", "t", "y")],
        {"x": SQUARE}, {}, "y"),
    "a turned image beside itself": (
        [node("Relu", "x", "v"), node("Transpose", "v", "u", perm=TURNED), node("Tanh", "u", "w"), node("Transpose", "w", "t", perm=[0, 3, 1, 2]),
         node("Add", "t,v", "y")], {"x": IMAGE}, {}, "y,u"),
    "a norm whose epsilon has more axes": root_mean_square((1, 1, 1)),
    "a norm whose epsilon makes more rows": root_mean_square((2, 1, 1)),
    "a norm whose exponent has more axes": root_mean_square((), (1, 1, 1)),
    "a product and its operand": ([node("Relu", "x", "t"), node("MatMul", "t,w", "m"), node("Add", "m,t", "y")], {"x": W}, {"w": SQUARE}, "y"),
    "a convolution and its input": ([node("Conv", "x,k", "m"), node("Add", "m,x", "y")], {"x": IMAGE}, {"k": KERNEL}, "y"),
    "a weight and its transpose": (
        [node("MatMul", "x,w", "h"), node("Transpose", "w", "t"), node("MatMul", "h,t", "y")], {"x": W}, {"w": SQUARE}, "y"),
    "a weight in two kinds of Gemm": ([node("Gemm", "x,w", "h", transB=1), node("Gemm", "h,w", "y")], {"x": W}, {"w": SQUARE}, "y"),
    "a kernel and its transpose": (
        [node("Conv", "x,k", "h"), node("Transpose", "k", "t", perm=[1, 0, 2, 3]), node("Conv", "h,t", "y")], {"x": IMAGE}, {"k": KERNEL}, "y"),
    "a size of nothing": ([node("Resize", "x,,s", "y", mode="linear")], {"x": IMAGE}, {"s": np.float32([1, 1, 0.1, 1])}, "y"),
    "a crop beside the image": (
        [node("Resize", "x,roi,,s", "y", mode="linear", coordinate_transformation_mode="tf_crop_and_resize", extrapolation_value=7.0)],
        {"x": IMAGE}, {"roi": np.float32([0, 0, 1.5, 0, 1, 1, 2.5, 1]), "s": np.int64([1, 8, 3, 4])}, "y"),
    "a product of nothing": ([node("Einsum", "a,b", "y", equation="bij,jk->bik")], {"a": np.zeros((0, 4, 3), np.float32)}, {"b": W}, "y"),
    "a sum over nothing": (
        [node("Einsum", "a,b,c", "y", equation="bij,jk,bl->kl")], {"a": np.zeros((0, 4, 3), np.float32), "c": np.zeros((0, 2), np.float32)}, {"b": W}, "y"),
    "a norm of no images": (
        [node("InstanceNormalization", "x,s,s", "y")], {"x": np.zeros((0, 3, 4), np.float32)}, {"s": np.ones(3, np.float32)}, "y"),
    "positions in a parameter": (
        [node("NonZero", "m", "n"), node("Squeeze", "n,z", "i"), node("Gather", "x,i", "y", axis=1)],
        {"x": W}, {"m": np.array([True, False, True, True]), "z": np.int64([0])}, "y"),
    "Celu of large numbers": ([node("Celu", "x", "y", alpha=0.3)], {"x": np.float32([3e38, -3e38, 1, -1, 0])}, {}, "y"),
}


def info(name, array=None):
    if array is None:
        return onnx.ValueInfoProto(name=name)
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


@pytest.mark.parametrize("level", [0, 1, 3])
@pytest.mark.parametrize("name", CASES)
def test_values_are_those_of_the_definition(name, level, tiffin, tiffin_run, tmp_path):
    nodes, inputs, weights, outputs = CASES[name]
    names = outputs.split(",")

    def model(outs):
        graph = helper.make_graph(nodes, "small", [info(key, value) for key, value in inputs.items()], outs,
                                  [numpy_helper.from_array(np.asarray(value), key) for key, value in weights.items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    bare = model([info(key) for key in names])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = [np.asarray(value) for value in ReferenceEvaluator(bare).run(None, inputs)]
    onnx.save(model([info(key, value) for key, value in zip(names, expected)]), tmp_path / "m.onnx")
    tiffin.ok("compile", tmp_path / "m.onnx", "-o", tmp_path / "m.so", "-O", level, "--quiet")
    (tmp_path / "in").mkdir()
    for key, value in inputs.items():
        np.save(tmp_path / "in" / f"{key}.npy", value)
    tiffin_run.ok("run", tmp_path / "m.so", "--inputs", tmp_path / "in", "--outputs", tmp_path / "out", "--quiet")
    for index, value in enumerate(expected):
        actual = np.load(tmp_path / "out" / f"output_{index}.npy")
        assert actual.dtype == value.dtype and actual.shape == value.shape
        np.testing.assert_allclose(actual, value, rtol=1e-5, atol=1e-5)


def test_a_slice_backwards_from_before_the_beginning(tiffin, tiffin_run, tmp_path):
    """ONNX clamps such a start to 0, so that the first element is taken; numpy takes none."""
    weights = {"a": [-7], "b": [-100], "ax": [0], "s": [-1]}
    graph = helper.make_graph([node("Slice", "x,a,b,ax,s", "y")], "g", [info("x", NAN)], [info("y", NAN[:1])],
                              [numpy_helper.from_array(np.int64(value), key) for key, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "m.onnx")
    tiffin.ok("compile", tmp_path / "m.onnx", "-o", tmp_path / "m.so", "--quiet")
    np.save(tmp_path / "x.npy", np.arange(5, 9, dtype=np.float32))
    tiffin_run.ok("run", tmp_path / "m.so", "--input", f"x={tmp_path / 'x.npy'}", "--outputs", tmp_path / "out", "--quiet")
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "output_0.npy"), np.float32([5]))


@pytest.mark.parametrize("op", ["QuantizeLinear", "DequantizeLinear"])
def test_blocks_of_a_vector(op, tiffin, tiffin_run, tmp_path):
    x = np.arange(5, dtype=np.float32 if op == "QuantizeLinear" else np.int8)
    keys = {"output_dtype": onnx.TensorProto.INT8} if op == "QuantizeLinear" else {}
    result = onnx.TensorProto.INT8 if op == "QuantizeLinear" else onnx.TensorProto.FLOAT
    graph = helper.make_graph([node(op, "x,s", "y", axis=0, block_size=2, **keys)], "g", [info("x", x)], [helper.make_tensor_value_info("y", result, [5])],
                              [numpy_helper.from_array(np.float32([0.5, 0.25, 2]), "s")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), tmp_path / "m.onnx")
    scales = np.float32([0.5, 0.5, 0.25, 0.25, 2])
    tiffin.ok("compile", tmp_path / "m.onnx", "-o", tmp_path / "m.so", "--quiet")
    np.save(tmp_path / "x.npy", x)
    tiffin_run.ok("run", tmp_path / "m.so", "--input", f"x={tmp_path / 'x.npy'}", "--outputs", tmp_path / "out", "--quiet")
    np.testing.assert_array_equal(np.load(tmp_path / "out" / "output_0.npy"), x / scales if op == "QuantizeLinear" else x * scales)


def test_a_norm_pool_whose_last_window_reaches_beyond(tiffin, tiffin_run, tmp_path):
    pool = node("LpPool", "x", "y", kernel_shape=[3, 3], strides=[2, 2], dilations=[1, 1], ceil_mode=1, p=2)
    graph = helper.make_graph([pool], "g", [info("x", IMAGE[:, :, :4, :])], [info("y", np.empty((1, 8, 2, 2), np.float32))])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), tmp_path / "m.onnx")
    tiffin.ok("compile", tmp_path / "m.onnx", "-o", tmp_path / "m.so", "--quiet")
    np.save(tmp_path / "x.npy", IMAGE[:, :, :4, :])
    tiffin_run.ok("run", tmp_path / "m.so", "--input", f"x={tmp_path / 'x.npy'}", "--outputs", tmp_path / "out", "--quiet")
    squares = np.pad(IMAGE[:, :, :4, :] ** 2, ((0, 0), (0, 0), (0, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(squares, (3, 3), axis=(2, 3))[:, :, ::2, ::2]
    np.testing.assert_allclose(np.load(tmp_path / "out" / "output_0.npy"), np.sqrt(windows.sum(axis=(4, 5))), rtol=1e-5)
