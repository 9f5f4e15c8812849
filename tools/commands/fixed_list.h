// SPDX-License-Identifier: Apache-2.0
// A list whose length is chosen once, for items that own something.
#pragma once

#include <cstdlib>
#include <new>
#include <utility>

#include "base/status.h"

namespace tiffin::tools {

template <class T>
class FixedList {
 public:
  FixedList() = default;
  FixedList(FixedList&& other) noexcept : items_(std::exchange(other.items_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  FixedList& operator=(FixedList&& other) noexcept {
    std::swap(items_, other.items_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~FixedList() {
    for (size_t i = 0; i < size_; ++i) items_[i].~T();
    free(items_);
  }

  // Precondition: empty. Makes `size` default items; OutOfMemory.
  Status create(size_t size) {
    size_t bytes = 0;
    if (!__builtin_mul_overflow(size, sizeof(T), &bytes)) items_ = static_cast<T*>(malloc(bytes == 0 ? 1 : bytes));
    if (items_ == nullptr) return error(Code::OutOfMemory, "no memory for a list of %zu items", size);
    size_ = size;
    for (size_t i = 0; i < size; ++i) new (items_ + i) T();
    return {};
  }

  size_t size() const { return size_; }
  T& operator[](size_t index) { return items_[index]; }
  const T& operator[](size_t index) const { return items_[index]; }
  T* begin() { return items_; }
  T* end() { return items_ + size_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + size_; }

 private:
  T* items_ = nullptr;
  size_t size_ = 0;
};

}  // namespace tiffin::tools
