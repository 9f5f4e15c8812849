# SPDX-License-Identifier: Apache-2.0
"""`tiffin compile --cache`: what was compiled before is copied, everything that shapes the bytes counts, a damaged entry does not."""
import json
import os
import shutil
import signal
import subprocess
import time

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper


@pytest.fixture
def cached(tiffin, zoo, tmp_path):
    """cached(*options): compiles the mlp and says what the cache did."""

    def compile(*options, model=zoo["mlp"].path, out="m.so"):
        return json.loads(tiffin.ok("compile", model, "-o", tmp_path / out, "--cache", tmp_path / "cache", "--json", *options))["cache"]

    return compile


def entries(tmp_path):
    return sorted((tmp_path / "cache").rglob("*.entry"))


def test_a_hit_gives_the_same_bytes_and_facts(cached, tiffin, zoo, tmp_path):
    tiffin.ok("compile", zoo["mlp"].path, "-o", tmp_path / "plain.so", "--quiet")
    assert cached() == "stored" and (tmp_path / "m.so").read_bytes() == (tmp_path / "plain.so").read_bytes()
    (tmp_path / "m.so").unlink()
    assert cached() == "hit" and (tmp_path / "m.so").read_bytes() == (tmp_path / "plain.so").read_bytes()
    words = ("compile", zoo["mlp"].path, "-o", tmp_path / "m.so", "--json")
    first, second = (json.loads(tiffin.ok(*words, *more)) for more in ((), ("--cache", tmp_path / "cache")))
    assert all(first[key] == second[key] for key in ("path", "targets", "code_bytes", "weights_bytes", "arena_bytes"))
    assert os.access(tmp_path / "m.so", os.X_OK) == os.access(tmp_path / "plain.so", os.X_OK)


def test_everything_that_shapes_the_bytes_counts(cached, zoo, tmp_path):
    assert cached() == "stored"
    for options in (["-O", 0], ["--target", "llvm -mcpu=x86-64-v2"], ["--name", "other"], ["--entry", "f"], ["--params", "external"],
                    ["--skip", "simplify_graph"], ["--golden", 1], ["--golden", 2]):
        assert cached(*options) == "stored", options
        assert cached(*options) == "hit", options
    assert cached(out="m.tar") == "stored"
    shutil.copy(zoo["mlp"].path, tmp_path / "renamed.onnx")
    assert cached(model=tmp_path / "renamed.onnx") == "stored", "the file's stem names the network"
    assert cached("--threads", 1) == "hit"


def test_files_that_travel_count_by_content(cached, tmp_path):
    (tmp_path / "notes.txt").write_text("one")
    assert cached("--with-file", tmp_path / "notes.txt", out="m.tar") == "stored"
    assert cached("--with-file", tmp_path / "notes.txt", out="m.tar") == "hit"
    (tmp_path / "notes.txt").write_text("two")
    assert cached("--with-file", tmp_path / "notes.txt", out="m.tar") == "stored"


def test_golden_inputs_count_by_content(cached, zoo, tmp_path):
    zoo["mlp"].write_inputs(tmp_path / "inputs")
    assert cached("--golden-inputs", tmp_path / "inputs") == "stored"
    assert cached("--golden-inputs", tmp_path / "inputs") == "hit"
    np.save(tmp_path / "inputs/input_0.npy", 2 * np.load(tmp_path / "inputs/input_0.npy"))
    assert cached("--golden-inputs", tmp_path / "inputs") == "stored"


def test_external_data_counts_by_content(cached, tmp_path):
    weight = numpy_helper.from_array(np.ones((8, 4), np.float32), "w")
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save_model(model, tmp_path / "e.onnx", save_as_external_data=True, location="e.bin", size_threshold=0)
    assert cached(model=tmp_path / "e.onnx") == "stored" and cached(model=tmp_path / "e.onnx") == "hit"
    (tmp_path / "e.bin").write_bytes(np.full((8, 4), 2, np.float32).tobytes())
    assert cached(model=tmp_path / "e.onnx") == "stored", "the model's own bytes are the same"


def test_external_parameters_are_kept_as_well(cached, tmp_path):
    for suffix in ("tfw", "safetensors"):
        words = ("--params-out", tmp_path / f"w.{suffix}")
        assert cached(*words) == "stored"
        library, params = (tmp_path / "m.so").read_bytes(), (tmp_path / f"w.{suffix}").read_bytes()
        (tmp_path / f"w.{suffix}").unlink()
        assert cached(*words) == "hit"
        assert (tmp_path / "m.so").read_bytes() == library and (tmp_path / f"w.{suffix}").read_bytes() == params


def test_a_damaged_entry_is_compiled_again(cached, tmp_path):
    assert cached() == "stored"
    whole = (tmp_path / "m.so").read_bytes()
    for suffix in (".so", ".entry"):
        (file,) = (tmp_path / "cache").rglob(f"*{suffix}")
        damages = [lambda b: b[: len(b) // 2], lambda b: b[:100] + bytes([b[100] ^ 1]) + b[101:], lambda b: b + b"\0", lambda b: b""]
        for damage in damages:
            file.write_bytes(damage(file.read_bytes()))
            (tmp_path / "m.so").write_text("old")
            assert cached() == "stored", suffix
            assert (tmp_path / "m.so").read_bytes() == whole
            assert cached() == "hit"


def test_what_the_limit_has_no_room_for_is_not_kept(cached, tiffin, zoo, tmp_path):
    assert "larger than the cache may be" in cached("--cache-size", 1)
    assert (tmp_path / "m.so").exists() and not entries(tmp_path)
    (tmp_path / "m.so").unlink()
    tiffin.fails("Strict", "compile", zoo["mlp"].path, "-o", tmp_path / "m.so", "--cache", tmp_path / "cache", "--cache-size", 1, "--strict", "--quiet")
    assert not (tmp_path / "m.so").exists()


def test_least_recently_used_entries_go_first(cached, tmp_path):
    options = [("--name", name) for name in "abc"]
    sizes = []
    for index, words in enumerate(options):
        assert cached(*words) == "stored"
        sizes.append((tmp_path / "m.so").stat().st_size)
    kept = entries(tmp_path)
    old = time.time() - 1000
    for path in kept:
        os.utime(path, (old, old))
    assert cached(*options[0]) == "hit", "which makes it the newest"
    assert cached("--name", "d", "--cache-size", f"{3 * max(sizes)}") == "stored"
    assert len(entries(tmp_path)) == 2 and cached(*options[0]) == "hit"
    total = sum(path.stat().st_size for path in (tmp_path / "cache").rglob("*") if path.is_file())
    assert total <= 3 * max(sizes)
    assert cached("--name", "e", "--cache-size", "1kB").startswith("not stored") and len(entries(tmp_path)) == 2
    assert (tmp_path / "m.so").stat().st_size > 1000


def test_what_killed_processes_left_is_removed(cached, tmp_path):
    assert cached() == "stored"
    folder = entries(tmp_path)[0].parent
    (folder / ".tiffin-00000001.000").write_bytes(b"x" * 1000)
    (folder / "young.so").write_bytes(b"x")
    os.utime(folder / ".tiffin-00000001.000", (1, 1))
    assert cached("--name", "other") == "stored"
    assert not (folder / ".tiffin-00000001.000").exists() and (folder / "young.so").exists()


def test_many_processes_share_a_cache(tiffin, zoo, tmp_path):
    words = [tiffin.path, "compile", zoo["mlp"].path, "--cache", tmp_path / "cache", "--quiet", "-o"]
    running = [subprocess.Popen([*words, tmp_path / f"{index}.so"], env={}) for index in range(8)]
    assert all(process.wait(120) == 0 for process in running)
    assert len({(tmp_path / f"{index}.so").read_bytes() for index in range(8)}) == 1 and len(entries(tmp_path)) == 1


def test_a_kill_leaves_no_half_entry(tiffin, zoo, tmp_path):
    words = [tiffin.path, "compile", zoo["conv_net"].path, "-o", tmp_path / "m.so", "--cache", tmp_path / "cache", "--quiet"]
    start = time.perf_counter()
    subprocess.run(words, check=True, env={})
    seconds, whole = time.perf_counter() - start, (tmp_path / "m.so").read_bytes()
    rng = np.random.default_rng(7)
    for _ in range(12):
        shutil.rmtree(tmp_path / "cache")
        process = subprocess.Popen(words, env={})
        time.sleep(seconds * float(rng.uniform(0.5, 1.05)))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert (tmp_path / "m.so").read_bytes() == whole
        subprocess.run(words, check=True, env={})
        assert (tmp_path / "m.so").read_bytes() == whole


def test_a_cache_that_cannot_be_made_or_written(tiffin, zoo, tmp_path):
    (tmp_path / "file").write_text("")
    words = ("compile", zoo["mlp"].path, "-o", tmp_path / "m.so")
    tiffin.fails("Io", *words, "--cache", tmp_path / "file", mentions=("file",))
    assert tiffin.run(*words, "--cache-size", "1GB").returncode == 2
    assert tiffin.run(*words, "--cache", tmp_path / "c", "--cache-size", "many").returncode == 2
    # Files where the folders of the entries would be.
    (tmp_path / "full").mkdir()
    for number in range(256):
        (tmp_path / "full" / f"{number:02x}").write_text("")
    done = json.loads(tiffin.ok(*words, "--cache", tmp_path / "full", "--json"))
    assert done["cache"].startswith("not stored: ") and (tmp_path / "m.so").exists()


def test_dumps_are_made_again(tiffin, zoo, tmp_path):
    words = ("compile", zoo["mlp"].path, "-o", tmp_path / "m.so", "--cache", tmp_path / "cache", "--quiet")
    tiffin.ok(*words)
    tiffin.ok(*words, "--dump", tmp_path / "dump")
    assert (tmp_path / "dump/plan.txt").exists()


def test_failures_are_not_kept(tiffin, tmp_path):
    (tmp_path / "broken.onnx").write_bytes(b"\x08\x08\x3a\x7f")
    for _ in range(2):
        tiffin.fails("InvalidModel", "compile", tmp_path / "broken.onnx", "-o", tmp_path / "m.so", "--cache", tmp_path / "cache")
    tiffin.fails("Io", "compile", tmp_path / "absent.onnx", "-o", tmp_path / "m.so", "--cache", tmp_path / "cache", mentions=("absent.onnx",))
    assert entries(tmp_path) == []


def test_a_cache_that_cannot_be_written(tiffin, zoo, tmp_path):
    words = ("compile", zoo["mlp"].path, "-o", tmp_path / "m.so", "--cache", "/proc")
    assert json.loads(tiffin.ok(*words, "--json"))["cache"].startswith("not stored: ") and (tmp_path / "m.so").exists()
    tiffin.fails("Strict", *words, "--strict", mentions=("'/proc'", "remedy: "))
