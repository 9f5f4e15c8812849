// SPDX-License-Identifier: Apache-2.0
#include "fuzz/parameter_lists.h"

#include <algorithm>
#include <cstring>

#include "base/params/compare_sets.h"
#include "fuzz/target.h"

namespace tiffin::fuzz {
namespace {

bool lies_in(std::span<const uint8_t> bytes, const uint8_t* data, uint64_t length) {
  return data >= bytes.data() && data + length <= bytes.data() + bytes.size();
}

const params::ParamEntry* find(const params::ParamList& list, std::string_view name) {
  for (const params::ParamEntry& entry : list.entries) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

bool is_same(const params::ParamEntry& a, const params::ParamEntry& b) {
  return a.dtype == b.dtype && std::ranges::equal(a.shape, b.shape) && a.bytes == b.bytes && (a.bytes == 0 || memcmp(a.data, b.data, a.bytes) == 0);
}

}  // namespace

void walk_source(const params::ParamSource& source) {
  auto digests = params::hash_entries(source);
  if (digests.has_value()) use(params::digest_of_set(source.entries, digests->span()).has_value());
}

void check_list(const params::ParamList& list, std::span<const uint8_t> file, Status (*write)(const params::ParamSource&, const ByteSink&),
                Result<params::ParamList> (*read)(std::span<const uint8_t>)) {
  for (const params::ParamEntry& entry : list.entries) {
    const bool is_placed = entry.bytes == 0 || lies_in(file, entry.data, entry.bytes) || lies_in(list.unpacked.span(), entry.data, entry.bytes);
    require(is_placed, "a value lies in the file");
    uint64_t count = 1, bytes = 0;
    for (const int64_t extent : entry.shape) count *= static_cast<uint64_t>(extent);
    require(storage_bytes(entry.dtype, count, &bytes) && bytes == entry.bytes, "a value has the size of its type");
  }
  auto names = params::NameIndex::create(list.entries.span());
  if (!names.has_value() || names->first_duplicate() != nullptr) return;
  const params::ParamSource source{list.entries.span()};
  walk_source(source);
  Array<uint8_t> written;
  if (!write(source, memory_sink(written)).is_ok()) return;
  const auto again = read(written.span());
  require(again.has_value(), "what is written can be read");
  require(again->entries.size() == list.entries.size(), "as many tensors are read as were written");
  for (const params::ParamEntry& entry : list.entries) {
    const params::ParamEntry* other = find(*again, entry.name);
    require(other != nullptr && is_same(entry, *other), "a tensor that is written reads back the same");
  }
}

}  // namespace tiffin::fuzz
