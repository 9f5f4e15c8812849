// SPDX-License-Identifier: Apache-2.0
#include "abi/artifact.h"
#include "base/params/plan_bounds.h"
#include "base/params/storage_plan.h"
#include "base/params/vector_expression.h"

namespace tiffin::params {
namespace {

constexpr uint64_t kTensorAlignment = 64;

// What parameters and stored tensors have in common.
struct TensorFields {
  const char* name;
  uint8_t dtype;
  const LongVector& shape;
  uint64_t bytes;
};

// dtype, shape and byte count of a parameter or stored tensor; `is_padded` allows bytes behind the last element.
Status check_tensor(const TensorFields& tensor, bool is_padded, const char* what) {
  const DType dtype = dtype_of(tensor.dtype);
  int64_t count = 0;
  uint64_t bytes = 0;
  if (dtype_bits(dtype) == 0) return error(Code::InvalidParams, "%s '%s' has the unusable dtype code %d", what, tensor.name, tensor.dtype);
  if (!count_elements(tensor.shape, &count) || !storage_bytes(dtype, static_cast<uint64_t>(count), &bytes) || bytes > INT64_MAX) {
    return error(Code::InvalidParams, "the shape of %s '%s' is not one of at most %u axes that fits in memory", what, tensor.name, TIFFIN_MAX_RANK);
  }
  if (tensor.bytes != bytes && !(is_padded && tensor.bytes > bytes)) {
    return error(Code::InvalidParams, "%s '%s' is said to have %llu bytes, its dtype and shape make %llu", what, tensor.name,
                 static_cast<unsigned long long>(tensor.bytes), static_cast<unsigned long long>(bytes));
  }
  return {};
}

int64_t element_count(const LongVector& shape) {
  int64_t count = 0;
  return count_elements(shape, &count) ? count : 0;
}

// Packed elements cannot be addressed one by one: such a piece is the whole parameter, starting at a byte.
bool is_whole_copy(const abi::Piece& piece, int64_t volume, int64_t parameter_count, int64_t stored_count, int bits) {
  if (piece.source_offset() != 0 || volume != parameter_count) return false;
  if (!is_compact(*piece.extents(), *piece.source_strides()) || !is_compact(*piece.extents(), *piece.target_strides())) return false;
  const int64_t per_byte = 8 / bits;
  return piece.target_offset() % per_byte == 0 && (volume % per_byte == 0 || piece.target_offset() + volume == stored_count);
}

Status check_piece(const abi::StoragePlan& plan, const abi::Stored& stored, const abi::Piece& piece, int64_t stored_count, int64_t* out_volume) {
  const char* name = stored.name()->c_str();
  if (piece.parameter() >= plan.parameters()->size()) {
    return error(Code::InvalidParams, "a piece of stored tensor '%s' names parameter %u of %u", name, piece.parameter(), plan.parameters()->size());
  }
  const abi::Parameter& parameter = *plan.parameters()->Get(piece.parameter());
  const int bits = dtype_bits(dtype_of(parameter.dtype()));
  if (bits != dtype_bits(dtype_of(stored.dtype()))) {
    return error(Code::InvalidParams, "stored tensor '%s' has elements of another width than its parameter '%s'", name, parameter.name()->c_str());
  }
  const int64_t parameter_count = element_count(*parameter.shape());
  const bool is_inside = count_elements(*piece.extents(), out_volume) &&
                         is_within(*piece.extents(), *piece.source_strides(), piece.source_offset(), parameter_count) &&
                         is_within(*piece.extents(), *piece.target_strides(), piece.target_offset(), stored_count);
  if (!is_inside) {
    return error(Code::InvalidParams, "a piece of stored tensor '%s' reaches beyond it or beyond its parameter '%s'", name,
                 parameter.name()->c_str());
  }
  if (bits < 8 && !is_whole_copy(piece, *out_volume, parameter_count, stored_count, bits)) {
    return error(Code::InvalidParams, "a piece of stored tensor '%s' cuts the packed elements of parameter '%s'", name, parameter.name()->c_str());
  }
  return {};
}

// Pieces never overlap in their target, so together they are no larger than it; that also bounds the time a hostile plan can take.
Status check_pieces(const abi::StoragePlan& plan, const abi::Stored& stored, Array<uint64_t>& covered) {
  const int64_t stored_count = element_count(*stored.shape());
  int64_t room = stored_count;
  for (const abi::Piece* piece : *stored.pieces()) {
    int64_t volume = 0;
    TIFFIN_TRY(check_piece(plan, stored, *piece, stored_count, &volume));
    if (volume > room)
      return error(Code::InvalidParams, "the pieces of stored tensor '%s' hold more than its %lld elements", stored.name()->c_str(),
                   static_cast<long long>(stored_count));
    room -= volume;
    covered[piece->parameter()] += static_cast<uint64_t>(volume);
  }
  return {};
}

Status check_stored(const abi::StoragePlan& plan, const abi::Stored& stored, Array<uint64_t>& covered) {
  TIFFIN_TRY(check_tensor({stored.name()->c_str(), stored.dtype(), *stored.shape(), stored.bytes()}, true, "stored tensor"));
  if (stored.offset() % kTensorAlignment != 0 || stored.offset() > plan.data_bytes() || stored.bytes() > plan.data_bytes() - stored.offset()) {
    return error(Code::InvalidParams, "stored tensor '%s' lies at %llu with %llu bytes: not aligned to %llu, or not within %llu",
                 stored.name()->c_str(), static_cast<unsigned long long>(stored.offset()), static_cast<unsigned long long>(stored.bytes()),
                 static_cast<unsigned long long>(kTensorAlignment), static_cast<unsigned long long>(plan.data_bytes()));
  }
  const bool has_pieces = stored.pieces() != nullptr && stored.pieces()->size() > 0;
  const bool has_steps = stored.steps() != nullptr && stored.steps()->size() > 0;
  if (has_pieces && has_steps) return error(Code::InvalidParams, "stored tensor '%s' is both a placement and an expression", stored.name()->c_str());
  if (has_pieces) return check_pieces(plan, stored, covered);
  return has_steps ? check_expression(plan, stored) : Status();
}

}  // namespace

Status check_storage_plan(const abi::StoragePlan& plan) {
  if (plan.data_bytes() > INT64_MAX)
    return error(Code::InvalidParams, "the stored tensors of a plan are said to have more bytes than memory can hold");
  for (const abi::Parameter* parameter : *plan.parameters()) {
    TIFFIN_TRY(check_tensor({parameter->name()->c_str(), parameter->dtype(), *parameter->shape(), parameter->bytes()}, false, "parameter"));
  }
  Array<uint64_t> covered;
  if (!covered.resize(plan.parameters()->size())) return error(Code::OutOfMemory, "no memory for a storage plan");
  for (const abi::Stored* stored : *plan.stored()) TIFFIN_TRY(check_stored(plan, *stored, covered));
  for (uint32_t i = 0; i < covered.size(); ++i) {
    const abi::Parameter& parameter = *plan.parameters()->Get(i);
    const auto count = static_cast<uint64_t>(element_count(*parameter.shape()));
    if (covered[i] < count) {
      return error(Code::InvalidParams, "the storage plan keeps %llu of the %llu elements of parameter '%s'",
                   static_cast<unsigned long long>(covered[i]), static_cast<unsigned long long>(count), parameter.name()->c_str());
    }
  }
  return {};
}

}  // namespace tiffin::params
