# SPDX-License-Identifier: Apache-2.0
"""Compiling a model in this process. Importing this loads the compiler; tiffin.compile does so at its first call."""
import os
import re
import shutil
import tempfile
from decimal import Decimal
from pathlib import Path as FilePath
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from tiffin import _compiler, _runtime
from tiffin.arguments import MOST, choice, flag, number, path as path_bytes, shown, text
from tiffin.arrays import Tensor, to_tensor_dict
from tiffin.errors import from_status, invalid_argument
from tiffin.module import Module

Path = Union[str, "os.PathLike[str]"]


class CompiledModule(Module):
    """A module that can be exported, and runs in this process like a loaded one."""

    def __init__(self, compiled: _compiler.CompiledModule, inputs: Sequence[bytes] = ()):
        super().__init__(None)
        self._compiled = compiled
        self._inputs = list(inputs)  # files that no output may replace

    def _loaded(self) -> Any:
        if self._native is None:
            loaded = _runtime.load_memory(self._compiled.library_bytes(), _runtime.LoadOptions("none", False, False, "native", [], 0))
            self._first_generation = _runtime.generation(loaded)
            self._native = loaded
        return self._native

    def _check_outputs(self, *outputs: bytes) -> None:
        _compiler.check_outputs(list(outputs), self._inputs)

    def export_library(self, path: Path, params: Optional[Path] = None) -> None:
        """Writes the library (.so, or a bundle for .tar), as it was compiled. A failure or a kill leaves what was there before.

        params: a file of parameters to write with it, as export_params; neither file is replaced before both are complete. Io, InvalidArgument.
        """
        file = path_bytes(path, "the library's name")
        if params is None:
            self._check_outputs(file)
            self._compiled.export_library(file)
        else:
            params_file = path_bytes(params, "the parameter file's name")
            self._check_outputs(file, params_file)
            self._compiled.export_files(file, params_file)

    def export_params(self, path: Path) -> None:
        """Writes all parameters, as they were compiled; the suffix decides: .safetensors, .params (TVM's) or .tfw. Io, InvalidArgument."""
        file = path_bytes(path, "the parameter file's name")
        self._check_outputs(file)
        self._compiled.export_params(file)

    def export_executable(self, path: Path) -> None:
        """Writes one static program with the model in it; see tiffin.export_executable."""
        self._check_outputs(path_bytes(path, "the program's name"))
        with _Exported(self, path) as library:
            export_executable(library, path)

    def export_system_lib(self, path: Path, header: Path, name: Optional[str] = None) -> None:
        """Writes a static library and its header to link into a program; see tiffin.export_system_lib."""
        self._check_outputs(path_bytes(path, "the archive's name"), path_bytes(header, "the header's name"))
        with _Exported(self, path) as library:
            export_system_lib(library, path, header, name)

    def get_params(self) -> Dict[str, Tensor]:
        """The model's own tensors, whether the library holds them or not; once others were committed, those of the current generation."""
        if self._native is not None and _runtime.generation(self._native) != self._first_generation:
            return self._native.get_params()
        return {name: Tensor.from_buffer(content, dtype, shape) for name, dtype, shape, content in self._compiled.params()}

    @property
    def targets(self) -> List[str]:
        """What the variants were compiled for, `native` resolved."""
        return self._compiled.targets()

    @property
    def sizes(self) -> Dict[str, int]:
        """Bytes of code, weights and arena."""
        return {"code": self._compiled.code_bytes(), "weights": self._compiled.weights_bytes(), "arena": self._compiled.arena_bytes()}


class _Exported:
    """The module as a file of its own for as long as another form is made of it, beside that one, where there is room for both."""

    def __init__(self, module: CompiledModule, path: Path):
        self._module = module
        self._path = path_bytes(path, "the output's name")

    def __enter__(self) -> Path:
        parent = os.path.dirname(os.fsdecode(self._path)) or "."
        if not os.path.isdir(parent):
            raise from_status("Io", f"cannot write '{os.fsdecode(self._path)}': there is no folder '{parent}'", "check path, permissions and free space")
        try:
            self._folder = tempfile.TemporaryDirectory(dir=parent, prefix=".tiffin-")
        except OSError as failure:
            raise from_status("Io", f"cannot write into the folder '{parent}': {failure.strerror}", "check path, permissions and free space") from failure
        library = FilePath(self._folder.name) / ("library.so" if len(self._module.targets) == 1 else "library.tar")
        try:
            self._module.export_library(library)
        except BaseException:
            self._folder.cleanup()
            raise
        return library

    def __exit__(self, *failure: Any) -> None:
        self._folder.cleanup()


def _program_folders() -> List[bytes]:
    """Where the static program may lie: in the package, in the build tree beside it, or where the command line is installed."""
    package = FilePath(__file__).resolve().parent
    folders = [package, package.parent.parent / "bin"]
    command = shutil.which("tiffin")
    if command is not None:
        programs = FilePath(command).resolve().parent
        folders += [programs, programs.parent / "libexec" / "tiffin"]
    return [os.fsencode(folder) for folder in folders]


def export_executable(library: Path, path: Path) -> None:
    """Writes one static program with an artifact in it; see tiffin.export_executable."""
    _compiler.export_executable(library=path_bytes(library, "the library's name"), out=path_bytes(path, "the program's name"),
                                folders=_program_folders())


def export_system_lib(library: Path, path: Path, header: Path, name: Optional[str] = None) -> None:
    """Writes a static library and its header of an artifact; see tiffin.export_system_lib."""
    _compiler.export_system_lib(library=path_bytes(library, "the library's name"), out=path_bytes(path, "the archive's name"),
                                header=path_bytes(header, "the header's name"), name="" if name is None else text(name, "name"))


def _items(value: Any, label: str, example: str) -> Any:
    if value is None:
        return ()
    if not isinstance(value, Mapping):
        raise invalid_argument(f"{label} is {shown(value)}, expected is a dict such as {example}")
    return value.items()


def _shape(value: Any, key: str) -> List[int]:
    try:
        sizes = list(value)
    except TypeError:
        raise invalid_argument(f"the shape of input '{key}' is {shown(value)}, expected are numbers such as (1, 3, 224, 224)") from None
    return [number(size, f"a dimension of input '{key}'", 0, MOST) for size in sizes]


def _targets(target: Any) -> List[str]:
    targets = [target] if isinstance(target, str) else target
    if not isinstance(targets, (list, tuple)) or not targets or not all(isinstance(one, str) and one.isascii() for one in targets):
        raise from_status("UnsupportedTarget", f"the target is {shown(target)}, expected is a text such as 'llvm -mcpu=native', or a list of them",
                          "choose targets that 'tiffin targets' lists")
    return list(targets)


def _paths(value: Any, label: str) -> List[bytes]:
    values = [value] if isinstance(value, (str, os.PathLike)) else value
    if not isinstance(values, (list, tuple)):
        raise invalid_argument(f"{label} is {shown(value)}, expected is a path, or a list of them")
    return [path_bytes(one, label) for one in values]


def _names(value: Any, label: str) -> List[str]:
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, (list, tuple)):
        raise invalid_argument(f"{label} is {shown(value)}, expected is a name, or a list of them")
    return [text(one, label) for one in values]


def _bytes(size: Any) -> int:
    """A number, or a text such as "10GB"."""
    if not isinstance(size, str):
        return number(size, "cache_size", 0, 2**64 - 1)
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kMG]i?)?B?", size)
    if found is None:
        raise invalid_argument(f"cache_size is {shown(size)}, expected is a size such as '10GB' or '512MiB'")
    unit = found.group(2) or ""
    count = Decimal(found.group(1)) * (1024 if unit.endswith("i") else 1000) ** " kMG".index(unit[:1] or " ")
    return number(int(count), "cache_size", 0, 2**64 - 1)


def _golden_cases(value: Any) -> Tuple[bytes, List[List[Tuple[str, str, Tuple[int, ...], bytes]]]]:
    """A folder, or cases as values."""
    if value is None:
        return b"", []
    if isinstance(value, (str, os.PathLike)):
        return path_bytes(value, "golden_inputs"), []
    cases = [value] if isinstance(value, Mapping) else value
    if not isinstance(cases, (list, tuple)) or not cases or not all(isinstance(case, Mapping) for case in cases):
        raise invalid_argument(f"golden_inputs is of type '{type(value).__name__}', expected is a folder, a dict of names and tensors, or a list of them")
    tensors = [to_tensor_dict(case, "golden input") for case in cases]
    return b"", [[(name, tensor.dtype, tensor.shape, tensor.tobytes()) for name, tensor in case.items()] for case in tensors]


def compile(path: Path, target: Union[str, Sequence[str]] = "llvm -mcpu=native", opt_level: int = 3, params: str = "embed",
            dims: Optional[Mapping[str, int]] = None, input_shapes: Optional[Mapping[str, Sequence[int]]] = None, name: Optional[str] = None,
            entry: str = "default", threads: int = 0, golden: int = 0, golden_inputs: Any = None, with_sources: bool = False,
            with_library: Union[Path, Sequence[Path]] = (), with_file: Union[Path, Sequence[Path]] = (), cache: Optional[Path] = None,
            cache_size: Union[int, str] = "10GB", skip: Union[str, Sequence[str]] = (), dump: Optional[Path] = None) -> CompiledModule:
    """Compiles an ONNX file; see tiffin.compile."""
    if not isinstance(path, (str, os.PathLike)):
        raise invalid_argument(f"a model cannot be compiled from a '{type(path).__name__}', expected is the path of an ONNX file")
    function = text(entry, "entry")
    if not function:
        raise invalid_argument("entry is empty, expected is the name of a function")
    embeds = choice(params, "params", ("embed", "external")) == "embed"
    fixed = {text(symbol, "a dimension's name"): number(size, f"the dimension '{symbol}'", 0, MOST)
             for symbol, size in _items(dims, "dims", "{'batch': 1}")}
    shapes = {text(key, "an input's name"): _shape(shape, key) for key, shape in _items(input_shapes, "input_shapes", "{'data': (1, 8)}")}
    cases = number(golden, "golden", 0, 1000)
    golden_folder, golden_cases = _golden_cases(golden_inputs)
    if cases and (golden_folder or golden_cases):
        raise invalid_argument("golden and golden_inputs are both given, expected is one of them")
    model, libraries, files = path_bytes(path, "the model"), _paths(with_library, "with_library"), _paths(with_file, "with_file")
    inputs = _compiler.files_of_request(model, libraries + files)
    return CompiledModule(_compiler.compile(
        path=model, targets=_targets(target), name="" if name is None else text(name, "name"), entry=function,
        opt_level=number(opt_level, "opt_level", 0, 3), threads=number(threads, "threads", 0, 1024), embed_params=embeds,
        dims=fixed, input_shapes=shapes, skip=_names(skip, "skip"), dump=b"" if dump is None else path_bytes(dump, "dump"),
        with_sources=flag(with_sources, "with_sources"), libraries=libraries, files=files, golden=cases, golden_folder=golden_folder,
        golden_cases=golden_cases, cache=b"" if cache is None else path_bytes(cache, "cache"), cache_bytes=_bytes(cache_size)), inputs)
