# SPDX-License-Identifier: Apache-2.0
"""Models that the tests compile, each once a session."""
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

import tiffin


class Dense:
    """relu(x * W1 + b1) * W2 + b2 with random weights: its file, its parameters, and what numpy computes."""

    def __init__(self, folder, name, seed):
        rng = np.random.default_rng(seed)
        self.params = {"fc1.weight": rng.standard_normal((8, 16)), "fc1.bias": rng.standard_normal(16),
                       "fc2.weight": rng.standard_normal((16, 4)), "fc2.bias": rng.standard_normal(4)}
        self.params = {key: value.astype(np.float32) for key, value in self.params.items()}
        nodes = [helper.make_node("Gemm", ["data", "fc1.weight", "fc1.bias"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
                 helper.make_node("Gemm", ["r", "fc2.weight", "fc2.bias"], ["y"])]
        graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("data", TensorProto.FLOAT, [1, 8])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])],
                                  [numpy_helper.from_array(value, key) for key, value in self.params.items()])
        self.path = folder / f"{name}.onnx"
        save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), self.path)

    def expected(self, x):
        p = self.params
        return np.maximum(x @ p["fc1.weight"] + p["fc1.bias"], 0) @ p["fc2.weight"] + p["fc2.bias"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="session")
def dense(folder):
    return Dense(folder, "dense", 1)


@pytest.fixture(scope="session")
def other(folder):
    """The same names and shapes with other weights."""
    return Dense(folder, "other", 2)


@pytest.fixture(scope="session")
def compiled(dense):
    return tiffin.compile(str(dense.path))


@pytest.fixture(scope="session")
def library(compiled, folder):
    compiled.export_library(folder / "dense.so")
    return folder / "dense.so"


@pytest.fixture(scope="session")
def thin(dense, folder):
    tiffin.compile(dense.path, params="external").export_library(folder / "thin.so")
    return folder / "thin.so"


@pytest.fixture
def x():
    return np.random.default_rng(0).standard_normal((1, 8)).astype(np.float32)


@pytest.fixture
def gmod(library):
    return tiffin.load_module(library)["default"](tiffin.cpu(0))


@pytest.fixture
def raised():
    """raised(code, call): the error that the call raises, which must have that code."""

    def check(code, call, *arguments, **options):
        with pytest.raises(tiffin.Error) as caught:
            call(*arguments, **options)
        assert caught.value.code == code, caught.value
        assert caught.value.remedy
        return caught.value

    return check
