# SPDX-License-Identifier: Apache-2.0
"""Compiling a model in this process. Importing this loads the compiler; tiffin.compile does so at its first call."""
import os
from typing import Any, Dict, Mapping, Optional, Sequence, Union

from tiffin import _compiler, _runtime
from tiffin.arrays import Tensor
from tiffin.errors import from_status, invalid_argument
from tiffin.module import Module

Path = Union[str, "os.PathLike[str]"]


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
    if not isinstance(value, str):
        raise invalid_argument(f"{label} is {value!r}, expected is a text")
    return value


def compile(path: Path, target: str = "llvm -mcpu=native", opt_level: int = 3, params: str = "embed", dims: Optional[Mapping[str, int]] = None,
            input_shapes: Optional[Mapping[str, Sequence[int]]] = None, name: Optional[str] = None, entry: str = "default",
            threads: int = 0) -> CompiledModule:
    """Compiles an ONNX file; see tiffin.compile."""
    if not isinstance(path, (str, os.PathLike)):
        raise invalid_argument(f"a model cannot be compiled from a '{type(path).__name__}', expected is the path of an ONNX file")
    if params not in ("embed", "external"):
        raise invalid_argument(f"params is {params!r}, expected is 'embed' or 'external'")
    if not isinstance(target, str):
        raise from_status("UnsupportedTarget", f"the target is {target!r}, expected is one text such as 'llvm -mcpu=native'",
                          "compile once for each target")
    most = 2**63 - 1
    fixed = {_text(symbol, "a dimension's name"): _number(size, f"the dimension '{symbol}'", 0, most) for symbol, size in (dims or {}).items()}
    shapes = {_text(key, "an input's name"): [_number(size, f"a dimension of input '{key}'", 0, most) for size in shape]
              for key, shape in (input_shapes or {}).items()}
    return CompiledModule(_compiler.compile(
        path=os.fsencode(path), target=target, name=_text(name or "", "name"), entry=_text(entry, "entry"),
        opt_level=_number(opt_level, "opt_level", 0, 3), threads=_number(threads, "threads", 0, 1024), embed_params=params == "embed",
        dims=fixed, input_shapes=shapes))
