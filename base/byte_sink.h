// SPDX-License-Identifier: Apache-2.0
// Where a writer sends its bytes, one after the other: a file (base/atomic_file.h), memory, or something that hashes on the way.
#pragma once

#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/status.h"

namespace tiffin {

// A borrowed reference to something that takes bytes in order.
struct ByteSink {
  void* context = nullptr;
  Status (*write_bytes)(void* context, std::span<const uint8_t> bytes) = nullptr;

  Status write(std::span<const uint8_t> bytes) const { return write_bytes(context, bytes); }
  Status write_zeros(uint64_t count) const {
    static constexpr uint8_t kZeros[4096] = {};
    while (count > 0) {
      const size_t now = count < sizeof(kZeros) ? static_cast<size_t>(count) : sizeof(kZeros);
      TIFFIN_TRY(write({kZeros, now}));
      count -= now;
    }
    return {};
  }
};

// Appends to `out`, which outlives the sink; OutOfMemory.
inline ByteSink memory_sink(Array<uint8_t>& out) {
  return {&out, [](void* context, std::span<const uint8_t> bytes) -> Status {
            if (static_cast<Array<uint8_t>*>(context)->append(bytes)) return {};
            return error(Code::OutOfMemory, "no memory for %zu more bytes of output", bytes.size());
          }};
}

}  // namespace tiffin
