# SPDX-License-Identifier: Apache-2.0
"""`tiffin export`: the artifact inside one static program, and linked into a program of the user's."""
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest

from program import Program, execute, same_bits

ROOT = Path(__file__).resolve().parent.parent.parent
BUILD = Path(os.environ["TIFFIN_BIN"]).parent
AARCH64 = ("--target", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72")


@pytest.fixture(scope="module")
def executable(artifact_of, tiffin, tmp_path_factory):
    path = tmp_path_factory.mktemp("executable") / "net"
    tiffin.ok("export", artifact_of("mlp"), "--executable", path, "--quiet")
    return path


def outputs_of(program, case, folder, *words):
    case.write_inputs(folder / "inputs")
    program.ok("run", "--inputs", folder / "inputs", "--outputs", folder / "out", *words)
    return [np.load(path) for path in sorted((folder / "out").glob("*.npy"))]


def test_the_executable_is_static_and_executable(executable):
    segments = subprocess.run(["readelf", "-lW", executable], capture_output=True, text=True, check=True).stdout
    assert "INTERP" not in segments
    assert executable.stat().st_mode & 0o777 == 0o777 & ~current_mask() | 0o400


def current_mask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_the_executable_works_on_its_own_artifact(executable, zoo, artifact_of, tiffin_run, tmp_path):
    program = Program(executable)
    assert same_bits(outputs_of(program, zoo["mlp"], tmp_path), execute(tiffin_run, artifact_of("mlp"), zoo["mlp"], tmp_path))
    assert program.json("inspect") == tiffin_run.json("inspect", artifact_of("mlp"))
    assert program.json("verify")["ok"] and program.json("doctor")["loads"]
    assert program.json("params", "list")["count"] == len(zoo["mlp"].parameters)
    assert program.json("bench", "--fill", "ones", "--repeat", 3)["runs"] == 3
    program.ok("params", "extract", "-o", tmp_path / "p.tfw")
    assert program.run().returncode == 2 and program.run("--help").returncode == 0
    assert program.json("run", "--fill", "ones", "--strict")["report"]["copied_bytes"] == 0, "used in place"


def test_another_file_can_be_named(executable, artifact_of):
    assert Program(executable).json("inspect", artifact_of("conv_net"))["model"]["name"] == "conv_net"


def test_others_read_the_executable_as_the_artifact(executable, artifact_of, tiffin, tiffin_run):
    assert tiffin_run.json("verify", executable)["ok"]
    assert tiffin.run("diff", executable, artifact_of("mlp")).returncode == 0


def test_it_is_found_by_path_and_by_link(executable, tmp_path):
    (tmp_path / "link").symlink_to(executable)
    for words, environment in ((["link"], {"PATH": str(tmp_path)}), ([str(tmp_path / "link")], {})):
        done = subprocess.run([*words, "verify"], env=environment, executable=None, capture_output=True, text=True, cwd="/")
        assert done.returncode == 0, done.stderr


def test_weightless_artifacts_take_parameters(zoo, artifact_of, tiffin, tmp_path):
    tiffin.ok("compile", zoo["mlp"].path, "-o", tmp_path / "thin.so", "--params-out", tmp_path / "w.tfw", "--quiet")
    tiffin.ok("export", tmp_path / "thin.so", "--executable", tmp_path / "thin", "--quiet")
    program = Program(tmp_path / "thin")
    program.fails("MissingParam", "run", "--fill", "ones")
    assert len(outputs_of(program, zoo["mlp"], tmp_path, "--params", tmp_path / "w.tfw")) == 1
    assert program.json("verify", "--params", tmp_path / "w.tfw")["ok"]


def test_a_bundle_is_enclosed_whole_and_a_folder_is_not(zoo, tiffin, tmp_path):
    tiffin.ok("compile", zoo["mlp"].path, "-o", tmp_path / "m.tar", "--targets", "portable", "--quiet")
    tiffin.ok("export", tmp_path / "m.tar", "--executable", tmp_path / "net", "--quiet")
    program = Program(tmp_path / "net")
    assert len(program.json("inspect")["variants"]) == 4 and program.json("verify")["ok"]
    assert len(outputs_of(program, zoo["mlp"], tmp_path, "--strict")) == 1
    with tarfile.open(tmp_path / "m.tar") as bundle:
        bundle.extractall(tmp_path / "folder")
    tiffin.fails("InvalidArgument", "export", tmp_path / "folder", "--executable", tmp_path / "other", mentions=("tiffin bundle",))
    assert not (tmp_path / "other").exists()


def test_what_strip_cuts_off_is_missed(executable, tmp_path):
    shutil.copy(executable, tmp_path / "stripped")
    subprocess.run(["strip", tmp_path / "stripped"], check=True)
    for words in (["run", "--fill", "ones"], ["verify"], ["inspect"]):
        Program(tmp_path / "stripped").fails("Truncated", *words, mentions=("strip",))


def test_every_flip_of_the_executable_is_found(executable, tiffin_run, tmp_path):
    whole = executable.read_bytes()
    rng = np.random.default_rng(20262)
    for at in [0, 20, 767, *rng.integers(0, len(whole), 60).tolist()]:
        changed = bytearray(whole)
        changed[at] ^= 1 << int(rng.integers(8))
        (tmp_path / "changed").write_bytes(changed)
        assert tiffin_run.run("verify", tmp_path / "changed").returncode in (1, 3), f"byte {at}"


def test_another_machines_artifact_needs_its_program(artifact_of, tiffin, tmp_path):
    tiffin.fails("UnsupportedTarget", "export", artifact_of("mlp", *AARCH64), "--executable", tmp_path / "net", mentions=("aarch64", "tiffin-run-static-aarch64"))
    assert not (tmp_path / "net").exists()


def test_wrong_words(artifact_of, tiffin, tmp_path):
    file = artifact_of("mlp")
    for words in ([], ["--executable", "a", "--system-lib", "b.a", "--header", "b.h"], ["--system-lib", "b.a"], ["--header", "b.h"],
                  ["--executable", "a", "--name", "n"]):
        assert tiffin.run("export", file, *words, folder=tmp_path).returncode == 2
    tiffin.fails("InvalidArgument", "export", file, "--executable", file, mentions=("two files",))
    tiffin.fails("NotAnArtifact", "export", __file__, "--executable", tmp_path / "a")
    tiffin.fails("Io", "export", file, "--executable", tmp_path / "none" / "a")
    assert list(tmp_path.iterdir()) == []


def export_library(tiffin, artifact, folder, name):
    tiffin.ok("export", artifact, "--system-lib", folder / f"lib{name}.a", "--header", folder / f"{name}.h", "--name", name, "--quiet")


def compile_c(folder, source, *words, compiler="cc"):
    command = [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", f"-I{folder}", f"-I{ROOT}/runtime/include", f"-I{ROOT}", source,
               *words, BUILD / "lib/libtiffin_runtime.a", "-pthread", "-o", folder / "program"]
    subprocess.run(list(map(str, command)), check=True)
    return folder / "program"


@pytest.mark.parametrize("link", [("-static",), ("-static-pie", "-fPIE"), ("-pie", "-fPIE"), ("-static", "-Wl,--gc-sections")])
def test_two_models_in_one_program(link, artifact_of, tiffin, tiffin_run, tmp_path):
    for name, model in (("first", "mlp"), ("second", "conv_net")):
        export_library(tiffin, artifact_of(model), tmp_path, name)
    program = compile_c(tmp_path, ROOT / "examples/system_lib/run_two.c", tmp_path / "libfirst.a", tmp_path / "libsecond.a", *link)
    lines = dict(line.split() for line in subprocess.run([program], env={}, capture_output=True, text=True, check=True).stdout.splitlines())
    for model in ("mlp", "conv_net"):
        tiffin_run.ok("run", artifact_of(model), "--fill", "ones", "--outputs", tmp_path / model)
        assert float(lines[model]) == np.load(tmp_path / model / "output_0.npy").reshape(-1)[0]


def test_two_builds_of_one_network_do_not_clash(artifact_of, tiffin, tmp_path):
    for folder, options in (("a", ()), ("b", ("-O", 0))):
        (tmp_path / folder).mkdir()
        tiffin.ok("export", artifact_of("mlp", *options), "--system-lib", tmp_path / folder / "mlp.a", "--header", tmp_path / folder / "mlp.h")
        (tmp_path / f"{folder}.c").write_text(f'#include "{folder}/mlp.h"\nconst tiffin_system_lib* {folder}(void) {{ return &mlp_tiffin; }}\n')
    (tmp_path / "main.c").write_text("#include <tiffin/tiffin.h>\nconst tiffin_system_lib* a(void);\nconst tiffin_system_lib* b(void);\n"
                                     "int main(void) { return a() == b() || a()->member_count == 0; }\n")
    program = compile_c(tmp_path, tmp_path / "main.c", tmp_path / "a.c", tmp_path / "b.c", tmp_path / "a/mlp.a", tmp_path / "b/mlp.a")
    assert subprocess.run([program]).returncode == 0


def test_the_code_lies_among_the_programs_code(artifact_of, tiffin, tmp_path):
    export_library(tiffin, artifact_of("mlp"), tmp_path, "net")
    sections = subprocess.run(["readelf", "-SW", tmp_path / "libnet.a"], capture_output=True, text=True, check=True).stdout
    rows = [line for line in sections.splitlines() if "net_tiffin" in line and "PROGBITS" in line]
    assert [line for line in rows if ".text.net" in line and " AX " in line]
    assert not [line for line in rows if ".rodata.net" in line and " A " not in line]
    subprocess.run(["ar", "t", tmp_path / "libnet.a"], check=True, capture_output=True)
    export_library(tiffin, artifact_of("mlp"), tmp_path, "again")
    tiffin.ok("export", artifact_of("mlp"), "--system-lib", tmp_path / "other.a", "--header", tmp_path / "net2.h", "--name", "net", "--quiet")
    assert (tmp_path / "other.a").read_bytes() == (tmp_path / "libnet.a").read_bytes(), "equal words give equal bytes"


def test_only_one_machines_variants_are_linked(zoo, tiffin, tmp_path):
    tiffin.ok("compile", zoo["mlp"].path, "-o", tmp_path / "m.tar", "--targets", "portable", "--quiet")
    export_library(tiffin, tmp_path / "m.tar", tmp_path, "net")
    sections = subprocess.run(["readelf", "-SW", tmp_path / "libnet.a"], capture_output=True, text=True, check=True).stdout
    assert len([line for line in sections.splitlines() if ".text.net" in line]) == 3


def test_another_machines_library_is_for_that_machine(artifact_of, tiffin, tmp_path):
    export_library(tiffin, artifact_of("mlp", *AARCH64), tmp_path, "net")
    assert "AArch64" in subprocess.run(["readelf", "-hW", tmp_path / "libnet.a"], capture_output=True, text=True, check=True).stdout
