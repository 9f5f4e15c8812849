// SPDX-License-Identifier: Apache-2.0
// Builds a text of any length piece by piece; running out of memory is remembered instead of reported at each piece.
#pragma once

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
  // "float32[128,64]"; a scalar is "float32[]".
  void add_type(DType dtype, std::span<const int64_t> shape);
  // The name in single quotes, control characters as \xNN.
  void add_quoted(std::string_view name);

  bool empty() const { return bytes_.empty(); }
  bool has_failed() const { return has_failed_; }
  size_t size() const { return bytes_.size(); }
  std::string_view view() const { return {bytes_.data(), bytes_.size()}; }
  // NUL terminated; valid until the next change.
  const char* c_str();

 private:
  Array<char> bytes_;
  bool has_failed_ = false;
};

}  // namespace tiffin
