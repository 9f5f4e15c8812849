// SPDX-License-Identifier: Apache-2.0
// Memory that lives as long as its owner: a bump allocator whose failures are null pointers, never exceptions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

namespace tiffin::runtime {

// Zero-initialised memory, freed all at once; no destructor runs. Not thread-safe.
class Arena {
 public:
  Arena() = default;
  Arena(Arena&& other) noexcept : last_(std::exchange(other.last_, nullptr)) {}
  Arena& operator=(Arena&& other) noexcept {
    std::swap(last_, other.last_);
    return *this;
  }
  ~Arena();

  // Null when memory ran out. `alignment` is a power of two, at most 4096; zero bytes give a valid pointer.
  void* allocate_bytes(size_t bytes, size_t alignment = 16);

  // `count` zeroed elements; null when memory ran out or the size overflows.
  template <class T>
  T* allocate(size_t count) {
    size_t bytes = 0;
    if (__builtin_mul_overflow(count, sizeof(T), &bytes)) return nullptr;
    return static_cast<T*>(allocate_bytes(bytes, alignof(T) < 16 ? 16 : alignof(T)));
  }

  // A NUL-terminated copy; null when memory ran out.
  const char* copy_text(std::string_view text);

 private:
  struct Block {
    Block* previous;
    size_t capacity;
    size_t used;
  };
  Block* last_ = nullptr;
};

}  // namespace tiffin::runtime
