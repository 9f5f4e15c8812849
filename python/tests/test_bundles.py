# SPDX-License-Identifier: Apache-2.0
"""A list of targets makes a bundle, which loads like a library."""
import numpy as np
import pytest

import tiffin


def test_a_list_of_targets_makes_a_bundle(dense, folder):
    module = tiffin.compile(dense.path, target=["llvm -mcpu=x86-64-v2", "llvm -mcpu=native"])
    assert len(module.targets) == 2
    module.export_library(folder / "dense.tar")
    executor = tiffin.load_module(folder / "dense.tar")["default"](tiffin.cpu(0))
    x = np.random.default_rng(0).standard_normal((1, 8)).astype(np.float32)
    executor.run(data=x)
    np.testing.assert_allclose(executor.get_output(0).numpy(), dense.expected(x), rtol=1e-5, atol=1e-5)


def test_several_variants_do_not_fit_into_a_library(dense, folder):
    module = tiffin.compile(dense.path, target=["llvm -mcpu=x86-64-v2", "llvm -mcpu=x86-64-v3"])
    with pytest.raises(tiffin.Error) as caught:
        module.export_library(folder / "two.so")
    assert caught.value.code == "InvalidArgument" and not (folder / "two.so").exists()


@pytest.mark.parametrize("target", [[], 3, ["llvm", 3], "lvm"])
def test_wrong_targets_are_named(dense, target):
    with pytest.raises(tiffin.Error) as caught:
        tiffin.compile(dense.path, target=target)
    assert caught.value.code == "UnsupportedTarget"
