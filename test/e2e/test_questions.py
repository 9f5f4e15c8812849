# SPDX-License-Identifier: Apache-2.0
"""What can be asked of an artifact without running it: would it load, what takes its bytes, what differs, what is it."""
import json
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

LEVELS = ("llvm -mcpu=x86-64-v2", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v4", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72")
ROOT = Path(__file__).resolve().parent.parent.parent


def targets(*names):
    return [word for name in names for word in ("--target", name)]


def dense(path, sizes, seed):
    rng = np.random.default_rng(seed)
    nodes, weights, value = [], [], "x"
    for index, (rows, columns) in enumerate(zip(sizes, sizes[1:]), 1):
        weights.append(numpy_helper.from_array(rng.standard_normal((rows, columns), np.float32), f"fc{index}.weight"))
        weights.append(numpy_helper.from_array(rng.standard_normal(columns, np.float32), f"fc{index}.bias"))
        nodes.append(helper.make_node("Gemm", [value, f"fc{index}.weight", f"fc{index}.bias"], [f"y{index}"]))
        value = f"y{index}"
    graph = helper.make_graph(nodes, "dense", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, sizes[0]])],
                              [helper.make_tensor_value_info(value, TensorProto.FLOAT, [1, sizes[-1]])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.fixture(scope="module")
def bundle(zoo, tiffin, tmp_path_factory):
    path = tmp_path_factory.mktemp("bundle") / "levels.tar"
    tiffin.ok("compile", zoo["mlp"].path, "-o", path, "--quiet", *targets(*LEVELS))
    return path


def answer(tiffin_run, *words):
    done = tiffin_run.run("doctor", *words, "--json")
    assert done.returncode in (0, 1), done.stderr
    seen = json.loads(done.stdout)
    assert seen["loads"] == (done.returncode == 0)
    return seen


# ---- doctor ----


def test_the_table_of_cpus_is_llvms(tiffin):
    subprocess.run([ROOT / "scripts/generate_cpu_table", tiffin.path, "--check"], check=True)


@pytest.mark.parametrize("cpu, part", [("nehalem", "v2"), ("haswell", "v3"), ("znver3", "v3"), ("skylake-avx512", "v4"), ("znver4", "v4"),
                                       ("cortex-a72", "aarch64"), ("neoverse-n1", "aarch64")])
def test_doctor_answers_for_another_cpu(tiffin_run, bundle, cpu, part):
    seen = answer(tiffin_run, bundle, "--cpu", cpu)
    assert seen["loads"] and part in seen["chosen"]
    assert [v["target"] for v in seen["variants"] if v["chosen"]] == [seen["chosen"]]
    assert len(seen["variants"]) == 4 and all(v["reasons"] for v in seen["variants"] if not v["chosen"])


def test_doctor_names_what_a_cpu_lacks(tiffin_run, bundle):
    seen = answer(tiffin_run, bundle, "--cpu", "core2")
    assert seen["chosen"] is None and [p["code"] for p in seen["problems"]] == ["MissingCpuFeature"]
    assert "sse4.2" in seen["problems"][0]["message"] and "core2" in seen["problems"][0]["remedy"]


def test_doctor_answers_for_a_list_of_features(tiffin_run, bundle):
    needed = {v["target"]: v["features"] for v in tiffin_run.json("inspect", bundle)["variants"]}
    third = next(target for target in needed if "v3" in target)
    assert answer(tiffin_run, bundle, "--features", ",".join(needed[third]))["chosen"] == third
    assert answer(tiffin_run, bundle, "--features", "sse3")["chosen"] is None


def test_doctor_refuses_names_it_does_not_know(tiffin_run, bundle):
    tiffin_run.fails("UnsupportedTarget", "doctor", bundle, "--cpu", "haswel", mentions=("'haswell'",))
    tiffin_run.fails("UnsupportedTarget", "doctor", bundle, "--features", "avx22", mentions=("'avx2'",))
    assert tiffin_run.run("doctor", bundle, "--cpu", "haswell", "--features", "avx2").returncode == 2


def test_doctor_gives_every_reason_at_once(tiffin, tiffin_run, tmp_path):
    for name, seed in (("a", 1), ("b", 2)):
        dense(tmp_path / f"{name}.onnx", (8, 16, 4), seed)
        tiffin.ok("compile", tmp_path / f"{name}.onnx", "-o", tmp_path / f"{name}.so", "--params-out", tmp_path / f"{name}.tfw", "--quiet",
                  "--target", LEVELS[2])
    done = tiffin_run.run("doctor", tmp_path / "a.so", "--cpu", "haswell", "--params", tmp_path / "b.tfw", "--json")
    assert done.returncode == 1
    problems = json.loads(done.stdout)["problems"]
    assert [p["code"] for p in problems] == ["MissingCpuFeature", "ParamDigestMismatch"] and all(p["remedy"] for p in problems)
    assert all(f"error[{p['code']}]" in done.stderr for p in problems)


def test_doctor_tells_memory_and_functions(artifact_of, tiffin_run):
    seen = answer(tiffin_run, artifact_of("mlp"))
    assert seen["functions"] == ["default"] and seen["devices"] == ["cpu"] and not seen["libraries"]
    assert 0 < seen["memory"]["needed_bytes"] < seen["memory"]["available_bytes"]
    text = tiffin_run.ok("doctor", artifact_of("mlp"))
    for word in ("format", "chosen", "functions default", "memory", "loads on this machine"):
        assert word in text


def test_doctor_sees_the_limit_of_the_address_space(tiffin, tiffin_run, tmp_path):
    dense(tmp_path / "wide.onnx", (1000, 3000, 1000), 1)
    tiffin.ok("compile", tmp_path / "wide.onnx", "-o", tmp_path / "wide.so", "--quiet")
    command = f"ulimit -v 20000; exec {tiffin_run.path} doctor {tmp_path / 'wide.so'} --json"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 1 and [p["code"] for p in json.loads(done.stdout)["problems"]] == ["OutOfMemory"]
    assert "address space" in done.stderr and "ulimit" in done.stderr


@pytest.mark.skipif(shutil.which("cc") is None, reason="[SKIP] no C compiler for a library")
def test_doctor_follows_libraries(zoo, tiffin, tiffin_run, tmp_path):
    if "--with-library" not in tiffin.ok("compile", "--help"):
        pytest.skip("[SKIP] this compiler attaches no libraries")
    (tmp_path / "f.c").write_text("int f(void) { return 1; }\n")
    (tmp_path / "g.c").write_text("int f(void); double cos(double); int g(double x) { return f() + (int)cos(x); }\n")
    flags = ["cc", "-shared", "-fPIC", "-nostartfiles"]
    subprocess.run([*flags, "f.c", "-o", "libinner.so"], cwd=tmp_path, check=True)
    subprocess.run([*flags, "g.c", "-o", "libouter.so", "-L.", "-linner", "-lm"], cwd=tmp_path, check=True)
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (tmp_path / "libinner.so").rename(hidden / "libinner.so")
    tiffin.ok("compile", zoo["mlp"].path, "-o", tmp_path / "m.tar", "--with-library", tmp_path / "libouter.so", "--quiet")
    seen = answer(tiffin_run, tmp_path / "m.tar")
    libraries = {library["name"]: library for library in seen["libraries"]}
    assert libraries["libouter.so"]["found"] and "m.tar" in libraries["libouter.so"]["path"]
    assert libraries["libm.so.6"]["found"] and os.path.exists(libraries["libm.so.6"]["path"])
    assert not libraries["libinner.so"]["found"] and libraries["libinner.so"]["path"] is None
    assert [p["code"] for p in seen["problems"]] == ["MissingLibrary"] and "libinner.so" in seen["problems"][0]["message"]
    shutil.copy(hidden / "libinner.so", tmp_path / "libinner.so")
    seen = answer(tiffin_run, tmp_path / "m.tar")
    assert seen["loads"] and {x["name"]: x["path"] for x in seen["libraries"]}["libinner.so"] == str(tmp_path / "libinner.so").replace("//", "/")


# ---- inspect --sizes ----


def test_the_largest_parts_are_the_whole_file(artifact_of, tiffin_run):
    seen = json.loads(tiffin_run.ok("inspect", artifact_of("conv_net"), "--sizes", "--json"))
    sizes = [part["bytes"] for part in seen["largest"]]
    assert sizes == sorted(sizes, reverse=True) and sum(sizes) == seen["sizes"]["total"]
    assert {"tensor", "kernel", "section", "padding"} == {part["kind"] for part in seen["largest"]}


def test_tensors_that_are_stored_twice_are_shown(tiffin, tiffin_run, tmp_path):
    path = dense(tmp_path / "twice.onnx", (16, 16, 16), 1)
    model = onnx.load(path)
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    tensors["fc2.weight"].raw_data = tensors["fc1.weight"].raw_data
    onnx.save(model, path)
    tiffin.ok("compile", path, "-o", tmp_path / "twice.so", "--quiet")
    duplicates = json.loads(tiffin_run.ok("inspect", tmp_path / "twice.so", "--sizes", "--json"))["duplicates"]
    assert {"bytes": 1024, "names": ["fc1.weight", "fc2.weight"]} in duplicates
    assert "duplicates" in tiffin_run.ok("inspect", tmp_path / "twice.so", "--sizes")


def test_budget_and_baseline_name_what_grew(tiffin, tiffin_run, tmp_path):
    for name, width in (("small", 16), ("large", 300)):
        dense(tmp_path / f"{name}.onnx", (8, width, 4), 1)
        tiffin.ok("compile", tmp_path / f"{name}.onnx", "-o", tmp_path / f"{name}.so", "--quiet")
    small, large = tmp_path / "small.so", tmp_path / "large.so"
    tiffin_run.ok("inspect", small, "--sizes", "--budget", "12MB", "--baseline", large)
    for unit in ("1kB", "1KiB", "0.001MB"):
        assert "error[SizeBudget]" in tiffin_run.run("inspect", large, "--sizes", "--budget", unit).stderr
    done = tiffin_run.run("inspect", large, "--sizes", "--baseline", small)
    assert done.returncode == 1 and "error[SizeBudget]" in done.stderr and "weights +" in done.stderr
    done = tiffin_run.run("inspect", large, "--json", "--baseline", small, "--budget", "10GB")
    seen = json.loads(done.stdout)
    assert done.returncode == 1 and seen["budget"]["kept"] and not seen["baseline"]["kept"]
    assert all(part["after"] > part["before"] for part in seen["baseline"]["grown"])
    assert tiffin_run.run("inspect", large, "--budget", "12 parsecs").returncode == 2


# ---- diff ----


@pytest.fixture(scope="module")
def pair(tiffin, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    for name, sizes, seed in (("a", (8, 16, 4), 1), ("b", (8, 16, 4), 2), ("c", (8, 24, 4), 1)):
        dense(folder / f"{name}.onnx", sizes, seed)
        tiffin.ok("compile", folder / f"{name}.onnx", "-o", folder / f"{name}.so", "--name", "net", "--quiet")
    tiffin.ok("compile", folder / "a.onnx", "-o", folder / "a0.so", "-O", 0, "--name", "net", "--quiet")
    tiffin.ok("compile", folder / "a.onnx", "-o", folder / "thin.so", "--params-out", folder / "a.tfw", "--name", "net", "--quiet")
    tiffin.ok("compile", folder / "a.onnx", "-o", folder / "a.tar", "--name", "net", "--quiet")
    return folder


def changed(parts):
    return {part["name"] for part in parts if part["change"] != "equal"}


def test_a_file_is_the_same_in_any_container(tiffin, pair):
    for other in ("a.so", "a.tar"):
        done = tiffin.run("diff", pair / "a.so", pair / other)
        assert done.returncode == 0 and not done.stdout, done.stdout
    assert json.loads(tiffin.ok("diff", pair / "a.so", pair / "a.tar", "--json"))["same"]


def test_other_weights_are_the_only_difference(tiffin, pair):
    done = tiffin.run("diff", pair / "a.so", pair / "b.so", "--json")
    seen = json.loads(done.stdout)
    assert done.returncode == 1 and not seen["same"]
    assert changed(seen["tensors"]) == {"fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"}
    assert not changed(seen["interface"]) and not changed(seen["kernels"]) and not changed(seen["program"]) and not changed(seen["options"])
    assert seen["producer"]["change"] == "equal"
    first, second = (onnx.load(pair / f"{name}.onnx").graph.initializer for name in "ab")
    for left, right, tensor in zip(first, second, seen["tensors"]):
        assert tensor["max_difference"] == pytest.approx(float(np.abs(numpy_helper.to_array(left) - numpy_helper.to_array(right)).max()))


def test_other_shapes_and_options_are_told(tiffin, pair):
    done = tiffin.run("diff", pair / "a.so", pair / "c.so")
    assert done.returncode == 1 and "float32[8,16] -> float32[8,24]" in done.stdout
    seen = json.loads(tiffin.run("diff", pair / "a.so", pair / "a0.so", "--json").stdout)
    assert not seen["same"] and changed(seen["options"]) and not changed(seen["tensors"])


def test_weights_that_are_not_at_hand_have_no_distance(tiffin, pair):
    seen = json.loads(tiffin.run("diff", pair / "thin.so", pair / "b.so", "--json").stdout)
    assert len(changed(seen["tensors"])) == 4 and all(tensor["max_difference"] is None for tensor in seen["tensors"])


def test_trouble_is_told_apart(tiffin, pair):
    tiffin.fails("Io", "diff", pair / "a.so", pair / "absent.so")
    tiffin.fails("NotAnArtifact", "diff", pair / "a.onnx", pair / "a.so")
    assert tiffin.run("diff", pair / "a.so").returncode == 2


# ---- a file without a name ----


def test_everyday_tools_tell_what_a_file_is(artifact_of, tiffin):
    notes = subprocess.run(["readelf", "-nW", artifact_of("mlp")], capture_output=True, text=True, check=True)
    assert "Tiffin" in notes.stdout and not notes.stderr
    texts = subprocess.run(["strings", artifact_of("mlp")], capture_output=True, text=True, check=True).stdout
    assert tiffin.ok("--version").strip() in texts
