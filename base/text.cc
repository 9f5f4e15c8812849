// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"

#include <algorithm>
#include <cstdio>

namespace tiffin {

void Text::add(std::string_view text) {
  const bool is_whole = bytes_.append(std::span<const char>(text.data(), text.size())) && bytes_.append('\0');
  has_failed_ |= !is_whole;
  if (bytes_.empty()) return;
  bytes_.back() = 0;
  bytes_.pop();
}

void Text::add_number(int64_t value) {
  char digits[24];
  const int length = snprintf(digits, sizeof(digits), "%lld", static_cast<long long>(value));
  add({digits, static_cast<size_t>(length)});
}

void Text::add_type(DType dtype, std::span<const int64_t> shape) {
  add(dtype_name(dtype));
  add_shape(shape);
}

void Text::add_shape(std::span<const int64_t> shape) {
  add("[");
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) add(",");
    add_number(shape[axis]);
  }
  add("]");
}

void Text::add_list(const char* format, va_list arguments) {
  char piece[1024];
  const int length = vsnprintf(piece, sizeof(piece), format, arguments);
  if (length > 0) add({piece, std::min(static_cast<size_t>(length), sizeof(piece) - 1)});
}

void Text::add_format(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  add_list(format, arguments);
  va_end(arguments);
}

void Text::add_item(const char* format, ...) {
  if (!empty()) add(", ");
  va_list arguments;
  va_start(arguments, format);
  add_list(format, arguments);
  va_end(arguments);
}

void Text::add_key(std::string_view key) {
  add(key);
  add({"", 1});
}

void Text::add_quoted(std::string_view name) {
  add("'");
  size_t done = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto byte = static_cast<unsigned char>(name[i]);
    if (byte >= 0x20 && byte != 0x7f) continue;
    add({name.data() + done, i - done});
    char escape[8];
    snprintf(escape, sizeof(escape), "\\x%02x", byte);
    add(escape);
    done = i + 1;
  }
  add({name.data() + done, name.size() - done});
  add("'");
}

}  // namespace tiffin
