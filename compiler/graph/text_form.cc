// SPDX-License-Identifier: Apache-2.0
#include "compiler/graph/text_form.h"

#include <charconv>
#include <cmath>

namespace tiffin::graph {
namespace {

constexpr int64_t kMaxListed = 64;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <class T>
void append_bytes(T value, std::vector<uint8_t>* out) {
  const auto* first = reinterpret_cast<const uint8_t*>(&value);
  out->insert(out->end(), first, first + sizeof(T));
}

template <class T>
bool append_integer(std::string_view text, std::vector<uint8_t>* out) {
  T value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return false;
  append_bytes(value, out);
  return true;
}

bool read_double(std::string_view text, double* out) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return failure == std::errc() && end == text.data() + text.size();
}

// A number of its own for float, so that it is rounded once.
bool read_float(std::string_view text, float* out) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return failure == std::errc() && end == text.data() + text.size();
}

// Shortest decimal of a float or double, "nan", "inf", "-inf".
template <class T>
std::string shortest(T value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), value).ptr;
  return {text, end};
}

// Element i as a number; "" when the dtype has no number form.
std::string element_text(const Tensor& tensor, int64_t i) {
  switch (tensor.dtype()) {
    case DType::Float32:
      return shortest(tensor.at<float>(i));
    case DType::Float64:
      return shortest(tensor.at<double>(i));
    case DType::Float16:
      return shortest(half_to_float(tensor.at<uint16_t>(i)));
    case DType::BFloat16:
      return shortest(bfloat16_to_float(tensor.at<uint16_t>(i)));
    case DType::Int8:
      return std::to_string(tensor.at<int8_t>(i));
    case DType::Int16:
      return std::to_string(tensor.at<int16_t>(i));
    case DType::Int32:
      return std::to_string(tensor.at<int32_t>(i));
    case DType::Int64:
      return std::to_string(tensor.at<int64_t>(i));
    case DType::Bool:
    case DType::UInt8:
      return std::to_string(tensor.at<uint8_t>(i));
    case DType::UInt16:
      return std::to_string(tensor.at<uint16_t>(i));
    case DType::UInt32:
      return std::to_string(tensor.at<uint32_t>(i));
    case DType::UInt64:
      return std::to_string(tensor.at<uint64_t>(i));
    default:
      return "";
  }
}

// The number of element i when it reads back as the same bits (a NaN's payload does not); else "".
std::string exact_element_text(const Tensor& tensor, int64_t i) {
  const std::string text = element_text(tensor, i);
  std::vector<uint8_t> bytes;
  if (text.empty() || !append_number(tensor.dtype(), text, &bytes)) return "";
  return memcmp(bytes.data(), tensor.bytes().data() + static_cast<size_t>(i) * bytes.size(), bytes.size()) == 0 ? text : "";
}

std::string raw_text(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "raw(\"";
  for (const uint8_t byte : bytes) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out + "\")";
}

// Vigna's splitmix64.
uint64_t next_random(uint64_t* state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace

bool is_plain_value_name(std::string_view name) {
  for (const char c : name) {
    if (!is_letter(c) && !is_digit(c) && c != '.' && c != '/' && c != '-') return false;
  }
  return !name.empty() && name.find("//") == std::string_view::npos;  // "//" begins a comment
}

bool is_plain_symbol_name(std::string_view name) {
  for (const char c : name) {
    if (!is_letter(c) && !is_digit(c) && c != '.') return false;
  }
  // These words are marks and numbers of the text.
  return !name.empty() && is_letter(name.front()) && name != "_" && name != "inf" && name != "nan";
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 32 || c == 127) {
      char escape[8];
      snprintf(escape, sizeof(escape), "\\x%02x", static_cast<unsigned char>(c));
      out += escape;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string float_text(double value) {
  std::string text = std::isnan(value) ? "nan" : shortest(value);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

bool is_uniform(const Tensor& tensor) {
  const int64_t count = tensor.num_elements();
  const int bits = dtype_bits(tensor.dtype());
  if (count < 2 || bits < 8) return false;
  const size_t size = static_cast<size_t>(bits) / 8;
  const std::span<const uint8_t> bytes = tensor.bytes();
  return memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) == 0;
}

std::string tensor_text(const Tensor& tensor) {
  const int64_t count = tensor.num_elements();
  if (is_uniform(tensor)) {
    const std::string element = exact_element_text(tensor, 0);
    if (!element.empty()) return "fill(" + element + ")";
  }
  if (count > kMaxListed) return raw_text(tensor.bytes());
  std::string out = "[";
  for (int64_t i = 0; i < count; ++i) {
    const std::string element = exact_element_text(tensor, i);
    if (element.empty()) return raw_text(tensor.bytes());
    out += (i > 0 ? ", " : "") + element;
  }
  return out + "]";
}

bool append_number(DType dtype, std::string_view number, std::vector<uint8_t>* out) {
  float single = 0;
  double value = 0;
  switch (dtype) {
    case DType::Float32:
      if (!read_float(number, &single)) return false;
      return append_bytes(single, out), true;
    case DType::Float64:
      if (!read_double(number, &value)) return false;
      return append_bytes(value, out), true;
    case DType::Float16:
      if (!read_float(number, &single)) return false;
      return append_bytes(float_to_half(single), out), true;
    case DType::BFloat16:
      if (!read_float(number, &single)) return false;
      return append_bytes(float_to_bfloat16(single), out), true;
    case DType::Int8:
      return append_integer<int8_t>(number, out);
    case DType::Int16:
      return append_integer<int16_t>(number, out);
    case DType::Int32:
      return append_integer<int32_t>(number, out);
    case DType::Int64:
      return append_integer<int64_t>(number, out);
    case DType::Bool:
    case DType::UInt8:
      return append_integer<uint8_t>(number, out);
    case DType::UInt16:
      return append_integer<uint16_t>(number, out);
    case DType::UInt32:
      return append_integer<uint32_t>(number, out);
    case DType::UInt64:
      return append_integer<uint64_t>(number, out);
    default:
      return false;
  }
}

bool append_random(DType dtype, uint64_t seed, int64_t count, std::vector<uint8_t>* out) {
  uint64_t state = seed;
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = next_random(&state);
    const auto value = static_cast<float>(static_cast<double>(bits >> 40) * 0x1p-23 - 1.0);
    const auto small = static_cast<int8_t>(bits & 15);
    switch (dtype) {
      case DType::Float32:
        append_bytes(value, out);
        break;
      case DType::Float64:
        append_bytes(static_cast<double>(value), out);
        break;
      case DType::Float16:
        append_bytes(float_to_half(value), out);
        break;
      case DType::BFloat16:
        append_bytes(float_to_bfloat16(value), out);
        break;
      case DType::Int8:
        append_bytes(static_cast<int8_t>(small - 8), out);
        break;
      case DType::Int16:
        append_bytes(static_cast<int16_t>(small - 8), out);
        break;
      case DType::Int32:
        append_bytes(static_cast<int32_t>(small - 8), out);
        break;
      case DType::Int64:
        append_bytes(static_cast<int64_t>(small - 8), out);
        break;
      case DType::Bool:
        append_bytes(static_cast<uint8_t>(small & 1), out);
        break;
      case DType::UInt8:
        append_bytes(static_cast<uint8_t>(small), out);
        break;
      case DType::UInt16:
        append_bytes(static_cast<uint16_t>(small), out);
        break;
      case DType::UInt32:
        append_bytes(static_cast<uint32_t>(small), out);
        break;
      case DType::UInt64:
        append_bytes(static_cast<uint64_t>(small), out);
        break;
      default:
        return false;
    }
  }
  return true;
}

}  // namespace tiffin::graph
