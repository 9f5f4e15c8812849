# SPDX-License-Identifier: Apache-2.0
"""What `--json` gives programs under error.details, beside the texts: names of inputs, parameters, operators, dimensions, CPU features."""
import json

import pytest

ROWS = [
    ("tiffin-run run mlp.so", "UnsetInput", {"inputs": ["x"]}),
    ("tiffin-run run mlp.so --input y=right.npy", "UnknownInput", {"nearest": "x"}),
    ("tiffin-run run thin.so --fill zeros", "MissingParam", {"missing": {"weight_0", "bias_0", "weight_2", "bias_2"}}),
    ("tiffin-run run thin.so --fill zeros --params lacking.safetensors", "MissingParam", {"missing": {"bias_0", "weight_2"}}),
    ("tiffin-run run thin.so --fill zeros --params surplus.safetensors", "UnknownParam", {"unexpected": ["surplus"]}),
    ("tiffin-run run thin.so --fill zeros --params double.safetensors", "ParamTypeMismatch", {"mismatched": ["bias_0"]}),
    ("tiffin-run run thin.so --fill zeros --params changed.safetensors", "ParamDigestMismatch", {"mismatched": ["bias_0"]}),
    ("tiffin-run run absent.so --fill zeros", "Io", {}),
    ("tiffin compile unknown.onnx -o m.so", "UnsupportedOperator", {"operators": {"Frobnicate", "org.example.Wibble"}}),
    ("tiffin compile named_open.onnx -o m.so", "OpenShape", {"symbols": ["batch"]}),
    ("tiffin compile unnamed_open.onnx -o m.so", "OpenShape", {"inputs": ["x"]}),
]


@pytest.mark.parametrize("command, code, details", ROWS, ids=[row[0] for row in ROWS])
def test_row(command, code, details, folder, tiffin, tiffin_run):
    name, *words = command.split()
    done = {"tiffin": tiffin, "tiffin-run": tiffin_run}[name].run(*words, "--json", folder=folder)
    assert done.returncode == 3, done.stderr
    failure = json.loads(done.stdout)["error"]
    assert failure["code"] == code and failure["message"] and failure["remedy"], failure
    found = {key: set(value) if isinstance(details.get(key), set) else value for key, value in failure["details"].items()}
    for key, value in details.items():
        assert value <= found[key] if isinstance(value, set) else value == found[key], failure


def test_missing_cpu_features(folder, tiffin, tiffin_run):
    features = next((line for line in open("/proc/cpuinfo") if line.startswith("flags")), "")
    if not features or "avx512f" in features:
        pytest.skip("[SKIP] the machine has AVX-512, or is no x86-64 one")
    tiffin.ok("compile", "mlp.onnx", "-o", "v4.so", "--target", "llvm -mcpu=x86-64-v4", "--quiet", folder=folder)
    done = tiffin_run.run("run", "v4.so", "--fill", "zeros", "--json", folder=folder)
    (folder / "v4.so").unlink()
    failure = json.loads(done.stdout)["error"]
    assert done.returncode == 3 and failure["code"] == "MissingCpuFeature"
    assert {"avx512f", "avx512bw"} <= set(failure["details"]["features"])
    assert all(feature in failure["message"] for feature in failure["details"]["features"])
