# SPDX-License-Identifier: Apache-2.0
"""Executors in Python threads: each in its own gives the single-thread bits; one shared by two is refused, never wrong."""
import os
import threading

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

import tiffin


def test_two_executors_in_two_threads(library, x):
    module = tiffin.load_module(library)
    inputs = [x * (1 + i) for i in range(4)]
    alone = module["default"](threads=1)
    expected = []
    for value in inputs:
        alone.run(data=value)
        expected.append(alone.get_output(0).numpy())
    wrong = []

    def work(index):
        executor = module["default"](tiffin.cpu(0), threads=1 + index % 2)
        for _ in range(200):
            executor.run(data=inputs[index])
            if not np.array_equal(executor.get_output(0).numpy(), expected[index]):
                wrong.append(index)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_shared_executor_is_refused(folder):
    size = 512
    weight = np.eye(size, dtype=np.float32)
    nodes = [helper.make_node("MatMul", ["x" if i == 0 else f"h{i}", "w"], [f"h{i + 1}"]) for i in range(4)]
    graph = helper.make_graph(nodes, "large", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [size, size])],
                              [helper.make_tensor_value_info("h4", TensorProto.FLOAT, [size, size])], [numpy_helper.from_array(weight, "w")])
    save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "large.onnx")
    executor = tiffin.compile(folder / "large.onnx")["default"](threads=1)
    value = np.random.default_rng(3).standard_normal((size, size)).astype(np.float32)
    executor.set_input("x", value)
    codes, others = [], []

    def work():
        for _ in range(30):
            try:
                executor.run()
            except tiffin.Error as failure:
                (codes if failure.code == "InvalidArgument" else others).append(failure)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not others
    assert codes and "another thread" in str(codes[0])  # the lock of the interpreter is free during a run
    executor.run()
    assert np.allclose(executor.get_output(0).numpy(), value, atol=1e-4)


def in_child(call):
    """What a forked process returns: True for a call that returns true."""
    process = os.fork()
    if process == 0:
        answer = 1
        try:
            answer = 0 if call() else 1
        finally:
            os._exit(answer)
    return os.waitpid(process, 0)[1] == 0


def test_executors_after_a_fork(library, x):
    module = tiffin.load_module(library)
    one, two = (module["default"](threads=threads) for threads in (1, 2))
    for executor in (one, two):
        executor.run(data=x)
    expected = one.get_output(0).numpy()

    def run(executor):
        executor.run(data=x)
        return np.array_equal(executor.get_output(0).numpy(), expected)

    def is_refused():
        try:
            two.run(data=x)
        except tiffin.Error as failure:
            return failure.code == "InvalidArgument" and "threads=1" in failure.remedy

    assert in_child(lambda: run(one)) and in_child(lambda: run(module["default"](threads=2))) and in_child(is_refused)
    assert run(two)
