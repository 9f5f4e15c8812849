// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/scalar.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace tiffin::kernel {
namespace {

template <class T>
T from_bits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);  // little-endian hosts only, like every target
  return value;
}

template <class T>
uint64_t to_bits(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

// Calls `f` with a value of the C++ type that stands for an integer dtype or Bool.
template <class F>
uint64_t with_integer(DType dtype, F f) {
  switch (dtype) {
    case DType::Bool:
    case DType::UInt8:
      return f(uint8_t{});
    case DType::Int8:
      return f(int8_t{});
    case DType::Int16:
      return f(int16_t{});
    case DType::UInt16:
    case DType::Float16:
    case DType::BFloat16:
      return f(uint16_t{});
    case DType::Int32:
      return f(int32_t{});
    case DType::UInt32:
      return f(uint32_t{});
    case DType::Int64:
      return f(int64_t{});
    default:
      return f(uint64_t{});
  }
}

float widen_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16, magnitude = half & 0x7FFFu;
  if (magnitude < 0x400u) return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24f));
  const uint32_t bias = magnitude >= 0x7C00u ? 224u << 23 : 112u << 23;
  return std::bit_cast<float>(sign | ((magnitude << 13) + bias));
}

uint16_t narrow_to_half(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) return static_cast<uint16_t>(sign | 0x7E00u);
  if (magnitude >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7C00u);
  if (magnitude < 0x38800000u) {  // subnormal: the unit of 0.5's last place is the least float16
    const uint32_t rounded = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000u;
    return static_cast<uint16_t>(sign | rounded);
  }
  const uint32_t even = magnitude + 0xFFFu + ((magnitude >> 13) & 1u) - (112u << 23);
  return static_cast<uint16_t>(sign | (even >> 13));
}

uint16_t narrow_to_bfloat(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16);
}

// Round to odd: a second rounding to a narrower float then gives what one rounding gives (Boldo and Melquiond, 2008).
float narrow_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = static_cast<double>(nearest);
  const uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (std::isnan(value) || back == value || (bits & 1u) != 0) return nearest;
  return std::bit_cast<float>(std::fabs(back) > std::fabs(value) ? bits - 1 : bits + 1);
}

template <class T>
T minimum(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  if (a == b) return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

template <class T>
T maximum(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<T>::quiet_NaN();
  if (a == b) return std::signbit(a) ? b : a;
  return a > b ? a : b;
}

template <class T>
uint64_t float_unary(UnaryOp op, T a) {
  switch (op) {
    case UnaryOp::Neg:
      return to_bits(-a);
    case UnaryOp::Abs:
      return to_bits(std::fabs(a));
    case UnaryOp::Sqrt:
      return to_bits(std::sqrt(a));
    case UnaryOp::Floor:
      return to_bits(std::floor(a));
    case UnaryOp::Ceil:
      return to_bits(std::ceil(a));
    case UnaryOp::Trunc:
      return to_bits(std::trunc(a));
    case UnaryOp::RoundEven:
      return to_bits(std::nearbyint(a));
    default:
      return to_bits(a);
  }
}

template <class T>
uint64_t float_binary(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::Add:
      return to_bits(a + b);
    case BinaryOp::Sub:
      return to_bits(a - b);
    case BinaryOp::Mul:
      return to_bits(a * b);
    case BinaryOp::Div:
      return to_bits(a / b);
    case BinaryOp::Mod:
      return to_bits(std::fmod(a, b));
    case BinaryOp::Min:
      return to_bits(minimum(a, b));
    case BinaryOp::Max:
      return to_bits(maximum(a, b));
    case BinaryOp::Equal:
      return a == b;
    case BinaryOp::Less:
      return a < b;
    case BinaryOp::LessEqual:
      return a <= b;
    default:
      return 0;
  }
}

template <class T>
uint64_t integer_unary(UnaryOp op, T a) {
  using U = std::make_unsigned_t<T>;
  switch (op) {
    case UnaryOp::Neg:
      return to_bits(static_cast<U>(0u - static_cast<U>(a)));
    case UnaryOp::Abs:
      return to_bits(static_cast<U>(a < 0 ? 0u - static_cast<U>(a) : static_cast<U>(a)));
    case UnaryOp::Not:
      return to_bits(static_cast<U>(~a));
    default:
      return to_bits(a);
  }
}

template <class T>
T divide(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(std::make_unsigned_t<T>{0} - static_cast<std::make_unsigned_t<T>>(a));
  }
  return static_cast<T>(a / b);
}

template <class T>
T remainder(T a, T b) {
  if (b == 0) return 0;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  return static_cast<T>(a % b);
}

template <class T>
T shift_right(T a, T b) {
  constexpr int kBits = sizeof(T) * 8;
  const uint64_t amount = static_cast<std::make_unsigned_t<T>>(b);
  if (amount >= kBits) return a < 0 ? static_cast<T>(-1) : static_cast<T>(0);
  return static_cast<T>(a >> amount);
}

template <class T>
T shift_left(T a, T b) {
  constexpr int kBits = sizeof(T) * 8;
  const uint64_t amount = static_cast<std::make_unsigned_t<T>>(b);
  if (amount >= kBits) return 0;
  return static_cast<T>(static_cast<uint64_t>(static_cast<std::make_unsigned_t<T>>(a)) << amount);
}

template <class T>
uint64_t integer_binary(BinaryOp op, T a, T b) {
  // 64-bit unsigned arithmetic: its low bits are those of every narrower type, and nothing overflows.
  const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
  switch (op) {
    case BinaryOp::Add:
      return to_bits(static_cast<T>(x + y));
    case BinaryOp::Sub:
      return to_bits(static_cast<T>(x - y));
    case BinaryOp::Mul:
      return to_bits(static_cast<T>(x * y));
    case BinaryOp::Div:
      return to_bits(divide(a, b));
    case BinaryOp::Mod:
      return to_bits(remainder(a, b));
    case BinaryOp::Min:
      return to_bits(a < b ? a : b);
    case BinaryOp::Max:
      return to_bits(a > b ? a : b);
    case BinaryOp::And:
      return to_bits(static_cast<T>(a & b));
    case BinaryOp::Or:
      return to_bits(static_cast<T>(a | b));
    case BinaryOp::Xor:
      return to_bits(static_cast<T>(a ^ b));
    case BinaryOp::Shl:
      return to_bits(shift_left(a, b));
    case BinaryOp::Shr:
      return to_bits(shift_right(a, b));
    case BinaryOp::Equal:
      return a == b;
    case BinaryOp::Less:
      return a < b;
    case BinaryOp::LessEqual:
      return a <= b;
  }
  return 0;
}

// Truncates, saturates, NaN gives 0.
template <class T>
T saturate(double value) {
  if (std::isnan(value)) return 0;
  constexpr double kBelow = static_cast<double>(std::numeric_limits<T>::min());
  const double above = std::ldexp(1.0, std::numeric_limits<T>::digits);  // the least value too large
  if (value <= kBelow) return std::numeric_limits<T>::min();
  if (value >= above) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

uint64_t cast_integer(DType from, DType to, uint64_t bits) {
  const int64_t value = integer_value(from, bits);
  if (!is_standard_float(to)) return integer_bits(to, value);
  if (from == DType::UInt64) {
    if (to == DType::Float64) return to_bits(static_cast<double>(bits));
    return apply_cast(DType::Float32, to, to_bits(static_cast<float>(bits)));
  }
  if (to == DType::Float64) return to_bits(static_cast<double>(value));
  return apply_cast(DType::Float32, to, to_bits(static_cast<float>(value)));  // 16-bit floats by way of Float32
}

}  // namespace

bool is_kernel_dtype(DType dtype) { return dtype == DType::Bool || is_standard_float(dtype) || is_standard_int(dtype); }

int element_bytes(DType dtype) { return dtype_bits(dtype) / 8; }

uint64_t integer_bits(DType dtype, int64_t value) {
  const int bits = dtype_bits(dtype);
  if (bits >= 64) return static_cast<uint64_t>(value);
  return static_cast<uint64_t>(value) & ((uint64_t{1} << bits) - 1);
}

int64_t integer_value(DType dtype, uint64_t bits) {
  if (!is_signed_int(dtype)) return static_cast<int64_t>(bits);
  const int unused = 64 - dtype_bits(dtype);
  return static_cast<int64_t>(bits << unused) >> unused;
}

uint64_t float_bits(DType dtype, double value) {
  switch (dtype) {
    case DType::Float64:
      return to_bits(value);
    case DType::Float32:
      return to_bits(static_cast<float>(value));
    case DType::Float16:
      return narrow_to_half(narrow_to_odd(value));
    default:
      return narrow_to_bfloat(narrow_to_odd(value));
  }
}

double float_value(DType dtype, uint64_t bits) {
  switch (dtype) {
    case DType::Float64:
      return from_bits<double>(bits);
    case DType::Float32:
      return static_cast<double>(from_bits<float>(bits));
    case DType::Float16:
      return static_cast<double>(widen_half(static_cast<uint16_t>(bits)));
    default:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits) << 16));
  }
}

bool is_nan(DType dtype, uint64_t bits) { return is_standard_float(dtype) && std::isnan(float_value(dtype, bits)); }

uint64_t apply_unary(UnaryOp op, DType dtype, uint64_t a) {
  if (op == UnaryOp::BitCast) return a;
  if (dtype == DType::Float32) return float_unary(op, from_bits<float>(a));
  if (dtype == DType::Float64) return float_unary(op, from_bits<double>(a));
  if (dtype == DType::Bool) return a ^ 1u;
  return with_integer(dtype, [&]<class T>(T) { return integer_unary(op, from_bits<T>(a)); });
}

uint64_t apply_binary(BinaryOp op, DType dtype, uint64_t a, uint64_t b) {
  if (dtype == DType::Float32) return float_binary(op, from_bits<float>(a), from_bits<float>(b));
  if (dtype == DType::Float64) return float_binary(op, from_bits<double>(a), from_bits<double>(b));
  return with_integer(dtype, [&]<class T>(T) { return integer_binary(op, from_bits<T>(a), from_bits<T>(b)); });
}

uint64_t apply_fma(DType dtype, uint64_t a, uint64_t b, uint64_t c, bool fused) {
  if (dtype == DType::Float32) {
    const float x = from_bits<float>(a), y = from_bits<float>(b), z = from_bits<float>(c);
    return to_bits(fused ? std::fma(x, y, z) : x * y + z);
  }
  const double x = from_bits<double>(a), y = from_bits<double>(b), z = from_bits<double>(c);
  return to_bits(fused ? std::fma(x, y, z) : x * y + z);
}

uint64_t apply_cast(DType from, DType to, uint64_t bits) {
  if (from == to) return bits;
  if (!is_standard_float(from)) return to == DType::Bool ? bits != 0 : cast_integer(from, to, bits);
  const double value = float_value(from, bits);
  if (to == DType::Bool) return value != 0;
  if (is_standard_float(to)) return float_bits(to, value);
  return with_integer(to, [&]<class T>(T) { return to_bits(saturate<T>(value)); });
}

}  // namespace tiffin::kernel
