// SPDX-License-Identifier: Apache-2.0
// Checks parameters against what a model was compiled with, and turns them into its stored tensors.
#pragma once

#include <cstdint>
#include <span>

#include "base/array.h"
#include "base/digest.h"
#include "base/mapping.h"
#include "base/params/param_file.h"
#include "base/params/param_source.h"
#include "base/params/storage_plan.h"
#include "base/status.h"

namespace tiffin::params {

struct BindOptions {
  // Other values on purpose: digests are compared only of frozen parameters.
  bool new_weights = false;
  // Hash the values of a .tfw file too, instead of believing the digests that it states: DigestMismatch where new weights differ from those.
  bool verify_values = false;
  // The stored tensors in private memory, even where the file could be used as it lies: it may be overwritten afterwards.
  bool copy = false;
  // Gets the digests of the parameters, in the plan's order, unless it is null: hashed, or as weights of the same plan state them. Indeterminate
  // after a failure.
  Array<Digest>* out_digests = nullptr;
};

// Finds all faults (absent, unexpected, other dtype, other shape, other values) and reports them in one error, whose code is the first present
// of MissingParam, UnknownParam, ParamTypeMismatch, ParamShapeMismatch, ParamDigestMismatch.
// `digests` are the model's, in the plan's order of parameters. An empty source gives MissingParam with every name.
Status check_parameters(const StoragePlan& plan, std::span<const Digest> digests, const ParamSource& source, const BindOptions& options);
// The same of a file: weights of the same plan are checked by the digests they carry, nothing is hashed unless verify_values asks for it.
Status check_parameters(const StoragePlan& plan, std::span<const Digest> digests, const ParamFile& file, const BindOptions& options);

// The stored tensors of a model: in the file's own pages, or in private memory.
struct BoundWeights {
  std::span<const uint8_t> data;  // plan.data_bytes() long, tensors at the plan's offsets, at least 64-byte aligned
  Mapping owned;                  // holds `data` unless it lies in the file, which then outlives this
  uint64_t repacked_bytes = 0;    // bytes of stored tensors that were made in private memory
};

// Checks, then runs the plan. Weights of the same plan are used where they lie if they are 64-byte aligned, copied otherwise.
Result<BoundWeights> bind_parameters(const StoragePlan& plan, std::span<const Digest> digests, const ParamFile& file, const BindOptions& options);
Result<BoundWeights> bind_parameters(const StoragePlan& plan, std::span<const Digest> digests, const ParamSource& source, const BindOptions& options);

// Reads the plan's parameters out of a source, for writers. Not moved while its reader is used; the source outlives it.
class SourceReader {
 public:
  // Names, dtypes and shapes are compared, values are not.
  static Result<SourceReader> create(const StoragePlan& plan, const ParamSource& source);
  ParameterReader reader() const;

 private:
  friend Result<BoundWeights> bind_parameters(const StoragePlan& plan, std::span<const Digest> digests, const ParamSource& source,
                                              const BindOptions& options);
  ParamSource source_;
  Array<uint32_t> indices_;  // of the source's entries, in the plan's order
};

}  // namespace tiffin::params
