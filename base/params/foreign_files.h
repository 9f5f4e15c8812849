// SPDX-License-Identifier: Apache-2.0
// What only parameters need that were not stored for this very model: the formats besides .tfw, and running the storage plan. The small runtime
// library links without foreign_files.cc and with functions that decline instead, so nothing else defines or calls around these.
#pragma once

#include <cstdint>
#include <span>

#include "base/params/bind.h"
#include "base/params/param_file.h"
#include "base/params/storage_plan.h"
#include "base/status.h"

namespace tiffin::params {

// The tensors of a .safetensors or .params file, names unique. `bytes` outlive the list.
// Truncated, InvalidParams, UnsupportedType, OutOfMemory.
Result<ParamList> read_foreign_file(std::span<const uint8_t> bytes, Format* out_format);

// bind_parameters for a file that does not hold the weights of `plan` as they are stored.
Result<BoundWeights> bind_foreign_file(const StoragePlan& plan, std::span<const Digest> digests, const ParamFile& file, const BindOptions& options);

// DigestMismatch, with its name, for a stored tensor that is not what the plan makes of the parameters in `data`: one that is computed, padded, or
// holds a parameter a second time, so that the digests of parameters do not cover it. Makes one such tensor at a time.
Status check_stored_tensors(const StoragePlan& plan, std::span<const uint8_t> data);

// The digests that the values of weights really have, in the order of their plan.
Result<Array<Digest>> hash_weights(const Weights& weights);

// DigestMismatch where the weights do not have the values that they state; `actual` are their hashed digests.
Status check_own_values(const Weights& weights, std::span<const Digest> actual);

}  // namespace tiffin::params
