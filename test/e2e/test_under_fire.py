# SPDX-License-Identifier: Apache-2.0
"""Load, run and export while files are replaced, disks are full, memory is short, processes are killed and many come at once.

TIFFIN_CAMPAIGN=1 runs the long forms: 100 kills, 10,000 reloads.
"""
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from program import execute, same_bits

IS_CAMPAIGN = os.environ.get("TIFFIN_CAMPAIGN") == "1"
KILLS = 100 if IS_CAMPAIGN else 6
RELOADS = 10_000 if IS_CAMPAIGN else 500
LONG_RUN = ("--fill", "random:1", "--threads", 1, "--warmup", 0, "--seconds", 2)


@pytest.fixture(scope="module")
def under_fire():
    """Starts the C program of test/under_fire; its output, and no failure."""
    program = Path(os.environ["TIFFIN_BIN"]).parent / "test" / "under_fire" / "under_fire"

    def start(*words):
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"{words}: exit {done.returncode}: {done.stdout}{done.stderr}"
        return done.stdout

    return start


@pytest.fixture(scope="module")
def forms(tiffin, zoo, tmp_path_factory):
    """One model as each kind of file."""
    folder = tmp_path_factory.mktemp("forms")
    tiffin.ok("compile", zoo["mlp"].path, "-o", folder / "native.so", "--quiet")
    tiffin.ok("compile", zoo["mlp"].path, "-o", folder / "native.tar", "--quiet")
    tiffin.ok("compile", zoo["mlp"].path, "-o", folder / "interpreted.tar", "--target", "portable-ir", "--quiet")
    tiffin.ok("compile", zoo["mlp"].path, "-o", folder / "external.so", "--params-out", folder / "w.tfw", "--quiet")
    for name in ("w.safetensors", "w.params"):
        tiffin.ok("params", "convert", folder / "w.tfw", "-o", folder / name)
    return folder


# ---- the file changes ----

def start_long_run(tiffin_run, artifact, *words):
    process = subprocess.Popen([tiffin_run.path, "bench", artifact, *map(str, LONG_RUN), *words], env={}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 20
    while artifact.name not in Path(f"/proc/{process.pid}/maps").read_text() and not words:
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.01)
    time.sleep(0.5 if words else 0.1)
    return process


@pytest.mark.parametrize("name", ["native.so", "native.tar"])
def test_a_file_is_replaced_by_rename(forms, tiffin_run, tmp_path, name):
    artifact = shutil.copy(forms / name, tmp_path)
    process = start_long_run(tiffin_run, Path(artifact))
    (tmp_path / "next").write_bytes(b"something else")
    os.replace(tmp_path / "next", artifact)
    errors = process.communicate(timeout=60)[1]
    assert process.returncode == 0, errors
    tiffin_run.fails(("NotAnArtifact", "Truncated"), "run", artifact, "--fill", "zeros")


def test_a_copied_file_is_overwritten_in_place(forms, tiffin_run, tmp_path):
    artifact = Path(shutil.copy(forms / "native.so", tmp_path))
    process = start_long_run(tiffin_run, artifact, "--copy")
    artifact.write_bytes(b"")
    errors = process.communicate(timeout=60)[1]
    assert process.returncode == 0, errors


def test_a_copy_maps_nothing_of_the_file(forms, tiffin_run, tmp_path):
    artifact = Path(shutil.copy(forms / "native.so", tmp_path))
    process = start_long_run(tiffin_run, artifact, "--copy")
    maps = Path(f"/proc/{process.pid}/maps").read_text()
    process.kill()
    process.communicate()
    assert "tiffin-run" in maps and artifact.name not in maps


# ---- disks and kills ----

def limit_file_size(most=20_000):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


def test_an_export_beyond_the_limit_of_file_sizes(zoo, tiffin, tmp_path):
    for name in ("m.so", "m.tar"):
        (tmp_path / name).write_text("the old one")
        done = subprocess.run([tiffin.path, "compile", zoo["mlp_mnist"].path, "-o", tmp_path / name, "--quiet"], env={}, capture_output=True, text=True,
                              preexec_fn=limit_file_size)
        assert done.returncode == 3 and "error[Io]" in done.stderr and "remedy: " in done.stderr, done.stderr
        assert (tmp_path / name).read_text() == "the old one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.so", "m.tar"], "something is left"


@pytest.mark.parametrize("suffix", ["tfw", "safetensors", "params"])
@pytest.mark.parametrize("cache", [[], ["--cache", "cache"]])
def test_a_library_and_its_parameters_are_replaced_together(zoo, tiffin, tiffin_run, tmp_path, suffix, cache):
    """Whichever of the two files does not fit: the old pair stays, and works."""
    pair = ("m.so", f"w.{suffix}")
    tiffin.ok("compile", zoo["mlp"].path, "-o", "m.so", "--params-out", pair[1], "--quiet", folder=tmp_path)
    old = [(tmp_path / name).read_bytes() for name in pair]
    tiffin.ok("compile", zoo["mlp_mnist"].path, "-o", "m.so", "--params-out", pair[1], "--quiet", folder=tmp_path)
    sizes = [(tmp_path / name).stat().st_size for name in pair]
    for limit in sorted({min(sizes) - 1, max(sizes) - 1}):
        for name, content in zip(pair, old):
            (tmp_path / name).write_bytes(content)
        done = subprocess.run([tiffin.path, "compile", zoo["mlp_mnist"].path, "-o", "m.so", "--params-out", pair[1], "--quiet", *cache], env={},
                              capture_output=True, text=True, cwd=tmp_path, preexec_fn=lambda: limit_file_size(limit))
        assert done.returncode == 3 and "error[Io]" in done.stderr, done.stderr
        assert [(tmp_path / name).read_bytes() for name in pair] == old
        assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == sorted(pair), "something is left"
    tiffin_run.ok("run", "m.so", "--params", pair[1], "--fill", "zeros", folder=tmp_path)


def test_a_replaced_pair_keeps_its_permissions_and_links(zoo, tiffin, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/w.tfw").write_text("the old one")
    (tmp_path / "elsewhere/w.tfw").chmod(0o640)
    (tmp_path / "w.tfw").symlink_to("elsewhere/w.tfw")
    words = ("compile", zoo["mlp"].path, "-o", "m.so", "--params-out", "w.tfw", "--quiet")
    tiffin.ok(*words, folder=tmp_path)
    assert (tmp_path / "w.tfw").is_symlink() and (tmp_path / "elsewhere/w.tfw").stat().st_mode & 0o777 == 0o640
    assert os.access(tmp_path / "m.so", os.X_OK) and (tmp_path / "elsewhere/w.tfw").stat().st_size > 1000
    (tmp_path / "w.tfw").unlink()
    (tmp_path / "w.tfw").mkdir()
    old = (tmp_path / "m.so").stat().st_ino
    tiffin.fails("Io", *words, folder=tmp_path, mentions=("'w.tfw'", "folder"))
    assert (tmp_path / "m.so").stat().st_ino == old, "half a pair was replaced"


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 64 KiB."""
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tiffin-test", tmp_path], capture_output=True).returncode != 0:
        pytest.skip("mounting is not allowed here")
    yield tmp_path
    subprocess.run(["umount", tmp_path], check=True)


def test_an_export_to_a_full_disk(zoo, tiffin, tiny_disk):
    (tiny_disk / "old.so").write_text("the old one")
    tiffin.fails("Io", "compile", zoo["mlp_mnist"].path, "-o", tiny_disk / "old.so", "--quiet", mentions=("No space left", "remedy: "))
    assert (tiny_disk / "old.so").read_text() == "the old one" and len(list(tiny_disk.iterdir())) == 1


def test_kills_at_any_moment_leave_the_old_file_or_the_new(zoo, tiffin, forms, tmp_path):
    seed = 3
    rng, out = random.Random(seed), tmp_path / "m.so"
    words = [tiffin.path, "compile", zoo["mlp_mnist"].path, "-o", out, "--quiet"]
    start = time.perf_counter()
    subprocess.run(words, check=True, env={})
    seconds, new, old = time.perf_counter() - start, out.read_bytes(), (forms / "native.so").read_bytes()
    for _ in range(KILLS):
        out.write_bytes(old)
        process = subprocess.Popen(words, env={}, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0, 1.1 * seconds))
        process.kill()
        process.wait()
        assert out.read_bytes() in (old, new), f"seed {seed}: a half file under the final name"


# ---- memory ----

@pytest.mark.parametrize("model, params", [("native.so", ""), ("native.tar", ""), ("interpreted.tar", ""), ("external.so", "w.tfw"),
                                           ("external.so", "w.safetensors"), ("external.so", "w.params")])
def test_every_refused_allocation_is_named(forms, under_fire, model, params):
    assert "refused" in under_fire("allocations", forms / model, forms / params if params else "")


def test_every_refused_allocation_of_a_copying_load_is_named(forms, under_fire):
    assert "refused" in under_fire("allocations", forms / "native.so", "", "copy")


# ---- many at once ----

def test_fifty_processes_load_one_file(forms, zoo, tiffin_run, tmp_path):
    for name in ("native.so", "native.tar"):
        wanted = execute(tiffin_run, forms / name, zoo["mlp"], tmp_path)
        words = [tiffin_run.path, "run", forms / name, "--inputs", tmp_path / "inputs", "--threads", "1", "--quiet"]
        started = [subprocess.Popen([*words, "--outputs", tmp_path / f"o{index}"], env={}, stderr=subprocess.PIPE) for index in range(50)]
        failures = [process.communicate(timeout=120)[1] for process in started if process.wait(120) != 0]
        assert not failures, failures[:2]
        assert all(same_bits(wanted, [np.load(tmp_path / f"o{index}" / "output_0.npy")]) for index in range(50))


def test_sixty_four_threads_run_one_module(forms, under_fire):
    for name in ("native.so", "interpreted.tar"):
        assert "64 threads" in under_fire("threads", 64, forms / name)


def test_loading_again_and_again_grows_nothing(forms, under_fire):
    for name in ("native.so", "native.tar"):
        under_fire("reload", RELOADS, forms / name)


def test_unload_while_running(forms, under_fire):
    for name in ("native.so", "native.tar", "interpreted.tar"):
        under_fire("unload", forms / name)


def test_two_models_side_by_side(forms, artifact_of, under_fire):
    under_fire("two", forms / "native.so", artifact_of("mlp_mnist"))


# ---- strange places ----

def test_a_model_beyond_four_gibibytes_of_a_file(forms, under_fire, tmp_path):
    """Places and lengths have 64 bits everywhere. test_traps.py has a model that large."""
    for name in ("native.so", "native.tar"):
        under_fire("far", forms / name, tmp_path / "scratch")


def test_locale_with_a_decimal_comma(zoo, artifact_of, tiffin, tmp_path):
    """Numbers are written and read with a point, whatever the user's locale says."""
    comma = {"LC_ALL": "de_DE.UTF-8", "LANG": "de_DE.UTF-8", "LC_NUMERIC": "de_DE.UTF-8"}
    subprocess.run([tiffin.path, "compile", zoo["mlp"].path, "-o", tmp_path / "m.so", "--quiet"], check=True, env=comma)
    assert (tmp_path / "m.so").read_bytes() == artifact_of("mlp").read_bytes()
    done = subprocess.run([tiffin.path, "bench", tmp_path / "m.so", "--fill", "ones", "--repeat", "2", "--json"], check=True, env=comma, capture_output=True, text=True)
    assert '"latency_ms"' in done.stdout


def test_no_library_asks_for_a_locale(tiffin_run):
    """Locales change the meaning of numbers only in programs that call setlocale: ours do not."""
    symbols = subprocess.run(["nm", "-D", "--undefined-only", tiffin_run.path], capture_output=True, text=True, check=True).stdout
    assert "setlocale" not in symbols and "newlocale" not in symbols


ISOLATED = """
import os, sys, ctypes
libc = ctypes.CDLL(None, use_errno=True)
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18
CLONE_NEWNS = 0x20000
def must(value): assert value == 0, os.strerror(ctypes.get_errno())
root = sys.argv[1].encode()
must(libc.unshare(CLONE_NEWNS)); must(libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None))
must(libc.mount(root, root, None, MS_BIND, None)); must(libc.mount(b"none", root, None, MS_REMOUNT | MS_BIND | MS_RDONLY, None))
os.chroot(root); os.chdir("/")
try: open("/x", "w"); sys.exit("the root is writable")
except OSError: pass
os.execve(sys.argv[2], sys.argv[2:], {})
"""


def test_a_read_only_root_without_proc_or_temporary_folder(forms, tiffin_run, tmp_path):
    """Only the program, the C library and the artifacts exist, and nothing can be written."""
    if os.geteuid() != 0:
        pytest.skip("chroot needs root")
    root = tmp_path / "root"
    libraries = subprocess.run(["ldd", tiffin_run.path], capture_output=True, text=True, check=True).stdout.split()
    for path in {word for word in libraries if word.startswith("/")} | {str(tiffin_run.path)}:
        target = root / (path.lstrip("/") if path != str(tiffin_run.path) else "tiffin-run")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    for path in forms.iterdir():
        shutil.copy(path, root / path.name)
    subprocess.run(["tar", "xf", forms / "native.tar", "-C", (root / "unpacked").mkdir() or root / "unpacked"], check=True)
    for words in (["native.so"], ["native.tar"], ["unpacked"], ["interpreted.tar"], ["external.so", "--params", "/w.tfw"], ["external.so", "--params", "/w.safetensors"]):
        for command in (["run", f"/{words[0]}", *words[1:], "--fill", "ones"], ["verify", f"/{words[0]}", *words[1:]]):
            done = subprocess.run([sys.executable, "-c", ISOLATED, root, "/tiffin-run", *command], capture_output=True, text=True)
            assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
