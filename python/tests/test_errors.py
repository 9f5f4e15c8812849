# SPDX-License-Identifier: Apache-2.0
"""Every wrong use is an error with a code, a remedy, and the built-in class that a Python user would catch."""
import collections
import copy
import pickle
import types

import numpy as np
import pytest

import tiffin


def test_names(gmod, library, x, raised):
    failure = raised("UnknownInput", gmod.set_input, "date", x)
    assert isinstance(failure, KeyError) and "'data'" in str(failure) and failure.remedy in str(failure) and failure.code in str(failure)
    raised("UnknownInput", gmod.run, date=x)
    raised("UnknownInput", gmod.set_input, data=x, dat=x)
    lib = tiffin.load_module(library)
    assert isinstance(raised("MissingFunction", lambda: lib["absent"]), KeyError)
    raised("MissingFunction", lib.get_function, "run")
    assert isinstance(raised("InvalidArgument", gmod.set_input, 1, x), ValueError)
    raised("InvalidArgument", gmod.get_output, "z")


def test_a_dict_as_one_input(gmod, x, raised):
    for values in ({"data": x}, collections.UserDict(data=x), types.MappingProxyType({"data": x})):
        for call in (lambda: gmod.set_input(values), lambda: gmod.set_input("data", values), lambda: gmod.run(values), lambda: gmod.run(data=values),
                     lambda: gmod.profile(values), lambda: gmod.profile(2, values), lambda: gmod.load_params({"fc1.bias": values})):
            failure = raised("InvalidArgument", call)
            assert "dict" in failure.message and "**" in failure.remedy
    assert "keyword" in str(raised("InvalidArgument", gmod.run, x))


def test_a_mistyped_parameter(gmod, dense, x, raised):
    bias, weight = dense.params["fc1.bias"], dense.params["fc1.weight"]
    for values in ({"fc1.bais": bias}, {"fc1.bais": bias, "data": x}, {"fc1.bais": bias, "fc1.weight": weight}):
        failure = raised("UnknownParam", gmod.set_input, **values)
        assert failure.remedy == "did you mean 'fc1.bias'?" and failure.details == {"unexpected": ["fc1.bais"], "nearest": "fc1.bias"}
    assert raised("UnknownParam", gmod.set_input, "fc1.bais", bias).details["nearest"] == "fc1.bias"
    assert raised("UnknownParam", gmod.set_input, 0, x, **{"fc1.bais": bias}).details["nearest"] == "fc1.bias"
    assert raised("UnknownParam", gmod.set_input, dta=x, **dense.params).details["nearest"] == "data"  # an input among parameters


def test_names_that_no_model_can_have(gmod, dense, library, compiled, raised):
    lib = tiffin.load_module(library)
    for name in ("da\0ta", "data\0", "da\ud800ta"):
        for call in (lambda: gmod.set_input(name, 1), lambda: gmod.set_input(**{name: 1}), lambda: gmod.set_input(**dense.params, **{name: 1}),
                     lambda: gmod.get_output(name), lambda: gmod.bind_input(name, 1), lambda: lib[name], lambda: lib.get_function(name),
                     lambda: gmod.load_params({name: np.zeros(1)}), lambda: tiffin.save_param_dict({name: np.zeros(1)}),
                     lambda: tiffin.compile(dense.path, entry=name), lambda: tiffin.compile(dense.path, name=name),
                     lambda: tiffin.compile(dense.path, skip=name), lambda: tiffin.compile(dense.path, dims={name: 1}),
                     lambda: tiffin.compile(dense.path, input_shapes={name: (1, 8)}), lambda: tiffin.compile(dense.path, golden_inputs={name: 1})):
            assert repr(name) in str(raised("InvalidArgument", call))


def test_arguments_of_another_kind(gmod, library, dense, compiled, folder, raised):
    lib = tiffin.load_module(library)
    several, closed = np.array([1, 2]), memoryview(bytearray(4))
    closed.release()
    for call in (lambda: gmod.load_params(dense.params, new_weights="no"), lambda: gmod.load_params(dense.params, new_weights=1),
                 lambda: gmod.load_params([("fc1.bias", 1)]), lambda: gmod.load_params("a\ud800b"), lambda: gmod.load_params(closed),
                 lambda: lib.params.stage("a\ud800b"), lambda: lib.params.stage(closed), lambda: lib.params.rollback(several),
                 lambda: lib.params.rollback(10**5000), lambda: gmod.profile(several), lambda: gmod.profile(True), lambda: gmod.profile(0),
                 lambda: gmod.get_output(several), lambda: gmod.set_input(several, 1), lambda: gmod.get_output(10**5000),
                 lambda: tiffin.load_module("a\ud800b"), lambda: tiffin.load_module(closed), lambda: tiffin.load_module(library, verify=several),
                 lambda: tiffin.load_module(library, copy="no"), lambda: tiffin.load_module(library, strict=several),
                 lambda: tiffin.load_module(library, min_release=several), lambda: tiffin.load_module(True), lambda: tiffin.load_param_dict(closed),
                 lambda: tiffin.cpu("0"), lambda: tiffin.cpu(0.5), lambda: tiffin.device(0), lambda: tiffin.Module(str(library)),
                 lambda: tiffin.StagedParameters(dense.params), lambda: tiffin.compile(dense.path, name=several),
                 lambda: tiffin.compile(dense.path, params=several), lambda: tiffin.compile(dense.path, with_sources="no"),
                 lambda: tiffin.compile(dense.path, cache=folder / "none", cache_size="9" * 5000),
                 lambda: tiffin.Tensor.from_buffer(b"1234", "float32", (1.0,)), lambda: tiffin.Tensor.from_buffer(b"1234", 4, (1,)),
                 lambda: tiffin.Tensor.from_buffer("1234", "float32", (1,)), lambda: tiffin.Tensor.from_buffer(closed, "float32", (1,)),
                 lambda: tiffin.Tensor.from_buffer(b"1234", "float32", (1,) * 70).numpy()):
        raised("InvalidArgument", call)
    raised("Io", compiled.export_executable, "/proc/net")  # a folder where nobody can write


def test_numpys_integers_are_numbers(gmod, library, dense, x):
    lib = tiffin.load_module(library)
    lib.params.stage(dense.params).commit()
    lib.params.rollback(np.int64(1))
    assert lib.params.generation == 1
    assert gmod.profile(np.uint8(2), data=x).runs == 2
    assert gmod.get_output(np.int32(0)).shape == (1, 4)
    with open(library, "rb") as file:
        assert tiffin.load_module(np.int64(file.fileno())).function_names == ["default"]
    assert lib["default"](tiffin.cpu(np.int64(0)), threads=np.int8(1)) is not None


def test_what_belongs_to_its_process(library, dense, gmod, raised):
    lib = tiffin.load_module(library)
    for value in (lib, gmod, lib.params, lib.params.stage(dense.params), lib["default"]):
        for call in (pickle.dumps, copy.deepcopy):
            assert isinstance(raised("InvalidArgument", call, value), TypeError)


def test_shapes_and_types(gmod, x, raised):
    failure = raised("ShapeMismatch", gmod.set_input, "data", x[:, :7])
    assert isinstance(failure, ValueError) and "[1,7]" in str(failure) and "[1,8]" in str(failure)
    raised("ShapeMismatch", gmod.set_input, "data", x[0])
    failure = raised("TypeMismatch", gmod.set_input, "data", x.astype(np.float64))
    assert isinstance(failure, ValueError) and "float64" in str(failure)
    raised("TypeMismatch", gmod.set_input, "data", x.astype(np.float16))
    raised("TypeMismatch", gmod.set_input, "data", x.astype(np.int32))
    raised("TypeMismatch", gmod.set_input, "data", [[0.0] * 8])  # Python's floats are float64
    raised("TypeMismatch", gmod.set_input, "data", np.array([["a"] * 8]))
    raised("TypeMismatch", gmod.set_input, "data", np.array([[None] * 8]))
    raised("TypeMismatch", gmod.set_input, "data", np.zeros((1, 8), "datetime64[s]"))
    raised("UnsetInput", gmod.run)


def test_parameters(gmod, thin, dense, x, raised):
    params = dict(dense.params)
    assert isinstance(raised("UnknownParam", gmod.set_input, **params, extra=x), KeyError)
    executor = tiffin.load_module(thin)["default"]()
    failure = raised("MissingParam", executor.set_input, **{key: params[key] for key in list(params)[:2]})
    assert "fc2.weight" in str(failure) and "fc2.bias" in str(failure)
    wrong = {**params, "fc1.weight": params["fc1.weight"].T.copy(), "fc1.bias": params["fc1.bias"].astype(np.float64)}
    failure = raised("ParamTypeMismatch", executor.set_input, **wrong)
    assert isinstance(failure, ValueError) and "fc1.weight" in str(failure) and "fc1.bias" in str(failure)
    raised("ParamShapeMismatch", executor.set_input, **{**params, "fc1.weight": wrong["fc1.weight"]})
    raised("ShapeMismatch", executor.set_input, data=x[0], **params)
    raised("MissingParam", executor.run, data=x)  # nothing of the failed calls took effect
    raised("InvalidArgument", executor.load_params, 5)
    raised("InvalidParams", executor.load_params, b"not a parameter file")
    raised("Truncated", executor.load_params, tiffin.save_param_dict(params)[:-1])
    assert isinstance(raised("Io", executor.load_params, "absent.params"), FileNotFoundError)


def test_files(folder, library, raised):
    failure = raised("Io", tiffin.load_module, folder / "absent.so")
    assert isinstance(failure, FileNotFoundError) and failure.errno == 2
    raised("Io", tiffin.load_module, folder)
    (folder / "text.so").write_text("a text file that is no library\n" * 10)
    assert isinstance(raised("NotAnArtifact", tiffin.load_module, folder / "text.so"), ValueError)
    with pytest.raises(tiffin.Error):
        tiffin.load_module(library.read_bytes()[:-1])
    raised("InvalidArgument", tiffin.load_module, None)
    raised("InvalidArgument", tiffin.load_module, "a\0b")
    raised("InvalidArgument", tiffin.load_module, library, verify="some")
    raised("InvalidParams", tiffin.load_param_dict, b"no parameters at all")
    raised("InvalidArgument", tiffin.load_param_dict, "path")
    raised("InvalidArgument", tiffin.save_param_dict, {1: np.zeros(1)})


def test_compiling(dense, compiled, folder, raised):
    assert isinstance(raised("Io", tiffin.compile, folder / "absent.onnx"), FileNotFoundError)
    (folder / "broken.onnx").write_bytes(dense.path.read_bytes()[:100])
    assert isinstance(raised("InvalidModel", tiffin.compile, folder / "broken.onnx"), ValueError)
    raised("UnsupportedTarget", tiffin.compile, dense.path, target="llvm -mcpu=unheard-of")
    raised("UnsupportedTarget", tiffin.compile, dense.path, target=["llvm", "opencl"])
    raised("InvalidArgument", tiffin.compile, dense.path, params="inside")
    raised("InvalidArgument", tiffin.compile, dense.path, opt_level=4)
    raised("InvalidArgument", tiffin.compile, dense.path, dims={"batch": "one"})
    raised("InvalidArgument", tiffin.compile, dense.path, dims=[("batch", 1)])
    raised("InvalidArgument", tiffin.compile, dense.path, input_shapes={"data": 8})
    raised("InvalidArgument", tiffin.compile, b"bytes of a model")
    raised("Io", compiled.export_library, folder / "absent" / "dense.so")
    raised("InvalidArgument", compiled.export_params, folder / "dense.bin")


def test_devices(library, raised):
    function = tiffin.load_module(library)["default"]
    raised("DeviceUnavailable", function, tiffin.device("cuda", 0))
    raised("DeviceUnavailable", function, tiffin.cpu(1))
    raised("InvalidArgument", function, "cpu")
    raised("InvalidArgument", function, tiffin.cpu(0), threads=-1)
    raised("InvalidArgument", tiffin.GraphModule, "default")


def test_an_error_survives_pickling(raised, folder):
    failure = raised("Io", tiffin.load_module, folder / "absent.so")
    again = pickle.loads(pickle.dumps(failure))
    assert type(again) is type(failure) and str(again) == str(failure) and again.code == "Io"
    detailed = tiffin.Error("Strict", "a fallback was taken", "remove it", {"count": 1})
    assert detailed.details == {"count": 1} and "count: 1" in str(detailed) and "remove it" in str(detailed)
