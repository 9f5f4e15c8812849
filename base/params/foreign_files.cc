// SPDX-License-Identifier: Apache-2.0
#include "base/params/foreign_files.h"

#include <cstring>

#include "abi/delta.h"
#include "base/params/safetensors.h"
#include "base/params/tvm_params.h"

namespace tiffin::params {
namespace {

// Says what was given instead of a parameter file, where that is known.
Status not_parameters(std::span<const uint8_t> bytes) {
  constexpr uint8_t kDelta[8] = TIFFIN_DELTA_MAGIC_BYTES;
  constexpr uint8_t kElf[4] = {0x7F, 'E', 'L', 'F'};
  constexpr size_t kTarOffset = 257;  // of "ustar"
  if (bytes.size() < 10) return error(Code::Truncated, "the parameter file has only %zu bytes", bytes.size());
  if (memcmp(bytes.data(), kDelta, sizeof(kDelta)) == 0) {
    return error(Code::InvalidParams, "the file is a delta of parameters, not a set of them")
        .with_remedy("tiffin params apply BASE DELTA -o OUT.tfw");
  }
  const bool is_tar = bytes.size() >= kTarOffset + 5 && memcmp(bytes.data() + kTarOffset, "ustar", 5) == 0;
  if (is_tar || memcmp(bytes.data(), kElf, sizeof(kElf)) == 0) {
    return error(Code::InvalidParams, "the file is an artifact or a program, not a set of parameters")
        .with_remedy("tiffin params extract FILE -o OUT.tfw");
  }
  return error(Code::InvalidParams, "the file is none of .safetensors, .params and .tfw");
}

}  // namespace

Result<ParamList> read_foreign_file(std::span<const uint8_t> bytes, Format* out_format) {
  const bool is_tvm = is_tvm_params(bytes);
  if (!is_tvm && !is_safetensors(bytes)) return not_parameters(bytes);
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
