# SPDX-License-Identifier: Apache-2.0
"""BLAKE3-256 for tests that alter artifacts and repair their digests: the library's own portable C sources, compiled on first use."""
import ctypes
import functools
import struct
import subprocess
import tempfile
from pathlib import Path

HEADER_BYTES, SECTION_BYTES = 160, 112
CONTENT_DIGEST, HEADER_DIGEST, FILE_DIGEST, DIGEST_BYTES = 32, 64, 96, 32  # fields of tiffin_artifact_header
WEIGHTS = 6  # kind of section
STATE_BYTES = 4096  # more than blake3_hasher takes


@functools.cache
def library():
    (folder,) = Path("/usr/share/cargo/registry").glob("blake3-*/c")
    sources = [folder / f"{name}.c" for name in ("blake3", "blake3_dispatch", "blake3_portable")]
    off = [f"-DBLAKE3_NO_{name}" for name in ("SSE2", "SSE41", "AVX2", "AVX512")]
    with tempfile.TemporaryDirectory() as scratch:
        made = Path(scratch) / "blake3.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", *off, *sources, "-o", made], check=True)
        return ctypes.CDLL(str(made))


def blake3(content):
    state, digest = ctypes.create_string_buffer(STATE_BYTES), ctypes.create_string_buffer(DIGEST_BYTES)
    library().blake3_hasher_init(state)
    library().blake3_hasher_update(state, bytes(content), ctypes.c_size_t(len(content)))
    library().blake3_hasher_finalize(state, digest, ctypes.c_size_t(DIGEST_BYTES))
    return digest.raw


def repair_header(content, at, section_count):
    """Writes the digest of the header and table at `at` anew into a bytearray."""
    head = bytearray(content[at:at + HEADER_BYTES + section_count * SECTION_BYTES])
    head[HEADER_DIGEST:FILE_DIGEST + DIGEST_BYTES] = bytes(2 * DIGEST_BYTES)
    content[at + HEADER_DIGEST:at + FILE_DIGEST] = blake3(head)


def content_digest(content, at, section_count):
    """Writes the content digest into the header at `at`: kind, name, length and digest of all sections but `created` and the signature."""
    rows = [at + HEADER_BYTES + SECTION_BYTES * index for index in range(section_count)]
    kinds = {row: int.from_bytes(content[row:row + 4], "little") for row in rows}
    told = [content[row:row + 4] + content[row + 16:row + 48] + content[row + 56:row + 64] + content[row + 80:row + 112]
            for row in rows if kinds[row] not in (8, 9)]
    content[at + CONTENT_DIGEST:at + HEADER_DIGEST] = blake3(b"".join(told))


def segments(content):
    """Address, offset and size of the loaded segments of a shared object."""
    table, = struct.unpack_from("<Q", content, 32)
    rows = [struct.unpack_from("<IIQQQQQQ", content, table + 56 * index) for index in range(struct.unpack_from("<H", content, 56)[0])]
    return [(at, offset, size) for kind, _, offset, at, _, size, *_ in rows if kind == 1]


def place_of(content, row):
    """Where the section of the table's row at `row` lies in a shared object or a bundle, and its length."""
    address, length = struct.unpack_from("<QQ", content, row + 48)
    if content[:4] != b"\x7fELF":
        return address, length
    return next(offset + address - at for at, offset, size in segments(content) if at <= address < at + size), length


def repair_file(content, at, section_count):
    """Writes the file digest into the header at `at`: every byte but those of the weights, the digest itself as zeros."""
    content[at + FILE_DIGEST:at + FILE_DIGEST + DIGEST_BYTES] = bytes(DIGEST_BYTES)
    rows = [at + HEADER_BYTES + SECTION_BYTES * index for index in range(section_count)]
    place, length = next((place_of(content, row) for row in rows if struct.unpack_from("<I", content, row)[0] == WEIGHTS), (len(content), 0))
    content[at + FILE_DIGEST:at + FILE_DIGEST + DIGEST_BYTES] = blake3(content[:place] + content[place + length:])
