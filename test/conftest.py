# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests that use the finished programs. TIFFIN_BIN: the folder that holds tiffin and tiffin-run."""
import os
from pathlib import Path

import pytest

import program


def built(name):
    path = Path(os.environ["TIFFIN_BIN"]) / name
    assert path.exists(), f"{path} is not there: build first"
    return program.Program(path)


@pytest.fixture(scope="session")
def tiffin():
    return built("tiffin")


@pytest.fixture(scope="session")
def tiffin_run():
    return built("tiffin-run")


@pytest.fixture(scope="session")
def zoo():
    return {path.stem: program.Case(path) for path in program.zoo_paths()}


@pytest.fixture(scope="session")
def artifact_of(tiffin, zoo, tmp_path_factory):
    """artifact_of(name, *options): the compiled model, made once for each set of options."""
    folder, made = tmp_path_factory.mktemp("artifacts"), {}

    def compiled(name, *options):
        key = (name, *map(str, options))
        if key not in made:
            made[key] = folder / f"{len(made)}_{name}.so"
            tiffin.ok("compile", zoo[name].path, "-o", made[key], "--quiet", *zoo[name].options, *options)
        return made[key]

    return compiled
