// SPDX-License-Identifier: Apache-2.0
// The storage plan's interpreter: forwards, stored tensors from parameters; backwards, parameters from stored tensors, bit for bit. The plan's
// bytes are a FlatBuffer of abi/artifact.fbs, an Envelope with a StoragePlan in it. docs/architecture/parameters.md defines the meaning.
#pragma once

#include <cstdint>
#include <span>

#include "abi/artifact_generated.h"
#include "base/array.h"
#include "base/byte_sink.h"
#include "base/digest.h"
#include "base/params/param_source.h"
#include "base/status.h"

namespace tiffin::params {

// Gives the compact bytes of the plan's parameter `index`, borrowed or made in `scratch`; valid until `scratch` changes.
struct ParameterReader {
  void* context = nullptr;
  Result<std::span<const uint8_t>> (*read)(void* context, size_t index, Array<uint8_t>& scratch) = nullptr;
};

// Every index, extent, stride, offset and type of the plan is such that running it touches no byte outside its tensors, and there are enough
// pieces to cover each parameter; StoragePlan itself finds stored tensors that overlap. InvalidParams with the stored tensor's name otherwise. Time
// is linear in the plan's bytes.
Status check_storage_plan(const abi::StoragePlan& plan);

// A verified and checked plan. Owns a copy of its bytes. Immutable, so safe to share between threads.
class StoragePlan {
 public:
  // InvalidParams if the bytes are not such a FlatBuffer or check_storage_plan fails.
  static Result<StoragePlan> read(std::span<const uint8_t> bytes);
  // The same in place, on a plan that holds nothing yet.
  StoragePlan() = default;
  Status parse(std::span<const uint8_t> bytes);

  const abi::StoragePlan& table() const { return *table_; }
  std::span<const uint8_t> bytes() const { return bytes_.span(); }
  const Digest& digest() const { return digest_; }  // of the bytes
  uint64_t data_bytes() const { return table_->data_bytes(); }
  size_t parameter_count() const { return entries_.size(); }
  // The parameters as the plan lists them (name, dtype, shape, bytes, is_frozen); data is null.
  std::span<const ParamEntry> parameters() const { return entries_.span(); }

  // Writes stored tensor `index` (its `bytes` long); what no piece writes is zero.
  Status fill_stored(size_t index, const ParameterReader& reader, std::span<uint8_t> out) const;
  // The same bytes to a sink: in parts of a few MB where the tensor is one rearranged parameter, else made whole in `scratch`.
  Status write_stored(size_t index, const ParameterReader& reader, Array<uint8_t>& scratch, const ByteSink& sink) const;
  // Writes all stored tensors at their offsets into `data`, which is data_bytes() long; gaps are zeroed.
  Status fill_data(const ParameterReader& reader, std::span<uint8_t> data) const;
  // Writes the original value of parameter `index` from the stored tensors in `data`.
  Status restore_parameter(size_t index, std::span<const uint8_t> data, std::span<uint8_t> out) const;
  // The original value where it lies in `data` unchanged, else null.
  const uint8_t* find_in_place(size_t index, std::span<const uint8_t> data) const;

 private:
  struct PieceRef {
    uint32_t parameter, stored, piece;
  };
  Status build_index();
  Status order_stored();
  Status fill_pieces(const abi::Stored& stored, const ParameterReader& reader, std::span<uint8_t> out) const;
  std::span<const PieceRef> pieces_of(size_t parameter) const;

  Array<uint8_t> bytes_;
  const abi::StoragePlan* table_ = nullptr;
  Digest digest_;
  Array<ParamEntry> entries_;
  Array<PieceRef> pieces_;  // sorted by parameter
  Array<uint32_t> order_;   // stored tensors sorted by offset, empty ones before others
  friend Status write_weights(const StoragePlan& plan, std::span<const Digest> digests, const ParameterReader& reader, const ByteSink& sink);
};

// Stored tensors as a source of the original parameters; `plan` and `data` outlive it, and it does not move while its source is used.
class StoredParameters {
 public:
  // `data` is plan.data_bytes() long.
  static Result<StoredParameters> create(const StoragePlan& plan, std::span<const uint8_t> data);
  ParamSource source() const;

 private:
  const StoragePlan* plan_ = nullptr;
  std::span<const uint8_t> data_;
  Array<ParamEntry> entries_;
};

}  // namespace tiffin::params
