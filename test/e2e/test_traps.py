# SPDX-License-Identifier: Apache-2.0
"""Known traps of shipping compiled models that no other test sets: docs/deploying.md lists all of them.

TIFFIN_CAMPAIGN=1 runs the long ones, too.
"""
import os
import shutil
import struct
import subprocess
import tarfile

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import program
from program import execute, same_bits

IS_CAMPAIGN = os.environ.get("TIFFIN_CAMPAIGN") == "1"
AARCH64 = "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72"
ROWS, COLUMNS = 560_000, 1024  # of float32: 2.14 GiB


@pytest.fixture(scope="module")
def elderly(tiffin_run):
    """tiffin-run on an x86-64 processor of 2008, emulated: an instruction that it lacks would end it with SIGILL."""
    emulator = shutil.which("qemu-x86_64")
    if emulator is None:
        pytest.skip("qemu-x86_64 is not there")

    class Elderly(program.Program):
        def run(self, *words, folder=None):
            return program.Program(emulator).run("-cpu", "Nehalem", self.path, *words, folder=folder)

    return Elderly(tiffin_run.path)


def test_code_for_a_newer_processor_is_refused_and_not_executed(artifact_of, elderly):
    artifact = artifact_of("mlp", "--target", "llvm -mcpu=x86-64-v3")
    elderly.fails("MissingCpuFeature", "run", artifact, "--fill", "ones", mentions=("avx2", "fma", "remedy: "))
    assert elderly.run("doctor", artifact).returncode == 1
    assert elderly.run("inspect", artifact).returncode == 0


def test_an_older_processor_takes_its_variant(zoo, tiffin, tiffin_run, elderly, artifact_of, tmp_path):
    tiffin.ok("compile", zoo["mlp"].path, "-o", tmp_path / "m.tar", "--targets", "portable", "--quiet")
    wanted = execute(tiffin_run, artifact_of("mlp", "--target", "llvm -mcpu=x86-64-v2"), zoo["mlp"], tmp_path)
    assert same_bits(wanted, execute(elderly, tmp_path / "m.tar", zoo["mlp"], tmp_path))


def test_weights_lie_in_memory_once(zoo, artifact_of, tiffin, tiffin_run, tmp_path):
    """They are used where the file is mapped: nothing is copied, nothing is made from them."""
    tiffin.ok("compile", zoo["mlp_mnist"].path, "-o", tmp_path / "m.tar", "--quiet")
    tiffin.ok("compile", zoo["mlp_mnist"].path, "-o", tmp_path / "thin.so", "--params-out", tmp_path / "w.tfw", "--quiet")
    for words in ((artifact_of("mlp_mnist"),), (tmp_path / "m.tar",), (tmp_path / "thin.so", "--params", tmp_path / "w.tfw")):
        report = tiffin_run.json("run", *words, "--fill", "ones", "--strict")["report"]
        assert report["copied_bytes"] == report["repacked_bytes"] == 0 and report["mapped_bytes"] > 400_000, report


def test_code_lies_on_pages_of_every_size(zoo, artifact_of, tiffin, tmp_path):
    """64-bit ARM has pages of 4, 16 and 64 KiB, so what is mapped from such a file lies on the largest."""
    segments = subprocess.run(["readelf", "-lW", artifact_of("mlp", "--target", AARCH64)], capture_output=True, text=True, check=True).stdout
    loads = [line.split() for line in segments.splitlines() if line.split()[:1] == ["LOAD"]]
    assert loads and all(int(words[-1], 16) == 65536 and int(words[1], 16) % 65536 == int(words[2], 16) % 65536 for words in loads), segments
    tiffin.ok("compile", zoo["mlp"].path, "-o", tmp_path / "m.tar", "--target", AARCH64, "--quiet")
    with tarfile.open(tmp_path / "m.tar") as tar:
        code = [member for member in tar if member.name.startswith("code/")]
    assert code and all(member.offset_data % 65536 == 0 for member in code)


def test_the_other_byte_order_is_refused(artifact_of, tiffin_run, tmp_path):
    """All of a file is little-endian by definition; one that says otherwise is not ours."""
    content = bytearray(artifact_of("mlp").read_bytes())
    content[5] = 2  # EI_DATA: most significant byte first
    (tmp_path / "big.so").write_bytes(content)
    tiffin_run.fails("NotAnArtifact", "run", tmp_path / "big.so", "--fill", "ones", mentions=("remedy: ",))


def test_no_version_of_the_c_library_is_asked_for(artifact_of):
    """An artifact has no undefined symbol, so no version of one either: it runs wherever the runtime does."""
    text = subprocess.run(["readelf", "-VW", artifact_of("conv_net")], capture_output=True, text=True, check=True).stdout
    assert "GLIBC" not in text


def write_large_model(folder):
    """A table of more than 2 GiB, of which a run takes one row; in files of holes that take no disk. The last element is 7.5."""
    size, header = ROWS * COLUMNS * 4, b'{"table":{"dtype":"F32","shape":[%d,%d],"data_offsets":[0,%d]}}' % (ROWS, COLUMNS, ROWS * COLUMNS * 4)
    for name, head in (("table.bin", b""), ("table.safetensors", struct.pack("<Q", len(header)) + header)):
        with open(folder / name, "wb") as stream:
            stream.write(head)
            stream.truncate(len(head) + size)
            stream.seek(len(head) + size - 4)
            stream.write(struct.pack("<f", 7.5))
    table = TensorProto(name="table", data_type=TensorProto.FLOAT, dims=[ROWS, COLUMNS], data_location=TensorProto.EXTERNAL)
    for key, value in (("location", "table.bin"), ("offset", "0"), ("length", str(size))):
        entry = table.external_data.add()
        entry.key, entry.value = key, value
    graph = helper.make_graph([helper.make_node("Gather", ["table", "row"], ["y"])], "large", [helper.make_tensor_value_info("row", TensorProto.INT64, [1])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, COLUMNS])], [table])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "large.onnx")


@pytest.mark.skipif(not IS_CAMPAIGN, reason="2 GiB of weights take long: TIFFIN_CAMPAIGN=1 runs this")
def test_weights_beyond_two_gibibytes(tiffin, tiffin_run, tmp_path):
    write_large_model(tmp_path)
    np.save(tmp_path / "row.npy", np.array([ROWS - 1]))
    tiffin.ok("compile", tmp_path / "large.onnx", "-o", tmp_path / "thin.so", "--params", "external", "--quiet")
    tiffin_run.ok("run", tmp_path / "thin.so", "--params", tmp_path / "table.safetensors", "--input", f"row={tmp_path / 'row.npy'}", "--outputs", tmp_path / "o")
    row = np.load(tmp_path / "o" / "output_0.npy")
    assert row.shape == (1, COLUMNS) and row[0, -1] == 7.5 and not row[0, :-1].any()
