# SPDX-License-Identifier: Apache-2.0
"""Error.details: what programs read, and how an error's text shows it."""
import numpy as np
import pytest
from onnx import TensorProto, helper, save

import tiffin


def lines_of(failure):
    return str(failure).split("\n  ")


def write_model(folder, name, nodes, shape):
    inputs, outputs = ([helper.make_tensor_value_info(value, TensorProto.FLOAT, shape)] for value in ("x", "y"))
    graph = helper.make_graph(nodes, name, inputs, outputs)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("org.example", 1)]
    save(helper.make_model(graph, opset_imports=opsets, ir_version=8), folder / f"{name}.onnx")
    return folder / f"{name}.onnx"


def test_text_of_an_error(gmod, x, raised):
    failure = raised("UnknownInput", gmod.set_input, "dat", x)
    assert failure.details == {"nearest": "data"}
    assert lines_of(failure) == [f"error[UnknownInput]: {failure.message}", "remedy: did you mean 'data'?", "nearest: data"]
    many = tiffin.Error("MissingParam", "no values", "give them", {"missing": [f"w{i}" for i in range(40)]})
    assert lines_of(many)[-1].startswith("missing: w0, w1, ") and lines_of(many)[-1].endswith(" and 24 more")
    assert len(many.details["missing"]) == 40


def test_inputs(gmod, raised):
    assert raised("UnsetInput", gmod.run).details == {"inputs": ["data"]}


def test_parameters(thin, dense, x, raised):
    executor = tiffin.load_module(thin)["default"]()
    assert raised("MissingParam", executor.run, data=x).details == {"missing": list(dense.params)}
    wrong = {"fc1.weight": dense.params["fc1.weight"].T.copy(), "fc1.bias": dense.params["fc1.bias"].astype(np.float64), "extra": x, "more": x}
    failure = raised("MissingParam", executor.load_params, wrong)
    assert failure.details["missing"] == ["fc2.weight", "fc2.bias"] and failure.details["unexpected"] == ["extra", "more"]
    assert sorted(failure.details["mismatched"]) == ["fc1.bias", "fc1.weight"]
    assert "missing: fc2.weight, fc2.bias" in lines_of(failure) and "unexpected: extra, more" in lines_of(failure)
    failure = raised("ParamDigestMismatch", executor.load_params, {**dense.params, "fc1.bias": dense.params["fc1.bias"] + 1})
    assert failure.details == {"mismatched": ["fc1.bias"]}


def test_operators(folder, raised):
    nodes = [helper.make_node("Frobnicate", ["x"], ["h"]), helper.make_node("Wibble", ["h"], ["y"], domain="org.example")]
    failure = raised("UnsupportedOperator", tiffin.compile, write_model(folder, "strange", nodes, [2]))
    assert isinstance(failure, NotImplementedError) and sorted(failure.details["operators"]) == ["Frobnicate", "org.example.Wibble"]


def test_open_dimensions(folder, raised):
    failure = raised("OpenShape", tiffin.compile, write_model(folder, "named", [helper.make_node("Relu", ["x"], ["y"])], ["batch", 3]))
    assert failure.details == {"symbols": ["batch"]} and "dims=" in failure.remedy
    failure = raised("OpenShape", tiffin.compile, write_model(folder, "unnamed", [helper.make_node("Relu", ["x"], ["y"])], [None, 3]))
    assert failure.details == {"inputs": ["x"]} and "input_shapes=" in failure.remedy


def test_remedies_name_arguments_of_python(dense, folder, library, raised):
    for options in ({"golden_inputs": {}}, {"dims": {"batch": 1}}, {"input_shapes": {"date": (1, 8)}}, {"input_shapes": {"data": (1, 9)}},
                    {"with_library": [dense.path]}):
        with pytest.raises(tiffin.Error) as caught:
            tiffin.compile(dense.path, **options)
        name = next(iter(options))
        assert "--" not in str(caught.value) and caught.value.remedy, options
        assert name in str(caught.value) or name in ("golden_inputs", "with_library"), options
    for options in ({"trust": "signed"}, {"trust": "data"}):
        assert "--" not in str(raised("NotTrusted", tiffin.load_module, library, **options))
    assert "--" not in str(raised("MissingFunction", lambda: tiffin.load_module(library)["absent"]))
    open_model = write_model(folder, "open", [helper.make_node("Relu", ["x"], ["y"])], ["batch", None])
    assert "--" not in str(raised("OpenShape", tiffin.compile, open_model))


def test_cpu_features(dense, folder, raised):
    flags = next((line for line in open("/proc/cpuinfo") if line.startswith("flags")), "")
    if not flags or "avx512f" in flags:
        pytest.skip("[SKIP] the machine has AVX-512, or is no x86-64 one")
    tiffin.compile(dense.path, target="llvm -mcpu=x86-64-v4").export_library(folder / "v4.so")
    failure = raised("MissingCpuFeature", tiffin.load_module, folder / "v4.so")
    assert {"avx512f", "avx512bw"} <= set(failure.details["features"]) and "target=" in failure.remedy
