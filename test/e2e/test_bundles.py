# SPDX-License-Identifier: Apache-2.0
"""Bundles: plain tar archives and their folders, joined, attached to, damaged."""
import json
import shutil
import subprocess
import tarfile

import numpy as np
import pytest

LEVELS = ("llvm -mcpu=x86-64-v2", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v4", "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72")


def targets(*names):
    return [word for name in names for word in ("--target", name)]


@pytest.fixture(scope="module")
def model(zoo):
    return zoo["mlp"].path


@pytest.fixture(scope="module")
def bundle(model, tiffin, tmp_path_factory):
    path = tmp_path_factory.mktemp("bundles") / "b.tar"
    (path.parent / "notes.txt").write_text("read me")
    tiffin.ok("compile", model, "-o", path, "--quiet", "--with-sources", "--with-file", path.parent / "notes.txt", *targets(*LEVELS))
    return path


@pytest.fixture
def unpacked(bundle, tmp_path):
    subprocess.run(["tar", "xf", bundle, "-C", tmp_path], check=True)
    return tmp_path


def outputs_of(tiffin_run, artifact, folder, *words):
    tiffin_run.ok("run", artifact, "--fill", "random:3", "--outputs", folder, *words)
    return np.load(folder / "output_0.npy")


def test_any_tar_reads_it_and_members_are_mapped(bundle, tiffin_run, tmp_path):
    listing = subprocess.run(["tar", "tvf", bundle], capture_output=True, text=True)
    assert listing.returncode == 0 and not listing.stderr
    with tarfile.open(bundle) as tar:
        members = {member.name: member for member in tar}
    sections = [member for name, member in members.items() if name.endswith((".bin", ".tfw"))]
    assert len(sections) > 8 and not [member.name for member in sections if member.offset_data % 4096]
    assert not [name for name, member in members.items() if member.offset_data % 4096]
    assert members["code/code.3.bin"].offset_data % 65536 == 0
    report = tiffin_run.json("run", bundle, "--fill", "zeros")["report"]
    assert not report["copied_bytes"] and not report["repacked_bytes"] and "x86-64" in report["variant"]


def test_the_report_explains_every_variant(bundle, tiffin_run):
    report = tiffin_run.json("run", bundle, "--fill", "zeros")["report"]
    assert len(report["variants"]) == len(LEVELS)
    assert [variant["target"] for variant in report["variants"] if variant["chosen"]] == [report["variant"]]
    assert all(variant["reasons"] for variant in report["variants"] if not variant["chosen"])
    assert any("aarch64" in reason for variant in report["variants"] for reason in variant["reasons"])


@pytest.mark.parametrize("length", [94, 95, 101, 200, 240])
def test_long_names_travel(model, tiffin, tiffin_run, tmp_path, length):
    name = "n" * (length - 4) + ".txt"
    (tmp_path / name).write_text("read me")
    tiffin.ok("compile", model, "-o", tmp_path / "long.tar", "--with-file", tmp_path / name, "--quiet")
    listing = subprocess.run(["tar", "tf", tmp_path / "long.tar"], capture_output=True, text=True)
    assert listing.returncode == 0 and not listing.stderr and f"files/{name}" in listing.stdout.split("\n")
    with tarfile.open(tmp_path / "long.tar") as tar:
        assert tar.extractfile(f"files/{name}").read() == b"read me"
    tiffin_run.ok("verify", tmp_path / "long.tar")


def test_the_folder_runs_like_the_archive(bundle, unpacked, tiffin_run, tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    assert np.array_equal(outputs_of(tiffin_run, bundle, out / "a"), outputs_of(tiffin_run, unpacked, out / "b"))
    verdict = tiffin_run.json("verify", unpacked)
    assert verdict["ok"] and not verdict["file_digest"]
    seen = [tiffin_run.json("inspect", path) for path in (bundle, unpacked)]
    assert seen[0]["digests"]["content"] == seen[1]["digests"]["content"] and seen[1]["digests"]["file"] is None


def test_an_archive_packed_again_still_runs(bundle, unpacked, tiffin_run, tmp_path_factory):
    out = tmp_path_factory.mktemp("again")
    subprocess.run(["tar", "cf", out / "again.tar", "-C", unpacked, "."], check=True)
    assert np.array_equal(outputs_of(tiffin_run, bundle, out / "a"), outputs_of(tiffin_run, out / "again.tar", out / "b"))
    verdict = json.loads(tiffin_run.run("verify", out / "again.tar", "--json").stdout)
    assert verdict["digests"]["failed"] == ["file"] and verdict["rewritten"]


def test_texts_and_attachments_travel(bundle, unpacked, tiffin_run):
    description = json.loads((unpacked / "manifest.json").read_text())
    assert [variant["cpu"] for variant in description["variants"]] == ["x86-64-v2", "x86-64-v3", "x86-64-v4", "cortex-a72"]
    assert description["entries"][0]["inputs"] and description["params"]["tensors"][0]["digest"]
    header = next((unpacked / "include").glob("*.h"))
    program = f'#include "{header}"\n#include <stdio.h>\nint main(void) {{ puts(MLP_INPUT_0_NAME); return MLP_INPUT_COUNT != 1; }}\n'
    (unpacked / "main.c").write_text(program)
    subprocess.run(["cc", "-Wall", "-Werror", "-o", unpacked / "main", unpacked / "main.c"], check=True)
    shown = subprocess.run([unpacked / "main"], capture_output=True, text=True)
    assert shown.returncode == 0 and shown.stdout.strip() == description["entries"][0]["inputs"][0]["name"]
    assert (unpacked / "files/notes.txt").read_text() == "read me"
    assert "kernel" in (unpacked / "sources/kernels.0.txt").read_text() and (unpacked / "sources/kernels.3.txt").exists()


def test_a_changed_text_or_attachment_is_found(unpacked, tiffin_run):
    tiffin_run.ok("verify", unpacked)
    for name, code in (("manifest.json", "DigestMismatch"), ("files/notes.txt", "DigestMismatch")):
        path = unpacked / name
        before = path.read_bytes()
        path.write_bytes(before[:-2] + bytes([before[-2] ^ 1]) + before[-1:])
        done = tiffin_run.run("verify", unpacked)
        assert done.returncode == 1 and f"error[{code}]" in done.stderr, (name, done.stderr)
        path.write_bytes(before)
    tiffin_run.ok("verify", unpacked)


def test_a_missing_member_is_named(unpacked, tiffin_run):
    (unpacked / "program.bin").unlink()
    done = tiffin_run.run("run", unpacked, "--fill", "zeros")
    assert done.returncode == 3 and "program.bin" in done.stderr and "error[Io]" in done.stderr


def test_every_cut_and_flip_of_the_headers_is_found(bundle, tiffin_run, tmp_path):
    whole = bundle.read_bytes()
    for part in range(0, 64):
        (tmp_path / "cut").write_bytes(whole[: len(whole) * part // 64])
        done = tiffin_run.run("run", tmp_path / "cut", "--fill", "zeros")
        assert done.returncode == 3 and any(f"error[{code}]" in done.stderr for code in ("Truncated", "NotAnArtifact")), done.stderr
    rng = np.random.default_rng(5)
    for spot in rng.integers(0, len(whole), 60):
        flipped = bytearray(whole)
        flipped[spot] ^= 1 << int(rng.integers(0, 8))
        (tmp_path / "flipped").write_bytes(flipped)
        assert tiffin_run.run("verify", tmp_path / "flipped").returncode in (1, 3)
        assert tiffin_run.run("inspect", tmp_path / "flipped", "--json").returncode in (0, 3)


def test_joined_artifacts_are_the_bundle_of_one_compile(model, tiffin, tiffin_run, tmp_path):
    for cpu in ("v2", "v3"):
        tiffin.ok("compile", model, "-o", tmp_path / f"{cpu}.so", "--target", f"llvm -mcpu=x86-64-{cpu}", "--quiet")
    tiffin.ok("bundle", "-o", tmp_path / "joined.tar", tmp_path / "v2.so", tmp_path / "v3.so", "--quiet")
    tiffin.ok("compile", model, "-o", tmp_path / "once.tar", "--quiet", *targets(*LEVELS[:2]))
    assert (tmp_path / "joined.tar").read_bytes() == (tmp_path / "once.tar").read_bytes()
    tiffin_run.ok("verify", tmp_path / "joined.tar")


def test_what_does_not_belong_together_is_not_joined(zoo, model, tiffin, tmp_path):
    tiffin.ok("compile", model, "-o", tmp_path / "a.so", "--target", LEVELS[0], "--quiet")
    tiffin.ok("compile", zoo["conv_net"].path, "-o", tmp_path / "b.so", "--target", LEVELS[1], "--quiet")
    for words, said in ((("a.so", "b.so"), "not the same model"), (("a.so", "a.so"), "same target")):
        done = tiffin.run("bundle", "-o", tmp_path / "x.tar", *(tmp_path / word for word in words))
        assert done.returncode == 3 and said in done.stderr and not (tmp_path / "x.tar").exists()


def test_embedded_weights_serve_those_without(model, tiffin, tiffin_run, tmp_path):
    tiffin.ok("compile", model, "-o", tmp_path / "thin.so", "--target", LEVELS[0], "--params", "external", "--quiet")
    tiffin.ok("compile", model, "-o", tmp_path / "whole.so", "--target", LEVELS[1], "--quiet")
    for words in (("thin.so", "whole.so"), ("whole.so", "thin.so")):
        tiffin.ok("bundle", "-o", tmp_path / "both.tar", *(tmp_path / word for word in words))
        seen = tiffin_run.json("inspect", tmp_path / "both.tar")
        assert seen["params"]["mode"] == "embedded" and seen["options"]["params"] == "embed"
        tiffin_run.ok("run", tmp_path / "both.tar", "--fill", "zeros")


def test_tensors_of_one_variant_alone_are_shown(model, tiffin, tiffin_run, tmp_path):
    """Without optimisation nothing is packed, so the two share biases only."""
    tiffin.ok("compile", model, "-o", tmp_path / "packed.so", "--target", LEVELS[0], "--quiet")
    tiffin.ok("compile", model, "-o", tmp_path / "plain.so", "--target", LEVELS[1], "-O", 0, "--quiet")
    tiffin.ok("bundle", "-o", tmp_path / "both.tar", tmp_path / "packed.so", tmp_path / "plain.so")
    seen = tiffin_run.json("inspect", tmp_path / "both.tar")
    assert all(variant["own_tensors"] == 3 and variant["own_tensor_bytes"] > 0 for variant in seen["variants"])
    shared = seen["stored"]["bytes"] - sum(variant["own_tensor_bytes"] for variant in seen["variants"])
    assert 0 < shared < seen["stored"]["bytes"] / 2
    assert "3 stored tensors of its own" in tiffin_run.ok("inspect", tmp_path / "both.tar")
    assert not tiffin_run.json("inspect", tmp_path / "packed.so")["variants"][0]["own_tensors"]


def test_several_targets_want_a_bundle(model, tiffin, tmp_path):
    done = tiffin.run("compile", model, "-o", tmp_path / "x.so", *targets(*LEVELS[:2]))
    assert done.returncode == 2 and ".tar" in done.stderr and not (tmp_path / "x.so").exists()


def test_weights_beside_a_bundle(model, tiffin, tiffin_run, tmp_path, bundle):
    tiffin.ok("compile", model, "-o", tmp_path / "thin.tar", "--params-out", tmp_path / "w.tfw", "--quiet", *targets(*LEVELS[:2]))
    thin = outputs_of(tiffin_run, tmp_path / "thin.tar", tmp_path / "a", "--params", tmp_path / "w.tfw")
    assert np.array_equal(thin, outputs_of(tiffin_run, bundle, tmp_path / "b"))
    shutil.rmtree(tmp_path / "a")
    tiffin.ok("compile", model, "-o", tmp_path / "x.tar", "--params-out", tmp_path / "w.safetensors", "--quiet", *targets(*LEVELS[:2]))
    report = tiffin_run.json("run", tmp_path / "x.tar", "--params", tmp_path / "w.safetensors", "--fill", "zeros")["report"]
    assert report["repacked_bytes"] and "repacked" in report["fallbacks"][0]
    tiffin_run.fails("Strict", "run", tmp_path / "x.tar", "--params", tmp_path / "w.safetensors", "--fill", "zeros", "--strict", mentions=("repacked",))
    tiffin_run.ok("run", tmp_path / "thin.tar", "--params", tmp_path / "w.tfw", "--fill", "zeros", "--strict")
    done = tiffin_run.run("run", tmp_path / "thin.tar", "--fill", "random:3")
    assert done.returncode == 3 and "error[MissingParam]" in done.stderr
