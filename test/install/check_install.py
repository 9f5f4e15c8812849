# SPDX-License-Identifier: Apache-2.0
"""Installs a build into a temporary prefix, and uses it as others would: check_install.py BUILD SOURCE.

The C++ example finds the runtime by find_package, the C example by pkg-config; where the compiler is built, the compiler's example makes the model
that both run, and it is linked twice into one static program. Without it they are given a file that is not there, and have to say so.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def build_by_cmake(example, folder, prefix):
    run("cmake", "-G", "Ninja", "-S", example, "-B", folder, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release")
    run("cmake", "--build", folder)


def build_by_pkg_config(example, folder, prefix):
    shutil.copytree(example, folder)
    (description,) = prefix.rglob("tiffin.pc")
    run("make", "-C", folder, env={**os.environ, "PKG_CONFIG_PATH": str(description.parent)})


def link_twice(example, folder, prefix, model):
    """The example of models inside a program, with one model under two names."""
    shutil.copytree(example, folder)
    (description,) = prefix.rglob("tiffin.pc")
    environment = {**os.environ, "PKG_CONFIG_PATH": str(description.parent), "PATH": f"{prefix}/bin:{os.environ['PATH']}"}
    run("make", "-C", folder, f"FIRST={model}", f"SECOND={model}", env=environment)
    lines = run(folder / "run_two", env={}).splitlines()
    if len(lines) != 2 or lines[0] != lines[1]:
        sys.exit(f"two models in one program print {lines}")


def check(build, source, scratch):
    prefix = scratch / "prefix"
    run("cmake", "--install", build, "--prefix", prefix)
    (library,) = {path.parent for path in prefix.rglob("libtiffin_runtime.so")}
    environment = {"LD_LIBRARY_PATH": str(library)}
    examples = source / "examples"
    build_by_cmake(examples / "cpp", scratch / "cpp", prefix)
    build_by_pkg_config(examples / "c", scratch / "c", prefix)
    has_compiler = (prefix / "bin" / "tiffin").exists()
    model = scratch / "perceptron.so"
    if has_compiler:
        build_by_cmake(examples / "compiler", scratch / "compiler", prefix)
        run(scratch / "compiler" / "compile_graph", model)
        print(run(prefix / "bin" / "tiffin-run", "run", model, "--fill", "ones", env={}), end="")
        link_twice(examples / "system_lib", scratch / "system_lib", prefix, model)
    for program in (scratch / "c" / "run_model", scratch / "cpp" / "run_model"):
        done = subprocess.run([program, model], env=environment, capture_output=True, text=True)
        as_wanted = done.returncode == 0 and "float32" in done.stdout if has_compiler else done.returncode == 1 and "Io: " in done.stderr
        if not as_wanted:
            sys.exit(f"{program}: exit {done.returncode}\n{done.stdout}{done.stderr}")
        print(done.stdout or done.stderr, end="")
        needed = run("ldd", program, env=environment) if program.parent.name == "c" else ""
        if "stdc++" in needed:
            sys.exit(f"the C example needs libstdc++:\n{needed}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        check(Path(sys.argv[1]), Path(sys.argv[2]), Path(folder))
