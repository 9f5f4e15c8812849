# SPDX-License-Identifier: Apache-2.0
"""A module: functions that make executors, the model's parameters, and a report. Loaded from a file, or compiled in this process."""
import os
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Union

from tiffin import _runtime
from tiffin.arguments import MOST, choice, content, flag, integer, number, path, text
from tiffin.arrays import Tensor
from tiffin.errors import from_status, invalid_argument, not_portable
from tiffin.graph_executor import GraphExecutor
from tiffin.parameters import ModuleParameters


Path = Union[str, "os.PathLike[str]"]


class Device(NamedTuple):
    """Where a function runs."""

    type: str
    index: int

    def __repr__(self) -> str:
        return f"{self.type}({self.index})"


def device(type: str, index: int = 0) -> Device:
    """A device by name: device("cpu", 0)."""
    return Device(text(type, "the device's type"), number(index, "the device's index", 0, 2**31 - 1))


def cpu(index: int = 0) -> Device:
    """The CPU; there is one."""
    return device("cpu", index)


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
        count = number(threads, "threads", 0, 2**31 - 1)
        loaded = self._module._loaded()
        return GraphExecutor._create(loaded.create_executor(self.name, count), frozenset(loaded.parameter_names()))

    def __repr__(self) -> str:
        return f"<tiffin.Function '{self.name}'>"


class Module:
    """A loaded artifact. Safe to use from many threads; of it only `params` changes, by commits."""

    def __init__(self, native: Any):
        if native is not None and not isinstance(native, _runtime.LoadedModule):
            raise invalid_argument(f"a module is not made from a '{type(native).__name__}'", "write tiffin.load_module(source)")
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
        known = text(name, "a function's name")
        self._loaded().find_function(known)
        return Function(self, known)

    def __contains__(self, name: object) -> bool:
        return name in self.function_names

    def get_params(self) -> Dict[str, Tensor]:
        """The model's own tensors, under their own names, with the values of the current generation. MissingParam for a module without weights."""
        return self._loaded().get_params()

    @property
    def params(self) -> ModuleParameters:
        """Parameters that change for the whole module: stage, commit, rollback."""
        return ModuleParameters(self._loaded)

    @property
    def report(self) -> Dict[str, Any]:
        """What loading did: variant, variants (each with chosen and reasons), fallbacks, mapped_bytes, copied_bytes, repacked_bytes, phases_ms."""
        return self._loaded().report()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise not_portable("a module", "export it, and load the file in the other process")

    def __repr__(self) -> str:
        return f"<tiffin.Module with {', '.join(self.function_names)}>"


def load_module(source: Union[str, "os.PathLike[str]", bytes, bytearray, memoryview, int], *, offset: int = 0, length: int = 0,
                verify: str = "code", copy: bool = False, strict: bool = False, trust: str = "native",
                key: Union[None, Path, Sequence[Path]] = None, min_release: int = 0) -> Module:
    """Loads an artifact: a path, its bytes, or an open file's descriptor with `offset` and `length` (0: to its end).

    verify: "code" hashes program and code, "all" the weights too, "none" nothing. copy: into private memory, so that the file may change.
    strict: a fallback is an error. trust: "data" runs no code of the artifact, only kernels as data; "signed" runs it only if a `key`, a file of a
    public key or several of them, signed it (NotTrusted, SignatureInvalid), at least as release `min_release`; everything is hashed then.
    Io (a FileNotFoundError where the file is absent), NotAnArtifact, Truncated, FormatTooNew, FormatTooOld, AbiMismatch, DigestMismatch, NoVariant,
    MissingCpuFeature, OutOfMemory.
    """
    checked = choice(verify, "verify", ("none", "code", "all"))
    trusted = choice(trust, "trust", ("native", "data", "signed"))
    release = number(min_release, "min_release", 0, 2**64 - 1)
    if trusted != "signed" and (key is not None or release != 0):
        raise invalid_argument(f"a key or a release is given, but trust is {trusted!r}", "write trust=\"signed\", or leave them out")
    keys = [] if key is None else list(key) if isinstance(key, (list, tuple)) else [key]
    options = _runtime.LoadOptions(checked, flag(copy, "copy"), flag(strict, "strict"), trusted, [path(name, "the key's name") for name in keys],
                                   release)
    if isinstance(source, (str, os.PathLike)):
        return Module(_runtime.load_file(path(source, "the library's name"), options))
    if integer(source) is not None:
        return Module(_runtime.load_descriptor(number(source, "the descriptor", -1, 2**31 - 1), number(offset, "offset", 0, MOST),
                                               number(length, "length", 0, MOST), options))
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Module(_runtime.load_memory(content(source, "a library"), options))
    raise invalid_argument(f"a module cannot be loaded from a '{type(source).__name__}', expected is a path, bytes or a file descriptor")
