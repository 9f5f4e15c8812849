// SPDX-License-Identifier: Apache-2.0
#include "base/golden/element.h"

#include <bit>
#include <cstring>

#include "base/float16.h"

namespace tiffin::golden {
namespace {

template <class T>
T load(const uint8_t* bytes, uint64_t index) {
  T value;
  memcpy(&value, bytes + index * sizeof(T), sizeof(T));
  return value;
}

struct Format {
  int fraction_bits, least_exponent;
};

Format format_of(DType element) {
  switch (element) {
    case DType::Float64:
      return {52, -1022};
    case DType::Float16:
      return {10, -14};
    case DType::BFloat16:
      return {7, -126};
    default:
      return {23, -126};
  }
}

}  // namespace

DType element_type(DType dtype) { return is_standard_float(dtype) || is_standard_int(dtype) || dtype == DType::Bool ? dtype : DType::UInt8; }

uint64_t element_bytes(DType element) { return static_cast<uint64_t>(dtype_bits(element)) / 8; }

double element_at(DType element, const uint8_t* bytes, uint64_t index) {
  switch (element) {
    case DType::Float32:
      return static_cast<double>(load<float>(bytes, index));
    case DType::Float64:
      return load<double>(bytes, index);
    case DType::Float16:
      return static_cast<double>(float16_to_float(load<uint16_t>(bytes, index)));
    case DType::BFloat16:
      return static_cast<double>(bfloat16_to_float(load<uint16_t>(bytes, index)));
    case DType::Int8:
      return load<int8_t>(bytes, index);
    case DType::Int16:
      return load<int16_t>(bytes, index);
    case DType::UInt16:
      return load<uint16_t>(bytes, index);
    case DType::Int32:
      return load<int32_t>(bytes, index);
    case DType::UInt32:
      return load<uint32_t>(bytes, index);
    case DType::Int64:
      return static_cast<double>(load<int64_t>(bytes, index));
    case DType::UInt64:
      return static_cast<double>(load<uint64_t>(bytes, index));
    default:
      return bytes[index];
  }
}

double ulp_at(DType element, double magnitude) {
  if (!is_standard_float(element)) return 1;
  const Format format = format_of(element);
  const int biased = static_cast<int>(std::bit_cast<uint64_t>(magnitude) >> 52 & 0x7ff);
  const int exponent = biased - 1023 < format.least_exponent ? format.least_exponent : biased - 1023;
  const int unit = exponent - format.fraction_bits;
  if (unit >= -1022) return std::bit_cast<double>(static_cast<uint64_t>(unit + 1023) << 52);
  return std::bit_cast<double>(uint64_t{1} << (unit + 1074));  // a subnormal double
}

}  // namespace tiffin::golden
