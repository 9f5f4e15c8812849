# SPDX-License-Identifier: Apache-2.0
"""Tensors to and from Python: layouts, byte orders, DLPack, the buffer protocol, lifetimes, TVM's parameter bytes."""
import array
import gc

import numpy as np
import pytest

import tiffin

ml_dtypes = pytest.importorskip("ml_dtypes")


def output(gmod, value):
    gmod.run(data=value)
    return gmod.get_output(0).numpy()


class Producer:
    """Something that speaks DLPack and nothing else."""

    def __init__(self, values, device=(1, 0)):
        self.values, self.device = values, device

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.device


def test_layouts_are_converted(gmod, x):
    expected = output(gmod, x)
    wide = np.zeros((1, 16), np.float32)
    wide[:, ::2] = x
    misaligned = np.frombuffer(b"#" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(1, 8)
    read_only = x.copy()
    read_only.flags.writeable = False
    gives = [x.astype(">f4"), np.asfortranarray(x), wide[:, ::2], x[:, ::-1].copy()[:, ::-1], misaligned, read_only, Producer(x),
             Producer(wide[:, ::2]), memoryview(x), tiffin.runtime.Tensor.from_dlpack(x)]
    for value in gives:
        assert np.array_equal(output(gmod, value), expected), type(value)
    for value in (np.nan, np.inf, -np.inf):
        special = np.full((1, 8), value, np.float32)
        gmod.set_input("data", special)
        gmod.run()


def test_foreign_devices_and_strange_objects(gmod, x, raised):
    raised("DeviceUnavailable", gmod.set_input, "data", Producer(x, (2, 0)))
    raised("ShapeMismatch", gmod.set_input, "data", array.array("f", [0.0] * 8))
    raised("TypeMismatch", gmod.set_input, "data", object())


def test_producers_that_fail(gmod, x, raised):
    class Broken(Producer):
        def __dlpack_device__(self):
            raise RuntimeError("lost")

    class Silent(Producer):
        def __dlpack__(self, **options):
            raise RuntimeError("lost")

    class Unconvertible:
        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("lost")

    values = [Producer(x, None), Producer(x, ()), Producer(x, ("cpu", 0)), Producer(x, 1), Broken(x), Silent(x), np.ndarray]
    for value in values:
        raised("InvalidArgument", gmod.set_input, "data", value)
        raised("InvalidArgument", gmod.bind_input, "data", value)
        raised("InvalidArgument", tiffin.save_param_dict, {"value": value})
    assert "lost" in str(raised("InvalidInput", gmod.set_input, "data", Unconvertible()))


def test_views_are_of_the_executors_memory(gmod, x):
    first = output(gmod, x)
    tensor = gmod.get_output(0)
    views = [np.asarray(tensor), np.from_dlpack(tensor), np.asarray(memoryview(tensor))]
    assert tensor.shape == (1, 4) and tensor.dtype == "float32" and tensor.nbytes == 16 and "float32[1,4]" in repr(tensor)
    second = output(gmod, x + 1)
    assert not np.array_equal(first, second)
    assert all(np.array_equal(view, second) for view in views)
    assert all(view.__array_interface__["data"] == views[0].__array_interface__["data"] for view in views)
    del gmod, tensor
    gc.collect()
    assert all(np.array_equal(view, second) for view in views)


def test_executors_keep_their_module(library, x):
    executor = tiffin.load_module(library)["default"]()
    gc.collect()
    executor.run(data=x)
    params = executor.get_params()
    del executor
    gc.collect()
    assert params["fc1.weight"].numpy().shape == (8, 16)
    assert params["fc1.weight"].is_read_only
    with pytest.raises((ValueError, BufferError)):
        np.asarray(params["fc1.weight"])[:] = 0
    assert not np.from_dlpack(params["fc1.weight"]).flags.writeable
    np.from_dlpack(params["fc1.weight"], copy=True)[:] = 0


class Unversioned:
    """Asks as DLPack before 1.0 did, which knows no read-only memory."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self, **options):
        return self.tensor.__dlpack__()

    def __dlpack_device__(self):
        return self.tensor.__dlpack_device__()


def test_old_consumers_get_a_copy_of_read_only_memory(dense):
    tensor = tiffin.load_param_dict(tiffin.save_param_dict(dense.params))["fc1.bias"]
    again = tiffin.runtime.Tensor.from_dlpack(Unversioned(tensor))
    assert np.array_equal(again.numpy(), dense.params["fc1.bias"])
    assert np.asarray(again).__array_interface__["data"] != np.asarray(tensor).__array_interface__["data"]


def aligned(shape, fill=0.0):
    block = np.zeros(int(np.prod(shape)) * 4 + 64, np.uint8)
    start = -block.ctypes.data % 64
    values = block[start:start + int(np.prod(shape)) * 4].view(np.float32).reshape(shape)
    values[:] = fill
    return values


def test_binding_without_copies(gmod, x, raised):
    expected = output(gmod, x)
    source, target = aligned((1, 8)), aligned((1, 4))
    source[:] = x
    gmod.bind_input("data", source)
    gmod.bind_output(0, target)
    gmod.run()
    assert np.array_equal(target, expected)
    source += 1
    gmod.run()
    assert np.array_equal(target, gmod.get_output(0).numpy()) and not np.array_equal(target, expected)
    assert np.shares_memory(np.asarray(gmod.get_output(0)), target)
    raised("InvalidArgument", gmod.bind_input, "data", aligned((1, 9)).reshape(-1)[1:].reshape(1, 8))
    raised("InvalidArgument", gmod.bind_input, "data", x.astype(">f4"))
    raised("ShapeMismatch", gmod.bind_output, 0, aligned((1, 5)))
    target.flags.writeable = False
    raised("InvalidArgument", gmod.bind_output, 0, target)


def test_param_dicts_round_trip(compiled, dense):
    params = compiled.get_params()
    assert list(params) == list(dense.params)
    assert all(np.array_equal(np.asarray(params[key]), value) for key, value in dense.params.items())
    content = tiffin.save_param_dict(params)
    assert content == tiffin.save_param_dict(dense.params)
    loaded = tiffin.load_param_dict(content)
    del content
    gc.collect()
    assert list(loaded) == list(params) and all(np.array_equal(loaded[key].numpy(), dense.params[key]) for key in params)
    assert tiffin.load_param_dict(tiffin.save_param_dict({})) == {}


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool",
                                   ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_types_round_trip(dtype, shape):
    value = (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2).astype(dtype)
    loaded = tiffin.load_param_dict(tiffin.save_param_dict({"value": value}))["value"]
    assert loaded.dtype == value.dtype.name and loaded.shape == value.shape
    for again in (loaded.numpy(), np.asarray(loaded)):
        assert again.dtype == value.dtype and again.shape == shape and np.array_equal(again, value)
    assert tiffin.save_param_dict({"value": loaded}) == tiffin.save_param_dict({"value": value})


def test_packed_types_are_one_to_a_byte_in_numpy():
    for name, values in (("int4", [-8, 7, -1]), ("uint4", [15, 0, 9]), ("int2", [-2, 1, -1]), ("uint2", [3, 0, 2])):
        if hasattr(ml_dtypes, name):
            value = np.array(values).astype(getattr(ml_dtypes, name))
            tensor = tiffin.arrays.to_tensor(value, "value")
            assert tensor.dtype == name and tensor.nbytes < 3
            assert np.array_equal(tensor.numpy(), value)


def test_outputs_are_bound_to_memory_of_their_own(gmod, x, raised):
    """A run writes outputs before it has read all inputs."""
    memory = aligned((4, 8))
    gmod.bind_input("data", memory[:1])
    raised("InvalidArgument", gmod.bind_output, 0, memory.reshape(-1)[: 4].reshape(1, 4))
    gmod.bind_output(0, memory.reshape(-1)[16: 20].reshape(1, 4))
    raised("InvalidArgument", gmod.bind_input, "data", memory[2: 3])
    raised("InvalidArgument", gmod.bind_input, "data", np.asarray(memory.reshape(-1)[16: 24].reshape(1, 8)))
