// SPDX-License-Identifier: Apache-2.0
#include "base/params/compare_sets.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/params/vector_register.h"
#include "base/sort.h"

namespace tiffin::params {
namespace {

constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();

Status no_memory(size_t count) { return error(Code::OutOfMemory, "no memory to compare %zu parameters", count); }

double difference_of_floats(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double distance = std::fabs(a - b);
  return std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance;
}

double difference_of_integers(int64_t a, int64_t b, bool is_unsigned) {
  const bool is_larger = is_unsigned ? static_cast<uint64_t>(a) > static_cast<uint64_t>(b) : a > b;
  const uint64_t distance = is_larger ? static_cast<uint64_t>(a) - static_cast<uint64_t>(b) : static_cast<uint64_t>(b) - static_cast<uint64_t>(a);
  return static_cast<double>(distance);
}

double max_difference(DType dtype, std::span<const uint8_t> before, std::span<const uint8_t> after) {
  if (!is_register_dtype(dtype)) return kNoNumber;
  const auto element_bytes = static_cast<size_t>(dtype_bits(dtype) / 8);
  int64_t offsets[kRegisterElements];
  for (int i = 0; i < kRegisterElements; ++i) offsets[i] = i;
  double largest = 0;
  for (size_t at = 0; at < before.size(); at += kRegisterElements * element_bytes) {
    const int count = static_cast<int>(std::min<size_t>(kRegisterElements, (before.size() - at) / element_bytes));
    VectorRegister left, right;
    load_elements(left, dtype, before.data() + at, offsets, count);
    load_elements(right, dtype, after.data() + at, offsets, count);
    for (int i = 0; i < count; ++i) {
      largest = std::max(largest, is_standard_float(dtype) ? difference_of_floats(left.floats[i], right.floats[i])
                                                           : difference_of_integers(left.integers[i], right.integers[i], dtype == DType::UInt64));
    }
  }
  return largest;
}

bool is_equal_type(const ParamEntry& a, const ParamEntry& b) {
  return a.dtype == b.dtype && std::equal(a.shape.begin(), a.shape.end(), b.shape.begin(), b.shape.end());
}

}  // namespace

const char* change_name(Change change) {
  static constexpr char kNames[][8] = {"equal", "changed", "added", "removed"};
  return kNames[static_cast<size_t>(change)];
}

Result<Array<TensorChange>> compare_sets(const ParamSource& before, const ParamSource& after) {
  TIFFIN_ASSIGN_OR_RETURN(const NameIndex before_names, NameIndex::create(before.entries));
  TIFFIN_ASSIGN_OR_RETURN(const NameIndex after_names, NameIndex::create(after.entries));
  Array<TensorChange> changes;
  Array<uint8_t> before_scratch, after_scratch;
  for (size_t i = 0; i < before.entries.size(); ++i) {
    const ParamEntry& entry = before.entries[i];
    TensorChange found{entry.name, Change::Removed, i, after_names.find(entry.name), kNoNumber};
    if (found.after != NameIndex::kAbsent) {
      found.change = Change::Changed;
      if (is_equal_type(entry, after.entries[found.after])) {
        TIFFIN_ASSIGN_OR_RETURN(const auto left, bytes_of(before, i, before_scratch));
        TIFFIN_ASSIGN_OR_RETURN(const auto right, bytes_of(after, found.after, after_scratch));
        const bool is_equal = left.empty() || memcmp(left.data(), right.data(), left.size()) == 0;
        found.change = is_equal ? Change::Equal : Change::Changed;
        found.max_difference = is_equal ? 0 : max_difference(entry.dtype, left, right);
      }
    }
    if (!changes.append(found)) return no_memory(before.entries.size());
  }
  for (size_t i = 0; i < after.entries.size(); ++i) {
    if (before_names.find(after.entries[i].name) != NameIndex::kAbsent) continue;
    if (!changes.append({after.entries[i].name, Change::Added, NameIndex::kAbsent, i, kNoNumber})) return no_memory(after.entries.size());
  }
  return changes;
}

Result<Array<Digest>> hash_entries(const ParamSource& source) {
  Array<Digest> digests;
  Array<uint8_t> scratch;
  for (size_t i = 0; i < source.entries.size(); ++i) {
    TIFFIN_ASSIGN_OR_RETURN(const auto bytes, bytes_of(source, i, scratch));
    if (!digests.append(tensor_digest(source.entries[i].dtype, source.entries[i].shape, bytes))) return no_memory(source.entries.size());
  }
  return digests;
}

Result<Digest> digest_of_set(std::span<const ParamEntry> entries, std::span<const Digest> digests) {
  Array<uint32_t> order;
  if (!order.resize_uninitialized(entries.size())) return no_memory(entries.size());
  for (size_t i = 0; i < entries.size(); ++i) order[i] = static_cast<uint32_t>(i);
  sort(order.span(), [entries](uint32_t a, uint32_t b) { return entries[a].name < entries[b].name; });
  Hasher hasher;
  for (const uint32_t index : order) {
    const std::string_view name = entries[index].name;
    hasher.update_u64(name.size());
    hasher.update({reinterpret_cast<const uint8_t*>(name.data()), name.size()});
    hasher.update(digests[index].bytes);
  }
  return hasher.finish();
}

}  // namespace tiffin::params
