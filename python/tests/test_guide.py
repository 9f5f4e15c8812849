# SPDX-License-Identifier: Apache-2.0
"""The blocks of docs/how_to/use_from_python.md run one after the other, as they stand there."""
import re
import shutil
from pathlib import Path

GUIDE = Path(__file__).resolve().parents[2] / "docs/how_to/use_from_python.md"


def test_the_guide_runs(dense, tmp_path, monkeypatch, capsys):
    shutil.copy(dense.path, tmp_path / "mlp.onnx")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.S)
    assert len(blocks) >= 4
    names = {}
    for block in blocks:
        exec(block, names)
    printed = capsys.readouterr().out
    assert "ShapeMismatch" in printed and "steps" in printed and "['default']" in printed and "['fc1.weight', " in printed
    assert {"mlp.so", "mlp.params", "thin.so"} <= {path.name for path in tmp_path.iterdir()}
