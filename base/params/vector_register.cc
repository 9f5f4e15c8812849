// SPDX-License-Identifier: Apache-2.0
#include "base/params/vector_register.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/float16.h"

namespace tiffin::params {
namespace {

template <class T>
T read_as(const uint8_t* from) {
  T value;
  memcpy(&value, from, sizeof(T));
  return value;
}

template <class T>
void load_integers(VectorRegister& out, const uint8_t* base, const int64_t* offsets, int count) {
  for (int i = 0; i < count; ++i) out.integers[i] = static_cast<int64_t>(read_as<T>(base + offsets[i] * static_cast<int64_t>(sizeof(T))));
}

template <class T>
void store_integers(const VectorRegister& in, uint8_t* out, int count) {
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<T>(in.integers[i]);
    memcpy(out + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
  }
}

// The range of an integer dtype as int64; uint64's upper half is the caller's to treat.
void integer_range(DType dtype, int64_t* out_lowest, int64_t* out_highest) {
  const int bits = dtype_bits(dtype);
  if (is_signed_int(dtype)) {
    *out_lowest = bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1));
    *out_highest = bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1;
  } else {
    *out_lowest = 0;
    *out_highest = bits == 64 ? INT64_MAX : (int64_t{1} << bits) - 1;
  }
}

int64_t float_to_integer(double value, DType dtype) {
  if (value != value) return 0;
  if (dtype == DType::Bool) return value != 0;
  if (dtype == DType::UInt64 && value >= 0x1p63) return std::bit_cast<int64_t>(value >= 0x1p64 ? UINT64_MAX : static_cast<uint64_t>(value));
  int64_t lowest = 0;
  int64_t highest = 0;
  integer_range(dtype, &lowest, &highest);
  if (value <= static_cast<double>(lowest)) return lowest;
  if (value >= static_cast<double>(highest)) return highest;
  return static_cast<int64_t>(value);
}

// Between integers the low bits are kept, as in C.
int64_t integer_to_integer(int64_t value, DType dtype) {
  switch (dtype) {
    case DType::Bool:
      return value != 0;
    case DType::Int8:
      return static_cast<int8_t>(value);
    case DType::UInt8:
      return static_cast<uint8_t>(value);
    case DType::Int16:
      return static_cast<int16_t>(value);
    case DType::UInt16:
      return static_cast<uint16_t>(value);
    case DType::Int32:
      return static_cast<int32_t>(value);
    case DType::UInt32:
      return static_cast<uint32_t>(value);
    default:
      return value;
  }
}

double integer_to_float(int64_t value, bool is_uint64, DType dtype) {
  const auto as_unsigned = static_cast<uint64_t>(value);
  if (dtype == DType::Float32) return is_uint64 ? static_cast<float>(as_unsigned) : static_cast<float>(value);
  // Integers beyond float64's 53 bits are only exact in it after a rounding that float16 and bfloat16 cannot tell from none: odd.
  constexpr uint64_t kExact = uint64_t{1} << 53;
  uint64_t magnitude = is_uint64 || value >= 0 ? as_unsigned : 0 - as_unsigned;
  if (magnitude > kExact && dtype != DType::Float64) magnitude = (magnitude & ~uint64_t{0x7ff}) | ((magnitude & 0x7ff) != 0 ? 0x800u : 0u);
  const auto wide = static_cast<double>(magnitude);
  return round_to(dtype, !is_uint64 && value < 0 ? -wide : wide);
}

// Division of integers is refused with the expression that has it, so its result here does not matter.
template <class T>
T combine(Arithmetic operation, T a, T b) {
  switch (operation) {
    case Arithmetic::Add:
      return a + b;
    case Arithmetic::Subtract:
      return a - b;
    case Arithmetic::Multiply:
      return a * b;
    case Arithmetic::Divide:
      if constexpr (std::is_floating_point_v<T>) return a / b;
      break;
  }
  return 0;
}

}  // namespace

double round_to(DType dtype, double value) {
  switch (dtype) {
    case DType::Float32:
      return static_cast<float>(value);
    case DType::Float16:
      return float16_to_float(float_to_float16(double_to_odd_float(value)));
    case DType::BFloat16:
      return bfloat16_to_float(float_to_bfloat16(double_to_odd_float(value)));
    default:
      return value;
  }
}

void load_elements(VectorRegister& out, DType dtype, const uint8_t* base, const int64_t* offsets, int count) {
  out.dtype = dtype;
  switch (dtype) {
    case DType::Float32:
      for (int i = 0; i < count; ++i) out.floats[i] = read_as<float>(base + offsets[i] * 4);
      return;
    case DType::Float64:
      for (int i = 0; i < count; ++i) out.floats[i] = read_as<double>(base + offsets[i] * 8);
      return;
    case DType::Float16:
      for (int i = 0; i < count; ++i) out.floats[i] = float16_to_float(read_as<uint16_t>(base + offsets[i] * 2));
      return;
    case DType::BFloat16:
      for (int i = 0; i < count; ++i) out.floats[i] = bfloat16_to_float(read_as<uint16_t>(base + offsets[i] * 2));
      return;
    case DType::Bool:
    case DType::UInt8:
      return load_integers<uint8_t>(out, base, offsets, count);
    case DType::Int8:
      return load_integers<int8_t>(out, base, offsets, count);
    case DType::UInt16:
      return load_integers<uint16_t>(out, base, offsets, count);
    case DType::Int16:
      return load_integers<int16_t>(out, base, offsets, count);
    case DType::UInt32:
      return load_integers<uint32_t>(out, base, offsets, count);
    case DType::Int32:
      return load_integers<int32_t>(out, base, offsets, count);
    default:
      return load_integers<int64_t>(out, base, offsets, count);
  }
}

void store_elements(const VectorRegister& in, uint8_t* out, int count) {
  switch (in.dtype) {
    case DType::Float32:
      for (int i = 0; i < count; ++i) {
        const float value = in.floats[i] == in.floats[i] ? static_cast<float>(in.floats[i]) : std::bit_cast<float>(0x7fc00000u);
        memcpy(out + static_cast<size_t>(i) * 4, &value, 4);
      }
      return;
    case DType::Float64:
      for (int i = 0; i < count; ++i) {
        const double value = in.floats[i] == in.floats[i] ? in.floats[i] : std::bit_cast<double>(uint64_t{0x7ff8} << 48);
        memcpy(out + static_cast<size_t>(i) * 8, &value, 8);
      }
      return;
    case DType::Float16:
    case DType::BFloat16:
      for (int i = 0; i < count; ++i) {
        const bool is_half = in.dtype == DType::Float16;
        const auto narrow = static_cast<float>(in.floats[i]);
        uint16_t value = is_half ? float_to_float16(narrow) : float_to_bfloat16(narrow);
        if (narrow != narrow) value = is_half ? 0x7e00 : 0x7fc0;
        memcpy(out + static_cast<size_t>(i) * 2, &value, 2);
      }
      return;
    default:
      break;
  }
  switch (dtype_bits(in.dtype)) {
    case 8:
      return store_integers<uint8_t>(in, out, count);
    case 16:
      return store_integers<uint16_t>(in, out, count);
    case 32:
      return store_integers<uint32_t>(in, out, count);
    default:
      return store_integers<uint64_t>(in, out, count);
  }
}

void cast_elements(VectorRegister& in_out, DType dtype, int count) {
  const DType before = in_out.dtype;
  if (before == dtype) return;
  in_out.dtype = dtype;
  const bool to_float = is_standard_float(dtype);
  if (is_standard_float(before)) {
    for (int i = 0; i < count; ++i) {
      const double value = in_out.floats[i];
      if (to_float) {
        in_out.floats[i] = round_to(dtype, value);
      } else {
        in_out.integers[i] = float_to_integer(value, dtype);
      }
    }
    return;
  }
  for (int i = 0; i < count; ++i) {
    const int64_t value = in_out.integers[i];
    if (to_float) {
      in_out.floats[i] = integer_to_float(value, before == DType::UInt64, dtype);
    } else {
      in_out.integers[i] = integer_to_integer(value, dtype);
    }
  }
}

void apply_arithmetic(Arithmetic operation, VectorRegister& left, const VectorRegister& right, int count) {
  if (left.dtype == DType::Float64) {
    for (int i = 0; i < count; ++i) left.floats[i] = combine(operation, left.floats[i], right.floats[i]);
  } else if (is_standard_float(left.dtype)) {
    // float32 has more than twice the digits of the 16-bit types, so rounding to it first changes nothing (S. Figueroa, "When is double
    // rounding innocuous?").
    for (int i = 0; i < count; ++i) {
      const float wide = combine(operation, static_cast<float>(left.floats[i]), static_cast<float>(right.floats[i]));
      left.floats[i] = left.dtype == DType::Float32 ? wide : round_to(left.dtype, wide);
    }
  } else {
    for (int i = 0; i < count; ++i) {
      const uint64_t wide = combine(operation, static_cast<uint64_t>(left.integers[i]), static_cast<uint64_t>(right.integers[i]));
      left.integers[i] = integer_to_integer(static_cast<int64_t>(wide), left.dtype);
    }
  }
}

void apply_square_root(VectorRegister& in_out, int count) {
  for (int i = 0; i < count; ++i) {
    const double value = in_out.floats[i];
    if (in_out.dtype == DType::Float64) {
      in_out.floats[i] = __builtin_sqrt(value);
    } else {
      in_out.floats[i] = round_to(in_out.dtype, __builtin_sqrtf(static_cast<float>(value)));
    }
  }
}

}  // namespace tiffin::params
