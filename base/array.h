// SPDX-License-Identifier: Apache-2.0
// A growable array whose every growth can fail: what takes the place of std::vector where no libstdc++ symbol is allowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

namespace tiffin {

// Owns malloc memory. Elements are moved with realloc, so T is trivially copyable.
template <class T>
class Array {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Array() = default;
  Array(Array&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), capacity_(std::exchange(other.capacity_, 0)) {}
  Array& operator=(Array&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
    return *this;
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { free(data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t index) { return data_[index]; }
  const T& operator[](size_t index) const { return data_[index]; }
  T& back() { return data_[size_ - 1]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  std::span<T> span() { return {data_, size_}; }
  std::span<const T> span() const { return {data_, size_}; }
  void clear() { size_ = 0; }
  void pop() { --size_; }

  // False, and nothing changed, when memory ran out.
  [[nodiscard]] bool reserve(size_t capacity) {
    if (capacity <= capacity_) return true;
    size_t bytes = 0;
    if (__builtin_mul_overflow(capacity, sizeof(T), &bytes)) return false;
    void* grown = realloc(static_cast<void*>(data_), bytes);
    if (grown == nullptr) return false;
    data_ = static_cast<T*>(grown);
    capacity_ = capacity;
    return true;
  }

  [[nodiscard]] bool append(const T& value) {
    const T copy = value;  // `value` may lie in this array
    if (size_ == capacity_ && !reserve(capacity_ < 8 ? 8 : capacity_ + capacity_ / 2)) return false;
    data_[size_++] = copy;
    return true;
  }

  [[nodiscard]] bool append(std::span<const T> values) {
    size_t wanted = 0;
    if (__builtin_add_overflow(size_, values.size(), &wanted)) return false;
    if (wanted > capacity_ && !reserve(wanted > capacity_ + capacity_ / 2 ? wanted : capacity_ + capacity_ / 2)) return false;
    if (!values.empty()) memcpy(static_cast<void*>(data_ + size_), values.data(), values.size() * sizeof(T));
    size_ = wanted;
    return true;
  }

  // Grown elements are zero bytes.
  [[nodiscard]] bool resize(size_t size) {
    if (!reserve(size)) return false;
    if (size > size_) memset(static_cast<void*>(data_ + size_), 0, (size - size_) * sizeof(T));
    size_ = size;
    return true;
  }

  // Grown elements are indeterminate: for memory that is written next.
  [[nodiscard]] bool resize_uninitialized(size_t size) {
    if (!reserve(size)) return false;
    size_ = size;
    return true;
  }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace tiffin
