// SPDX-License-Identifier: Apache-2.0
// Reads little-endian values from a span of bytes; a read past the end makes the reader fail for good instead of touching memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace tiffin {

class ByteReader {
 public:
  explicit ByteReader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  bool has_failed() const { return has_failed_; }
  uint64_t position() const { return position_; }
  uint64_t remaining() const { return bytes_.size() - position_; }

  // The next value of an integer or floating type; zero once the reader has failed.
  template <class T>
  T read() {
    T value{};
    if (const uint8_t* from = take(sizeof(T))) memcpy(&value, from, sizeof(T));
    return value;
  }

  // The next `count` bytes, borrowed; empty once the reader has failed.
  std::span<const uint8_t> read_bytes(uint64_t count) {
    const uint8_t* from = take(count);
    return from == nullptr ? std::span<const uint8_t>{} : std::span<const uint8_t>{from, static_cast<size_t>(count)};
  }

  std::string_view read_text(uint64_t count) {
    const auto bytes = read_bytes(count);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

 private:
  const uint8_t* take(uint64_t count) {
    if (has_failed_ || count > remaining()) {
      has_failed_ = true;
      return nullptr;
    }
    const uint8_t* from = bytes_.data() + position_;
    position_ += count;
    return from;
  }

  std::span<const uint8_t> bytes_;
  uint64_t position_ = 0;
  bool has_failed_ = false;
};

}  // namespace tiffin
