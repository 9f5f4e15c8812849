# SPDX-License-Identifier: Apache-2.0
"""Arguments that are numbers, texts and paths: what does not fit is InvalidArgument, before it reaches the extension modules."""
import os
from typing import Any

from tiffin.errors import invalid_argument

MOST = 2**63 - 1


def number(value: Any, label: str, low: int, high: int) -> int:
    """Whatever counts as an integer, numpy's ones too; True and False do not."""
    try:
        found = int(value.__index__())
    except AttributeError:
        raise invalid_argument(f"{label} is {value!r}, expected is a number") from None
    if isinstance(value, bool) or not low <= found <= high:
        raise invalid_argument(f"{label} is {value!r}, expected is a number from {low} to {high}")
    return found


def text(value: Any, label: str) -> str:
    try:
        value.encode("utf-8")
    except (AttributeError, UnicodeEncodeError):
        raise invalid_argument(f"{label} is {value!r}, expected is a text") from None
    return str(value)


def path(value: Any, label: str) -> bytes:
    """A str or os.PathLike as the system spells it."""
    if not isinstance(value, (str, os.PathLike)):
        raise invalid_argument(f"{label} is of type '{type(value).__name__}', expected is a path")
    try:
        return os.fsencode(value)
    except UnicodeEncodeError:
        raise invalid_argument(f"{label} is {value!r}, which the file system cannot spell") from None
