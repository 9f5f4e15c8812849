// SPDX-License-Identifier: Apache-2.0
#include "base/params/foreign_files.h"

#include <cstring>

#include "abi/delta.h"
#include "base/params/plan_bounds.h"
#include "base/params/safetensors.h"
#include "base/params/tvm_params.h"
#include "base/text.h"

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

// How many elements the stored tensors hold of each parameter.
bool count_places(const StoragePlan& plan, Array<uint64_t>& places) {
  if (!places.resize(plan.parameter_count())) return false;
  for (const abi::Stored* stored : *plan.table().stored()) {
    if (stored->pieces() == nullptr) continue;
    for (const abi::Piece* piece : *stored->pieces()) places[piece->parameter()] += volume_of(*piece);
  }
  return true;
}

// True if every element is one of a parameter that is stored nowhere else.
bool is_covered(const StoragePlan& plan, const abi::Stored& stored, std::span<const uint64_t> places) {
  uint64_t moved = 0, bytes = 0;
  if (stored.pieces() == nullptr) return stored.bytes() == 0;
  for (const abi::Piece* piece : *stored.pieces()) {
    uint64_t parameter_bytes = 0;
    const ParamEntry& parameter = plan.parameters()[piece->parameter()];
    if (!storage_bytes(parameter.dtype, places[piece->parameter()], &parameter_bytes) || parameter_bytes != parameter.bytes) return false;
    moved += volume_of(*piece);
  }
  return storage_bytes(static_cast<DType>(stored.dtype()), moved, &bytes) && bytes == stored.bytes();
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

Status check_stored_tensors(const StoragePlan& plan, std::span<const uint8_t> data) {
  TIFFIN_ASSIGN_OR_RETURN(const StoredParameters parameters, StoredParameters::create(plan, data));
  TIFFIN_ASSIGN_OR_RETURN(const SourceReader reader, SourceReader::create(plan, parameters.source()));
  Array<uint64_t> places;
  if (!count_places(plan, places)) return error(Code::OutOfMemory, "no memory for %zu parameters", plan.parameter_count());
  Array<uint8_t> scratch;
  for (uint32_t i = 0; i < plan.table().stored()->size(); ++i) {
    const abi::Stored& stored = *plan.table().stored()->Get(i);
    if (is_covered(plan, stored, places.span())) continue;
    if (!scratch.resize_uninitialized(stored.bytes())) return error(Code::OutOfMemory, "no memory for stored tensor '%s'", stored.name()->c_str());
    TIFFIN_TRY(plan.fill_stored(i, reader.reader(), scratch.span()));
    if (stored.bytes() == 0 || memcmp(scratch.data(), data.data() + stored.offset(), stored.bytes()) == 0) continue;
    return error(Code::DigestMismatch, "the stored tensor '%s' is not what the parameters make it", stored.name()->c_str());
  }
  return {};
}

Result<Array<Digest>> hash_weights(const Weights& weights) {
  TIFFIN_ASSIGN_OR_RETURN(const SourceReader reader, SourceReader::create(weights.plan(), weights.source()));
  return parameter_digests(weights.plan(), reader.reader());
}

Status check_own_values(const Weights& weights, std::span<const Digest> actual) {
  for (size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] == weights.digests()[i]) continue;
    Text name;
    name.add_quoted(weights.plan().parameters()[i].name);
    return error(Code::DigestMismatch, "the digest of parameter %s is %.16s…, the file states %.16s…", name.c_str(), to_text(actual[i]).text,
                 to_text(weights.digests()[i]).text);
  }
  return check_stored_tensors(weights.plan(), weights.data());
}

}  // namespace tiffin::params
