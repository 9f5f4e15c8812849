// SPDX-License-Identifier: Apache-2.0
// BLAKE3-256 (https://github.com/BLAKE3-team/BLAKE3-specs), computed by the algorithm's own C sources.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/dtype.h"

namespace tiffin {

struct Digest {
  std::array<uint8_t, 32> bytes{};
  bool operator==(const Digest&) const = default;
};

// Lower-case hexadecimal, NUL terminated.
struct DigestText {
  char text[65];
};
DigestText to_text(const Digest& digest);

// Incremental hashing; not thread-safe.
class Hasher {
 public:
  Hasher();
  void update(std::span<const uint8_t> bytes);
  void update_u64(uint64_t value);  // eight bytes, little-endian
  Digest finish() const;

 private:
  alignas(8) unsigned char state_[1912];
};

Digest digest_of(std::span<const uint8_t> bytes);

// Identity of a tensor: BLAKE3 over u64 dtype code, u64 rank, i64 per dimension, then the compact row-major bytes. `tensor_hasher`
// has taken all but the bytes.
Hasher tensor_hasher(DType dtype, std::span<const int64_t> shape);
Digest tensor_digest(DType dtype, std::span<const int64_t> shape, std::span<const uint8_t> bytes);

}  // namespace tiffin
