# SPDX-License-Identifier: Apache-2.0
"""The product's two programs as tests use them, and ONNX Runtime as the judge of values."""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

sys.path.append(str(Path(__file__).resolve().parent.parent / "scripts" / "zoo"))
from make_models import make_models, zoo_folder  # noqa: E402

TIME_LIMIT = 120.0
OPEN_DIMENSIONS = {"batch": 2, "length": 5}


class Failure(AssertionError):
    pass


class Program:
    """One executable, run in an empty environment."""

    def __init__(self, path):
        self.path = Path(path)

    def run(self, *words, folder=None):
        return subprocess.run([self.path, *map(str, words)], env={}, cwd=folder, capture_output=True, text=True, errors="replace", timeout=TIME_LIMIT)

    def ok(self, *words, folder=None):
        done = self.run(*words, folder=folder)
        if done.returncode != 0:
            raise Failure(f"{self.path.name} {' '.join(map(str, words))}: exit {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def json(self, *words):
        return json.loads(self.ok(*words, "--json"))

    def fails(self, code, *words, mentions=(), folder=None):
        """Exit 3 with the code (or one of several) and all fragments in the message."""
        done = self.run(*words, folder=folder)
        codes = (code,) if isinstance(code, str) else code
        asked = f"{self.path.name} {' '.join(map(str, words))}"
        if done.returncode != 3 or not any(f"error[{name}]" in done.stderr for name in codes):
            raise Failure(f"{asked}: exit {done.returncode}, not one of {codes}: {done.stderr.strip()[:400]}")
        missing = [str(text) for text in mentions if str(text) not in done.stderr]
        if missing:
            raise Failure(f"{asked}: the message lacks {missing}: {done.stderr.strip()[:400]}")
        return done.stderr


class Case:
    """A model of the zoo with seeded inputs, and what ONNX Runtime computes from them."""

    def __init__(self, path, seed=1):
        self.path, self.name = Path(path), Path(path).stem
        self.model = onnx.load(path)
        self.parameters = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in self.model.graph.initializer}
        rng = np.random.default_rng(seed)
        self.inputs = {value.name: draw(rng, value) for value in self.model.graph.input}
        used = {dim.dim_param for value in self.model.graph.input for dim in value.type.tensor_type.shape.dim if dim.dim_param}
        self.options = [word for name in sorted(used) for word in ("--dim", f"{name}={OPEN_DIMENSIONS[name]}")]

    def expected(self):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(self.path.read_bytes(), options, providers=["CPUExecutionProvider"])
        return session.run(None, self.inputs)

    def write_inputs(self, folder):
        folder.mkdir(exist_ok=True)
        for index, array in enumerate(self.inputs.values()):
            np.save(folder / f"input_{index}.npy", array)
        return folder


def draw(rng, value):
    tensor = value.type.tensor_type
    shape = [dim.dim_value or OPEN_DIMENSIONS[dim.dim_param] for dim in tensor.shape.dim]
    dtype = onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)
    if dtype.kind == "i":
        return np.ones(shape, dtype) if "mask" in value.name else rng.integers(0, 100, shape, dtype)
    return rng.standard_normal(shape).astype(dtype)


def execute(tiffin_run, artifact, case, folder, *words):
    """The outputs of a run in another process, as arrays."""
    inputs, outputs = case.write_inputs(folder / "inputs"), folder / "outputs"
    for old in outputs.glob("*"):
        old.unlink()
    tiffin_run.ok("run", artifact, "--inputs", inputs, "--outputs", outputs, *words)
    return [np.load(outputs / f"output_{index}.npy") for index in range(len(case.model.graph.output))]


def same_bits(first, second):
    return len(first) == len(second) and all(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in zip(first, second))


def assert_close(actual, expected, rtol=1e-3, atol=1e-4):
    """Within rtol of the element plus atol of the largest one."""
    assert len(actual) == len(expected)
    for index, (a, e) in enumerate(zip(actual, expected)):
        assert a.shape == e.shape and a.dtype == e.dtype, f"output {index}: {a.dtype}{a.shape}, expected {e.dtype}{e.shape}"
        np.testing.assert_allclose(a, e, rtol=rtol, atol=atol * float(np.abs(e).max(initial=1e-30)), err_msg=f"output {index}")


def zoo_paths():
    make_models(zoo_folder())
    return sorted(zoo_folder().glob("*.onnx"))
