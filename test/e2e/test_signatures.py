# SPDX-License-Identifier: Apache-2.0
"""Keys, signatures and what --trust signed refuses; together with OpenSSL where it is installed."""
import json
import os
import resource
import shutil
import stat
import subprocess

import pytest

CONTEXT = b"tiffin signature 1\0"
NOT_TRUSTED = ("NotTrusted", "SignatureInvalid", "DigestMismatch")


@pytest.fixture(scope="module")
def keys(tiffin, tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    for name in ("good", "other"):
        tiffin.ok("keys", "new", folder / name)
    return folder


@pytest.fixture(scope="module")
def plain(artifact_of):
    return artifact_of("mlp")


@pytest.fixture
def signed(tiffin, keys, plain, tmp_path):
    path = shutil.copy(plain, tmp_path / "m.so")
    tiffin.ok("sign", path, "--key", keys / "good.secret", "--release", 7)
    return path


def answer(program, *words):
    """Exit status and the error's code, or the first reason's."""
    done = program.run(*words)
    code = done.stderr.split("error[", 1)[1].split("]")[0] if "error[" in done.stderr else ""
    return done.returncode, code


def trusted_run(program, path, key, *more):
    return answer(program, "run", path, "--fill", "zeros", "--trust", "signed", "--key", key, *more)


def signature_of(program, path):
    """The signature's section as it stands in the file."""
    content = open(path, "rb").read()
    seen = json.loads(program.ok("inspect", path, "--json"))["signature"]
    at = content.index(bytes.fromhex(seen["public_key"])) - 56  # behind algorithm, reserved, created, release, content digest
    return at, content[at:at + 192]


def openssl(*words, check=True):
    return subprocess.run(["openssl", *map(str, words)], capture_output=True, check=check)


needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")


def test_keys_are_private_and_never_overwritten(tiffin, tmp_path):
    old = os.umask(0)
    try:
        done = json.loads(tiffin.ok("keys", "new", tmp_path / "k", "--json"))
    finally:
        os.umask(old)
    secret, public = tmp_path / "k.secret", tmp_path / "k.public"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600 and stat.S_IMODE(public.stat().st_mode) == 0o644
    assert len(done["public_key"]) == 64
    before = secret.read_bytes(), public.read_bytes()
    assert answer(tiffin, "keys", "new", tmp_path / "k") == (3, "Io")
    secret.unlink()
    assert answer(tiffin, "keys", "new", tmp_path / "k") == (3, "Io")
    assert not secret.exists() and public.read_bytes() == before[1], "a pair that could not be made left a file"
    assert answer(tiffin, "keys", "new", tmp_path / "none" / "k") == (3, "Io")
    assert answer(tiffin, "keys")[0] == 2 and answer(tiffin, "keys", "old", "x")[0] == 2


@pytest.mark.parametrize("program_name", ["tiffin", "tiffin_run"])
def test_who_signed_is_checked(request, program_name, keys, plain, signed):
    program = request.getfixturevalue(program_name)
    good, other = keys / "good.public", keys / "other.public"
    assert answer(program, "verify", plain, "--key", good) == (1, "SignatureInvalid")
    assert answer(program, "verify", signed, "--key", good) == (0, "")
    assert answer(program, "verify", signed, "--key", other) == (1, "SignatureInvalid")
    assert answer(program, "verify", signed, "--key", other, "--key", good) == (0, "")
    assert trusted_run(program, signed, good) == (0, "")
    assert trusted_run(program, signed, other) == (3, "SignatureInvalid")
    assert trusted_run(program, plain, good) == (3, "NotTrusted")
    assert answer(program, "run", signed, "--fill", "zeros", "--trust", "signed") == (3, "NotTrusted")
    assert answer(program, "run", signed, "--fill", "zeros", "--key", good) == (2, "InvalidArgument")
    assert answer(program, "run", signed, "--fill", "zeros", "--min-release", 3) == (2, "InvalidArgument")


def test_json_of_signatures(tiffin_run, keys, plain, signed):
    seen = json.loads(tiffin_run.ok("verify", signed, "--key", keys / "good.public", "--json"))
    assert seen["ok"] and seen["signature"]["valid"] is True and seen["signature"]["release"] == 7
    shown = json.loads(tiffin_run.ok("inspect", signed, "--json"))["signature"]
    assert {key: seen["signature"][key] for key in shown} == shown and set(shown) == {"public_key", "release", "created"}
    assert json.loads(tiffin_run.ok("verify", signed, "--json"))["signature"]["valid"] is None
    assert json.loads(tiffin_run.ok("verify", plain, "--json"))["signature"] is None
    assert "signature" not in json.loads(tiffin_run.ok("inspect", plain, "--json"))
    wrong = tiffin_run.run("verify", signed, "--key", keys / "other.public", "--json")
    assert wrong.returncode == 1 and json.loads(wrong.stdout)["signature"]["valid"] is False


def test_downgrades_are_refused(tiffin_run, keys, signed):
    for release, expected in ((0, (0, "")), (7, (0, "")), (8, (3, "NotTrusted"))):
        assert trusted_run(tiffin_run, signed, keys / "good.public", "--min-release", release) == expected
    assert trusted_run(tiffin_run, signed, keys / "good.public", "--min-release", "seven")[0] == 2


def test_every_bit_of_the_signature_counts(tiffin_run, keys, signed):
    at, section = signature_of(tiffin_run, signed)
    whole = bytearray(open(signed, "rb").read())
    for byte in range(0, len(section), 5):
        whole[at + byte] ^= 1 << byte % 8
        signed.write_bytes(whole)
        status, code = trusted_run(tiffin_run, signed, keys / "good.public")
        assert status == 3 and code in NOT_TRUSTED, byte
        assert tiffin_run.run("verify", signed).returncode == 1, byte
        whole[at + byte] ^= 1 << byte % 8


def test_tampering_is_refused(tiffin_run, keys, signed):
    whole = bytearray(open(signed, "rb").read())
    for place in range(0, len(whole), max(1, len(whole) // 150)):
        if whole[place] == 0:
            continue  # perhaps padding, which a signature does not cover
        whole[place] ^= 4
        signed.write_bytes(whole)
        verified = tiffin_run.run("verify", signed, "--key", keys / "good.public").returncode
        assert verified in (1, 3), place
        whole[place] ^= 4


def test_signing_again_replaces(tiffin, keys, signed):
    mode = signed.stat().st_mode
    tiffin.ok("sign", signed, "--key", keys / "other.secret")
    assert answer(tiffin, "verify", signed, "--key", keys / "other.public") == (0, "")
    assert answer(tiffin, "verify", signed, "--key", keys / "good.public") == (1, "SignatureInvalid")
    assert signed.stat().st_mode == mode and sorted(path.name for path in signed.parent.iterdir()) == ["m.so"]


def test_equal_times_give_equal_bytes(tiffin, keys, plain, tmp_path):
    paths = [shutil.copy(plain, tmp_path / name) for name in ("a.so", "b.so")]
    for path in paths:
        subprocess.run([tiffin.path, "sign", path, "--key", keys / "good.secret", "--quiet"], check=True, env={"SOURCE_DATE_EPOCH": "1700000000"})
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_bundle_and_its_folder(tiffin, tiffin_run, keys, zoo, tmp_path):
    model = zoo["mlp"]
    bundle, folder = tmp_path / "m.tar", tmp_path / "unpacked"
    tiffin.ok("compile", model.path, "-o", bundle, "--quiet", *model.options)
    folder.mkdir()
    shutil.unpack_archive(bundle, folder, "tar")
    for path in (bundle, folder):
        tiffin.ok("sign", path, "--key", keys / "good.secret", "--release", 2)
        assert answer(tiffin_run, "verify", path, "--key", keys / "good.public") == (0, "")
        assert trusted_run(tiffin_run, path, keys / "good.public", "--min-release", 2) == (0, "")
        assert trusted_run(tiffin_run, path, keys / "other.public") == (3, "SignatureInvalid")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.tar", "unpacked"]
    subprocess.run(["tar", "-tf", bundle], check=True, capture_output=True)


def test_a_failed_signing_leaves_the_file(tiffin, keys, plain, tmp_path):
    path = shutil.copy(plain, tmp_path / "m.so")
    before = path.read_bytes()

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    done = subprocess.run([tiffin.path, "sign", path, "--key", keys / "good.secret"], preexec_fn=limit, capture_output=True, text=True)
    assert done.returncode == 3 and "error[Io]" in done.stderr, done.stderr
    assert path.read_bytes() == before and [entry.name for entry in tmp_path.iterdir()] == ["m.so"]


def test_what_cannot_be_signed(tiffin, keys, plain, tmp_path):
    secret = keys / "good.secret"
    damaged = tmp_path / "damaged.so"
    whole = bytearray(open(plain, "rb").read())
    place = next(at for at in range(len(whole) // 2, len(whole)) if 0 not in whole[at - 32:at + 32])
    whole[place] ^= 1
    damaged.write_bytes(whole)
    assert answer(tiffin, "sign", damaged, "--key", secret) == (3, "DigestMismatch")
    assert damaged.read_bytes() == whole
    assert answer(tiffin, "sign", tmp_path / "none.so", "--key", secret) == (3, "Io")
    assert answer(tiffin, "sign", secret, "--key", secret) == (3, "NotAnArtifact")
    path = shutil.copy(plain, tmp_path / "m.so")
    for key in (keys / "good.public", path):
        assert answer(tiffin, "sign", path, "--key", key) == (3, "InvalidArgument")
    assert answer(tiffin, "sign", path, "--key", tmp_path / "none") == (3, "Io")
    assert answer(tiffin, "sign", path)[0] == 2 and answer(tiffin, "sign", path, "--key", secret, "--release", "x")[0] == 2
    assert answer(tiffin, "verify", path, "--key", secret) == (3, "InvalidArgument")
    assert path.read_bytes() == open(plain, "rb").read()


@needs_openssl
def test_openssl_reads_our_keys_and_signatures(tiffin_run, keys, signed, tmp_path):
    public = openssl("pkey", "-in", keys / "good.secret", "-pubout").stdout
    assert public == (keys / "good.public").read_bytes()
    section = signature_of(tiffin_run, signed)[1]
    created, release, digest, signature = section[8:16], section[16:24], section[24:56], section[88:152]
    (tmp_path / "message").write_bytes(CONTEXT + digest + created + release)
    (tmp_path / "signature").write_bytes(signature)
    words = ("pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", keys / "good.public", "-in", tmp_path / "message", "-sigfile", tmp_path / "signature")
    assert openssl(*words).returncode == 0
    (tmp_path / "message").write_bytes(CONTEXT + digest + created + b"\1" + release[1:])
    assert openssl(*words, check=False).returncode != 0


@needs_openssl
def test_we_take_openssls_keys(tiffin, tiffin_run, plain, tmp_path):
    openssl("genpkey", "-algorithm", "ed25519", "-out", tmp_path / "theirs.pem")
    openssl("pkey", "-in", tmp_path / "theirs.pem", "-pubout", "-out", tmp_path / "theirs.public")
    openssl("genpkey", "-algorithm", "x25519", "-out", tmp_path / "exchange.pem")
    path = shutil.copy(plain, tmp_path / "m.so")
    tiffin.ok("sign", path, "--key", tmp_path / "theirs.pem")
    assert trusted_run(tiffin_run, path, tmp_path / "theirs.public") == (0, "")
    assert answer(tiffin, "sign", path, "--key", tmp_path / "exchange.pem") == (3, "InvalidArgument")
