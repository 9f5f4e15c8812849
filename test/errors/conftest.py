# SPDX-License-Identifier: Apache-2.0
"""The folder of specimens.py, written once."""
import pytest

import specimens


@pytest.fixture(scope="session")
def folder(tmp_path_factory, tiffin, zoo):
    made = tmp_path_factory.mktemp("specimens")
    specimens.write_all(made, tiffin, zoo["mlp"].path)
    return made
