# SPDX-License-Identifier: Apache-2.0
"""examples/deployment/walk.py runs as it stands there, with the programs that were built beside the package."""
import subprocess
import sys
from pathlib import Path

import pytest

import tiffin

WALK = Path(__file__).resolve().parents[2] / "examples/deployment/walk.py"
PROGRAMS = Path(tiffin.__file__).resolve().parents[2] / "bin"


@pytest.mark.skipif(not (PROGRAMS / "tiffin").exists(), reason="the programs are not beside the package")
def test_the_whole_way_can_be_walked():
    done = subprocess.run([sys.executable, "-B", WALK, "--bin", PROGRAMS], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 11
