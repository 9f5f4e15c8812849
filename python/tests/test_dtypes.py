# SPDX-License-Identifier: Apache-2.0
"""Every element type that a model takes, in every layout that numpy makes: converted or refused, never misread."""
import numpy as np
import pytest
from onnx import TensorProto, helper, save

import tiffin

ml_dtypes = pytest.importorskip("ml_dtypes")

TYPES = {np.dtype(name): getattr(TensorProto, onnx_name) for name, onnx_name in (
    ("float32", "FLOAT"), ("float64", "DOUBLE"), ("float16", "FLOAT16"), ("bool", "BOOL"), ("int8", "INT8"), ("int16", "INT16"), ("int32", "INT32"),
    ("int64", "INT64"), ("uint8", "UINT8"), ("uint16", "UINT16"), ("uint32", "UINT32"), ("uint64", "UINT64"))}
TYPES[np.dtype(ml_dtypes.bfloat16)] = TensorProto.BFLOAT16


@pytest.fixture(scope="module")
def executor_of(folder):
    """executor_of(dtype): y is x with its axes turned around."""
    made = {}

    def executor(dtype):
        if dtype not in made:
            path = folder / f"turn_{dtype.name}.onnx"
            graph = helper.make_graph([helper.make_node("Transpose", ["x"], ["y"])], "turn",
                                      [helper.make_tensor_value_info("x", TYPES[dtype], [3, 4])],
                                      [helper.make_tensor_value_info("y", TYPES[dtype], [4, 3])])
            save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
            made[dtype] = tiffin.compile(path)["default"](threads=1)
        return made[dtype]

    return executor


def values_of(dtype):
    values = np.arange(12).reshape(3, 4)
    return (values % 2 == 0 if dtype == bool else values * 9).astype(dtype)


def layouts_of(x):
    wide = np.zeros((6, 12), x.dtype)
    wide[::2, ::3] = x
    misaligned = np.frombuffer(b"#" + x.tobytes(), np.uint8)[1:].view(x.dtype).reshape(x.shape)
    frozen = x.copy()
    frozen.flags.writeable = False
    found = {"compact": x, "fortran": np.asfortranarray(x), "strided": wide[::2, ::3], "reversed": x[::-1, ::-1].copy()[::-1, ::-1],
             "misaligned": misaligned, "read-only": frozen, "of a transpose": np.ascontiguousarray(x.T).T}
    if x.dtype.isbuiltin == 1:  # ml_dtypes' types have no other byte order
        found["swapped"] = x.astype(x.dtype.newbyteorder())
        found["swapped and strided"] = wide.astype(x.dtype.newbyteorder())[::2, ::3]
    return found


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_layouts(dtype, executor_of):
    executor, x = executor_of(dtype), values_of(dtype)
    for name, value in layouts_of(x).items():
        before = value.copy()
        executor.run(x=value)
        y = executor.get_output(0)
        assert y.dtype == dtype.name and y.numpy().dtype == dtype, name
        assert np.array_equal(y.numpy(), x.T), name
        assert np.array_equal(value, before), name


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_outputs_come_back_through_dlpack(dtype, executor_of):
    executor, x = executor_of(dtype), values_of(dtype)
    executor.run(x=x)
    y = executor.get_output("y")
    again = executor_of(dtype)
    tensor = tiffin.runtime.Tensor.from_dlpack(y)
    assert tensor.dtype == dtype.name and np.array_equal(tensor.numpy(), x.T)
    if dtype.isbuiltin == 1:
        assert np.array_equal(np.from_dlpack(y), x.T)
        again.run(x=np.from_dlpack(y).T)
        assert np.array_equal(again.get_output(0).numpy(), x.T)


def test_other_types_are_refused(executor_of, raised):
    for dtype in TYPES:
        executor = executor_of(dtype)
        for other in TYPES:
            if other != dtype:
                failure = raised("TypeMismatch", executor.set_input, "x", values_of(other))
                assert dtype.name in str(failure) and other.name in str(failure)


SMALL_TYPES = ["bfloat16", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn", "int4", "uint4",
               "int2", "uint2"]


@pytest.mark.parametrize("name", [name for name in SMALL_TYPES if hasattr(ml_dtypes, name)])
def test_types_of_other_packages_pass_as_they_are(name):
    """Whatever kind and character numpy gives them: float8_e5m2 has the kind of float32, float8_e4m3fnuz the character of a complex long double."""
    x = np.array([[1, 0, 1, 1], [0, 1, 1, 1], [1, 1, 0, 1]]).astype(getattr(ml_dtypes, name))
    for layout, value in layouts_of(x).items():
        loaded = tiffin.load_param_dict(tiffin.save_param_dict({"value": value}))["value"]
        assert loaded.dtype == name and loaded.shape == (3, 4), layout
        assert loaded.numpy().dtype == x.dtype and loaded.numpy().tobytes() == x.tobytes(), layout
    assert tiffin.arrays.to_tensor(x[0, 0], "value").numpy().tobytes() == x[0, 0].tobytes()
    assert tiffin.load_param_dict(tiffin.save_param_dict({"value": x[:0]}))["value"].shape == (0, 4)


def test_types_that_tiffin_lacks(executor_of, library, dense, raised):
    executor = executor_of(np.dtype(np.float32))
    names = ["float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float6_e2m3fn", "int1", "complex32"]
    types = [getattr(ml_dtypes, name) for name in names if hasattr(ml_dtypes, name)]
    for dtype in types + [np.longdouble, np.clongdouble, "V1", "V4", "S4", "U4", "m8[s]", object, [("a", "f4")]]:
        value = np.zeros((3, 4), dtype)
        for call in (lambda: executor.set_input("x", value), lambda: executor.set_input("x", value[::-1]),
                     lambda: tiffin.save_param_dict({"value": value}),
                     lambda: tiffin.load_module(library).params.stage({**dense.params, "fc1.bias": value})):
            assert isinstance(raised("TypeMismatch", call), TypeError)
    for name in ("float8_e5m2", "float8_e4m3fnuz"):  # types of Tiffin that this input does not have
        assert name in str(raised("TypeMismatch", executor.set_input, "x", np.zeros((3, 4), getattr(ml_dtypes, name))))


def test_masked_arrays_are_refused(executor_of, raised):
    executor, values = executor_of(np.dtype(np.float32)), np.ones((3, 4), np.float32)
    masked = np.ma.array(values, mask=values > 0)

    class Held:
        def __array__(self, dtype=None, copy=None):
            return masked

    for value in (masked, np.ma.array(values), list(masked), [list(masked)], Held()):
        assert "filled" in raised("TypeMismatch", executor.set_input, "x", value).remedy
    raised("TypeMismatch", executor.bind_input, "x", masked)
    raised("TypeMismatch", tiffin.save_param_dict, {"value": masked})
    executor.run(x=masked.filled(2))
    assert np.all(executor.get_output(0).numpy() == 2)


def test_numpy_scalars(folder):
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "scalar", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [])])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "scalar.onnx")
    executor = tiffin.compile(folder / "scalar.onnx")["default"]()
    for value in (np.float32(3), np.array(3, np.float32), np.array(3, ">f4")):
        executor.run(x=value)
        assert executor.get_output(0).numpy() == -3 and executor.get_output(0).shape == ()


def test_lists_of_typed_numbers(gmod, x, raised):
    gmod.run(data=x)
    expected = gmod.get_output(0).numpy()
    gmod.run(data=[list(x[0])])  # of numpy.float32
    assert np.array_equal(gmod.get_output(0).numpy(), expected)
    raised("TypeMismatch", gmod.run, data=x.tolist())  # Python's numbers are float64
    raised("InvalidInput", gmod.run, data=[[1.0] * 8, [1.0]])


def test_special_values_pass(executor_of):
    executor = executor_of(np.dtype(np.float32))
    value = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45, 3.4e38] * 2, np.float32).reshape(3, 4)
    executor.run(x=value)
    assert executor.get_output(0).numpy().tobytes() == np.ascontiguousarray(value.T).tobytes()
