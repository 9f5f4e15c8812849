# SPDX-License-Identifier: Apache-2.0
"""What tiffin.compile offers beside the model and its target: golden cases, files that travel, a cache, other forms of export."""
import os
import subprocess

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import tiffin

X = np.linspace(-1, 1, 8, dtype=np.float32).reshape(1, 8)


def run(module, x=X):
    executor = module["default"](tiffin.cpu(0))
    executor.run(data=x)
    return executor.get_output(0).numpy()


def exported(module, path):
    module.export_library(path)
    return path.read_bytes()


def raises(code, work):
    with pytest.raises(tiffin.Error) as caught:
        work()
    assert caught.value.code == code and caught.value.remedy, caught.value
    return caught.value


# ---- golden cases ----

@pytest.mark.parametrize("options", [{"golden": 2}, {"golden_inputs": {"data": X}}, {"golden_inputs": [{"data": X}, {"data": 2 * X}]}])
def test_golden_cases_travel_and_judge_staged_weights(dense, other, folder, options):
    library = exported_module(dense, folder, **options)
    compiled = tiffin.compile(other.path)
    compiled.export_params(folder / "other.tfw")
    tiffin.compile(dense.path).export_params(folder / "own.tfw")
    library.params.stage(folder / "own.tfw").verify()
    assert "golden case" in str(raises("GoldenMismatch", library.params.stage(folder / "other.tfw").verify))


def exported_module(dense, folder, **options):
    tiffin.compile(dense.path, **options).export_library(folder / "golden.so")
    return tiffin.load_module(folder / "golden.so")


def test_golden_inputs_of_a_folder(dense, folder):
    (folder / "inputs").mkdir(exist_ok=True)
    np.save(folder / "inputs/data.npy", X)
    from_folder = exported(tiffin.compile(dense.path, golden_inputs=folder / "inputs"), folder / "f.so")
    assert from_folder == exported(tiffin.compile(dense.path, golden_inputs={"data": X}), folder / "d.so")
    assert len(from_folder) > len(exported(tiffin.compile(dense.path), folder / "n.so"))


@pytest.mark.parametrize("given, code", [
    ({"golden": -1}, "InvalidArgument"), ({"golden": 1001}, "InvalidArgument"), ({"golden": "2"}, "InvalidArgument"),
    ({"golden": 1, "golden_inputs": {"data": X}}, "InvalidArgument"), ({"golden_inputs": 7}, "InvalidArgument"), ({"golden_inputs": []}, "InvalidArgument"),
    ({"golden_inputs": {}}, "UnsetInput"), ({"golden_inputs": {"date": X}}, "UnknownInput"),
    ({"golden_inputs": {"data": X.astype(np.float64)}}, "TypeMismatch"), ({"golden_inputs": {"data": X[:, :7]}}, "ShapeMismatch"),
    ({"golden_inputs": "absent"}, "Io")])
def test_wrong_golden_cases(dense, given, code):
    raises(code, lambda: tiffin.compile(dense.path, **given))


# ---- files that travel ----

def test_files_and_sources_travel(dense, folder):
    (folder / "labels.txt").write_text("cat\ndog\n")
    plain = len(exported(tiffin.compile(dense.path), folder / "plain.tar"))
    tiffin.compile(dense.path, with_file=folder / "labels.txt", with_sources=True).export_library(folder / "more.tar")
    listing = subprocess.run(["tar", "tf", folder / "more.tar"], capture_output=True, text=True, check=True).stdout
    assert "labels.txt" in listing and "kernels.0.txt" in listing and (folder / "more.tar").stat().st_size > plain
    assert np.array_equal(run(tiffin.load_module(folder / "more.tar")), run(tiffin.load_module(folder / "plain.tar")))
    raises("Io", lambda: tiffin.compile(dense.path, with_file=[folder / "absent.txt"]))
    raises("InvalidArgument", lambda: tiffin.compile(dense.path, with_library=[folder / "labels.txt"]))
    raises("InvalidArgument", lambda: tiffin.compile(dense.path, with_file=7))
    raises("InvalidArgument", lambda: tiffin.compile(dense.path, skip="no_such_pass"))


def test_a_dump(dense, folder):
    tiffin.compile(dense.path, dump=folder / "dump")
    assert (folder / "dump/plan.txt").exists() and (folder / "dump/kernels.txt").exists()


# ---- the cache ----

def entries(folder):
    return sorted(folder.rglob("*.entry"))


@pytest.mark.parametrize("options", [{}, {"params": "external"}, {"target": ["llvm -mcpu=x86-64-v2", "portable-ir"]}, {"golden_inputs": {"data": X}}])
def test_a_cached_module_is_the_compiled_one(dense, folder, tmp_path, options):
    form = "tar" if "target" in options else "so"
    plain = tiffin.compile(dense.path, **options)
    stored = tiffin.compile(dense.path, cache=tmp_path / "cache", **options)
    (entry,) = entries(tmp_path / "cache")
    found = tiffin.compile(dense.path, cache=tmp_path / "cache", **options)
    assert entries(tmp_path / "cache") == [entry] and found.targets == plain.targets and found.sizes == plain.sizes
    assert exported(found, folder / f"found.{form}") == exported(plain, folder / f"plain.{form}") == exported(stored, folder / f"stored.{form}")
    assert exported(found, folder / "found.tar") == exported(plain, folder / "plain.tar")
    for suffix in ("safetensors", "params", "tfw"):
        found.export_params(folder / f"found.{suffix}"), plain.export_params(folder / f"plain.{suffix}")
        assert (folder / f"found.{suffix}").read_bytes() == (folder / f"plain.{suffix}").read_bytes()
    assert {name: tensor.numpy().tobytes() for name, tensor in found.get_params().items()} == {
        name: np.ascontiguousarray(value).tobytes() for name, value in dense.params.items()}
    if options.get("params") != "external":
        assert np.array_equal(run(found), run(plain))


def test_what_counts_for_the_cache(dense, other, tmp_path):
    cache = tmp_path / "cache"
    for count, options in enumerate([{}, {"golden_inputs": {"data": X}}, {"golden_inputs": {"data": 2 * X}}, {"opt_level": 0}, {"name": "n"}], 1):
        for _ in range(2):
            tiffin.compile(dense.path, cache=cache, **options)
            assert len(entries(cache)) == count, options
    tiffin.compile(dense.path, cache=cache, threads=1)
    assert len(entries(cache)) == 5
    tiffin.compile(other.path, cache=cache, cache_size="1kB")
    assert len(entries(cache)) == 5, "what fits no limit is not kept, and pushes nothing out"


def test_the_command_line_shares_entries(dense, tmp_path):
    programs = os.environ.get("TIFFIN_BIN") or os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(tiffin.__file__))), "bin")
    program = os.path.join(programs, "tiffin")
    if not os.path.exists(program):
        pytest.skip("the program tiffin is not built")
    tiffin.compile(dense.path, cache=tmp_path / "cache")
    subprocess.run([program, "compile", dense.path, "-o", tmp_path / "m.so", "--cache", tmp_path / "cache", "--quiet"], check=True)
    compiled = tiffin.compile(dense.path)
    assert (tmp_path / "m.so").read_bytes() == exported(compiled, tmp_path / "plain.so")


def test_damaged_entries_are_compiled_again(dense, tmp_path, folder):
    expected = exported(tiffin.compile(dense.path, cache=tmp_path / "cache"), folder / "m.so")
    for suffix in (".so", ".entry"):
        (path,) = (tmp_path / "cache").rglob("*" + suffix)
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        assert exported(tiffin.compile(dense.path, cache=tmp_path / "cache"), folder / "m.so") == expected
        assert path.read_bytes() != content, "the entry was made anew"


def test_a_module_outlives_its_entry(dense, tmp_path, folder):
    tiffin.compile(dense.path, cache=tmp_path / "cache")
    found = tiffin.compile(dense.path, cache=tmp_path / "cache")
    for path in (tmp_path / "cache").rglob("*.*"):
        path.unlink()
    assert exported(found, folder / "m.so") == exported(tiffin.compile(dense.path), folder / "n.so")
    assert np.array_equal(found.get_params()["fc1.bias"].numpy(), dense.params["fc1.bias"])


@pytest.mark.parametrize("given, code", [({"cache": "/proc/none"}, "Io"), ({"cache": 7}, "InvalidArgument"),
                                         ({"cache": "/proc", "cache_size": "much"}, "InvalidArgument"),
                                         ({"cache": "/proc", "cache_size": -1}, "InvalidArgument")])
def test_wrong_caches(dense, given, code):
    raises(code, lambda: tiffin.compile(dense.path, **given))


# ---- files ----

def test_outputs_do_not_replace_the_models_own_files(dense, tmp_path):
    model, folder = onnx.load(dense.path), tmp_path
    onnx.save_model(model, folder / "apart.onnx", save_as_external_data=True, location="apart.tfw", size_threshold=0)
    compiled = tiffin.compile(folder / "apart.onnx")
    content = (folder / "apart.tfw").read_bytes()
    raises("InvalidArgument", lambda: compiled.export_library(folder / "apart.onnx"))
    raises("InvalidArgument", lambda: compiled.export_params(folder / "apart.tfw"))
    raises("InvalidArgument", lambda: compiled.export_library(folder / "m.so", params=folder / "apart.tfw"))
    raises("InvalidArgument", lambda: compiled.export_library(folder / "same.tfw", params=folder / "same.tfw"))
    assert (folder / "apart.tfw").read_bytes() == content and not (folder / "m.so").exists()


def test_outputs_do_not_replace_what_travels(dense, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labels.txt").write_text("cat")
    (tmp_path / "model.onnx").write_bytes(dense.path.read_bytes())
    (tmp_path / "away").mkdir()
    compiled = tiffin.compile("model.onnx", with_file="labels.txt")
    monkeypatch.chdir(tmp_path / "away")
    for name in ("labels.txt", "model.onnx"):
        before = (tmp_path / name).read_bytes()
        os.link(tmp_path / name, tmp_path / "away" / "linked.tfw")
        for path in (tmp_path / name, "../" + name, "linked.tfw"):
            raises("InvalidArgument", lambda: compiled.export_library(path))
            raises("InvalidArgument", lambda: compiled.export_library("m.so", params=path))
            raises("InvalidArgument", lambda: compiled.export_params(path))
            raises("InvalidArgument", lambda: compiled.export_executable(path))
            raises("InvalidArgument", lambda: compiled.export_system_lib(path, "net.h"))
            raises("InvalidArgument", lambda: compiled.export_system_lib("net.a", path))
        (tmp_path / "away" / "linked.tfw").unlink()
        assert (tmp_path / name).read_bytes() == before
    assert not list((tmp_path / "away").iterdir())
    compiled.export_library("labels.txt.so")


def test_exports_do_not_replace_the_artifact(dense, tmp_path):
    compiled = tiffin.compile(dense.path)
    compiled.export_library(tmp_path / "m.so")
    content = (tmp_path / "m.so").read_bytes()
    os.link(tmp_path / "m.so", tmp_path / "linked")
    os.symlink("m.so", tmp_path / "pointed")
    for path in (tmp_path / "m.so", tmp_path / "linked", tmp_path / "pointed"):
        raises("InvalidArgument", lambda: tiffin.export_executable(tmp_path / "m.so", path))
        raises("InvalidArgument", lambda: tiffin.export_system_lib(tmp_path / "m.so", path, tmp_path / "m.h"))
        raises("InvalidArgument", lambda: tiffin.export_system_lib(tmp_path / "m.so", tmp_path / "m.a", path))
    for export in (compiled.export_system_lib, lambda *paths: tiffin.export_system_lib(tmp_path / "m.so", *paths)):
        raises("InvalidArgument", lambda: export(tmp_path / "m.a", tmp_path / "m.a"))
    assert (tmp_path / "m.so").read_bytes() == content
    assert sorted(path.name for path in tmp_path.iterdir()) == ["linked", "m.so", "pointed"]


def test_library_and_parameters_in_one_call(dense, folder):
    tiffin.compile(dense.path, params="external").export_library(folder / "thin.so", params=folder / "thin.tfw")
    thin = tiffin.load_module(folder / "thin.so")
    thin.params.stage(folder / "thin.tfw").commit()
    assert np.array_equal(run(thin), run(tiffin.compile(dense.path)))


def test_get_params_gives_the_current_generation(dense, other):
    for params, first in (("embed", 1), ("external", 0)):
        compiled = tiffin.compile(dense.path, params=params)
        assert compiled.params.generation == first
        assert np.array_equal(compiled.get_params()["fc1.bias"].numpy(), dense.params["fc1.bias"])
        compiled.params.stage(other.params).commit()
        assert np.array_equal(compiled.get_params()["fc1.bias"].numpy(), other.params["fc1.bias"])
        own = dict(dense.params)
        compiled.params.stage(own).commit()
        assert np.array_equal(compiled.get_params()["fc1.bias"].numpy(), dense.params["fc1.bias"])


# ---- other forms ----

def test_a_system_library(dense, folder):
    compiled = tiffin.compile(dense.path)
    compiled.export_system_lib(folder / "libnet.a", folder / "net.h", "net")
    compiled.export_library(folder / "net.so")
    tiffin.export_system_lib(folder / "net.so", folder / "libagain.a", folder / "again.h", name="net")
    assert (folder / "libnet.a").read_bytes() == (folder / "libagain.a").read_bytes()
    assert "net_tiffin" in (folder / "net.h").read_text()
    raises("Io", lambda: compiled.export_system_lib(folder / "nowhere/libnet.a", folder / "net.h"))
    raises("NotAnArtifact", lambda: tiffin.export_system_lib(dense.path, folder / "x.a", folder / "x.h"))
    assert not [path for path in folder.iterdir() if path.name.startswith(".tiffin")]


def test_an_executable(dense, folder):
    compiled = tiffin.compile(dense.path, golden=1)
    try:
        compiled.export_executable(folder / "net")
    except tiffin.Error as error:
        assert error.code == "MissingLibrary" and "tiffin-run-static" in str(error) and error.remedy
        pytest.skip("the static program is not built")
    subprocess.run([folder / "net", "verify"], check=True, env={})
    compiled.export_library(folder / "net.so")
    tiffin.export_executable(folder / "net.so", folder / "again")
    assert (folder / "net").read_bytes() == (folder / "again").read_bytes()
    raises("Io", lambda: compiled.export_executable(folder / "nowhere/net"))


def test_a_model_that_is_written_to_after_it_was_compiled_is_noticed(tmp_path):
    """Its weights stay in the mapped file: another model in its place would give them, a shorter one a bus error."""
    def save(path, rows):
        graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", 1, [1, rows])],
                                  [helper.make_tensor_value_info("y", 1, [1, rows])], [numpy_helper.from_array(np.ones((rows, rows), np.float32), "w")])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)

    save(tmp_path / "m.onnx", 100)
    module = tiffin.compile(tmp_path / "m.onnx")
    (tmp_path / "m.onnx").unlink()  # what is mapped stays
    save(tmp_path / "other.onnx", 8)
    (tmp_path / "other.onnx").rename(tmp_path / "m.onnx")
    module.export_library(tmp_path / "m.so")

    module = tiffin.compile(tmp_path / "m.onnx")
    with open(tmp_path / "m.onnx", "r+b") as file:
        file.truncate(100)
    for call in (lambda: module.export_library(tmp_path / "n.so"), lambda: module["default"](tiffin.cpu()), module.get_params):
        with pytest.raises(tiffin.Error) as failure:
            call()
        assert failure.value.code == "Io" and "written to" in str(failure.value)
    assert not (tmp_path / "n.so").exists() and not list(tmp_path.glob(".tiffin*"))
