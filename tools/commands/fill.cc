// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/fill.h"

#include <cerrno>
#include <cmath>
#include <cstring>

namespace tiffin::tools {
namespace {

// A float format of at most 16 bits: sign, exponent, mantissa.
struct SmallFloat {
  int exponent_bits, mantissa_bits, bias;
  bool has_sign;
};

// Round to nearest even; the values that the fills use lie far inside every format's range but for FP4's, which saturates at its largest.
uint16_t encode(double value, const SmallFloat& format) {
  const int largest_exponent = (1 << format.exponent_bits) - 1;
  const auto sign = static_cast<uint16_t>(format.has_sign && std::signbit(value) ? 1 << (format.exponent_bits + format.mantissa_bits) : 0);
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  exponent = exponent - 1 + format.bias;
  if (exponent < 1) exponent = 1;  // subnormal
  const double units = std::nearbyint(std::ldexp(magnitude, format.mantissa_bits - (exponent - format.bias)));
  // A mantissa that rounds up to the next power of two carries into the exponent by itself.
  const auto bits = static_cast<int64_t>(units) + (static_cast<int64_t>(exponent - 1) << format.mantissa_bits);
  const int64_t top = (static_cast<int64_t>(largest_exponent) << format.mantissa_bits) + (1 << format.mantissa_bits) - 1;
  return static_cast<uint16_t>(sign | (bits < top ? bits : top));
}

bool small_float_of(DType dtype, SmallFloat* out) {
  switch (dtype) {
    case DType::Float16:
      *out = {5, 10, 15, true};
      return true;
    case DType::BFloat16:
      *out = {8, 7, 127, true};
      return true;
    case DType::Float8E4M3FN:
      *out = {4, 3, 7, true};
      return true;
    case DType::Float8E4M3FNUZ:
      *out = {4, 3, 8, true};
      return true;
    case DType::Float8E5M2:
      *out = {5, 2, 15, true};
      return true;
    case DType::Float8E5M2FNUZ:
      *out = {5, 2, 16, true};
      return true;
    case DType::Float4E2M1:
      *out = {2, 1, 1, true};
      return true;
    default:
      return false;
  }
}

template <class T>
void put(HostTensor& tensor, uint64_t index, T value) {
  memcpy(tensor.bytes() + index * sizeof(T), &value, sizeof(T));
}

void put_packed(HostTensor& tensor, uint64_t index, int bits, unsigned element) {
  const auto per_byte = static_cast<uint64_t>(8 / bits);
  tensor.bytes()[index / per_byte] |= static_cast<uint8_t>(element << (index % per_byte * static_cast<uint64_t>(bits)));
}

// Powers of two alone: the nearest one, 2^-127 for what has none.
uint8_t encode_power(double value) {
  if (value <= 0) return 0;
  const double exponent = std::nearbyint(std::log2(value)) + 127;
  return static_cast<uint8_t>(exponent < 0 ? 0 : exponent > 254 ? 254 : exponent);
}

void put_float(HostTensor& tensor, uint64_t index, double value) {
  SmallFloat format{};
  if (tensor.dtype() == DType::Float32) return put(tensor, index, static_cast<float>(value));
  if (tensor.dtype() == DType::Float64) return put(tensor, index, value);
  if (tensor.dtype() == DType::Float8E8M0) return put(tensor, index, encode_power(std::fabs(value)));
  if (!small_float_of(tensor.dtype(), &format)) return;
  // The FNUZ formats have no negative zero: its bits are their NaN.
  uint16_t bits = encode(value, format);
  const uint16_t sign = static_cast<uint16_t>(1u << (format.exponent_bits + format.mantissa_bits));
  const bool is_fnuz = tensor.dtype() == DType::Float8E4M3FNUZ || tensor.dtype() == DType::Float8E5M2FNUZ;
  if (is_fnuz && bits == sign) bits = 0;
  const int width = dtype_bits(tensor.dtype());
  if (width == 16) return put(tensor, index, bits);
  if (width == 8) return put(tensor, index, static_cast<uint8_t>(bits));
  put_packed(tensor, index, width, bits);
}

void put_int(HostTensor& tensor, uint64_t index, unsigned value) {
  switch (dtype_bits(tensor.dtype())) {
    case 64:
      return put(tensor, index, static_cast<uint64_t>(value));
    case 32:
      return put(tensor, index, static_cast<uint32_t>(value));
    case 16:
      return put(tensor, index, static_cast<uint16_t>(value));
    case 8:
      return put(tensor, index, static_cast<uint8_t>(value));
    default:
      return put_packed(tensor, index, dtype_bits(tensor.dtype()), value);
  }
}

enum class Class : uint8_t { Float, Int, Complex, None };

Class class_of(DType dtype) {
  SmallFloat ignored{};
  if (dtype == DType::Float32 || dtype == DType::Float64 || dtype == DType::Float8E8M0 || small_float_of(dtype, &ignored)) return Class::Float;
  if (dtype == DType::Complex64 || dtype == DType::Complex128) return Class::Complex;
  if (dtype == DType::String || dtype == DType::Undefined) return Class::None;
  return Class::Int;
}

unsigned int_limit(DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return 2;
    case DType::Int2:
      return 2;
    case DType::UInt2:
      return 4;
    case DType::Int4:
      return 8;
    default:
      return 10;
  }
}

void put_complex(HostTensor& tensor, uint64_t index, double real, double imaginary) {
  if (tensor.dtype() == DType::Complex128) {
    const double parts[2] = {real, imaginary};
    memcpy(tensor.bytes() + index * sizeof parts, parts, sizeof parts);
  } else {
    const float parts[2] = {static_cast<float>(real), static_cast<float>(imaginary)};
    memcpy(tensor.bytes() + index * sizeof parts, parts, sizeof parts);
  }
}

}  // namespace

Result<Fill> parse_fill(const char* text) {
  if (strcmp(text, "zeros") == 0) return Fill{FillKind::Zeros, 0};
  if (strcmp(text, "ones") == 0) return Fill{FillKind::Ones, 0};
  if (strcmp(text, "random") == 0) return Fill{FillKind::Random, 0};
  if (strncmp(text, "random:", 7) == 0 && text[7] >= '0' && text[7] <= '9') {
    char* end = nullptr;
    errno = 0;
    const unsigned long long seed = strtoull(text + 7, &end, 10);
    if (*end == 0 && errno == 0) return Fill{FillKind::Random, seed};
  }
  return error(Code::InvalidArgument, "--fill is '%s', random:SEED, zeros or ones is expected", text);
}

uint64_t RandomStream::next() {
  state += 0x9E3779B97F4A7C15u;
  uint64_t mixed = state;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
  return mixed ^ (mixed >> 31);
}

double RandomStream::next_normal() {
  if (has_spare) {
    has_spare = false;
    return spare;
  }
  constexpr double kUnit = 1.0 / 9007199254740992.0;                     // 2^-53
  const double first = (static_cast<double>(next() >> 11) + 1) * kUnit;  // in (0, 1]
  const double angle = static_cast<double>(next() >> 11) * kUnit * 6.283185307179586;
  const double radius = std::sqrt(-2 * std::log(first));
  spare = radius * std::sin(angle);
  has_spare = true;
  return radius * std::cos(angle);
}

Status fill_tensor(const Fill& fill, RandomStream& stream, HostTensor& tensor) {
  const Class kind = class_of(tensor.dtype());
  if (kind == Class::None) return error(Code::UnsupportedType, "%s cannot be filled", type_text(tensor).text);
  const bool is_random = fill.kind == FillKind::Random;
  if (!is_random && fill.kind != FillKind::Ones && tensor.dtype() != DType::Float8E8M0) return {};  // fresh arrays are zeros
  const double constant = fill.kind == FillKind::Ones ? 1 : 0;
  for (uint64_t i = 0; i < tensor.num_elements(); ++i) {
    if (kind == Class::Float) {
      put_float(tensor, i, is_random ? stream.next_normal() : constant);
    } else if (kind == Class::Complex) {
      const double real = is_random ? stream.next_normal() : constant;
      put_complex(tensor, i, real, is_random ? stream.next_normal() : 0);
    } else {
      put_int(tensor, i, is_random ? static_cast<unsigned>(stream.next() % int_limit(tensor.dtype())) : static_cast<unsigned>(constant));
    }
  }
  return {};
}

}  // namespace tiffin::tools
