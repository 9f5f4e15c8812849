// SPDX-License-Identifier: Apache-2.0
// Builds a text of any length piece by piece; running out of memory is remembered instead of reported at each piece.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/array.h"
#include "base/dtype.h"

namespace tiffin {

class Text {
 public:
  void add(std::string_view text);
  void add_number(int64_t value);
  // "[128,64]"; a scalar's is "[]".
  void add_shape(std::span<const int64_t> shape);
  // "float32[128,64]"
  void add_type(DType dtype, std::span<const int64_t> shape);
  // What printf makes of them, cut at 1023 bytes; add_item puts ", " before every item but the first.
  void add_format(const char* format, ...) __attribute__((format(printf, 2, 3)));
  void add_item(const char* format, ...) __attribute__((format(printf, 2, 3)));
  // The bytes and a NUL behind them: a text of keys is what Status::with_details takes.
  void add_key(std::string_view key);
  // The name in single quotes, control characters as \xNN.
  void add_quoted(std::string_view name);

  bool empty() const { return bytes_.empty(); }
  bool has_failed() const { return has_failed_; }
  size_t size() const { return bytes_.size(); }
  std::string_view view() const { return {bytes_.data(), bytes_.size()}; }
  // NUL terminated; valid until the next change.
  const char* c_str() const { return bytes_.empty() ? "" : bytes_.data(); }

 private:
  void add_list(const char* format, va_list arguments);
  Array<char> bytes_;  // a NUL behind them
  bool has_failed_ = false;
};

}  // namespace tiffin
