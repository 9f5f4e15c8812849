# SPDX-License-Identifier: Apache-2.0
"""load_module(trust="signed"): keys, refusals, and a module that `tiffin sign` signed, where the program lies beside the package."""
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tiffin

PUBLIC = """-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=
-----END PUBLIC KEY-----
"""
PROGRAM = Path(tiffin.__file__).resolve().parents[2] / "bin" / "tiffin"


@pytest.fixture
def key(tmp_path):
    (tmp_path / "some.public").write_text(PUBLIC)
    return tmp_path / "some.public"


def test_what_is_not_signed_is_refused(library, key, raised):
    raised("NotTrusted", tiffin.load_module, library, trust="signed")
    raised("NotTrusted", tiffin.load_module, library, trust="signed", key=key)
    raised("NotTrusted", tiffin.load_module, library.read_bytes(), trust="signed", key=[str(key), key])


def test_arguments(library, key, raised):
    raised("InvalidArgument", tiffin.load_module, library, trust="anybody")
    raised("InvalidArgument", tiffin.load_module, library, key=key)
    raised("InvalidArgument", tiffin.load_module, library, min_release=1)
    raised("InvalidArgument", tiffin.load_module, library, trust="signed", key=key, min_release=-1)
    raised("InvalidArgument", tiffin.load_module, library, trust="signed", key=7)
    raised("InvalidArgument", tiffin.load_module, library, trust="signed", key=library)
    raised("Io", tiffin.load_module, library, trust="signed", key=key.parent / "none")


def test_data_alone(library, raised):
    raised("NotTrusted", tiffin.load_module, library, trust="data")


@pytest.mark.skipif(not PROGRAM.exists(), reason="the program 'tiffin' does not lie beside the package")
def test_a_signed_module_runs(library, key, tmp_path, x, gmod, raised):
    path = Path(shutil.copy(library, tmp_path / "signed.so"))
    subprocess.run([PROGRAM, "keys", "new", tmp_path / "k"], check=True, capture_output=True)
    subprocess.run([PROGRAM, "sign", path, "--key", tmp_path / "k.secret", "--release", "4"], check=True, capture_output=True)
    gmod.run(data=x)
    for source in (path, path.read_bytes()):
        executor = tiffin.load_module(source, trust="signed", key=[key, tmp_path / "k.public"], min_release=4)["default"]()
        executor.run(data=x)
        assert np.array_equal(executor.get_output(0).numpy(), gmod.get_output(0).numpy())
    raised("SignatureInvalid", tiffin.load_module, path, trust="signed", key=key)
    raised("NotTrusted", tiffin.load_module, path, trust="signed", key=tmp_path / "k.public", min_release=5)
