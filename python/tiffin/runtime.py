# SPDX-License-Identifier: Apache-2.0
"""Loading and running, all that deployment takes: importing this maps no compiler library."""
from typing import Any, Dict, Mapping, Union

from tiffin import _runtime
from tiffin.arguments import content as unchanging
from tiffin.arrays import Tensor, to_tensor_dict
from tiffin.errors import Error, invalid_argument
from tiffin.graph_executor import GraphExecutor, Profile, StepTime
from tiffin.module import Device, Function, Module, cpu, device, load_module
from tiffin.parameters import ModuleParameters, StagedParameters, report_memory

GraphModule = GraphExecutor


def save_param_dict(params: Mapping[str, Any]) -> bytes:
    """The bytes of a parameter file in TVM's format, from a dict of names and tensors (Tensor, numpy array, DLPack producer)."""
    return _runtime.save_param_dict(to_tensor_dict(params))


def load_param_dict(content: Union[bytes, bytearray, memoryview]) -> Dict[str, Tensor]:
    """Names and tensors of a parameter file's bytes: TVM's .params, .safetensors or .tfw. Truncated, InvalidParams, UnsupportedType."""
    if not isinstance(content, (bytes, bytearray, memoryview)):
        raise invalid_argument(f"parameters cannot be read from a '{type(content).__name__}', expected are the bytes of a parameter file",
                               "write load_param_dict(open(path, 'rb').read())")
    return _runtime.load_param_dict(unchanging(content, "a parameter file"))


__all__ = ["Device", "Error", "Function", "GraphExecutor", "GraphModule", "Module", "ModuleParameters", "Profile", "StagedParameters", "StepTime",
           "Tensor", "cpu", "device", "load_module", "load_param_dict", "report_memory", "save_param_dict"]
