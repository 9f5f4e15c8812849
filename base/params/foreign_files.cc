// SPDX-License-Identifier: Apache-2.0
#include "base/params/foreign_files.h"

#include "base/params/safetensors.h"
#include "base/params/tvm_params.h"

namespace tiffin::params {

Result<ParamList> read_foreign_file(std::span<const uint8_t> bytes, Format* out_format) {
  const bool is_tvm = is_tvm_params(bytes);
  if (!is_tvm && !is_safetensors(bytes)) {
    if (bytes.size() < 10) return error(Code::Truncated, "the parameter file has only %zu bytes", bytes.size());
    return error(Code::InvalidParams, "the file is none of .safetensors, .params and .tfw");
  }
  *out_format = is_tvm ? Format::TvmParams : Format::Safetensors;
  TIFFIN_ASSIGN_OR_RETURN(ParamList list, is_tvm ? read_tvm_params(bytes) : read_safetensors(bytes));
  TIFFIN_ASSIGN_OR_RETURN(const NameIndex names, NameIndex::create(list.entries.span()));
  if (const ParamEntry* twice = names.first_duplicate()) {
    return error(Code::InvalidParams, "the parameter file has two tensors '%.*s'", static_cast<int>(twice->name.size()), twice->name.data());
  }
  return list;
}

Result<BoundWeights> bind_foreign_file(const StoragePlan& plan, std::span<const Digest> digests, const ParamFile& file, const BindOptions& options) {
  return bind_parameters(plan, digests, file.source(), options);
}

Result<Array<Digest>> hash_weights(const Weights& weights) {
  TIFFIN_ASSIGN_OR_RETURN(const SourceReader reader, SourceReader::create(weights.plan(), weights.source()));
  return parameter_digests(weights.plan(), reader.reader());
}

}  // namespace tiffin::params
