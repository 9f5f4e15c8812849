// SPDX-License-Identifier: Apache-2.0
// A tensor in memory of its own: what the tools read from files and hand to the runtime.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>

#include "abi/artifact.h"
#include "base/dtype.h"
#include "base/status.h"

namespace tiffin::tools {

inline constexpr int kMaxRank = TIFFIN_MAX_RANK;

// Compact row-major, little-endian; elements of 4 and 2 bits packed, the first in the low bits. The bytes are aligned to 64.
class HostTensor {
 public:
  HostTensor() = default;
  HostTensor(HostTensor&& other) noexcept { *this = std::move(other); }
  HostTensor& operator=(HostTensor&& other) noexcept;
  ~HostTensor() { free(bytes_); }

  // Zeros of that type and shape. `item_bytes` is the size of an element of a `dtype` that is Undefined: raw elements, whose type the file does
  // not tell. InvalidInput for a rank over kMaxRank, a negative dimension or a size that overflows; OutOfMemory.
  static Result<HostTensor> create(DType dtype, std::span<const int64_t> shape, int item_bytes = 0);

  DType dtype() const { return dtype_; }
  int item_bytes() const { return item_bytes_; }  // of raw elements, else 0
  std::span<const int64_t> shape() const { return {shape_, static_cast<size_t>(rank_)}; }
  uint64_t num_elements() const { return num_elements_; }
  uint8_t* bytes() { return bytes_; }
  const uint8_t* bytes() const { return bytes_; }
  uint64_t size_bytes() const { return size_bytes_; }

 private:
  DType dtype_ = DType::Undefined;
  int item_bytes_ = 0;
  int rank_ = 0;
  int64_t shape_[kMaxRank] = {};
  uint64_t num_elements_ = 0;
  uint8_t* bytes_ = nullptr;
  uint64_t size_bytes_ = 0;
};

// A tensor's type as text: "float32[1,8]".
struct TypeText {
  char text[48 + 21 * kMaxRank];
};
TypeText type_text(DType dtype, std::span<const int64_t> shape);
TypeText type_text(const HostTensor& tensor);  // raw elements are "raw1[…]" and "raw2[…]"

// The array with its raw elements understood as `wanted`: one element to a byte or to two bytes, as files hold the types that numpy lacks; packed
// for the 4- and 2-bit types. An array that is not raw, or whose elements have another size, comes back unchanged.
Result<HostTensor> adopt_raw(HostTensor tensor, DType wanted);

// The inverse: elements of 4 and 2 bits unpacked to one raw byte each, other types that numpy lacks as raw elements of their size.
bool is_raw_in_numpy(DType dtype);
uint8_t packed_element(const uint8_t* bytes, uint64_t index, int bits);

}  // namespace tiffin::tools
