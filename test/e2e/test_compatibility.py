# SPDX-License-Identifier: Apache-2.0
"""Artifacts of every released version load, answer and run; files of versions that do not fit are refused with both versions and the remedy.

test/fixtures/VERSION is what that version wrote (scripts/make_fixtures).
"""
import gzip
import json
import struct
from pathlib import Path

import numpy as np
import pytest

from blake3 import HEADER_BYTES, SECTION_BYTES, content_digest, repair_file, repair_header
from program import assert_close

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
VERSIONS = sorted(path.name for path in FIXTURES.iterdir())
MAGIC = bytes((0x89, 0x54, 0x49, 0x46, 0x46, 0x0D, 0x0A, 0x1A))
FORMAT_MAJOR, FORMAT_MINOR, ABI, SECTION_COUNT = 8, 12, 16, 20  # offsets of u32 fields behind the magic's first byte
NEW, OLD = 99, 0
SIGNATURE = 9  # a section kind


@pytest.fixture(scope="module", params=VERSIONS)
def released(request, tmp_path_factory):
    """The folder of one version's files, unpacked."""
    folder = tmp_path_factory.mktemp(f"written_by_{request.param}")
    for path in (FIXTURES / request.param).iterdir():
        content = path.read_bytes()
        (folder / path.name.removesuffix(".gz")).write_bytes(gzip.decompress(content) if path.suffix == ".gz" else content)
    return folder


def scores(tiffin_run, folder, name, *words):
    outputs = folder / "outputs"
    tiffin_run.ok("run", folder / name, "--input", f"image={folder / 'input_0.npy'}", "--outputs", outputs, "--verify", "all", *words)
    return [np.load(outputs / "output_0.npy")]


def expected(folder, which):
    return [np.load(folder / f"{which}_output_0.npy")]


@pytest.mark.parametrize("name, words", [("embedded.so", ()), ("bundle.tar", ()), ("kernels_to_interpret.tar", ()), ("kernels_to_interpret.tar", ("--trust", "data"))])
def test_an_artifact_runs(released, tiffin_run, name, words):
    assert_close(scores(tiffin_run, released, name, *words), expected(released, "first"))


@pytest.mark.parametrize("which", ["first", "second"])
def test_weights_are_bound(released, tiffin_run, which):
    words = ("--params", released / f"{which}.tfw", *(("--new-weights",) if which == "second" else ()))
    assert_close(scores(tiffin_run, released, "external.so", *words), expected(released, which))


def test_a_delta_is_applied(released, tiffin, tiffin_run):
    if not (released / "second.delta").exists():
        pytest.skip("this version wrote no delta")
    tiffin.ok("params", "apply", released / "first.tfw", released / "second.delta", "-o", released / "built.tfw")
    assert (released / "built.tfw").read_bytes() == (released / "second.tfw").read_bytes()
    assert_close(scores(tiffin_run, released, "external.so", "--params", released / "built.tfw", "--new-weights"), expected(released, "second"))


def test_every_artifact_verifies_and_answers(released, tiffin_run):
    for path in sorted([*released.glob("*.so"), *released.glob("*.tar")]):
        native = path.name != "aarch64.so"
        params = ("--params", released / "first.tfw") if path.name == "external.so" else ()
        if native:
            assert tiffin_run.json("verify", path, *params)["ok"], path.name
        seen = tiffin_run.json("inspect", path)
        assert seen["producer"]["version"] and len(seen["entries"]) == 1, path.name
        assert tiffin_run.run("doctor", path, *params).returncode == (0 if native else 1), path.name


# ---- version skew ----

def headers(content):
    """Where the artifact's headers begin: the magic, followed by a plausible version."""
    at = content.find(MAGIC)
    while at >= 0:
        if struct.unpack_from("<I", content, at + FORMAT_MAJOR)[0] < 100:
            yield at
        at = content.find(MAGIC, at + 1)


@pytest.fixture
def altered(tmp_path):
    """altered(path, field, value): a copy that says another version. Versions are judged before any digest, so digests need no repair."""
    def change(path, field, value):
        content = bytearray(path.read_bytes())
        (at,) = headers(content)
        struct.pack_into("<I", content, at + field, value)
        made = tmp_path / f"altered_{field}_{value}{path.suffix}"
        made.write_bytes(content)
        return made
    return change


def repaired(path):
    """Writes the digests of contents, header and file anew."""
    content = bytearray(path.read_bytes())
    (at,) = headers(content)
    count = struct.unpack_from("<I", content, at + SECTION_COUNT)[0]
    content_digest(content, at, count)
    repair_header(content, at, count)
    repair_file(content, at, count)
    path.write_bytes(content)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """The newest version's fixtures, which have the number of the runtime that is tested."""
    folder = tmp_path_factory.mktemp("own")
    for path in (FIXTURES / VERSIONS[-1]).glob("*.gz"):
        (folder / path.stem).write_bytes(gzip.decompress(path.read_bytes()))
    return folder


@pytest.mark.parametrize("name", ["embedded.so", "bundle.tar", "kernels_to_interpret.tar"])
@pytest.mark.parametrize("field, value, code, remedy", [
    (FORMAT_MAJOR, NEW, "FormatTooNew", "newer runtime"), (FORMAT_MAJOR, OLD, "FormatTooOld", "compile the model again"),
    (ABI, NEW, "AbiMismatch", "compile the model again"), (ABI, OLD, "AbiMismatch", "compile the model again")])
def test_another_version_is_refused_with_both_versions_and_a_remedy(own, altered, tiffin_run, name, field, value, code, remedy):
    path = altered(own / name, field, value)
    (at,) = headers((own / name).read_bytes())
    ours = struct.unpack_from("<I", (own / name).read_bytes(), at + field)[0]
    for words in (("run", path, "--fill", "zeros"), ("run", path, "--fill", "zeros", "--verify", "none")):
        text = tiffin_run.fails(code, *words)
        assert "remedy: " in text and remedy in text, text
        assert f"{value}" in text and f"{ours}" in text.replace(str(value), ""), f"not both versions: {text}"
    done = tiffin_run.run("doctor", path)
    assert done.returncode == 1 and code in done.stderr, done.stderr


def test_doctor_reads_on_behind_another_version(own, altered, tiffin_run):
    """Format, ABI and machine are told at once; with the digests in order what the variants want as well."""
    path = altered(altered(own / "aarch64.so", FORMAT_MAJOR, NEW), ABI, NEW)
    codes = [problem["code"] for problem in json.loads(tiffin_run.run("doctor", path, "--params", "nowhere.tfw", "--json").stdout)["problems"]]
    assert codes == ["FormatTooNew", "AbiMismatch", "NoVariant", "Io"]
    path = altered(own / "embedded.so", ABI, NEW)
    repaired(path)
    done = tiffin_run.run("doctor", path, "--cpu", "k8", "--json")
    assert done.returncode == 1 and [problem["code"] for problem in json.loads(done.stdout)["problems"]] == ["AbiMismatch", "MissingCpuFeature"]
    assert tiffin_run.json("inspect", path)["abi_version"] == NEW
    verdict = tiffin_run.json("verify", path)
    assert verdict["ok"] and verdict["golden"]["passed"] == 0 and f"ABI {NEW}" in verdict["golden"]["not_run"]


@pytest.mark.parametrize("name", ["embedded.so", "bundle.tar"])
def test_a_section_of_the_future(own, tiffin, tiffin_run, altered, name):
    """An optional one is passed over; one that loading needs forbids loading, not the questions."""
    path = altered(own / name, FORMAT_MINOR, 7)
    content = bytearray(path.read_bytes())
    (at,) = headers(content)
    rows = [at + HEADER_BYTES + SECTION_BYTES * index for index in range(struct.unpack_from("<I", content, at + SECTION_COUNT)[0])]
    row = next(row for row in rows if struct.unpack_from("<I", content, row)[0] == SIGNATURE)
    for required in (0, 1):
        struct.pack_into("<III", content, row, NEW, 1, required)
        path.write_bytes(content)
        repaired(path)
        tiffin_run.ok("inspect", path, "--sizes", "--baseline", path)
        assert tiffin.run("diff", path, own / name).returncode in (0, 1)
        done = tiffin_run.run("doctor", path, "--json")
        problems = json.loads(done.stdout)["problems"]
        assert [problem["code"] for problem in problems] == ["FormatTooNew"] * required and json.loads(done.stdout)["chosen"]
        verdict = tiffin_run.json("verify", path)
        assert verdict["ok"] and verdict["golden"]["passed"] == 1 - required and ("not_run" in verdict["golden"]) == bool(required)
    tiffin_run.fails("FormatTooNew", "run", path, "--fill", "zeros", mentions=(f"kind {NEW}",))


@pytest.mark.parametrize("value, code", [(NEW, "FormatTooNew"), (OLD, "FormatTooOld")])
def test_weights_of_another_version_are_refused(own, tiffin_run, tmp_path, value, code):
    content = bytearray((own / "first.tfw").read_bytes())
    ours = struct.unpack_from("<I", content, 8)[0]
    struct.pack_into("<I", content, 8, value)
    (tmp_path / "w.tfw").write_bytes(content)
    text = tiffin_run.fails(code, "run", own / "external.so", "--params", tmp_path / "w.tfw", "--fill", "zeros", mentions=("remedy: ",))
    assert f"{value}." in text and f"{ours}." in text, text


@pytest.mark.parametrize("name", ["embedded.so", "bundle.tar"])
def test_a_newer_minor_version_is_judged_by_its_sections(own, tiffin_run, altered, name):
    """Nothing in the file is unknown but the number, so with its header's digest repaired it runs."""
    path = altered(own / name, FORMAT_MINOR, 7)
    tiffin_run.fails("DigestMismatch", "run", path, "--fill", "zeros")
    content = bytearray(path.read_bytes())
    (at,) = headers(content)
    repair_header(content, at, struct.unpack_from("<I", content, at + SECTION_COUNT)[0])
    path.write_bytes(content)
    tiffin_run.ok("run", path, "--fill", "zeros")
    assert tiffin_run.json("inspect", path)["format_version"] == "1.7"
    assert tiffin_run.json("doctor", path)["loads"]
