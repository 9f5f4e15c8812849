# SPDX-License-Identifier: Apache-2.0
"""What Tiffin raises: tiffin.Error, and subclasses that are also the built-in exception a Python user would catch there."""
import errno
import os
import re
from typing import Any, Mapping, Optional


_MOST_ITEMS = 16  # of a list that an error's text shows; the message and `details` have all


def _listed(value: Any) -> str:
    if not isinstance(value, (list, tuple)):
        return str(value)
    more = f" and {len(value) - _MOST_ITEMS} more" if len(value) > _MOST_ITEMS else ""
    return ", ".join(map(str, value[:_MOST_ITEMS])) + more


class Error(Exception):
    """A named failure. `code` is stable ("ShapeMismatch", see `tiffin errors`), `remedy` says what can be done, `details` holds named facts."""

    def __init__(self, code: str, message: str, remedy: str = "", details: Optional[Mapping[str, Any]] = None):
        Exception.__init__(self, code, message, remedy, dict(details or {}))
        self.code = code
        self.message = message
        self.remedy = remedy
        self.details = dict(details or {})

    def __str__(self) -> str:
        lines = [f"error[{self.code}]: {self.message}"]
        if self.remedy:
            lines.append(f"remedy: {self.remedy}")
        lines += [f"{name}: {_listed(value)}" for name, value in self.details.items()]
        return "\n  ".join(lines)

    def __reduce__(self) -> Any:
        return type(self), (self.code, self.message, self.remedy, self.details)


class UnknownNameError(Error, KeyError):
    """A function, input or parameter that is not there."""


class InvalidValueError(Error, ValueError):
    """A value, shape or file content that does not fit."""


class ElementTypeError(Error, ValueError, TypeError):
    """Elements of another type than expected; nothing is converted silently."""


class FileError(Error, OSError):
    """The system could not read or write a file."""


class FileAbsentError(FileError, FileNotFoundError):
    """A file or folder that does not exist."""


class FileRefusedError(FileError, PermissionError):
    """A file or folder that the user may not read or write."""


class NotPortableError(Error, TypeError):
    """An object that is bound to this process; it can neither be pickled nor copied."""


class IndexRangeError(Error, IndexError):
    """An element of an index tensor lies outside the axis that it indexes."""


class NoMemoryError(Error, MemoryError):
    """The system gave no more memory."""


class UnsupportedError(Error, NotImplementedError):
    """Something that this version cannot compile."""


_CLASSES = {
    **dict.fromkeys(("MissingFunction", "UnknownInput", "UnknownParam"), UnknownNameError),
    **dict.fromkeys(("TypeMismatch", "ParamTypeMismatch"), ElementTypeError),
    **dict.fromkeys(("UnsupportedOperator", "UnsupportedType"), UnsupportedError),
    **dict.fromkeys(
        ("InvalidModel", "UnsupportedTarget", "ShapeMismatch", "UnsetInput", "InvalidParams", "MissingParam", "ParamShapeMismatch",
         "ParamDigestMismatch", "NotAnArtifact", "Truncated", "DigestMismatch", "FormatTooNew", "FormatTooOld", "AbiMismatch", "InvalidInput",
         "OpenShape", "InvalidArgument"), InvalidValueError),
    "Io": FileError,
    "IndexOutOfRange": IndexRangeError,
    "OutOfMemory": NoMemoryError,
}


# What the system answered, from the end of an Io error's message.
_FILE_CLASSES = {errno.ENOENT: FileAbsentError, errno.EACCES: FileRefusedError, errno.EPERM: FileRefusedError}

# What to do where the usual remedy is one of the command line.
_REMEDIES = {
    "MissingParam": "give the model's parameters: set_input(**tiffin.load_param_dict(content)) or load_params(path)",
    "ParamDigestMismatch": "give the model's own parameters, or load_params(..., new_weights=True) if other values are wanted",
    "OpenShape": "fix them with tiffin.compile(..., dims={'NAME': N}) or input_shapes={'NAME': (A, B, C)}",
    "MissingFunction": "use one of the names in the module's function_names",
    "UnsetInput": "give every input of the model a value",
    "MissingCpuFeature": "compile the model for this machine, for example with target='llvm -mcpu=x86-64-v2'",
    "Strict": "remove the cause of the fallback named, or load without strict=True",
}

# Options of the command line that are arguments here, as the compiler's and the runtime's texts name them.
_ARGUMENTS = {"--golden-inputs": "golden_inputs", "--input-shape": "input_shapes", "--dim": "dims", "--with-file": "with_file",
              "--with-library": "with_library", "--params external": "params='external'", "--target portable-ir": "target='portable-ir'",
              "--target": "target", "--trust native": "trust='native'", "--trust": "trust", "--key": "key", "--new-weights": "new_weights=True",
              "--strict": "strict=True"}
_OPTION = re.compile(rf"(?<!\S)({'|'.join(_ARGUMENTS)})(?![\w-])")


def _with_arguments(text: str) -> str:
    return _OPTION.sub(lambda found: _ARGUMENTS[found.group()], text)


def from_status(code: str, message: str, remedy: str = "", details: Optional[Mapping[str, Any]] = None) -> Error:
    """The exception of a code; the extension modules make theirs here."""
    chosen = _CLASSES.get(code, Error)
    message = _with_arguments(message)
    if "--" in remedy:
        remedy = _REMEDIES.get(code) or _with_arguments(remedy)
    for number, file_class in _FILE_CLASSES.items() if code == "Io" else ():
        if message.endswith(os.strerror(number)):
            failure = file_class(code, message, remedy, details)
            failure.errno = number
            return failure
    return chosen(code, message, remedy, details)


def invalid_argument(message: str, remedy: str = "", **details: Any) -> Error:
    return from_status("InvalidArgument", message, remedy or "correct the option or argument that the message names", details)


def not_portable(what: str, remedy: str) -> Error:
    return NotPortableError("InvalidArgument", f"{what} belongs to its process, it can neither be pickled nor copied", remedy)
