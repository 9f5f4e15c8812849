# SPDX-License-Identifier: Apache-2.0
"""The whole way of a model from training's ONNX file to machines that have nothing else: walk.py [--bin FOLDER_OF_TIFFIN].

Every step prints one line and fails loudly when it is not so. Needs numpy, onnx and the Python package tiffin; the programs tiffin and tiffin-run
are taken from --bin, or found on PATH.
"""
import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tiffin

# What another process needs: the runtime alone. It prints the first output's bytes in hexadecimal.
CLEAN_PROCESS = """
import sys
import numpy as np
import tiffin.runtime as rt
executor = rt.load_module(sys.argv[1], verify="all")["default"](rt.cpu(0))
if len(sys.argv) > 3:
    executor.load_params(sys.argv[3])
executor.run(x=np.load(sys.argv[2]))
assert "tiffin._compiler" not in sys.modules, "the compiler was loaded"
print(executor.get_output(0).numpy().tobytes().hex())
"""


def check(condition, failure):
    if not condition:
        sys.exit(f"walk.py: {failure}")


def step(name, result):
    print(f"{name:18} {result}")


def make_model(path, seed=0):
    """A small perceptron in place of your model."""
    rng = np.random.default_rng(seed)
    weights = [numpy_helper.from_array(rng.standard_normal(shape).astype(np.float32), name)
               for name, shape in (("fc1.weight", (16, 32)), ("fc1.bias", (32,)), ("fc2.weight", (32, 4)), ("fc2.bias", (4,)))]
    nodes = [helper.make_node("Gemm", ["x", "fc1.weight", "fc1.bias"], ["h"]), helper.make_node("Relu", ["h"], ["r"]),
             helper.make_node("Gemm", ["r", "fc2.weight", "fc2.bias"], ["y"])]
    graph = helper.make_graph(nodes, "perceptron", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 4])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


class Walk:
    def __init__(self, folder, programs):
        self.folder, self.programs = folder, programs
        self.model, self.x = folder / "net.onnx", folder / "x.npy"
        make_model(self.model)
        np.save(self.x, np.linspace(-1, 1, 16, dtype=np.float32).reshape(1, 16))

    def program(self, name, *words):
        """Runs tiffin or tiffin-run in an empty environment: (exit status, standard output, standard error)."""
        done = subprocess.run([self.programs / name, *map(str, words)], env={}, cwd=self.folder, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def ok(self, name, *words):
        status, out, errors = self.program(name, *words)
        check(status == 0, f"{name} {' '.join(map(str, words))}: exit {status}: {errors}")
        return out

    def clean(self, *words):
        """The output of another Python process that imports the runtime only."""
        done = subprocess.run([sys.executable, "-c", CLEAN_PROCESS, *map(str, words)], capture_output=True, text=True, cwd=self.folder)
        check(done.returncode == 0, done.stderr)
        return bytes.fromhex(done.stdout.strip())

    def export(self):
        """Compile once; the file is all that travels."""
        self.compiled = tiffin.compile(self.model)
        self.compiled.export_library(self.folder / "net.so")
        executor = self.compiled["default"](tiffin.cpu(0))
        executor.run(x=np.load(self.x))
        self.expected = executor.get_output(0).numpy().tobytes()
        return f"net.so for {self.compiled.targets[0]}"

    def clean_process(self):
        check(self.clean("net.so", self.x) == self.expected, "another process computes other bits")
        return "the same bits in a process without the compiler"

    def external_weights(self):
        self.ok("tiffin", "compile", self.model, "-o", "thin.so", "--params-out", "weights.tfw", "--quiet")
        check(self.clean("thin.so", self.x, "weights.tfw") == self.expected, "external weights give other bits")
        small, whole = ((self.folder / name).stat().st_size for name in ("thin.so", "net.so"))
        return f"thin.so has {small} bytes, net.so {whole}"

    def bundle(self):
        self.ok("tiffin", "compile", self.model, "-o", "net.tar", "--targets", "portable", "--quiet")
        facts = json.loads(self.ok("tiffin-run", "inspect", "net.tar", "--json"))
        names = subprocess.run(["tar", "tf", "net.tar"], cwd=self.folder, capture_output=True, text=True, check=True).stdout.split()
        check(len(facts["variants"]) == 4 and "weights.tfw" in names, f"the bundle holds {names}")
        return f"net.tar with {len(facts['variants'])} variants, {len(names)} members that any tar lists"

    def function_list(self):
        names = tiffin.load_module(self.folder / "net.so").get_function("list_global_func_names")()
        check(names == ["default"], f"the functions are {names}")
        return ", ".join(names)

    def golden_check(self):
        self.ok("tiffin", "compile", self.model, "-o", "sure.so", "--golden", 2, "--quiet")
        golden = json.loads(self.ok("tiffin-run", "verify", "sure.so", "--json"))["golden"]
        check(golden["cases"] == golden["passed"] == 2, f"golden cases: {golden}")
        return f"{golden['passed']} of {golden['cases']} cases computed on this machine as the reference has them"

    def size(self):
        status, _, errors = self.program("tiffin-run", "inspect", "net.so", "--sizes", "--budget", "1kB")
        check(status == 1 and "SizeBudget" in errors, f"a budget of 1kB: exit {status}: {errors}")
        sizes = json.loads(self.ok("tiffin-run", "inspect", "net.so", "--json"))["sizes"]
        return f"{sizes['total']} bytes, of them code {sizes['code']} and weights {sizes['weights']}; a budget of 1kB is refused"

    def version(self):
        facts = json.loads(self.ok("tiffin-run", "inspect", "net.so", "--json"))
        check(facts["producer"]["version"] == tiffin.__version__, f"the file is by {facts['producer']}")
        changed = bytearray((self.folder / "net.so").read_bytes())
        place = changed.index(b"\x89TIFF\r\n\x1a") + 8  # format_major, behind the magic
        changed[place:place + 4] = (99).to_bytes(4, "little")
        (self.folder / "newer.so").write_bytes(changed)
        status, _, errors = self.program("tiffin-run", "run", "newer.so", "--fill", "ones")
        check(status == 3 and "FormatTooNew" in errors, f"a newer format: exit {status}: {errors}")
        return f"format {facts['format_version']} by tiffin {facts['producer']['version']}; format 99 is FormatTooNew"

    def missing_library(self):
        try:
            tiffin.load_module(self.folder / "absent.so")
            check(False, "an absent library was loaded")
        except FileNotFoundError as failure:
            check(failure.code == "Io" and "absent.so" in str(failure), f"an absent library: {failure}")
            return f"{failure.code}: {failure.message}"

    def wrong_weights(self):
        make_model(self.folder / "other.onnx", seed=1)
        tiffin.compile(self.folder / "other.onnx").export_params(self.folder / "other.tfw")
        thin = tiffin.load_module(self.folder / "thin.so")["default"](tiffin.cpu(0))
        try:
            thin.load_params(self.folder / "other.tfw")
            check(False, "weights of another training were taken unasked")
        except tiffin.Error as failure:
            check(failure.code == "ParamDigestMismatch", f"other weights: {failure}")
        thin.load_params(self.folder / "other.tfw", new_weights=True)  # on purpose
        return "ParamDigestMismatch, unless new_weights says that they are meant"

    def cross_target(self):
        self.ok("tiffin", "compile", self.model, "-o", "arm.so", "--target", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72", "--quiet")
        here, there = (self.program("tiffin-run", "doctor", "arm.so", *words) for words in ([], ["--cpu", "cortex-a72"]))
        check(here[0] == 1 and "NoVariant" in here[2] and there[0] == 0, f"doctor says {here} and {there}")
        return "arm.so made here; doctor: not for this machine, but for a cortex-a72"


STEPS = (Walk.export, Walk.clean_process, Walk.external_weights, Walk.bundle, Walk.function_list, Walk.golden_check, Walk.size, Walk.version,
         Walk.missing_library, Walk.wrong_weights, Walk.cross_target)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    found = shutil.which("tiffin")
    parser.add_argument("--bin", type=Path, default=Path(found).parent if found else None, help="the folder of tiffin and tiffin-run")
    programs = parser.parse_args().bin
    check(programs is not None and (programs / "tiffin-run").exists(), "tiffin is not on PATH: name its folder with --bin")
    with tempfile.TemporaryDirectory() as folder:
        walk = Walk(Path(folder), programs.resolve())
        for each in STEPS:
            step(each.__name__.replace("_", " "), each(walk))


if __name__ == "__main__":
    main()
