# SPDX-License-Identifier: Apache-2.0
"""Arguments that are numbers, texts, paths and bytes: what does not fit is InvalidArgument, before it reaches the extension modules."""
import operator
import os
from typing import Any, Optional, Tuple, Union

import numpy as np

from tiffin.errors import invalid_argument

MOST = 2**63 - 1
_MOST_SHOWN = 200  # characters of a value in a message


def shown(value: Any) -> str:
    """The value as a message shows it; the type where it has no text, as integers of thousands of digits have none."""
    try:
        out = repr(value)
    except Exception:
        return f"of type '{type(value).__name__}'"
    return out if len(out) <= _MOST_SHOWN else out[:_MOST_SHOWN] + "..."


def integer(value: Any) -> Optional[int]:
    """Whatever counts as an integer, numpy's ones too; None for the rest, and for True and False."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def number(value: Any, label: str, low: int, high: int) -> int:
    found = integer(value)
    if found is None or not low <= found <= high:
        raise invalid_argument(f"{label} is {shown(value)}, expected is a number from {low} to {high}")
    return found


def flag(value: Any, label: str) -> bool:
    """No truth of other values: that of "no" is True."""
    if not isinstance(value, (bool, np.bool_)):
        raise invalid_argument(f"{label} is {shown(value)}, expected is True or False")
    return bool(value)


def choice(value: Any, label: str, choices: Tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in choices:
        expected = ", ".join(map(repr, choices[:-1])) + f" or {choices[-1]!r}"
        raise invalid_argument(f"{label} is {shown(value)}, expected is {expected}")
    return str.__str__(value)


def text(value: Any, label: str) -> str:
    """A text that the runtime, whose names end at a zero byte, can hold; of subclasses the characters alone."""
    try:
        str.encode(value, "utf-8")
    except (TypeError, UnicodeEncodeError):
        raise invalid_argument(f"{label} is {shown(value)}, expected is a text") from None
    if "\0" in value:
        raise invalid_argument(f"{label} is {shown(value)}, expected is a text without zero bytes")
    return str.__str__(value)


def path(value: Any, label: str) -> bytes:
    """A str or os.PathLike as the system spells it."""
    if not isinstance(value, (str, os.PathLike)):
        raise invalid_argument(f"{label} is of type '{type(value).__name__}', expected is a path")
    try:
        return os.fsencode(value)
    except (TypeError, UnicodeEncodeError):
        raise invalid_argument(f"{label} is {shown(value)}, which the file system cannot spell") from None


def content(value: Union[bytes, bytearray, memoryview], label: str) -> bytes:
    """Bytes that nobody changes."""
    try:
        return value if isinstance(value, bytes) else bytes(value)
    except ValueError as failure:  # a memoryview that was released
        raise invalid_argument(f"{label} cannot be read: {failure}") from None
