# SPDX-License-Identifier: Apache-2.0
"""Runs every row of the tables in this folder: a command line, then, indented, the code and fragments of the message.

    tiffin-run run absent.so --fill zeros
      Io: 'absent.so' | remedy

The code is one name or several with / between them; `usage` stands for exit status 2, `no` for 1. Commands run in the folder of specimens.py.
"""
import shlex
from pathlib import Path

import pytest


def rows():
    for table in sorted(Path(__file__).parent.glob("*.table")):
        lines = [line for line in table.read_text().splitlines() if line.strip() and not line.startswith("#")]
        for command, expectation in zip(lines[::2], lines[1::2], strict=True):
            assert not command.startswith(" ") and expectation.startswith("  "), f"{table.name}: {command}"
            code, _, fragments = expectation.strip().partition(":")
            yield pytest.param(command, code, [text.strip() for text in fragments.split("|") if text.strip()], id=f"{table.stem}: {command}")


@pytest.mark.parametrize("command, code, fragments", list(rows()))
def test_row(command, code, fragments, folder, tiffin, tiffin_run):
    name, *words = shlex.split(command)
    program = {"tiffin": tiffin, "tiffin-run": tiffin_run}[name]
    before = set(folder.iterdir())
    if code in ("usage", "no"):
        done = program.run(*words, folder=folder)
        assert done.returncode == {"usage": 2, "no": 1}[code], f"exit {done.returncode}: {done.stderr}"
        text = done.stdout + done.stderr
        assert not [fragment for fragment in fragments if fragment not in text], text
    else:
        program.fails(code.split("/"), *words, mentions=[*fragments, "remedy: "], folder=folder)
    assert set(folder.iterdir()) == before, "something is left behind"
