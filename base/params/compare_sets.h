// SPDX-License-Identifier: Apache-2.0
// Compares two sets of parameters by name and value, and identifies a set by one digest.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/array.h"
#include "base/digest.h"
#include "base/params/param_source.h"
#include "base/status.h"

namespace tiffin::params {

enum class Change : uint8_t { Equal, Changed, Added, Removed };

// "equal", "changed", "added" or "removed".
const char* change_name(Change change);

struct TensorChange {
  std::string_view name;  // of the source
  Change change = Change::Equal;
  size_t before = NameIndex::kAbsent;  // entries of the two sources
  size_t after = NameIndex::kAbsent;
  // The largest |before - after| of a changed tensor whose type and shape stayed: infinite where NaN or an infinity came or went. NaN where there is
  // no such number: another type or shape, or elements that are no plain numbers (4, 2 and 8 bit floats, complex).
  double max_difference = 0;
};

// Every tensor of both: in the order of `before`, then those that only `after` has. Values are read and compared byte by byte, whatever digests a
// file states. OutOfMemory, and what the sources' readers give.
Result<Array<TensorChange>> compare_sets(const ParamSource& before, const ParamSource& after);

// tensor_digest of every entry.
Result<Array<Digest>> hash_entries(const ParamSource& source);

// The identity of a set whatever the order of its entries: BLAKE3 over u64 length of name, name and tensor digest, by ascending names (as bytes).
Result<Digest> digest_of_set(std::span<const ParamEntry> entries, std::span<const Digest> digests);

}  // namespace tiffin::params
