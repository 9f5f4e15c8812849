# SPDX-License-Identifier: Apache-2.0
"""Tiffin: compile an ONNX model once, run the one file anywhere.

    mod = tiffin.compile("mlp.onnx")
    mod.export_library("mlp.so")
    gmod = tiffin.load_module("mlp.so")["default"](tiffin.cpu(0))
    gmod.run(data=x)
    y = gmod.get_output(0).numpy()
"""
import os
from typing import TYPE_CHECKING, Mapping, Optional, Sequence, Union

from tiffin import runtime
from tiffin._runtime import VERSION as __version__
from tiffin.errors import from_status
from tiffin.runtime import (Device, Error, Function, GraphExecutor, GraphModule, Module, ModuleParameters, Profile, StagedParameters, StepTime,
                            Tensor, cpu, device, load_module, load_param_dict, report_memory, save_param_dict)

if TYPE_CHECKING:
    from tiffin.compiler import CompiledModule


def compile(path: Union[str, "os.PathLike[str]"], target: Union[str, Sequence[str]] = "llvm -mcpu=native", opt_level: int = 3, params: str = "embed",
            dims: Optional[Mapping[str, int]] = None, input_shapes: Optional[Mapping[str, Sequence[int]]] = None, name: Optional[str] = None,
            entry: str = "default", threads: int = 0) -> "CompiledModule":
    """Compiles an ONNX file to a Module that can be exported or run at once.

    target: "llvm" with -mcpu, -mattr, -mtriple; native is resolved. A list makes one variant each, for a .tar.
    params: "embed", or "external" to leave the weights out of the library.
    dims and input_shapes fix open dimensions: {"batch": 1}, {"data": (1, 3, 224, 224)}. name: the network's, by default the file's stem.
    entry: name of the module's function. threads: that compile, 0 for all cores; the bytes do not depend on it.
    InvalidModel, UnsupportedOperator, UnsupportedType, UnsupportedTarget, OpenShape, InvalidArgument, Io.
    """
    try:
        from tiffin import compiler  # maps the compiler, hence only when something is compiled
    except ImportError as failure:
        raise from_status("MissingLibrary", f"the compiler cannot be loaded: {failure}",
                          "install the package with the compiler, or load a library that was compiled elsewhere") from failure
    return compiler.compile(path, target=target, opt_level=opt_level, params=params, dims=dims, input_shapes=input_shapes, name=name, entry=entry,
                            threads=threads)


__all__ = ["Device", "Error", "Function", "GraphExecutor", "GraphModule", "Module", "ModuleParameters", "Profile", "StagedParameters", "StepTime",
           "Tensor", "__version__", "compile", "cpu", "device", "load_module", "load_param_dict", "report_memory", "runtime", "save_param_dict"]
