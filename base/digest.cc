// SPDX-License-Identifier: Apache-2.0
#include "base/digest.h"

#include <new>

#include "blake3.h"

namespace tiffin {
namespace {

blake3_hasher* state_of(unsigned char* bytes) { return std::launder(reinterpret_cast<blake3_hasher*>(bytes)); }

}  // namespace

static_assert(sizeof(blake3_hasher) <= sizeof(Hasher));

DigestText to_text(const Digest& digest) {
  DigestText out{};
  for (size_t i = 0; i < digest.bytes.size(); ++i) {
    out.text[2 * i] = "0123456789abcdef"[digest.bytes[i] >> 4];
    out.text[2 * i + 1] = "0123456789abcdef"[digest.bytes[i] & 15];
  }
  return out;
}

Hasher::Hasher() { blake3_hasher_init(new (state_) blake3_hasher); }

void Hasher::update(std::span<const uint8_t> bytes) { blake3_hasher_update(state_of(state_), bytes.data(), bytes.size()); }

void Hasher::update_u64(uint64_t value) {
  uint8_t bytes[8];
  for (int i = 0; i < 8; ++i) bytes[i] = static_cast<uint8_t>(value >> (8 * i));
  update(bytes);
}

Digest Hasher::finish() const {
  Digest digest;
  blake3_hasher_finalize(state_of(const_cast<unsigned char*>(state_)), digest.bytes.data(), digest.bytes.size());
  return digest;
}

Digest digest_of(std::span<const uint8_t> bytes) {
  Hasher hasher;
  hasher.update(bytes);
  return hasher.finish();
}

Hasher tensor_hasher(DType dtype, std::span<const int64_t> shape) {
  Hasher hasher;
  hasher.update_u64(static_cast<uint64_t>(dtype));
  hasher.update_u64(shape.size());
  for (const int64_t extent : shape) hasher.update_u64(static_cast<uint64_t>(extent));
  return hasher;
}

Digest tensor_digest(DType dtype, std::span<const int64_t> shape, std::span<const uint8_t> bytes) {
  Hasher hasher = tensor_hasher(dtype, shape);
  hasher.update(bytes);
  return hasher.finish();
}

}  // namespace tiffin
