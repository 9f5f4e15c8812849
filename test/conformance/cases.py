# SPDX-License-Identifier: Apache-2.0
"""The backend tests of the installed onnx package as files: NAME/model.onnx, NAME/tolerance, NAME/SET/input_I.pb and output_I.pb.

Shapes are frozen: inputs that only say shapes, axes or sizes become constants of the model, as they nearly always are in exported models.
"""
import json
import os
import shutil
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

PACKAGE_FILES = Path(onnx.__file__).parent / "backend" / "test" / "data"
DISK_FOLDERS = ("simple", "pytorch-converted", "pytorch-operator")
DEFAULT_TOLERANCE = (1e-3, 1e-7)
# The expected outputs of these come from the generator of NumPy: no implementation can give them.
UNREPRODUCIBLE = ("test_training_dropout", "test_bernoulli")
# Positions of the operands whose values decide a result's shape, or name the axes worked along.
SHAPE_OPERANDS = {
    "AffineGrid": [1], "BlackmanWindow": [0], "CenterCropPad": [1], "Clip": [1, 2], "Col2Im": [1, 2], "ConstantOfShape": [0], "CumProd": [1],
    "CumSum": [1], "DFT": [1, 2], "Dropout": [1, 2], "Expand": [1], "HammingWindow": [0], "HannWindow": [0], "MaxUnpool": [2],
    "MelWeightMatrix": [0, 1, 2, 3, 4], "NonMaxSuppression": [2, 3, 4], "OneHot": [1], "Pad": [1, 3], "Range": [0, 1, 2], "ReduceL1": [1],
    "ReduceL2": [1], "ReduceLogSum": [1], "ReduceLogSumExp": [1], "ReduceMax": [1], "ReduceMean": [1], "ReduceMin": [1], "ReduceProd": [1],
    "ReduceSum": [1], "ReduceSumSquare": [1], "Reshape": [1], "Resize": [1, 2, 3], "STFT": [1, 3], "Slice": [1, 2, 3, 4], "Split": [1],
    "SplitToSequence": [1], "Squeeze": [1], "Tile": [1], "TopK": [1], "Trilu": [1], "Unsqueeze": [1], "Upsample": [1],
}


def cache_folder():
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "tiffin" / f"conformance-{onnx.__version__}"


def export_cases():
    """The folder of all cases, written at first use; it appears whole or not at all."""
    folder = cache_folder()
    if folder.exists():
        return folder
    unfinished = folder.with_name(f"{folder.name}.{os.getpid()}")
    for name, model, sets, tolerance in [*node_cases(), *disk_cases()]:
        write_case(unfinished / name, model, sets, tolerance)
    try:
        unfinished.rename(folder)
    except OSError:  # another run was first
        shutil.rmtree(unfinished)
    return folder


def node_cases():
    from onnx.backend.test.loader import load_node_model_tests

    with warnings.catch_warnings(action="ignore"):
        loaded = load_node_model_tests()
    for test in loaded:
        if test.name.startswith(UNREPRODUCIBLE) or not all(is_tensor(value) for value in [*test.model.graph.input, *test.model.graph.output]):
            continue
        ((inputs, outputs),) = test.data_sets
        inputs, outputs = [as_array(value) for value in inputs], [as_array(value) for value in outputs]
        yield test.name, test.model, [(freeze_shapes(test.model, inputs), outputs)], (test.rtol, test.atol)


def disk_cases():
    for kind in DISK_FOLDERS:
        for folder in sorted(path for path in (PACKAGE_FILES / kind).iterdir() if path.is_dir()):
            model = onnx.load(folder / "model.onnx")
            if not all(is_tensor(value) for value in [*model.graph.input, *model.graph.output]):
                continue
            declared = json.loads((folder / "data.json").read_text()) if (folder / "data.json").exists() else {}
            sets = [tuple(read_numbered(data, what) for what in ("input", "output")) for data in sorted(folder.glob("test_data_set_*"))]
            yield folder.name, model, sets, (declared.get("rtol", DEFAULT_TOLERANCE[0]), declared.get("atol", DEFAULT_TOLERANCE[1]))


def is_tensor(value):
    return value.type.WhichOneof("value") == "tensor_type" and value.type.tensor_type.elem_type != onnx.TensorProto.STRING


def as_array(value):
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else np.asarray(value)


def read_numbered(folder, what):
    return [numpy_helper.to_array(onnx.load_tensor(folder / f"{what}_{index}.pb")) for index in range(len(list(folder.glob(f"{what}_*.pb"))))]


def freeze_shapes(model, inputs):
    """Changes the model; the inputs that remain."""
    graph = model.graph
    shapes, others = set(), {value.name for value in graph.output}
    for node in graph.node:
        for position, name in enumerate(node.input):
            (shapes if position in SHAPE_OPERANDS.get(node.op_type, ()) else others).add(name)
    constants, kept = {tensor.name for tensor in graph.initializer}, []
    for declared, value in zip([value for value in graph.input if value.name not in constants], inputs, strict=True):
        if declared.name in shapes - others:
            graph.initializer.append(numpy_helper.from_array(value, declared.name))
            graph.input.remove(declared)
        else:
            kept.append(value)
    model.ir_version = max(model.ir_version, 4)  # before 4 a constant had to be an input as well
    return kept


def write_case(folder, model, sets, tolerance):
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    (folder / "tolerance").write_text(f"{tolerance[0]} {tolerance[1]}\n")
    for number, (inputs, outputs) in enumerate(sets):
        (folder / f"set_{number}").mkdir()
        for what, values in (("input", inputs), ("output", outputs)):
            for index, value in enumerate(values):
                (folder / f"set_{number}" / f"{what}_{index}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())
