# SPDX-License-Identifier: Apache-2.0
"""The wrong files that the tables name, and the right ones beside them, written into one folder."""
import json
import os
import shutil
import struct

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file, save_file

F32 = TensorProto.FLOAT
MAGIC = bytes.fromhex("89544946460D0A1A")  # abi/artifact.h: the container's first bytes; format major, minor and ABI follow


def write_all(folder, tiffin, mlp):
    shutil.copy(mlp, folder / "mlp.onnx")
    tiffin.ok("compile", "mlp.onnx", "-o", "mlp.so", "--quiet", folder=folder)
    for suffix in ("safetensors", "params", "tfw"):
        tiffin.ok("compile", "mlp.onnx", "-o", "thin.so", "--params-out", f"mlp.{suffix}", "--quiet", folder=folder)
    tiffin.ok("compile", "mlp.onnx", "-o", "arm.so", "--target", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", "--quiet", folder=folder)
    write_files(folder)
    write_models(folder)
    write_external_models(folder)
    write_inputs(folder)
    write_parameters(folder)


def write_files(folder):
    whole = (folder / "mlp.so").read_bytes()
    (folder / "folder").mkdir()
    (folder / "empty.so").write_bytes(b"")
    (folder / "text.so").write_text("hello\n" * 100)
    (folder / "archive.so").write_bytes(b"PK\x03\x04" + bytes(1000))
    (folder / "model.so").write_bytes((folder / "mlp.onnx").read_bytes())
    shutil.copy(os.path.realpath("/proc/self/exe"), folder / "foreign.so")
    for name, length in (("cut_head.so", 100), ("cut_middle.so", len(whole) // 2), ("cut_end.so", len(whole) - 1)):
        (folder / name).write_bytes(whole[:length])
    start = whole.index(MAGIC)
    for name, offset in (("newer.so", 8), ("other_abi.so", 16)):
        changed = bytearray(whole)
        struct.pack_into("<I", changed, start + offset, 41)
        (folder / name).write_bytes(changed)


def save(folder, name, nodes, inputs=(("x", F32, [2, 3]),), outputs=(("y", F32, [2, 3]),), weights=(), domains=(), opset=17, functions=()):
    infos = [[helper.make_tensor_value_info(*value) for value in values] for values in (inputs, outputs)]
    graph = helper.make_graph(nodes, name, *infos, weights)
    opsets = [helper.make_opsetid("", opset)] + [helper.make_opsetid(domain, 1) for domain in domains]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
    return model


def write_models(folder):
    node = helper.make_node
    save(folder, "unknown", [node("Frobnicate", ["x"], ["a"], name="frob_1"), node("Frobnicate", ["a"], ["b"], name="frob_2"),
                             node("Wibble", ["b"], ["y"], name="wib", domain="org.example")], domains=["org.example"])
    branches = {key: helper.make_graph([node(op, ["x"], [key])], key, [], [helper.make_tensor_value_info(key, F32, [2, 3])])
                for key, op in (("then_branch", "Relu"), ("else_branch", "Neg"))}
    save(folder, "computed", [node("ReduceMax", ["x"], ["most"], keepdims=0), node("Cast", ["most"], ["is_wanted"], to=TensorProto.BOOL),
                              node("If", ["is_wanted"], ["y"], name="choice", **branches), node("NonZero", ["x"], ["where"]),
                              node("Cast", ["where"], ["there"], to=F32)], outputs=[("y", F32, [2, 3]), ("there", F32, [2, None])])
    save(folder, "cycle", [node("Add", ["x", "b"], ["a"], name="add_a"), node("Relu", ["a"], ["b"]), node("Relu", ["b"], ["y"])])
    save(folder, "undefined", [node("Add", ["x", "nowhere"], ["y"], name="add_1")])
    save(folder, "twice", [node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"])])
    save(folder, "arity", [node("Add", ["x"], ["y"], name="add_1")])
    save(folder, "no_output", [node("Relu", ["x"], ["z"])])
    save(folder, "mixed_types", [node("Add", ["x", "k"], ["y"], name="add_k")], weights=[numpy_helper.from_array(np.ones(3, np.int64), "k")])
    save(folder, "wrong_output", [node("Relu", ["x"], ["y"])], outputs=[("y", TensorProto.INT64, [2, 3])])
    save(folder, "many_axes", [node("Relu", ["x"], ["y"])], inputs=[("x", F32, [1] * 17)], outputs=[("y", F32, [1] * 17)])
    save(folder, "bad_perm", [node("Transpose", ["x"], ["y"], name="turn", perm=[0, 0])])
    save(folder, "bad_axis", [node("Softmax", ["x"], ["y"], name="soft", axis=7)])
    save(folder, "mismatch", [node("MatMul", ["x", "w"], ["y"], name="mm_7")], outputs=[("y", F32, [2, 5])],
         weights=[numpy_helper.from_array(np.ones((4, 5), np.float32), "w")])
    save(folder, "strings", [node("Identity", ["x"], ["y"], name="copy")], inputs=[("x", TensorProto.STRING, [2])],
         outputs=[("y", TensorProto.STRING, [2])])
    save(folder, "named_open", [node("Relu", ["x"], ["y"])], inputs=[("x", F32, ["batch", 3])], outputs=[("y", F32, ["batch", 3])])
    save(folder, "unnamed_open", [node("Relu", ["x"], ["y"])], inputs=[("x", F32, [None, 3])], outputs=[("y", F32, [None, 3])])
    save(folder, "vast", [node("Relu", ["x"], ["y"])], inputs=[("x", F32, [1 << 40, 1 << 40])], outputs=[("y", F32, [1 << 40, 1 << 40])])
    save(folder, "ancient", [node("Relu", ["x"], ["y"])], opset=5)
    save(folder, "future", [node("Relu", ["x"], ["y"])], opset=4000)
    whole = (folder / "mlp.onnx").read_bytes()
    (folder / "cut.onnx").write_bytes(whole[: len(whole) // 2])
    (folder / "empty.onnx").write_bytes(b"")
    (folder / "text.onnx").write_text("not a model\n" * 20)
    (folder / "cut.graph").write_text('graph "g" {\n  input %x: float32[2')
    (folder / "cyclic.graph").write_text('graph "g" {\n  input %x: float32[2]\n  %a = Add(%x, %b)\n  %b = Neg(%a)\n  output %b\n}\n')
    (folder / "open.graph").write_text('graph "g" {\n  input %x: float32[n]\n  %y = Neg(%x)\n  output %y\n}\n')
    (folder / "plain.graph").write_text('graph "g" {\n  input %x: float32[2]\n  %y = Neg(%x)\n  output %y\n}\n')
    short = onnx.load(folder / "mlp.onnx")
    short.graph.initializer[0].raw_data = short.graph.initializer[0].raw_data[:-4]
    (folder / "short_weight.onnx").write_bytes(short.SerializeToString())


def write_external_models(folder):
    """Weights in files of their own, at places and lengths that must not be read."""
    (folder / "weights.bin").write_bytes(bytes(24))
    (folder / "inside").mkdir()
    (folder / "inside" / "link.bin").symlink_to(folder / "weights.bin")
    places = {"absolute": {"location": str(folder / "weights.bin")}, "upwards": {"location": "../weights.bin"}, "linked": {"location": "link.bin"},
              "absent": {"location": "absent.bin"}, "beyond": {"location": "own.bin", "offset": "16", "length": "24"},
              "negative": {"location": "own.bin", "offset": "-8"}, "overflowing": {"location": "own.bin", "offset": str(2**63 - 1), "length": "24"},
              "own": {"location": "own.bin"}, "own_data": {"location": "own_data.tfw"}}
    for name in ("own.bin", "own_data.tfw"):
        (folder / "inside" / name).write_bytes(bytes(24))
    for name, entries in places.items():
        model = save(folder / "inside", name, [helper.make_node("Add", ["x", "w"], ["y"])],
                     weights=[numpy_helper.from_array(np.zeros((2, 3), np.float32), "w")])
        tensor = model.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in entries.items():
            tensor.external_data.add(key=key, value=value)
        (folder / "inside" / f"{name}.onnx").write_bytes(model.SerializeToString())


def write_inputs(folder):
    np.save(folder / "right.npy", np.zeros((1, 64), np.float32))
    np.save(folder / "wide.npy", np.zeros((1, 65), np.float32))
    np.save(folder / "flat.npy", np.zeros(64, np.float32))
    np.save(folder / "double.npy", np.zeros((1, 64), np.float64))
    np.save(folder / "objects.npy", np.array([None]), allow_pickle=True)
    whole = (folder / "right.npy").read_bytes()
    (folder / "cut.npy").write_bytes(whole[:-5])
    (folder / "trailing.npy").write_bytes(whole + b"abc")
    (folder / "head.npy").write_bytes(whole[:9])
    (folder / "text.npy").write_text("1 2 3\n")


def safetensors(header, content=b""):
    text = header if isinstance(header, str) else json.dumps(header)
    return struct.pack("<Q", len(text)) + text.encode() + content


def write_parameters(folder):
    arrays = load_file(folder / "mlp.safetensors")
    lacking = {name: array for name, array in arrays.items() if name not in ("bias_0", "weight_2")}
    save_file(lacking, folder / "lacking.safetensors")
    save_file({**arrays, "surplus": arrays["bias_0"]}, folder / "surplus.safetensors")
    save_file({**arrays, "bias_0": arrays["bias_0"].astype(np.float64)}, folder / "double.safetensors")
    save_file({**arrays, "bias_0": arrays["bias_0"][:7].copy()}, folder / "short.safetensors")
    save_file({**arrays, "bias_0": arrays["bias_0"] + 1}, folder / "changed.safetensors")
    one = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    malformed = {
        "twice": safetensors('{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', bytes(8)),
        "trailing": safetensors({"a": one}, bytes(9)),
        "overlapping": safetensors({"a": one, "b": {**one, "data_offsets": [4, 12]}}, bytes(12)),
        "overflowing": safetensors({"a": {**one, "shape": [1 << 62, 16]}}, bytes(8)),
        "no_json": safetensors("{hello", bytes(8)),
        "long_header": struct.pack("<Q", 1 << 62) + b"{}",
        "backwards": safetensors({"a": {**one, "data_offsets": [8, 0]}}, bytes(8)),
        "other_size": safetensors({"a": {**one, "shape": [3]}}, bytes(8)),
    }
    for name, content in malformed.items():
        (folder / f"{name}.safetensors").write_bytes(content)
    for suffix in ("params", "tfw"):
        whole = (folder / f"mlp.{suffix}").read_bytes()
        (folder / f"cut.{suffix}").write_bytes(whole[: len(whole) * 2 // 3])
        (folder / f"trailing.{suffix}").write_bytes(whole + b"abc")
    for name in ("mlp.tfw", "mlp.so"):
        whole = bytearray((folder / name).read_bytes())
        whole[whole.rindex(arrays["bias_0"].tobytes())] ^= 1  # a weight, whose digest stays
        (folder / f"damaged.{name[4:]}").write_bytes(whole)
