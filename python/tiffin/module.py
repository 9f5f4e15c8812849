# SPDX-License-Identifier: Apache-2.0
"""A module: functions that make executors, the model's parameters, and a report. Loaded from a file, or compiled in this process."""
import os
from typing import Any, Callable, Dict, List, NamedTuple, Union

from tiffin import _runtime
from tiffin.arrays import Tensor
from tiffin.errors import from_status, invalid_argument
from tiffin.graph_executor import GraphExecutor


class Device(NamedTuple):
    """Where a function runs."""

    type: str
    index: int

    def __repr__(self) -> str:
        return f"{self.type}({self.index})"


def device(type: str, index: int = 0) -> Device:
    """A device by name: device("cpu", 0)."""
    return Device(str(type), int(index))


def cpu(index: int = 0) -> Device:
    """The CPU; there is one."""
    return Device("cpu", int(index))


class Function:
    """One function of a module. Called with a device it gives an executor of its own; modules are shared, executors are one thread's."""

    def __init__(self, module: "Module", name: str):
        self._module = module
        self.name = name

    def __call__(self, device: Device = Device("cpu", 0), *, threads: int = 0) -> GraphExecutor:
        """`threads` compute, the caller included; 0 means as many as cores may be used. The bits do not depend on it."""
        if not isinstance(device, Device):
            raise invalid_argument(f"the device is {device!r}, expected is what tiffin.cpu(0) gives", "write tiffin.cpu(0)")
        if device != Device("cpu", 0):
            raise from_status("DeviceUnavailable", f"the device {device!r} is not there, this runtime has cpu(0)", "write tiffin.cpu(0)")
        if isinstance(threads, bool) or not isinstance(threads, int) or not 0 <= threads <= 2**31 - 1:
            raise invalid_argument(f"{threads!r} threads were asked for, expected is a number, 0 for all cores")
        loaded = self._module._loaded()
        return GraphExecutor._create(loaded.create_executor(self.name, threads), frozenset(loaded.parameter_names()))

    def __repr__(self) -> str:
        return f"<tiffin.Function '{self.name}'>"


class Module:
    """A loaded artifact. Immutable; safe to use from many threads."""

    def __init__(self, native: Any):
        self._native = native

    def _loaded(self) -> Any:
        return self._native

    @property
    def function_names(self) -> List[str]:
        """Names that module[name] knows: the model's entries."""
        return self._loaded().function_names()

    def get_function(self, name: str) -> Callable[..., Any]:
        """A function of the model, or "list_global_func_names", which gives their names. MissingFunction."""
        if name == "list_global_func_names":
            return lambda: self.function_names
        return self[name]

    def __getitem__(self, name: str) -> Function:
        if not isinstance(name, str):
            raise invalid_argument(f"a function was named by a '{type(name).__name__}', expected is a name")
        self._loaded().find_function(name.encode("utf-8", "replace").decode())
        return Function(self, name)

    def __contains__(self, name: object) -> bool:
        return name in self.function_names

    def get_params(self) -> Dict[str, Tensor]:
        """The model's own tensors, under their own names and with their own values. MissingParam for a module without weights."""
        return self._loaded().get_params()

    @property
    def report(self) -> Dict[str, Any]:
        """What loading did: variant, fallbacks, mapped_bytes, copied_bytes, repacked_bytes, phases_ms."""
        return self._loaded().report()

    def __repr__(self) -> str:
        return f"<tiffin.Module with {', '.join(self.function_names)}>"


def load_module(source: Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, int], *, offset: int = 0, length: int = 0,
                verify: str = "code", copy: bool = False, strict: bool = False) -> Module:
    """Loads an artifact: a path, its bytes, or an open file's descriptor with `offset` and `length` (0: to its end).

    verify: "code" hashes program and code, "all" the weights too, "none" nothing. copy: into private memory, so that the file may change.
    strict: a fallback is an error. Io (a FileNotFoundError where the file is absent), NotAnArtifact, Truncated, FormatTooNew, FormatTooOld,
    AbiMismatch, DigestMismatch, NoVariant, MissingCpuFeature, OutOfMemory.
    """
    options = {"verify": verify, "copy": bool(copy), "strict": bool(strict)}
    if isinstance(source, (str, os.PathLike)):
        return Module(_runtime.load_file(os.fsencode(source), **options))
    if isinstance(source, int) and not isinstance(source, bool):
        if offset < 0 or length < 0:
            raise invalid_argument(f"offset {offset} and length {length} were given, expected are numbers of at least 0")
        return Module(_runtime.load_descriptor(source, offset, length, **options))
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Module(_runtime.load_memory(source if isinstance(source, bytes) else bytes(source), **options))
    raise invalid_argument(f"a module cannot be loaded from a '{type(source).__name__}', expected is a path, bytes or a file descriptor")
