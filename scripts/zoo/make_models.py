#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small models that exercise what real ones do: seeded random weights, the same files everywhere.

    make_models.py [FOLDER] [--only NAME ...]     FOLDER: ${XDG_CACHE_HOME:-~/.cache}/tiffin/zoo if not given

Activations keep about unit variance, so that an error anywhere shows at the outputs.
"""
import argparse
import os
import zlib
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET = 17
F32, I64 = TensorProto.FLOAT, TensorProto.INT64
GAIN = {None: 1.0, "Relu": 1.41, "Clip": 1.41, "Silu": 1.6, "Gelu": 1.53}  # 1 / rms(f(x)) for x ~ N(0, 1)


def zoo_folder():
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tiffin" / "zoo"


class Net:
    """A graph under construction: operators are results of methods, values are names."""

    def __init__(self, name):
        self.name = name
        self.rng = np.random.default_rng(zlib.crc32(name.encode()))
        self.nodes, self.weights, self.inputs, self.outputs, self.count = [], [], [], [], {}

    def fresh(self, stem):
        self.count[stem] = self.count.get(stem, -1) + 1
        return f"{stem}_{self.count[stem]}"

    def input(self, name, dtype, shape):
        self.inputs.append(helper.make_tensor_value_info(name, dtype, shape))
        return name

    def output(self, name, value, shape):
        self.nodes.append(helper.make_node("Identity", [value], [name], name=f"output_{name}"))
        self.outputs.append(helper.make_tensor_value_info(name, F32, shape))

    def weight(self, array, stem="weight"):
        name = self.fresh(stem)
        self.weights.append(numpy_helper.from_array(np.asarray(array, order="C"), name))
        return name

    def const(self, value, dtype=np.float32):
        return self.weight(np.asarray(value, dtype), "const")

    def ints(self, *values):
        return self.const(values, np.int64)

    def op(self, kind, *inputs, num_outputs=1, **attributes):
        name = self.fresh(kind)
        results = [name] if num_outputs == 1 else [f"{name}_{i}" for i in range(num_outputs)]
        self.nodes.append(helper.make_node(kind, list(inputs), results, name=name, **attributes))
        return results[0] if num_outputs == 1 else results

    def normal(self, shape, std):
        return (self.rng.standard_normal(shape, np.float32) * np.float32(std)).astype(np.float32)

    def model(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="tiffin-zoo", ir_version=8)
        onnx.checker.check_model(model, full_check=True)
        return model

    # ---- layers ----

    def activate(self, x, kind):
        if kind is None:
            return x
        if kind == "Silu":
            return self.op("Mul", x, self.op("Sigmoid", x))
        if kind == "Clip":
            return self.op("Clip", x, self.const(0.0), self.const(6.0))
        if kind == "Gelu":  # the erf form, as PyTorch exports it
            y = self.op("Add", self.op("Erf", self.op("Div", x, self.const(np.sqrt(2.0)))), self.const(1.0))
            return self.op("Mul", self.op("Mul", x, y), self.const(0.5))
        return self.op(kind, x)

    def conv(self, x, cin, cout, kernel, stride=1, act=None, groups=1, norm=False):
        """Conv with a bias or, with norm, followed by a BatchNormalization."""
        std = GAIN[act] / np.sqrt(cin // groups * kernel * kernel)
        operands = [x, self.weight(self.normal((cout, cin // groups, kernel, kernel), std))]
        if not norm:
            operands.append(self.weight(self.normal(cout, 0.05), "bias"))
        y = self.op("Conv", *operands, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[kernel // 2] * 4, group=groups)
        return self.activate(self.batch_norm(y, cout) if norm else y, act)

    def batch_norm(self, x, channels):
        rows = [1 + self.normal(channels, 0.1), self.normal(channels, 0.1), self.normal(channels, 0.1), 1 + np.abs(self.normal(channels, 0.1))]
        return self.op("BatchNormalization", x, *[self.weight(row, "norm") for row in rows], epsilon=1e-5)

    def gemm(self, x, cin, cout, act=None):
        weight = self.weight(self.normal((cout, cin), GAIN[act] / np.sqrt(cin)))
        return self.activate(self.op("Gemm", x, weight, self.weight(self.normal(cout, 0.05), "bias"), transB=1), act)

    def linear(self, x, cin, cout, act=None):
        """MatMul and Add: how PyTorch exports a Linear on an input of rank 3."""
        y = self.op("MatMul", x, self.weight(self.normal((cin, cout), GAIN[act] / np.sqrt(cin))))
        return self.activate(self.op("Add", self.weight(self.normal(cout, 0.05), "bias"), y), act)

    def layer_norm(self, x, width):
        scale, shift = self.weight(1 + self.normal(width, 0.1), "scale"), self.weight(self.normal(width, 0.1), "shift")
        return self.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=1e-5)


def mlp(net):
    x = net.input("x", F32, [1, 64])
    for cin, cout, act in [(64, 128, "Relu"), (128, 64, "Relu"), (64, 10, None)]:
        x = net.gemm(x, cin, cout, act)
    net.output("y", x, [1, 10])


def mlp_mnist(net):
    x = net.op("Flatten", net.input("data", F32, [1, 1, 28, 28]), axis=1)
    for cin, cout, act in [(784, 128, "Relu"), (128, 64, "Relu"), (64, 10, None)]:
        x = net.gemm(x, cin, cout, act)
    net.output("softmax", net.op("Softmax", x, axis=1), [1, 10])


def conv_net(net):
    """A stem, a residual block, an inverted bottleneck with squeeze-and-excitation, a head; channel counts that no vector divides among them."""
    x = net.conv(net.input("image", F32, [1, 3, 37, 41]), 3, 24, 3, 2, "Clip")
    y = net.conv(net.conv(x, 24, 20, 1, 1, "Relu"), 20, 24, 3)
    x = net.op("Relu", net.op("Add", y, x))
    x = net.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    y = net.conv(net.conv(x, 24, 96, 1, 1, "Silu"), 96, 96, 5, 1, "Silu", groups=96)
    gate = net.op("ReduceMean", y, axes=[2, 3], keepdims=1)
    gate = net.op("Sigmoid", net.conv(net.conv(gate, 96, 6, 1, 1, "Silu"), 6, 96, 1))
    x = net.op("Add", x, net.conv(net.op("Mul", y, gate), 96, 24, 1))
    x = net.conv(x, 24, 48, 3, 2, "Relu", groups=4)
    x = net.op("Flatten", net.op("GlobalAveragePool", x), axis=1)
    net.output("logits", net.gemm(x, 48, 10), [1, 10])


def transformer(net):
    """A two-layer encoder as PyTorch exports it: token ids, additive mask, erf GELU, LayerNormalization after the residual."""
    width, heads, tokens, vocabulary = 48, 4, 19, 100
    ids, mask = net.input("input_ids", I64, [1, tokens]), net.input("attention_mask", I64, [1, tokens])
    x = net.op("Gather", net.weight(net.normal((vocabulary, width), 1.0), "embedding"), ids)
    x = net.layer_norm(net.op("Add", x, net.weight(net.normal((1, tokens, width), 0.3), "position")), width)
    hidden = net.op("Sub", net.const(1.0), net.op("Cast", net.op("Unsqueeze", mask, net.ints(1, 2)), to=F32))
    hidden = net.op("Mul", hidden, net.const(np.finfo(np.float32).min))
    head = width // heads
    for _ in range(2):
        q, k, v = [net.op("Transpose", net.op("Reshape", net.linear(x, width, width), net.ints(1, tokens, heads, head)), perm=perm)
                   for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])]
        scores = net.op("Add", net.op("Div", net.op("MatMul", q, k), net.const(np.sqrt(head))), hidden)
        y = net.op("Transpose", net.op("MatMul", net.op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
        y = net.linear(net.op("Reshape", y, net.ints(1, tokens, width)), width, width)
        x = net.layer_norm(net.op("Add", y, x), width)
        y = net.linear(net.linear(x, width, 4 * width, "Gelu"), 4 * width, width)
        x = net.layer_norm(net.op("Add", y, x), width)
    net.output("states", x, [1, tokens, width])


def recurrent(net):
    """An LSTM layer, then a GRU layer; optional inputs and outputs left out."""
    steps, features, hidden = 13, 20, 24
    x = net.input("features", F32, [steps, 1, features])

    def weights(gates, width):
        shapes = (1, gates * hidden, width), (1, gates * hidden, hidden)
        return [net.weight(net.normal(shape, 1 / np.sqrt(shape[2]))) for shape in shapes] + [net.weight(net.normal((1, 2 * gates * hidden), 0.1))]

    x, *_ = net.op("LSTM", x, *weights(4, features), num_outputs=3, hidden_size=hidden)
    x = net.op("Squeeze", x, net.ints(1))
    x, last = net.op("GRU", x, *weights(3, hidden), num_outputs=2, hidden_size=hidden, linear_before_reset=1)
    net.output("states", net.op("Squeeze", x, net.ints(1)), [steps, 1, hidden])
    net.output("last", last, [1, 1, hidden])


def unet(net):
    """BatchNormalization left unfolded, ConvTranspose, a long skip connection."""
    x = net.conv(net.input("image", F32, [1, 3, 32, 32]), 3, 16, 3, 1, "Relu", norm=True)
    y = net.conv(net.op("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]), 16, 32, 3, 1, "Relu", norm=True)
    weight = net.weight(net.normal((32, 16, 2, 2), 1.41 / np.sqrt(32)))
    y = net.op("ConvTranspose", y, weight, net.weight(net.normal(16, 0.05), "bias"), kernel_shape=[2, 2], strides=[2, 2])
    y = net.conv(net.op("Concat", x, y, axis=1), 32, 16, 3, 1, "Relu", norm=True)
    net.output("mask", net.op("Sigmoid", net.conv(y, 16, 1, 1)), [1, 1, 32, 32])


def dynamic(net):
    """Named open dimensions, and reshapes that are computed from them."""
    x = net.input("x", F32, ["batch", "length", 12])
    shape = net.op("Shape", x)
    rows = [net.op("Unsqueeze", net.op("Gather", shape, net.const(axis, np.int64), axis=0), net.ints(0)) for axis in (0, 1)]
    y = net.op("Reshape", x, net.op("Concat", net.op("Mul", *rows), net.ints(12), axis=0))
    y = net.op("Reshape", net.gemm(y, 12, 8, "Relu"), net.op("Concat", *rows, net.ints(8), axis=0))
    net.output("y", y, ["batch", "length", 8])


MODELS = [mlp, mlp_mnist, conv_net, transformer, recurrent, unet, dynamic]


def make_models(folder, names=None):
    """Writes the models that the folder lacks; each appears whole or not at all."""
    folder.mkdir(parents=True, exist_ok=True)
    for build in MODELS:
        path = folder / f"{build.__name__}.onnx"
        if names and build.__name__ not in names or not names and path.exists() and path.stat().st_mtime > Path(__file__).stat().st_mtime:
            continue
        net = Net(build.__name__)
        build(net)
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(net.model().SerializeToString(deterministic=True))
        unfinished.replace(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=zoo_folder())
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=[build.__name__ for build in MODELS])
    arguments = parser.parse_args()
    make_models(arguments.folder, arguments.only)
    for path in sorted(arguments.folder.glob("*.onnx")):
        print(f"{path}  {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
