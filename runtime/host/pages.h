// SPDX-License-Identifier: Apache-2.0
// Whole pages from the system: zeroed memory, reserved spans and windows of files, unmapped by their owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/status.h"

namespace tiffin::runtime {

uint64_t page_bytes();

// Owns one mapped span. `data` may lie inside the span, where the bytes asked for begin.
class Pages {
 public:
  Pages() = default;
  Pages(void* base, size_t mapped_bytes, uint8_t* data) : base_(base), mapped_bytes_(mapped_bytes), data_(data) {}
  Pages(Pages&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)),
        mapped_bytes_(std::exchange(other.mapped_bytes_, 0)),
        data_(std::exchange(other.data_, nullptr)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(mapped_bytes_, other.mapped_bytes_);
    std::swap(data_, other.data_);
    return *this;
  }
  ~Pages();

  uint8_t* data() const { return data_; }
  size_t mapped_bytes() const { return mapped_bytes_; }

 private:
  void* base_ = nullptr;
  size_t mapped_bytes_ = 0;
  uint8_t* data_ = nullptr;
};

// Zeroed, readable and writable, page-aligned; from 4 MiB on aligned to 2 MiB and advised to use huge pages. OutOfMemory.
// Zero bytes give one page, so that data() is never null.
Result<Pages> allocate_pages(uint64_t bytes);

// An inaccessible span of `bytes`, its data aligned to `alignment` (a power of two). OutOfMemory.
Result<Pages> reserve_pages(uint64_t bytes, uint64_t alignment);

// Reads pages of a mapping ahead of their first use, as far as the system can; Io when the file behind them is gone or damaged.
Status populate_pages(std::span<const uint8_t> bytes);

}  // namespace tiffin::runtime
