// SPDX-License-Identifier: Apache-2.0
// Named tensors as readers give them and writers take them, whatever holds them: a file, a dictionary, a plan's stored tensors.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/array.h"
#include "base/dtype.h"
#include "base/status.h"

namespace tiffin::params {

// One parameter. Everything is borrowed from the source.
struct ParamEntry {
  std::string_view name;
  DType dtype = DType::Undefined;
  std::span<const int64_t> shape;
  uint64_t bytes = 0;             // of the compact row-major value
  const uint8_t* data = nullptr;  // the value (any alignment), or null: the source's `read` makes it
  bool is_frozen = false;         // known of .tfw only
  // The dtype as TVM's file spelt it (code and bits of DLDataType), so that it is written the same again; bits 0: not from such a file.
  uint8_t tvm_code = 0;
  uint8_t tvm_bits = 0;
};

// A borrowed, virtual-free view of a set of parameters. Names are unique in sources that readers of this library give.
struct ParamSource {
  std::span<const ParamEntry> entries;
  // Writes the compact bytes of entry `index` to `out`, which is entries[index].bytes long. May be null if every entry has data.
  Status (*read)(void* context, size_t index, std::span<uint8_t> out) = nullptr;
  void* context = nullptr;
};

// The value of one entry: borrowed from the source, or made in `scratch`.
Result<std::span<const uint8_t>> bytes_of(const ParamSource& source, size_t index, Array<uint8_t>& scratch);

// Finds entries by name in logarithmic time.
class NameIndex {
 public:
  static constexpr size_t kAbsent = SIZE_MAX;
  static Result<NameIndex> create(std::span<const ParamEntry> entries);
  // The entry of that name (the first one in the source's order), or kAbsent.
  size_t find(std::string_view name) const;
  // A name that occurs twice, or nullptr.
  const ParamEntry* first_duplicate() const;
  // InvalidParams for a name that occurs twice, where a caller gives the entries.
  Status check_given_once() const;

 private:
  std::span<const ParamEntry> entries_;
  Array<uint32_t> order_;
};

// The parameters of `lower` without those named in `removed`, those of equal name replaced by `upper`'s, then those that only `upper` has. Both
// outlive the overlay, which does not move while its source is used.
class Overlay {
 public:
  // InvalidParams for a name that `upper` has twice.
  static Result<Overlay> create(const ParamSource& lower, const ParamSource& upper, std::span<const ParamEntry> removed = {});
  ParamSource source() const;

 private:
  static Status read_entry(void* context, size_t index, std::span<uint8_t> out);
  struct Origin {
    bool is_upper;
    uint32_t index;
  };
  ParamSource lower_, upper_;
  Array<ParamEntry> entries_;
  Array<Origin> origins_;
};

}  // namespace tiffin::params
