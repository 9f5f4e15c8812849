// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/host_tensor.h"

#include <cstdio>
#include <cstring>

namespace tiffin::tools {
namespace {

constexpr size_t kAlignment = 64;

bool size_of(DType dtype, int item_bytes, uint64_t count, uint64_t* out_bytes) {
  if (dtype != DType::Undefined) return storage_bytes(dtype, count, out_bytes);
  return !__builtin_mul_overflow(count, static_cast<uint64_t>(item_bytes), out_bytes);
}

template <class... Words>
int append(TypeText& out, int at, const char* format, Words... words) {
  if (at < 0 || at >= static_cast<int>(sizeof out.text)) return at;
  return at + snprintf(out.text + at, sizeof out.text - static_cast<size_t>(at), format, words...);
}

TypeText text_of(const char* name, int name_bytes, std::span<const int64_t> shape) {
  TypeText out{};
  int at = append(out, 0, "%.*s[", name_bytes, name);
  for (size_t i = 0; i < shape.size(); ++i) at = append(out, at, i == 0 ? "%lld" : ",%lld", static_cast<long long>(shape[i]));
  append(out, at, "]");
  return out;
}

}  // namespace

HostTensor& HostTensor::operator=(HostTensor&& other) noexcept {
  if (this == &other) return *this;
  free(bytes_);
  dtype_ = other.dtype_;
  item_bytes_ = other.item_bytes_;
  rank_ = other.rank_;
  memcpy(shape_, other.shape_, sizeof shape_);
  num_elements_ = other.num_elements_;
  size_bytes_ = other.size_bytes_;
  bytes_ = std::exchange(other.bytes_, nullptr);
  return *this;
}

Result<HostTensor> HostTensor::create(DType dtype, std::span<const int64_t> shape, int item_bytes) {
  if (shape.size() > static_cast<size_t>(kMaxRank)) return error(Code::InvalidInput, "rank %zu is over the limit of %d", shape.size(), kMaxRank);
  HostTensor tensor;
  tensor.dtype_ = dtype;
  tensor.item_bytes_ = dtype == DType::Undefined ? item_bytes : 0;
  tensor.rank_ = static_cast<int>(shape.size());
  tensor.num_elements_ = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] < 0)
      return error(Code::InvalidInput, "dimension %zu is %lld, a size of at least 0 is expected", i, static_cast<long long>(shape[i]));
    tensor.shape_[i] = shape[i];
    if (__builtin_mul_overflow(tensor.num_elements_, static_cast<uint64_t>(shape[i]), &tensor.num_elements_) || tensor.num_elements_ > INT64_MAX) {
      return error(Code::InvalidInput, "the dimensions' product overflows 64 bits");
    }
  }
  if (!size_of(dtype, item_bytes, tensor.num_elements_, &tensor.size_bytes_) || tensor.size_bytes_ > INT64_MAX - kAlignment) {
    return error(Code::InvalidInput, "the size of %s in bytes overflows 64 bits", type_text(dtype, shape).text);
  }
  const uint64_t padded = (tensor.size_bytes_ + kAlignment) / kAlignment * kAlignment;
  tensor.bytes_ = static_cast<uint8_t*>(aligned_alloc(kAlignment, padded));
  if (tensor.bytes_ == nullptr) {
    return error(Code::OutOfMemory, "no memory for a tensor of %llu bytes", static_cast<unsigned long long>(tensor.size_bytes_));
  }
  memset(tensor.bytes_, 0, padded);
  return tensor;
}

TypeText type_text(DType dtype, std::span<const int64_t> shape) {
  const std::string_view name = dtype_name(dtype);
  return text_of(name.data(), static_cast<int>(name.size()), shape);
}

TypeText type_text(const HostTensor& tensor) {
  if (tensor.dtype() != DType::Undefined) return type_text(tensor.dtype(), tensor.shape());
  char name[16];
  const int length = snprintf(name, sizeof name, "raw%d", tensor.item_bytes());
  return text_of(name, length, tensor.shape());
}

bool is_raw_in_numpy(DType dtype) {
  switch (dtype) {
    case DType::BFloat16:
    case DType::Float8E4M3FN:
    case DType::Float8E4M3FNUZ:
    case DType::Float8E5M2:
    case DType::Float8E5M2FNUZ:
    case DType::UInt4:
    case DType::Int4:
    case DType::Float4E2M1:
    case DType::Float8E8M0:
    case DType::UInt2:
    case DType::Int2:
      return true;
    default:
      return false;
  }
}

uint8_t packed_element(const uint8_t* bytes, uint64_t index, int bits) {
  const auto per_byte = static_cast<uint64_t>(8 / bits);
  return static_cast<uint8_t>((bytes[index / per_byte] >> (index % per_byte * static_cast<uint64_t>(bits))) & ((1 << bits) - 1));
}

Result<HostTensor> adopt_raw(HostTensor tensor, DType wanted) {
  const int bits = dtype_bits(wanted);
  const int wanted_bytes = bits < 8 ? 1 : bits / 8;
  if (tensor.dtype() != DType::Undefined || !is_raw_in_numpy(wanted) || tensor.item_bytes() != wanted_bytes) return tensor;
  TIFFIN_ASSIGN_OR_RETURN(HostTensor out, HostTensor::create(wanted, tensor.shape()));
  if (bits >= 8) {
    memcpy(out.bytes(), tensor.bytes(), out.size_bytes());
    return out;
  }
  const auto per_byte = static_cast<uint64_t>(8 / bits);
  for (uint64_t i = 0; i < tensor.num_elements(); ++i) {
    const int element = tensor.bytes()[i] & ((1 << bits) - 1);
    out.bytes()[i / per_byte] |= static_cast<uint8_t>(element << (i % per_byte * static_cast<uint64_t>(bits)));
  }
  return out;
}

}  // namespace tiffin::tools
