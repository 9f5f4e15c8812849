# SPDX-License-Identifier: Apache-2.0
"""The parameters of a whole module, which change while it runs: staged, compared, committed, rolled back."""
import os
from typing import Any, Callable, Dict, List, Mapping, Union

from tiffin import _runtime
from tiffin.arguments import number, path
from tiffin.arrays import to_tensor_dict
from tiffin.errors import invalid_argument, not_portable


class StagedParameters:
    """A complete set of other values, compared with the model; nothing runs on it before `commit`. Not committed, it is let go with the object.

    `missing`, `unexpected` and `mismatched` name the parameters at fault: without a value, unknown to the model, of another type or shape (or frozen
    ones of another value). A set with faults refuses `verify` and `commit`.
    """

    def __init__(self, native: Any):
        if not isinstance(native, _runtime.Staged):
            raise invalid_argument(f"parameters are not staged from a '{type(native).__name__}'", "write module.params.stage(...)")
        self._native = native
        self.missing: List[str] = native.missing()
        self.unexpected: List[str] = native.unexpected()
        self.mismatched: List[str] = native.mismatched()

    @property
    def generation(self) -> int:
        """The number that the set has, or will have, as the module's current one."""
        return self._native.generation

    @property
    def report(self) -> Dict[str, Any]:
        """What staging did: mapped_bytes, copied_bytes, repacked_bytes among the keys of a module's report."""
        return self._native.report()

    def verify(self) -> None:
        """Hashes all values again and compares them with their digests, then runs the library's golden cases, if it has any, on the set.

        DigestMismatch, GoldenMismatch (which does not keep the set from being committed), and the errors of `commit`.
        """
        self._native.verify()

    def commit(self) -> None:
        """Makes the set the current one at once; runs that have begun end on the set they began with.

        MissingParam, UnknownParam, ParamTypeMismatch, ParamShapeMismatch, ParamDigestMismatch: the first that is present. InvalidArgument when the
        set was committed or aborted before.
        """
        self._native.commit()

    def abort(self) -> None:
        """Lets the set go; no effect after a commit."""
        self._native.abort()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise not_portable("a staged set", "stage the parameters in the other process")

    def __repr__(self) -> str:
        faults = len(self.missing) + len(self.unexpected) + len(self.mismatched)
        return f"<tiffin.StagedParameters generation {self.generation}, {faults} faults>"


class ModuleParameters:
    """`module.params`: the generations of a module's parameters. Safe to use from many threads."""

    def __init__(self, loaded: Callable[[], Any]):
        self._loaded = loaded

    def stage(self, params: Union[str, "os.PathLike[str]", Mapping[str, Any]]) -> StagedParameters:
        """Prepares all parameters anew, from a file (.tfw, .safetensors, .params) or a dict of names and tensors.

        Their values may differ from those the model was compiled with. Io, Truncated, InvalidParams, UnsupportedType, DigestMismatch, OutOfMemory.
        """
        if isinstance(params, (str, os.PathLike)):
            return StagedParameters(_runtime.stage_file(self._loaded(), path(params, "the parameter file's name")))
        if isinstance(params, (bytes, bytearray, memoryview)) or not isinstance(params, Mapping):
            raise invalid_argument(f"parameters cannot be staged from a '{type(params).__name__}', expected is a path or a dict",
                                   "write stage(tiffin.load_param_dict(content)) for the bytes of a file")
        return StagedParameters(_runtime.stage_dict(self._loaded(), to_tensor_dict(params)))

    @property
    def generation(self) -> int:
        """The number of the current set: 1 for embedded weights, 0 for none yet."""
        return _runtime.generation(self._loaded())

    def rollback(self, generation: int) -> None:
        """Makes a kept generation the current one: the previous one is kept. StaleGeneration for others."""
        _runtime.rollback(self._loaded(), number(generation, "a generation", 0, 2**64 - 1))

    def __repr__(self) -> str:
        return f"<tiffin.ModuleParameters generation {self.generation}>"


def report_memory() -> Dict[str, int]:
    """Where the weights of all models of this process lie: sets, unique_bytes, shared_bytes (pages of files), private_bytes."""
    return _runtime.report_memory()
