# SPDX-License-Identifier: Apache-2.0
"""Parameters of a whole module that change while it runs: staged, compared, committed, rolled back."""
import gc
import struct
import threading

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

import tiffin


@pytest.fixture(scope="session")
def files(dense, other, folder):
    """.tfw files of one plan and different values."""
    for model in (dense, other):
        tiffin.compile(model.path).export_params(folder / f"{model.path.stem}.tfw")
    return folder / "dense.tfw", folder / "other.tfw"


def output(module, x):
    executor = module["default"](tiffin.cpu(0), threads=1)
    executor.run(data=x)
    return executor.get_output(0).numpy()


def test_a_weightless_module_gets_its_first_set(thin, files, dense, x, raised):
    module = tiffin.load_module(thin)
    assert module.params.generation == 0
    raised("MissingParam", output, module, x)
    raised("MissingParam", module.get_params)
    staged = module.params.stage(files[0])
    assert not staged.missing and not staged.unexpected and not staged.mismatched
    assert staged.report["repacked_bytes"] == 0 and staged.report["mapped_bytes"] > 0
    staged.verify()
    raised("MissingParam", output, module, x)
    staged.commit()
    assert module.params.generation == staged.generation == 1
    np.testing.assert_allclose(output(module, x), dense.expected(x), rtol=1e-4, atol=1e-5)
    assert np.array_equal(module.get_params()["fc1.bias"].numpy(), dense.params["fc1.bias"])


def test_every_source_gives_the_same_bits(library, files, other, x, folder):
    module = tiffin.load_module(library)
    content = tiffin.save_param_dict(other.params)
    (folder / "other.params").write_bytes(content)
    outputs = []
    for source in (files[1], folder / "other.params", other.params, tiffin.load_param_dict(content)):
        module.params.stage(source).commit()
        outputs.append(output(module, x))
    assert all(np.array_equal(outputs[0], value) for value in outputs)
    np.testing.assert_allclose(outputs[0], other.expected(x), rtol=1e-4, atol=1e-5)


def test_rollback_knows_the_previous_generation(library, other, x, raised):
    module = tiffin.load_module(library)
    first, before = output(module, x), module.params.generation
    assert before == 1
    module.params.stage(other.params).commit()
    second = output(module, x)
    assert not np.array_equal(first, second)
    module.params.rollback(before)
    assert module.params.generation == before and np.array_equal(output(module, x), first)
    module.params.rollback(2)
    assert np.array_equal(output(module, x), second)
    module.params.stage(other.params).commit()
    raised("StaleGeneration", module.params.rollback, before)
    raised("InvalidArgument", module.params.rollback, -1)
    raised("InvalidArgument", module.params.rollback, "1")


def test_faults_are_listed_and_refuse_the_commit(library, dense, x, raised):
    module = tiffin.load_module(library)
    first = output(module, x)
    faulty = dict(dense.params)
    faulty["surplus"] = faulty.pop("fc2.bias")
    faulty["fc1.weight"] = np.zeros((3, 3), np.float32)
    faulty["fc1.bias"] = faulty["fc1.bias"].astype(np.float64)
    staged = module.params.stage(faulty)
    assert (staged.missing, staged.unexpected, sorted(staged.mismatched)) == (["fc2.bias"], ["surplus"], ["fc1.bias", "fc1.weight"])
    error = raised("MissingParam", staged.commit)
    assert error.details["unexpected"] == ["surplus"]
    raised("MissingParam", staged.verify)
    for change, code in (({"surplus": faulty["surplus"]}, "UnknownParam"), ({"fc1.bias": faulty["fc1.bias"]}, "ParamTypeMismatch"),
                         ({"fc1.weight": faulty["fc1.weight"]}, "ParamShapeMismatch")):
        raised(code, module.params.stage({**dense.params, **change}).commit)
    assert module.params.generation == 1 and np.array_equal(output(module, x), first)


def test_a_staged_set_is_used_once(library, other, raised):
    module = tiffin.load_module(library)
    staged = module.params.stage(other.params)
    staged.commit()
    raised("InvalidArgument", staged.commit)
    staged.abort()
    aborted = module.params.stage(other.params)
    aborted.abort()
    aborted.abort()
    raised("InvalidArgument", aborted.commit)
    raised("InvalidArgument", aborted.verify)
    assert module.params.generation == staged.generation


def test_damage_is_found_by_verify(thin, files, folder, raised):
    content = bytearray(files[0].read_bytes())
    data = int.from_bytes(content[80:88], "little")
    content[data] ^= 1
    (folder / "damaged.tfw").write_bytes(content)
    module = tiffin.load_module(thin)
    raised("DigestMismatch", module.params.stage(folder / "damaged.tfw").verify)
    (folder / "short.tfw").write_bytes(content[:-1])
    raised("Truncated", module.params.stage, folder / "short.tfw")
    raised("Io", module.params.stage, folder / "absent.tfw")
    raised("InvalidArgument", module.params.stage, bytes(content))
    raised("InvalidArgument", module.params.stage, None)


def tvm_params(*names):
    """A file in TVM's format of float32[1] tensors."""
    content = struct.pack("<QQQ", 0xF7E58D4F05049CB7, 0, len(names)) + b"".join(struct.pack("<Q", len(name)) + name for name in names)
    tensor = struct.pack("<QQiiiBBHqq", 0xDD5E40F096B4A13F, 0, 1, 0, 1, 2, 32, 1, 1, 4) + struct.pack("<f", 1)
    return content + struct.pack("<Q", len(names)) + tensor * len(names)


def test_names_that_are_not_utf8(library, gmod, folder, raised):
    assert list(tiffin.load_param_dict(tvm_params("é".encode(), b"a"))) == ["é", "a"]
    for names in ((b"\xff", b"\xfe"), (b"a", b"b\xff"), (b"\xed\xa0\x80",)):
        content = tvm_params(*names)
        failure = raised("InvalidParams", tiffin.load_param_dict, content)
        assert "\\x" in failure.message and "\ufffd" not in failure.message
        (folder / "strange.params").write_bytes(content)
        staged = raised("InvalidParams", tiffin.load_module(library).params.stage, folder / "strange.params")
        assert "\\x" in staged.message
        assert "\ufffd" not in str(raised("MissingParam", gmod.load_params, content))


def test_an_executors_own_parameters_stay(library, dense, other, x):
    module = tiffin.load_module(library)
    own, shared = (module["default"](tiffin.cpu(0), threads=1) for _ in range(2))
    own.load_params(dense.params)
    module.params.stage(other.params).commit()
    for executor, model in ((own, dense), (shared, other)):
        executor.run(data=x)
        np.testing.assert_allclose(executor.get_output(0).numpy(), model.expected(x), rtol=1e-4, atol=1e-5)


def test_swaps_while_threads_run(thin, files, x):
    module = tiffin.load_module(thin)
    sets = []
    for file in files:
        module.params.stage(file).commit()
        sets.append(output(module, x))
    stop, seen, wrong = threading.Event(), [0, 0], []

    def work():
        executor = module["default"](tiffin.cpu(0), threads=1)
        while not stop.is_set():
            executor.run(data=x)
            value = executor.get_output(0).numpy()
            match = [index for index in range(2) if np.array_equal(value, sets[index])]
            if match:
                seen[match[0]] += 1
            else:
                wrong.append(value)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for k in range(1000):
        module.params.stage(files[k % 2]).commit()
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong and all(seen)
    assert np.array_equal(output(module, x), sets[1])


def test_equal_weights_are_kept_once(thin, other):
    gc.collect()  # sets that other tests' exceptions still refer to
    modules = [tiffin.load_module(thin) for _ in range(3)]
    before = tiffin.report_memory()
    staged = [module.params.stage(other.params) for module in modules]
    after = tiffin.report_memory()
    assert after["sets"] == before["sets"] + 1
    assert after["private_bytes"] - before["private_bytes"] == staged[0].report["repacked_bytes"]
    del staged
    assert tiffin.report_memory() == before


def test_a_frozen_parameter_wants_another_compile(folder, raised):
    nodes = [helper.make_node("Mul", ["x", "scale"], ["h"]), helper.make_node("Clip", ["h", "low", "high"], ["y"])]
    values = {"scale": np.full(4, 2, np.float32), "low": np.float32(-1), "high": np.float32(1)}
    shape = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "clip", shape[:1], shape[1:], [numpy_helper.from_array(np.asarray(value), key) for key, value in values.items()])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "clip.onnx")
    module = tiffin.compile(folder / "clip.onnx")
    given = {**module.get_params(), "scale": np.full(4, 3, np.float32)}
    module.params.stage(given).commit()
    staged = module.params.stage({**given, "high": np.array(2, np.float32)})
    assert staged.mismatched == ["high"]
    assert "compile" in raised("ParamDigestMismatch", staged.commit).remedy


def test_copy_holds_for_files_that_are_given_later(thin, files, dense, x, tmp_path):
    """Who may overwrite the file in place does not change what runs."""
    for give in ("load", "stage"):
        weights = tmp_path / f"{give}.tfw"
        weights.write_bytes(files[0].read_bytes())
        module = tiffin.load_module(thin, copy=True)
        executor = module["default"](tiffin.cpu(0), threads=1)
        if give == "load":
            executor.load_params(weights)
        else:
            module.params.stage(weights).commit()
        size = weights.stat().st_size
        with open(weights, "r+b") as file:
            file.write(bytes(size))
        executor.run(data=x)
        np.testing.assert_allclose(executor.get_output(0).numpy(), dense.expected(x), rtol=1e-4, atol=1e-5)


def test_strict_holds_for_parameters_that_are_given_later(thin, files, dense, raised, tmp_path):
    tiffin.compile(dense.path).export_params(tmp_path / "w.safetensors")
    module = tiffin.load_module(thin, strict=True)
    executor = module["default"](tiffin.cpu(0))
    raised("Strict", executor.load_params, tmp_path / "w.safetensors")
    raised("Strict", executor.load_params, tmp_path / "w.safetensors")
    raised("Strict", module.params.stage, tmp_path / "w.safetensors")
    executor.load_params(files[0])
    module.params.stage(files[0]).commit()
