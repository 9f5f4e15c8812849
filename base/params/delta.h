// SPDX-License-Identifier: Apache-2.0
// Reads parameter deltas (abi/delta.h): the tensors that differ between two sets, bound to the first by its digest.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/array.h"
#include "base/digest.h"
#include "base/mapping.h"
#include "base/params/param_source.h"
#include "base/status.h"

namespace tiffin::params {

// Immutable. Values are used where they lie.
class Delta {
 public:
  // Io, Truncated, InvalidParams, FormatTooNew, FormatTooOld, DigestMismatch, OutOfMemory; messages begin with the path.
  static Result<Delta> open(const char* path);
  // The same of bytes that outlive the delta.
  static Result<Delta> read(std::span<const uint8_t> bytes);

  const Digest& base_digest() const { return base_; }
  const Digest& result_digest() const { return result_; }
  // Tensors with another value, type or shape than the base's, and those that it lacks.
  std::span<const ParamEntry> values() const { return values_.span(); }
  // Tensors of the base that the result lacks; of these only the name.
  std::span<const ParamEntry> removed() const { return removed_.span(); }

 private:
  friend class PatchedSet;
  Delta() = default;
  Status read_record(class DeltaReader& reader, size_t index);

  Mapping mapping_;
  Digest base_, result_;
  Array<ParamEntry> values_, removed_;
  Array<uint8_t> changes_;  // of values_: changed or added
  Array<int64_t> extents_;  // of all values
};

// The set that a delta leads to.
class PatchedSet {
 public:
  // Hashes the base: StaleGeneration when it is not the delta's. InvalidParams when records contradict the base, DigestMismatch when the result is
  // not what the delta announces. Both outlive the set, which does not move while its source is used.
  static Result<PatchedSet> create(const ParamSource& base, const Delta& delta);
  ParamSource source() const { return overlay_->source(); }

 private:
  std::optional<Overlay> overlay_;
};

}  // namespace tiffin::params
