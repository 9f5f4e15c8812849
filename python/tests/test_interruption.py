# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while compiling: KeyboardInterrupt soon, nothing left behind, and the next call works."""
import subprocess
import sys

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper, save

# Interrupts itself when compiling has taken 0.3 seconds of processor time, and says how many more it took until the exception.
PROGRAM = """
import os, signal, sys, threading, time
import tiffin
tiffin.compile(sys.argv[2])
begin, sent = time.process_time(), []

def interrupt():
    while time.process_time() < begin + 0.3:
        time.sleep(0.01)
    sent.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    tiffin.compile(sys.argv[1]).export_library(sys.argv[1] + ".so")
except KeyboardInterrupt:
    print("interrupted", time.process_time() - sent[0])
tiffin.compile(sys.argv[2])["default"]()
print("compiled the next")
"""
MOST_SECONDS = 4  # the kernels that are being compiled are finished


@pytest.fixture
def deep(tmp_path):
    """Convolutions of many different shapes, which take much longer than that to compile."""
    rng, nodes, weights, channels = np.random.default_rng(5), [], [], 3
    for i in range(60):
        weights.append(numpy_helper.from_array(rng.standard_normal((16 + i, channels, 3, 3)).astype(np.float32), f"w{i}"))
        nodes.append(helper.make_node("Conv", [f"h{i}", f"w{i}"], [f"h{i + 1}"], pads=[1, 1, 1, 1]))
        channels = 16 + i
    graph = helper.make_graph(nodes, "deep", [helper.make_tensor_value_info("h0", TensorProto.FLOAT, [1, 3, 20, 20])],
                              [helper.make_tensor_value_info("h60", TensorProto.FLOAT, [1, channels, 20, 20])], weights)
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "deep.onnx")
    return tmp_path / "deep.onnx"


def test_an_interrupt_ends_a_compilation(deep, dense):
    done = subprocess.run([sys.executable, "-c", PROGRAM, deep, dense.path], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith("interrupted ") and float(first.split()[1]) < MOST_SECONDS
    assert second == "compiled the next"
    assert [path.name for path in deep.parent.iterdir()] == ["deep.onnx"]
