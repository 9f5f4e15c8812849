# SPDX-License-Identifier: Apache-2.0
"""Compiling a model in this process. Importing this loads the compiler; tiffin.compile does so at its first call."""
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from tiffin import _compiler, _runtime
from tiffin.arrays import Tensor
from tiffin.errors import from_status, invalid_argument
from tiffin.module import Module

Path = Union[str, "os.PathLike[str]"]

_MOST = 2**63 - 1


class CompiledModule(Module):
    """A module that can be exported, and runs in this process like a loaded one."""

    def __init__(self, compiled: Any):
        super().__init__(None)
        self._compiled = compiled

    def _loaded(self) -> Any:
        if self._native is None:
            self._native = _runtime.load_memory(self._compiled.library_bytes(), "none", False, False)
        return self._native

    def export_library(self, path: Path) -> None:
        """Writes the library (.so). A failure or a kill leaves what was there before. Io."""
        if os.fsdecode(path).endswith(".tar"):
            raise invalid_argument(f"'{os.fsdecode(path)}' asks for a .tar bundle, which this version does not write", "write a .so")
        self._compiled.export_library(os.fsencode(path))

    def export_params(self, path: Path) -> None:
        """Writes all parameters; the suffix decides: .safetensors, .params (TVM's) or .tfw. Io, InvalidArgument."""
        self._compiled.export_params(os.fsencode(path))

    def get_params(self) -> Dict[str, Tensor]:
        """The model's own tensors, whether the library holds them or not."""
        return {name: Tensor.from_buffer(content, dtype, shape) for name, dtype, shape, content in self._compiled.params()}

    @property
    def target(self) -> str:
        """What the code was compiled for, `native` resolved."""
        return self._compiled.target()

    @property
    def sizes(self) -> Dict[str, int]:
        """Bytes of code, weights and arena."""
        return {"code": self._compiled.code_bytes(), "weights": self._compiled.weights_bytes(), "arena": self._compiled.arena_bytes()}


def _number(value: Any, label: str, low: int, high: int) -> int:
    try:
        number = value.__index__()
    except AttributeError:
        raise invalid_argument(f"{label} is {value!r}, expected is a number") from None
    if isinstance(value, bool) or not low <= number <= high:
        raise invalid_argument(f"{label} is {value!r}, expected is a number from {low} to {high}")
    return number


def _text(value: Any, label: str) -> str:
    try:
        value.encode("utf-8")
    except (AttributeError, UnicodeEncodeError):
        raise invalid_argument(f"{label} is {value!r}, expected is a text") from None
    return value


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
    return [_number(size, f"a dimension of input '{key}'", 0, _MOST) for size in sizes]


def compile(path: Path, target: str = "llvm -mcpu=native", opt_level: int = 3, params: str = "embed", dims: Optional[Mapping[str, int]] = None,
            input_shapes: Optional[Mapping[str, Sequence[int]]] = None, name: Optional[str] = None, entry: str = "default",
            threads: int = 0) -> CompiledModule:
    """Compiles an ONNX file; see tiffin.compile."""
    if not isinstance(path, (str, os.PathLike)):
        raise invalid_argument(f"a model cannot be compiled from a '{type(path).__name__}', expected is the path of an ONNX file")
    if not _text(entry, "entry"):
        raise invalid_argument("entry is empty, expected is the name of a function")
    if params not in ("embed", "external"):
        raise invalid_argument(f"params is {params!r}, expected is 'embed' or 'external'")
    if not isinstance(target, str) or not target.isascii():
        raise from_status("UnsupportedTarget", f"the target is {target!r}, expected is one text such as 'llvm -mcpu=native'",
                          "compile once for each target")
    fixed = {_text(symbol, "a dimension's name"): _number(size, f"the dimension '{symbol}'", 0, _MOST)
             for symbol, size in _items(dims, "dims", "{'batch': 1}")}
    shapes = {_text(key, "an input's name"): _shape(shape, key) for key, shape in _items(input_shapes, "input_shapes", "{'data': (1, 8)}")}
    return CompiledModule(_compiler.compile(
        path=os.fsencode(path), target=target, name=_text(name or "", "name"), entry=entry,
        opt_level=_number(opt_level, "opt_level", 0, 3), threads=_number(threads, "threads", 0, 1024), embed_params=params == "embed",
        dims=fixed, input_shapes=shapes))
