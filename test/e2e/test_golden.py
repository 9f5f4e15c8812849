# SPDX-License-Identifier: Apache-2.0
"""Golden cases: they pass where the code is right, and name the kernel where it is not."""
import json
import platform
import struct
import subprocess

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import blake3

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
MAGIC = bytes.fromhex("89544946460D0A1A")
HEADER, ROW, CODE, GOLDEN = 160, 112, 4, 7


def save(path, nodes, inputs, outputs, weights):
    infos = [[helper.make_tensor_value_info(*value) for value in values] for values in (inputs, outputs)]
    graph = helper.make_graph(nodes, path.stem, *infos, [numpy_helper.from_array(array, name) for name, array in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def dense(path, seed):
    rng = np.random.default_rng(seed)
    weights = {"w1": rng.standard_normal((8, 16), np.float32), "w2": rng.standard_normal((16, 4), np.float32)}
    nodes = [helper.make_node("MatMul", ["x", "w1"], ["h"], "first"), helper.make_node("Relu", ["h"], ["r"], "relu"),
             helper.make_node("MatMul", ["r", "w2"], ["y"], "second")]
    return save(path, nodes, [("x", FLOAT, [1, 8])], [("y", FLOAT, [1, 4])], weights)


def answer(tiffin_run, *words):
    done = tiffin_run.run("verify", *words, "--json")
    assert done.returncode in (0, 1), done.stderr
    seen = json.loads(done.stdout)
    assert seen["ok"] == (done.returncode == 0)
    return seen, done.stderr


def repair(whole):
    """Writes the digests of the code, which is one run of bytes without constants, and of everything above it anew."""
    start = whole.index(MAGIC)
    count, = struct.unpack_from("<I", whole, start + 20)
    row = next(row for row in (start + HEADER + ROW * index for index in range(count)) if struct.unpack_from("<I", whole, row)[0] == CODE)
    assert struct.unpack_from("<Q", whole, row + 72) == (0,)
    place, length = blake3.place_of(whole, row)
    whole[row + 80:row + ROW] = blake3.blake3(whole[place:place + length])
    blake3.content_digest(whole, start, count)
    blake3.repair_header(whole, start, count)
    blake3.repair_file(whole, start, count)


def section(whole):
    """Offset in the file and length of the golden cases of a shared object."""
    start = whole.index(MAGIC)
    count, = struct.unpack_from("<I", whole, start + 20)
    rows = [start + HEADER + ROW * index for index in range(count)]
    row = next(row for row in rows if struct.unpack_from("<I", whole, row)[0] == GOLDEN)
    address, length = struct.unpack_from("<QQ", whole, row + 48)
    table, = struct.unpack_from("<Q", whole, 32)
    for index in range(struct.unpack_from("<H", whole, 56)[0]):
        kind, _, offset, at, _, size, *_ = struct.unpack_from("<IIQQQQQQ", whole, table + 56 * index)
        if kind == 1 and at <= address < at + size:
            return address - at + offset, length
    return address, length


@pytest.mark.parametrize("options", [("-O", 0), ("-O", 3), ("--target", "portable-ir")], ids=["O0", "O3", "portable"])
@pytest.mark.parametrize("name", ["mlp", "mlp_mnist", "conv_net"])
def test_cases_pass(zoo, artifact_of, tiffin_run, name, options):
    seen, _ = answer(tiffin_run, artifact_of(name, "--golden", 1, *options))
    golden = seen["golden"]
    assert golden["cases"] == golden["passed"] == 1 and golden["first_bad_kernel"] is None
    assert 0 <= golden["worst_ulp"] < 1000


def test_blocks_that_are_not_full(tiffin, tiffin_run, tmp_path):
    """Channels that fill no block, between convolutions and behind functions that map zero elsewhere."""
    rng = np.random.default_rng(3)
    weights = {"w1": rng.standard_normal((20, 3, 3, 3), np.float32), "w2": rng.standard_normal((21, 20, 1, 1), np.float32),
               "d": rng.standard_normal((21, 1, 3, 3), np.float32), "b": rng.standard_normal(20).astype(np.float32)}
    nodes = [helper.make_node("Conv", ["x", "w1", "b"], ["a"]), helper.make_node("Sigmoid", ["a"], ["s"]), helper.make_node("Exp", ["s"], ["e"]),
             helper.make_node("Conv", ["e", "w2"], ["c"]), helper.make_node("MaxPool", ["c"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
             helper.make_node("Conv", ["p", "d"], ["y"], group=21)]
    model = save(tmp_path / "odd.onnx", nodes, [("x", FLOAT, [1, 3, 18, 18])], [("y", FLOAT, [1, 21, 6, 6])], weights)
    for target in ("llvm -mcpu=x86-64-v2", "llvm -mcpu=native", "portable-ir"):
        tiffin.ok("compile", model, "-o", tmp_path / "odd.so", "--golden", 2, "--target", target, "--quiet")
        seen, reason = answer(tiffin_run, tmp_path / "odd.so")
        assert seen["golden"]["passed"] == 2, reason


def test_other_weights_fail_at_their_first_kernel(tiffin, tiffin_run, tmp_path):
    for seed in (1, 2):
        tiffin.ok("compile", dense(tmp_path / f"n{seed}.onnx", seed), "-o", tmp_path / f"n{seed}.so", "--params-out", tmp_path / f"n{seed}.tfw",
                  "--golden", 3, "-O", 0, "--quiet")
    seen, _ = answer(tiffin_run, tmp_path / "n1.so", "--params", tmp_path / "n1.tfw")
    assert seen["golden"]["passed"] == 3
    seen, reason = answer(tiffin_run, tmp_path / "n1.so", "--params", tmp_path / "n2.tfw", "--new-weights")
    assert not seen["ok"] and seen["golden"]["passed"] == 0 and seen["golden"]["first_bad_kernel"].startswith("matmul")
    assert not seen["digests"]["failed"] and "error[GoldenMismatch]" in reason and "'first'" in reason
    seen, _ = answer(tiffin_run, tmp_path / "n1.so")
    assert seen["ok"] and seen["golden"] == {"cases": 3, "passed": 0, "worst_ulp": None, "first_bad_kernel": None, "not_run": seen["golden"]["not_run"]}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="[SKIP] patches x86-64 code")
def test_a_wrong_kernel_is_named(tiffin, tiffin_run, tmp_path):
    """Each kernel in turn returns before it writes anything, in a file whose digests hold."""
    tiffin.ok("compile", dense(tmp_path / "n.onnx", 1), "-o", tmp_path / "n.so", "--golden", 1, "-O", 0, "--quiet")
    symbols = subprocess.run(["readelf", "-sW", tmp_path / "n.so"], capture_output=True, text=True, check=True).stdout.split("\n")
    kernels = {line.split()[-1]: int(line.split()[1], 16) for line in symbols if " FUNC " in line and " LOCAL " in line}
    assert len(kernels) == 3
    for name, address in kernels.items():
        whole = bytearray((tmp_path / "n.so").read_bytes())
        place = next(offset + address - at for at, offset, size in blake3.segments(whole) if at <= address < at + size)
        whole[place:place + 3] = b"\x31\xc0\xc3"  # xor eax, eax; ret
        repair(whole)
        (tmp_path / "x.so").write_bytes(whole)
        seen, reason = answer(tiffin_run, tmp_path / "x.so")
        assert not seen["digests"]["failed"] and seen["golden"]["first_bad_kernel"] == name and f"'{name}'" in reason


def test_inspect_tells_of_cases(artifact_of, tiffin_run):
    assert "golden    1 cases" in tiffin_run.ok("inspect", artifact_of("mlp", "--golden", 1))
    assert "golden" not in tiffin_run.ok("inspect", artifact_of("mlp"))


def test_a_foreign_artifact_is_not_run(tiffin, tiffin_run, tmp_path):
    tiffin.ok("compile", dense(tmp_path / "n.onnx", 1), "-o", tmp_path / "n.so", "--golden", 2, "--target",
              "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", "--quiet")
    seen, _ = answer(tiffin_run, tmp_path / "n.so")
    assert seen["ok"] and seen["golden"]["cases"] == 2 and "not on this machine" in seen["golden"]["not_run"]
    assert tiffin_run.json("inspect", tmp_path / "n.so")["golden"]["cases"] == 2


def test_given_inputs(tiffin, tiffin_run, tmp_path):
    model = dense(tmp_path / "n.onnx", 1)
    for number in range(2):
        (tmp_path / "cases" / f"case{number}").mkdir(parents=True)
        np.save(tmp_path / "cases" / f"case{number}" / "x.npy", np.full((1, 8), number, np.float32))
    tiffin.ok("compile", model, "-o", tmp_path / "n.so", "--golden-inputs", tmp_path / "cases", "--quiet")
    assert answer(tiffin_run, tmp_path / "n.so")[0]["golden"]["passed"] == 2
    tiffin.ok("compile", model, "-o", tmp_path / "n.so", "--golden-inputs", tmp_path / "cases" / "case1", "--quiet")
    assert answer(tiffin_run, tmp_path / "n.so")[0]["golden"]["passed"] == 1
    np.save(tmp_path / "cases" / "case1" / "x.npy", np.zeros((1, 9), np.float32))
    tiffin.fails("ShapeMismatch", "compile", model, "-o", tmp_path / "x.so", "--golden-inputs", tmp_path / "cases", "--quiet")
    (tmp_path / "empty").mkdir()
    tiffin.fails("InvalidArgument", "compile", model, "-o", tmp_path / "x.so", "--golden-inputs", tmp_path / "empty", "--quiet")
    tiffin.fails("Io", "compile", model, "-o", tmp_path / "x.so", "--golden-inputs", tmp_path / "nowhere", "--quiet")
    assert tiffin.run("compile", model, "-o", tmp_path / "x.so", "--golden", 0).returncode == 2
    assert not (tmp_path / "x.so").exists()


def test_indices_are_in_range(tiffin, tiffin_run, tmp_path):
    rows = np.arange(12, dtype=np.float32).reshape(3, 4)  # random integers are below ten, at first
    model = save(tmp_path / "n.onnx", [helper.make_node("Gather", ["rows", "ids"], ["y"])], [("ids", INT64, [5])], [("y", FLOAT, [5, 4])], {"rows": rows})
    tiffin.ok("compile", model, "-o", tmp_path / "n.so", "--golden", 2, "--quiet")
    golden = answer(tiffin_run, tmp_path / "n.so")[0]["golden"]
    assert golden["passed"] == 2 and golden["worst_ulp"] == 0


def test_joined_artifacts_keep_the_sketches_of_each(tiffin, tiffin_run, tmp_path):
    model = dense(tmp_path / "n.onnx", 1)
    for cpu in ("x86-64-v2", "x86-64-v4"):
        tiffin.ok("compile", model, "-o", tmp_path / f"{cpu}.so", "--target", f"llvm -mcpu={cpu}", "--golden", 1, "--quiet")
    tiffin.ok("bundle", "-o", tmp_path / "b.tar", tmp_path / "x86-64-v4.so", tmp_path / "x86-64-v2.so")
    assert answer(tiffin_run, tmp_path / "b.tar")[0]["golden"]["passed"] == 1
    tiffin.ok("compile", model, "-o", tmp_path / "c.tar", "--target", "llvm -mcpu=x86-64-v4", "--target", "llvm -mcpu=x86-64-v2", "--golden", 1, "--quiet")
    sizes = [tiffin_run.json("inspect", tmp_path / name)["sizes"]["golden"] for name in ("b.tar", "c.tar")]
    assert sizes[0] == sizes[1]


def test_the_same_bytes_twice(tiffin, tmp_path):
    model = dense(tmp_path / "n.onnx", 1)
    for name, threads in (("a", 1), ("b", 4)):
        tiffin.ok("compile", model, "-o", tmp_path / f"{name}.so", "--golden", 5, "--threads", threads, "--quiet")
    assert (tmp_path / "a.so").read_bytes() == (tmp_path / "b.so").read_bytes()


def test_a_damaged_section_is_named(tiffin, tiffin_run, tmp_path):
    tiffin.ok("compile", dense(tmp_path / "n.onnx", 1), "-o", tmp_path / "n.so", "--golden", 1, "--quiet")
    whole = bytearray((tmp_path / "n.so").read_bytes())
    offset, length = section(whole)
    for at in range(0, length, 41):
        whole[offset + at] ^= 1
        (tmp_path / "x.so").write_bytes(whole)
        whole[offset + at] ^= 1
        seen, _ = answer(tiffin_run, tmp_path / "x.so")
        assert "golden" in seen["digests"]["failed"] and seen["golden"]["passed"] == 0
        tiffin_run.ok("inspect", tmp_path / "x.so", "--json")
