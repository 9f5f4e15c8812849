// SPDX-License-Identifier: Apache-2.0
// Tiffin's own weights: the bytes of a .tfw file and of an artifact's weights section (tiffin_weights_header of abi/artifact.h).
#pragma once

#include <cstdint>
#include <span>

#include "base/byte_sink.h"
#include "base/digest.h"
#include "base/params/param_source.h"
#include "base/params/storage_plan.h"
#include "base/status.h"

namespace tiffin::params {

// True if the bytes begin with the magic number of weights.
bool is_weights(std::span<const uint8_t> bytes);

// Weights over borrowed bytes (mapped or in memory). The plan is copied; digests and stored tensors are used where they lie.
class Weights {
 public:
  // Truncated, FormatTooNew, FormatTooOld, InvalidParams, OutOfMemory. Values are not hashed.
  static Result<Weights> read(std::span<const uint8_t> bytes);
  // The same in place, on weights that hold nothing yet.
  Weights() = default;
  Status parse(std::span<const uint8_t> bytes);

  const StoragePlan& plan() const { return plan_; }
  std::span<const Digest> digests() const { return digests_.span(); }  // of the parameters, in the plan's order
  std::span<const uint8_t> data() const { return data_; }
  // The original parameters; this object does not move while the source is used.
  ParamSource source() const;

 private:
  StoragePlan plan_;
  Array<Digest> digests_;
  std::span<const uint8_t> data_;
  Array<ParamEntry> entries_;
};

// Where the parts of a weights file lie.
struct WeightsLayout {
  uint64_t plan_offset = 0, digests_offset = 0, data_offset = 0, data_length = 0, total_length = 0;
};
WeightsLayout weights_layout(const StoragePlan& plan);

// tensor_digest of every parameter of the plan, in its order.
Result<Array<Digest>> parameter_digests(const StoragePlan& plan, const ParameterReader& reader);

// Writes weights, weights_layout(plan).total_length bytes, tensor by tensor: memory for one stored tensor at most, and for what the reader makes.
Status write_weights(const StoragePlan& plan, std::span<const Digest> digests, const ParameterReader& reader, const ByteSink& sink);

}  // namespace tiffin::params
