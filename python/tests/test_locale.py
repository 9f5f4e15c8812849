# SPDX-License-Identifier: Apache-2.0
"""A host program that sets a locale whose decimal separator is a comma: every byte and every number stays as it is."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

GRAPH = """graph "leaky" {
  input %data: float32[1,8]
  parameter %fc1.bias: float32[8] = random(7)
  %sum = Add(%data, %fc1.bias)
  %y = LeakyRelu(%sum) {alpha=0.125}
  output %y
}
"""

WORK = """
import locale, sys
import numpy as np
import tiffin

def work(name):
    for number, model in enumerate(sys.argv[1:]):
        compiled = tiffin.compile(model, golden=1)
        compiled.export_library(f"{name}{number}.tar")
        for suffix in ("safetensors", "params", "tfw"):
            compiled.export_params(f"{name}{number}.{suffix}")
        library = tiffin.load_module(f"{name}{number}.tar")
        for suffix in ("safetensors", "params", "tfw"):
            library.params.stage(f"{name}{number}.{suffix}").verify()
        executor = library["default"](tiffin.cpu(0))
        executor.run(data=-np.ones((1, 8), np.float32))
        open(f"{name}{number}.out", "wb").write(executor.get_output(0).numpy().tobytes())

work("point")
locale.setlocale(locale.LC_ALL, "de_DE.UTF-8")
assert locale.str(1.5) == "1,5"
work("comma")
"""


def test_a_host_with_a_decimal_comma(dense, tmp_path):
    sources = Path("/usr/share/i18n/locales/de_DE")
    if shutil.which("localedef") is None or not sources.exists():
        pytest.skip("there is no localedef, or no German locale to make")
    (tmp_path / "locales").mkdir()
    subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", tmp_path / "locales/de_DE.UTF-8"], check=True, capture_output=True)
    (tmp_path / "leaky.txt").write_text(GRAPH)
    environment = {**os.environ, "LOCPATH": str(tmp_path / "locales"), "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", WORK, str(dense.path), "leaky.txt"], check=True, cwd=tmp_path, env=environment)
    made = sorted(path.name.removeprefix("point") for path in tmp_path.glob("point*"))
    assert len(made) == 10
    for name in made:
        assert (tmp_path / f"point{name}").read_bytes() == (tmp_path / f"comma{name}").read_bytes(), name
