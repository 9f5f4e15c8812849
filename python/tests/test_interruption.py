# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while compiling: KeyboardInterrupt soon, nothing left behind, and the next call works."""
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

PROGRAM = """
import os, sys, threading, time
import tiffin
print("ready", flush=True)
sys.stdin.readline()
try:
    tiffin.compile(sys.argv[1]).export_library(sys.argv[1] + ".so")
except KeyboardInterrupt:
    print("interrupted", flush=True)
else:
    print("compiled", flush=True)
tiffin.compile(sys.argv[2])["default"]()
print("compiled the next", os.listdir(os.path.dirname(sys.argv[1])), flush=True)
"""


@pytest.fixture(scope="module")
def deep(tmp_path_factory):
    """Many convolutions of different shapes, which take seconds to compile."""
    folder, rng = tmp_path_factory.mktemp("deep"), np.random.default_rng(5)
    nodes, weights, channels = [], [], 3
    for i in range(60):
        kernel = rng.standard_normal((16 + i, channels, 3, 3)).astype(np.float32)
        weights.append(numpy_helper.from_array(kernel, f"w{i}"))
        nodes.append(helper.make_node("Conv", ["x" if i == 0 else f"h{i - 1}", f"w{i}"], [f"h{i}"], pads=[1, 1, 1, 1]))
        channels = 16 + i
    graph = helper.make_graph(nodes, "deep", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 20, 20])],
                              [helper.make_tensor_value_info("h59", TensorProto.FLOAT, [1, channels, 20, 20])], weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "deep.onnx")
    return folder / "deep.onnx"


def test_an_interrupt_ends_a_compilation(deep, dense):
    process = subprocess.Popen([sys.executable, "-c", PROGRAM, deep, dense.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        time.sleep(0.5)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        answer = process.stdout.readline()
        taken = time.monotonic() - sent
        rest = process.communicate(timeout=120)[0]
    finally:
        process.kill()
    if answer == "compiled\n":
        pytest.skip("[SKIP] the machine compiled the model within half a second")
    assert answer == "interrupted\n" and taken < 5
    assert rest == "compiled the next ['deep.onnx']\n" and process.returncode == 0
