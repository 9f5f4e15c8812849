# SPDX-License-Identifier: Apache-2.0
"""From a model to outputs: compile, export, load, run, with and without weights in the file."""
import subprocess
import sys

import numpy as np
import pytest

import tiffin
import tiffin.runtime as rt

EXTERNAL_RUN = """
import sys, numpy as np
import tiffin.runtime as rt
gmod = rt.GraphModule(rt.load_module(sys.argv[1])["default"](rt.cpu(0)))
gmod.run(data=np.load(sys.argv[2]))
np.save(sys.argv[3], gmod.get_output(0).numpy())
maps = open("/proc/self/maps").read()
assert "_runtime" in maps and "_compiler" not in maps and "LLVM" not in maps
assert "tiffin.compiler" not in sys.modules
"""


def test_runs_what_it_compiled(dense, compiled, gmod, x):
    gmod.run(data=x)
    first = gmod.get_output(0).numpy()
    assert np.allclose(first, dense.expected(x), rtol=1e-5, atol=1e-5)
    gmod.set_input("data", x)
    gmod.run()
    assert np.array_equal(first, np.from_dlpack(gmod.get_output("y")))
    gmod.set_input(0, x * 2)
    gmod.run()
    assert not np.array_equal(first, gmod.get_output(0).numpy())
    direct = compiled["default"]()
    direct.run(data=x)
    assert np.array_equal(first, direct.get_output().numpy())
    assert not compiled.report["fallbacks"] or "weights" not in compiled.report["fallbacks"][0]


def test_lists_what_a_module_has(library, gmod):
    lib = tiffin.load_module(str(library))
    assert lib.get_function("list_global_func_names")() == lib.function_names == ["default"]
    assert "default" in lib and "main" not in lib and isinstance(lib, tiffin.Module)
    assert gmod.get_num_inputs() == gmod.get_num_outputs() == 1
    assert gmod.get_input_info() == ({"data": (1, 8)}, {"data": "float32"})
    assert gmod.get_output_info() == ({"y": (1, 4)}, {"y": "float32"})
    assert tiffin.GraphModule(gmod) is gmod and isinstance(gmod, tiffin.GraphModule)
    assert set(gmod.report) == {"variant", "variants", "fallbacks", "mapped_bytes", "copied_bytes", "repacked_bytes", "phases_ms"}
    assert gmod.report["variants"] == [{"target": gmod.report["variant"], "chosen": True, "reasons": []}]


def test_other_entry_names_and_threads(dense, x):
    mod = tiffin.compile(dense.path, entry="predict", name="net", opt_level=0)
    assert mod.function_names == ["predict"]
    outputs = []
    for threads in (1, 2):
        executor = mod.get_function("predict")(tiffin.cpu(0), threads=threads)
        executor.run(data=x)
        outputs.append(executor.get_output(0).numpy())
    assert np.array_equal(*outputs)


def test_runs_in_a_process_without_the_compiler(library, folder, gmod, x):
    np.save(folder / "x.npy", x)
    words = [sys.executable, "-c", EXTERNAL_RUN, library, folder / "x.npy", folder / "y.npy"]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    gmod.run(data=x)
    assert np.array_equal(np.load(folder / "y.npy"), gmod.get_output(0).numpy())


def test_loads_from_bytes_and_descriptor(library, gmod, x, folder):
    gmod.run(data=x)
    content = library.read_bytes()
    (folder / "shifted.bin").write_bytes(b"#" * 4096 + content)
    with open(folder / "shifted.bin", "rb") as file:
        modules = [tiffin.load_module(content), tiffin.load_module(bytearray(content), verify="all"), tiffin.load_module(library, copy=True),
                   tiffin.load_module(file.fileno(), offset=4096, length=len(content))]
    for module in modules:
        executor = module["default"]()
        del module
        executor.run(data=x)
        assert np.array_equal(executor.get_output(0).numpy(), gmod.get_output(0).numpy())


def test_weightless_library_gives_the_bits_of_the_embedded_one(dense, compiled, gmod, thin, x, raised, folder):
    gmod.run(data=x)
    embedded = gmod.get_output(0).numpy()
    file = tiffin.save_param_dict(compiled.get_params())
    compiled.export_params(folder / "dense.params")
    compiled.export_params(folder / "dense.tfw")
    compiled.export_params(folder / "dense.safetensors")
    gives = [lambda g: g.set_input(**rt.load_param_dict(file)), lambda g: g.set_input(**dense.params), lambda g: g.load_params(file),
             lambda g: g.load_params(dense.params), lambda g: g.set_input(data=x, **dense.params), lambda g: g.run(data=x, **compiled.get_params()),
             lambda g: g.load_params(folder / "dense.params"), lambda g: g.load_params(str(folder / "dense.tfw")),
             lambda g: g.load_params((folder / "dense.tfw").read_bytes()), lambda g: g.load_params(folder / "dense.safetensors")]
    for give in gives:
        executor = rt.load_module(thin)["default"](rt.cpu(0))
        assert "fc1.weight" in str(raised("MissingParam", executor.run, data=x))
        raised("MissingParam", executor.get_params)
        give(executor)
        executor.run(data=x)
        assert np.array_equal(executor.get_output(0).numpy(), embedded)
        assert all(np.array_equal(executor.get_params()[key].numpy(), value) for key, value in dense.params.items())


def test_private_parameters(dense, other, gmod, library, x, raised):
    raised("ParamDigestMismatch", gmod.set_input, **other.params)
    raised("ParamDigestMismatch", gmod.load_params, other.params)
    gmod.run(data=x)
    assert np.allclose(gmod.get_output(0).numpy(), dense.expected(x), atol=1e-5)
    gmod.load_params(tiffin.save_param_dict(other.params), new_weights=True)
    gmod.run()
    assert np.allclose(gmod.get_output(0).numpy(), other.expected(x), atol=1e-5)
    gmod.load_params({"fc2.bias": np.zeros(4, np.float32)}, new_weights=True)  # a subset starts from the set in use
    gmod.run()
    assert np.allclose(gmod.get_output(0).numpy(), other.expected(x) - other.params["fc2.bias"], atol=1e-5)
    # What was taken on purpose stays; what is given now is compared again.
    raised("ParamDigestMismatch", gmod.set_input, **{"fc1.bias": other.params["fc1.bias"] + 1})
    gmod.load_params({"fc2.bias": dense.params["fc2.bias"]})
    gmod.run()
    assert np.allclose(gmod.get_output(0).numpy(), other.expected(x) - other.params["fc2.bias"] + dense.params["fc2.bias"], atol=1e-5)
    fresh = tiffin.load_module(library)["default"]()
    fresh.run(data=x)
    assert np.allclose(fresh.get_output(0).numpy(), dense.expected(x), atol=1e-5)


def test_profile(gmod, x):
    profile = gmod.profile(3, data=x)
    assert len(profile) >= 1 and profile.runs == 3
    assert sum(step.share for step in profile) == pytest.approx(1)
    assert all(step.kernel and step.microseconds >= 0 for step in profile) and "runs" in str(profile)
