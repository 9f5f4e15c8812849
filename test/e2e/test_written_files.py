# SPDX-License-Identifier: Apache-2.0
"""What commands write: never over a file that they read, never half of it, and never lost without a word."""
import json
import os
import shlex
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save_model

FLOAT = TensorProto.FLOAT


@pytest.fixture(scope="module")
def forms(tiffin, zoo, tmp_path_factory):
    """One model as a file of each kind, its parameters and an input, under the names that a run gives to its outputs as well."""
    folder = tmp_path_factory.mktemp("forms")
    shutil.copy(zoo["mlp"].path, folder / "m.onnx")
    tiffin.ok("compile", "m.onnx", "-o", "m.so", "--quiet", folder=folder)
    tiffin.ok("compile", "m.onnx", "-o", "thin.so", "--params-out", "w.tfw", "--quiet", folder=folder)
    tiffin.ok("compile", "m.onnx", "-o", "m.tar", "--quiet", folder=folder)
    shutil.unpack_archive(folder / "m.tar", folder / "unpacked")
    np.save(folder / "x.npy", np.zeros((1, 64), np.float32))
    for source, name in (("m.so", "output_0.npy"), ("w.tfw", "outputs.json"), ("x.npy", "output_0.npy")):
        place = folder / f"io_{source[0]}"
        place.mkdir()
        shutil.copy(folder / source, place / name)
    (folder / "link").symlink_to("m.so")
    (folder / "hard.so").hardlink_to(folder / "m.so")
    return folder


REFUSED = [
    ("run", "bench m.so --fill ones --repeat 1 --trace m.so"),
    ("run", "bench m.so --fill ones --repeat 1 --trace hard.so"),
    ("run", "bench link --fill ones --repeat 1 --trace m.so"),
    ("tiffin", "bench m.onnx --fill ones --repeat 1 --trace m.onnx"),
    ("run", "bench thin.so --params w.tfw --fill ones --repeat 1 --trace w.tfw"),
    ("run", "bench m.so --input x=x.npy --repeat 1 --trace x.npy"),
    ("run", "bench unpacked --fill ones --repeat 1 --trace unpacked/tiffin.header"),
    ("run", "bench m.so --fill ones --repeat 1 --outputs new --trace new/output_0.npy"),
    ("run", "run io_m/output_0.npy --fill ones --outputs io_m"),
    ("run", "run thin.so --params io_w/outputs.json --fill ones --outputs io_w"),
    ("run", "run m.so --input x=io_x/output_0.npy --outputs io_x"),
    ("tiffin", "bundle -o m.tar m.tar m.so"),
    ("tiffin", "export unpacked --system-lib new.a --header unpacked/tiffin.header"),
    ("run", "params extract unpacked -o unpacked/weights.tfw"),
]


@pytest.mark.parametrize("program, words", REFUSED, ids=[row[1] for row in REFUSED])
def test_no_command_writes_over_a_file_that_it_reads(program, words, forms, tiffin, tiffin_run):
    (forms / "new").mkdir(exist_ok=True)
    before = {path: path.read_bytes() for path in forms.rglob("*") if path.is_file()}
    {"tiffin": tiffin, "run": tiffin_run}[program].fails("InvalidArgument", *words.split(), folder=forms, mentions=("is given for two files",))
    assert before == {path: path.read_bytes() for path in forms.rglob("*") if path.is_file()}


def test_no_trace_replaces_the_weights_that_a_model_names(tiffin, tmp_path):
    weights = numpy_helper.from_array(np.ones((3, 400), np.float32), "w")
    graph = helper.make_graph([helper.make_node("Add", ["x", "w"], ["y"])], "g", [helper.make_tensor_value_info("x", FLOAT, [3, 400])],
                              [helper.make_tensor_value_info("y", FLOAT, [3, 400])], [weights])
    save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(tmp_path / "m.onnx"), save_as_external_data=True,
               location="w.bin")
    before = (tmp_path / "w.bin").read_bytes()
    tiffin.fails("InvalidArgument", "bench", "m.onnx", "--fill", "ones", "--repeat", 1, "--trace", "w.bin", folder=tmp_path, mentions=("w.bin",))
    assert (tmp_path / "w.bin").read_bytes() == before


def test_no_compile_replaces_its_golden_inputs(forms, tiffin):
    (forms / "cases" / "one").mkdir(parents=True)
    shutil.copy(forms / "x.npy", forms / "cases" / "one")
    for folder in ("cases", "cases/one"):
        words = ("compile", "m.onnx", "-o", "cases/one/x.npy", "--golden-inputs", folder)
        tiffin.fails("InvalidArgument", *words, folder=forms, mentions=("x.npy", "is read"))


def test_outputs_are_replaced_by_the_next_run(forms, tiffin_run):
    for _ in range(2):
        tiffin_run.ok("bench", "m.so", "--input", "x=x.npy", "--repeat", 1, "--outputs", "again", "--trace", "t.json", folder=forms)


# ---- interruptions ----


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A set of parameters of 1 GiB, nearly all of it holes."""
    folder = tmp_path_factory.mktemp("large")
    header = json.dumps({"w": {"dtype": "F32", "shape": [1 << 28], "data_offsets": [0, 1 << 30]}}).encode()
    with open(folder / "w.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + (1 << 30))
    yield folder
    shutil.rmtree(folder)


def interrupt(words, sign, is_time):
    process = subprocess.Popen([*map(str, words)], env={}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 30
    while not is_time():
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.002)
    process.send_signal(sign)
    return process, process.communicate(timeout=60)[1]


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("name", ["tiffin", "tiffin_run"])
def test_an_interrupted_conversion_leaves_nothing(name, sign, large, request, tmp_path):
    program = request.getfixturevalue(name)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "w.params").write_text("the old one")
    (tmp_path / "link.params").symlink_to("elsewhere/w.params")
    words = [program.path, "params", "convert", large / "w.safetensors", "-o", tmp_path / "link.params"]
    process, errors = interrupt(words, sign, lambda: len(list((tmp_path / "elsewhere").iterdir())) > 1)
    assert process.returncode == 3 and "error[Cancelled]" in errors and sign.name in errors, errors
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["w.params"]
    assert (tmp_path / "elsewhere" / "w.params").read_text() == "the old one"


def test_an_interrupted_bench_that_writes_says_so(forms, tiffin_run, tmp_path):
    start = time.monotonic()
    words = [tiffin_run.path, "bench", forms / "m.so", "--fill", "ones", "--seconds", 60, "--trace", tmp_path / "t.json", "--outputs", tmp_path / "out"]
    process, errors = interrupt(words, signal.SIGTERM, lambda: time.monotonic() > start + 0.5)
    assert process.returncode == 3 and "error[Cancelled]" in errors and not list(tmp_path.iterdir()), errors


# ---- standard output ----

PRINTING = ["tiffin --help", "tiffin --version", "tiffin compile --help", "tiffin bundle --help", "tiffin export --help", "tiffin keys new --help",
            "tiffin sign --help", "tiffin diff --help", "tiffin targets --help", "tiffin targets --json", "tiffin targets", "tiffin params --help",
            "tiffin run --help", "tiffin-run --help", "tiffin-run params --help", "tiffin-run params list --help", "tiffin-run errors --json",
            "tiffin-run errors", "tiffin-run devices", "tiffin-run inspect m.so --json", "tiffin-run run m.so --fill ones", "tiffin-opt --help",
            "tiffin-opt --list", "tiffin-opt g.graph"]


@pytest.mark.parametrize("words", PRINTING)
@pytest.mark.parametrize("output", ["/dev/full", "closed"])
def test_output_that_is_lost_is_told(words, output, forms):
    (forms / "g.graph").write_text('graph "g" {\n  input %x: float32[2]\n  %y = Neg(%x)\n  output %y\n}\n')
    name, *rest = words.split()
    command = shlex.join([str(Path(os.environ["TIFFIN_BIN"]) / name), *rest]) + (" >&-" if output == "closed" else " > /dev/full")
    done = subprocess.run(["sh", "-c", command], env={}, cwd=forms, capture_output=True, text=True)
    assert done.returncode == 3 and "error[Io]: cannot write" in done.stderr and "report it" not in done.stderr, done.stderr


def test_a_dash_is_no_path(forms, tiffin, tiffin_run):
    before = sorted(path.name for path in forms.iterdir())
    for program, words in ((tiffin, "compile m.onnx -o -"), (tiffin, "compile m.onnx -o new.so --params-out -"), (tiffin, "export m.so --executable -"),
                           (tiffin, "export m.so --system-lib - --header new.h"), (tiffin_run, "params extract m.so -o -"),
                           (tiffin_run, "params delta w.tfw w.tfw -o -"), (tiffin_run, "bench m.so --fill ones --trace -"),
                           (tiffin_run, "run m.so --fill ones --outputs -")):
        done = program.run(*words.split(), folder=forms)
        assert done.returncode == 2 and "error[InvalidArgument]" in done.stderr and "is '-', a path is expected" in done.stderr, done.stderr
    tiffin.fails("InvalidArgument", "bundle", "-o", "-", "m.so", folder=forms)
    assert before == sorted(path.name for path in forms.iterdir())
