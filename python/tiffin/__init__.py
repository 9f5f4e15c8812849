# SPDX-License-Identifier: Apache-2.0
"""Tiffin: compile an ONNX model once, run the one file anywhere.

    mod = tiffin.compile("mlp.onnx")
    mod.export_library("mlp.so")
    gmod = tiffin.load_module("mlp.so")["default"](tiffin.cpu(0))
    gmod.run(data=x)
    y = gmod.get_output(0).numpy()
"""
import os
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union

from tiffin import runtime
from tiffin._runtime import VERSION as __version__
from tiffin.errors import from_status
from tiffin.runtime import (Device, Error, Function, GraphExecutor, GraphModule, Module, ModuleParameters, Profile, StagedParameters, StepTime,
                            Tensor, cpu, device, load_module, load_param_dict, report_memory, save_param_dict)

if TYPE_CHECKING:
    from tiffin.compiler import CompiledModule

    Paths = Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]]


def _load_compiler() -> Any:
    try:
        from tiffin import compiler  # maps the compiler, hence only when something is compiled
    except ImportError as failure:
        raise from_status("MissingLibrary", f"the compiler cannot be loaded: {failure}",
                          "install the package with the compiler, or load a library that was compiled elsewhere") from failure
    return compiler


def compile(path: Union[str, "os.PathLike[str]"], target: Union[str, Sequence[str]] = "llvm -mcpu=native", opt_level: int = 3, params: str = "embed",
            dims: Optional[Mapping[str, int]] = None, input_shapes: Optional[Mapping[str, Sequence[int]]] = None, name: Optional[str] = None,
            entry: str = "default", threads: int = 0, golden: int = 0, golden_inputs: Any = None, with_sources: bool = False,
            with_library: "Paths" = (), with_file: "Paths" = (), cache: Union[None, str, "os.PathLike[str]"] = None,
            cache_size: Union[int, str] = "10GB", skip: Union[str, Sequence[str]] = (),
            dump: Union[None, str, "os.PathLike[str]"] = None) -> "CompiledModule":
    """Compiles an ONNX file, or a graph as text, to a Module that can be exported or run at once.

    target: "llvm" with -mcpu, -mattr, -mtriple; native is resolved. Or "portable-ir", kernels as data. A list makes one variant each, for a .tar.
    params: "embed", or "external" to leave the weights out of the library.
    dims and input_shapes fix open dimensions: {"batch": 1}, {"data": (1, 3, 224, 224)}. name: the network's, by default the file's stem.
    entry: name of the module's function. threads: that compile, 0 for all cores; the bytes do not depend on it.
    golden: so many cases of random inputs with the reference evaluator's outputs travel in the library, for `tiffin verify` where it is used;
    golden_inputs: cases of your own, a dict of names and tensors, a list of those, or a folder as of --golden-inputs.
    with_sources: the kernels travel as text. with_library, with_file: paths of files that travel.
    cache: a folder of what was compiled before, which any number of processes may share; cache_size: what it may grow to, in bytes or as "10GB".
    skip: names of passes to leave out. dump: a folder that gets graphs, plan and kernels as text; the cache is then not used.
    InvalidModel, UnsupportedOperator, UnsupportedType, UnsupportedTarget, OpenShape, InvalidArgument, Io; of golden inputs UnknownInput, UnsetInput,
    TypeMismatch, ShapeMismatch, InvalidInput.
    """
    return _load_compiler().compile(
        path, target=target, opt_level=opt_level, params=params, dims=dims, input_shapes=input_shapes, name=name, entry=entry, threads=threads,
        golden=golden, golden_inputs=golden_inputs, with_sources=with_sources, with_library=with_library, with_file=with_file, cache=cache,
        cache_size=cache_size, skip=skip, dump=dump)


def export_executable(library: Union[str, "os.PathLike[str]"], path: Union[str, "os.PathLike[str]"]) -> None:
    """Writes one static program with an artifact in it, a file to copy and run: ./OUT run, bench, verify, inspect.

    Io, and the errors of loading; MissingLibrary where the program `tiffin-run-static-MACHINE` is not installed, UnsupportedTarget where it is not for
    the artifact's machine.
    """
    _load_compiler().export_executable(library, path)


def export_system_lib(library: Union[str, "os.PathLike[str]"], path: Union[str, "os.PathLike[str]"], header: Union[str, "os.PathLike[str]"],
                      name: Optional[str] = None) -> None:
    """Writes an artifact as a static library to link into a program, and the C header that declares its table as NAME_tiffin.

    Io, InvalidArgument, and the errors of loading.
    """
    _load_compiler().export_system_lib(library, path, header, name)


__all__ = ["Device", "Error", "Function", "GraphExecutor", "GraphModule", "Module", "ModuleParameters", "Profile", "StagedParameters", "StepTime",
           "Tensor", "__version__", "compile", "cpu", "device", "export_executable", "export_system_lib", "load_module", "load_param_dict", "report_memory",
           "runtime", "save_param_dict"]
