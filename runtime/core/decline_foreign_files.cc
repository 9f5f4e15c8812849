// SPDX-License-Identifier: Apache-2.0
// The small runtime library in place of base/params/foreign_files.cc and check_expression.cc: only weights that are stored as the model wants them.
#include "base/params/foreign_files.h"
#include "base/params/vector_expression.h"

namespace tiffin::params {

// No expression is ever evaluated here.
Status check_expression(const abi::StoragePlan&, const abi::Stored&) { return {}; }

Result<ParamList> read_foreign_file(std::span<const uint8_t>, Format*) {
  return error(Code::InvalidParams, "the file is no .tfw file, all that this small runtime reads")
      .with_remedy("convert it with 'tiffin compile --params-out FILE.tfw', or link the whole runtime");
}

Result<BoundWeights> bind_foreign_file(const StoragePlan&, std::span<const Digest>, const ParamFile&, const BindOptions&) {
  return error(Code::InvalidParams, "the weights are stored in another way, which this small runtime does not convert")
      .with_remedy("write it with the same 'tiffin compile' call as the model, or link the whole runtime");
}

// Called behind hash_weights alone.
Status check_stored_tensors(const StoragePlan&, std::span<const uint8_t>) { return {}; }
Status check_own_values(const Weights&, std::span<const Digest>) { return {}; }

Result<Array<Digest>> hash_weights(const Weights&) {
  return error(Code::InvalidParams, "verify all asks to hash the .tfw file, which this small runtime does not")
      .with_remedy("embed the weights, which it hashes, or link the whole runtime");
}

}  // namespace tiffin::params
