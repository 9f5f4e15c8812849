# SPDX-License-Identifier: Apache-2.0
"""docs/how_to/deploy_without_container.md, word for word: its commands in a root that holds nothing but what they copy there."""
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parent.parent.parent / "docs/how_to/deploy_without_container.md"
BIN = Path(os.environ["TIFFIN_BIN"])

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="chroot is for root"),
              pytest.mark.skipif(platform.machine() != "x86_64", reason="the guide names x86_64")]


def test_the_guide_runs_in_an_empty_root(artifact_of, tmp_path):
    (tmp_path / "PREFIX").mkdir()
    (tmp_path / "PREFIX/bin").symlink_to(BIN)
    shutil.copy(artifact_of("mlp"), tmp_path / "model.so")
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE.read_text(), re.S)
    assert len(blocks) == 2 and all("chroot ROOT" in block for block in blocks)
    for block in blocks:
        done = subprocess.run(["sh", "-e", "-c", block], cwd=tmp_path, capture_output=True, text=True, env={"PATH": f"{BIN}:/usr/sbin:/usr/bin:/bin"})
        assert done.returncode == 0, done.stdout + done.stderr
        assert "ok, " in done.stdout and "float32[1,10]" in done.stdout
    assert sorted(path.name for path in (tmp_path / "ROOT").rglob("*")) == ["model", "model.so", "tiffin-run"]
