# SPDX-License-Identifier: Apache-2.0
"""Compiling a model in this process. Importing this loads the compiler; tiffin.compile does so at its first call."""
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from tiffin import _compiler, _runtime
from tiffin.arguments import MOST, number, path as path_bytes, text
from tiffin.arrays import Tensor
from tiffin.errors import from_status, invalid_argument
from tiffin.module import Module

Path = Union[str, "os.PathLike[str]"]


class CompiledModule(Module):
    """A module that can be exported, and runs in this process like a loaded one."""

    def __init__(self, compiled: _compiler.CompiledModule):
        super().__init__(None)
        self._compiled = compiled

    def _loaded(self) -> Any:
        if self._native is None:
            self._native = _runtime.load_memory(self._compiled.library_bytes(), _runtime.LoadOptions("none", False, False, "native", [], 0))
        return self._native

    def export_library(self, path: Path) -> None:
        """Writes the library (.so). A failure or a kill leaves what was there before. Io."""
        file = path_bytes(path, "the library's name")
        self._compiled.export_library(file)

    def export_params(self, path: Path) -> None:
        """Writes all parameters; the suffix decides: .safetensors, .params (TVM's) or .tfw. Io, InvalidArgument."""
        self._compiled.export_params(path_bytes(path, "the parameter file's name"))

    def get_params(self) -> Dict[str, Tensor]:
        """The model's own tensors, whether the library holds them or not."""
        return {name: Tensor.from_buffer(content, dtype, shape) for name, dtype, shape, content in self._compiled.params()}

    @property
    def targets(self) -> List[str]:
        """What the variants were compiled for, `native` resolved."""
        return self._compiled.targets()

    @property
    def sizes(self) -> Dict[str, int]:
        """Bytes of code, weights and arena."""
        return {"code": self._compiled.code_bytes(), "weights": self._compiled.weights_bytes(), "arena": self._compiled.arena_bytes()}


def _items(value: Any, label: str, example: str) -> Any:
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise invalid_argument(f"{label} is {value!r}, expected is a dict such as {example}")
    return value.items()


def _shape(value: Any, key: str) -> List[int]:
    try:
        sizes = list(value)
    except TypeError:
        raise invalid_argument(f"the shape of input '{key}' is {value!r}, expected are numbers such as (1, 3, 224, 224)") from None
    return [number(size, f"a dimension of input '{key}'", 0, MOST) for size in sizes]


def _targets(target: Any) -> List[str]:
    targets = [target] if isinstance(target, str) else target
    if not isinstance(targets, (list, tuple)) or not targets or not all(isinstance(one, str) and one.isascii() for one in targets):
        raise from_status("UnsupportedTarget", f"the target is {target!r}, expected is a text such as 'llvm -mcpu=native', or a list of them",
                          "choose targets that 'tiffin targets' lists")
    return list(targets)


def compile(path: Path, target: Union[str, Sequence[str]] = "llvm -mcpu=native", opt_level: int = 3, params: str = "embed",
            dims: Optional[Mapping[str, int]] = None, input_shapes: Optional[Mapping[str, Sequence[int]]] = None, name: Optional[str] = None,
            entry: str = "default", threads: int = 0) -> CompiledModule:
    """Compiles an ONNX file; see tiffin.compile."""
    if not isinstance(path, (str, os.PathLike)):
        raise invalid_argument(f"a model cannot be compiled from a '{type(path).__name__}', expected is the path of an ONNX file")
    if not text(entry, "entry"):
        raise invalid_argument("entry is empty, expected is the name of a function")
    if params not in ("embed", "external"):
        raise invalid_argument(f"params is {params!r}, expected is 'embed' or 'external'")
    fixed = {text(symbol, "a dimension's name"): number(size, f"the dimension '{symbol}'", 0, MOST)
             for symbol, size in _items(dims, "dims", "{'batch': 1}")}
    shapes = {text(key, "an input's name"): _shape(shape, key) for key, shape in _items(input_shapes, "input_shapes", "{'data': (1, 8)}")}
    return CompiledModule(_compiler.compile(
        path=path_bytes(path, "the model"), targets=_targets(target), name=text(name or "", "name"), entry=entry,
        opt_level=number(opt_level, "opt_level", 0, 3), threads=number(threads, "threads", 0, 1024), embed_params=params == "embed",
        dims=fixed, input_shapes=shapes))
