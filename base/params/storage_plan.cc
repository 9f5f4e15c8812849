// SPDX-License-Identifier: Apache-2.0
#include "base/params/storage_plan.h"

#include <algorithm>

#include "base/params/plan_bounds.h"
#include "base/params/strided_copy.h"
#include "base/params/vector_expression.h"
#include "base/sort.h"

namespace tiffin::params {
namespace {

Status no_memory(const char* what) { return error(Code::OutOfMemory, "no memory for %s", what); }

// Stored tensors are written in parts of about this size, so that they need little memory and hashing and writing find them in the cache.
constexpr uint64_t kSliceBytes = uint64_t{4} << 20;

enum class Direction { IntoStored, OutOfStored };

StridedCopy copy_of(const abi::Piece& piece, Direction direction) {
  const bool is_into = direction == Direction::IntoStored;
  StridedCopy copy;
  copy.rank = static_cast<int>(piece.extents()->size());
  const LongVector& from_strides = is_into ? *piece.source_strides() : *piece.target_strides();
  const LongVector& to_strides = is_into ? *piece.target_strides() : *piece.source_strides();
  for (int i = 0; i < copy.rank; ++i) {
    const auto axis = static_cast<flatbuffers::uoffset_t>(i);
    copy.extents[i] = piece.extents()->Get(axis);
    copy.from_strides[i] = from_strides.Get(axis);
    copy.to_strides[i] = to_strides.Get(axis);
  }
  copy.from_offset = is_into ? piece.source_offset() : piece.target_offset();
  copy.to_offset = is_into ? piece.target_offset() : piece.source_offset();
  return copy;
}

// The parameter and the whole stored tensor; packed elements, which the check found to be whole, move as bytes.
void copy_piece(const abi::Piece& piece, DType dtype, Direction direction, const uint8_t* from, uint8_t* to, uint64_t parameter_bytes) {
  const auto bits = static_cast<uint64_t>(dtype_bits(dtype));
  if (bits < 8) {
    const bool is_into = direction == Direction::IntoStored;
    const uint64_t stored_offset = static_cast<uint64_t>(piece.target_offset()) * bits / 8;
    memcpy(to + (is_into ? stored_offset : 0), from + (is_into ? 0 : stored_offset), parameter_bytes);
    return;
  }
  copy_strided(copy_of(piece, direction), from, to, bits / 8);
}

// The piece that makes the whole tensor alone and from front to back, so that a part of its outermost axis is a part of the tensor; else null.
const abi::Piece* find_only_piece(const abi::Stored& stored) {
  if (stored.pieces() == nullptr || stored.pieces()->size() != 1) return nullptr;
  const abi::Piece& piece = *stored.pieces()->Get(0);
  const DType dtype = dtype_of(stored.dtype());
  uint64_t bytes = 0;
  const bool is_whole = dtype_bits(dtype) >= 8 && piece.target_offset() == 0 && storage_bytes(dtype, volume_of(piece), &bytes) &&
                        bytes == stored.bytes() && is_compact(*piece.extents(), *piece.target_strides());
  return is_whole ? &piece : nullptr;
}

Status write_slices(std::span<const uint8_t> bytes, const ByteSink& sink) {
  for (; bytes.size() > kSliceBytes; bytes = bytes.subspan(kSliceBytes)) TIFFIN_TRY(sink.write(bytes.first(kSliceBytes)));
  return sink.write(bytes);
}

// A part of the outermost axis after the other, each made in `scratch`.
Status write_piece(StridedCopy copy, uint64_t bytes, size_t element_bytes, const uint8_t* from, Array<uint8_t>& scratch, const ByteSink& sink) {
  int axis = 0;
  while (axis + 1 < copy.rank && copy.extents[axis] == 1) ++axis;
  const int64_t rows = copy.rank > 0 ? copy.extents[axis] : 1;
  const uint64_t row_bytes = bytes / static_cast<uint64_t>(rows);
  const auto most = static_cast<int64_t>(std::max<uint64_t>(1, kSliceBytes / row_bytes));
  if (!scratch.resize_uninitialized(row_bytes * static_cast<uint64_t>(std::min(rows, most)))) return no_memory("a part of a stored tensor");
  for (int64_t done = 0; done < rows; done += most) {
    const int64_t now = std::min(most, rows - done);
    if (copy.rank > 0) copy.extents[axis] = now;
    copy_strided(copy, from, scratch.data(), element_bytes);
    TIFFIN_TRY(sink.write(scratch.span().first(row_bytes * static_cast<uint64_t>(now))));
    if (copy.rank > 0) copy.from_offset += now * copy.from_strides[axis];
  }
  return {};
}

Status fill_expression(const abi::StoragePlan& plan, const abi::Stored& stored, const ParameterReader& reader, std::span<uint8_t> out) {
  std::span<const uint8_t> operands[kMaxExpressionSteps];
  // A parameter read by several steps is made once.
  Array<uint8_t> scratch[kMaxExpressionSteps];
  const auto& steps = *stored.steps();
  for (flatbuffers::uoffset_t i = 0; i < steps.size(); ++i) {
    const abi::VectorStep& step = *steps.Get(i);
    if (step.op() != abi::VectorOp::LoadParameter && step.op() != abi::VectorOp::SumAxis) continue;
    flatbuffers::uoffset_t earlier = 0;
    while (earlier < i && (operands[earlier].data() == nullptr || steps.Get(earlier)->operand() != step.operand())) ++earlier;
    if (earlier < i) {
      operands[i] = operands[earlier];
      continue;
    }
    TIFFIN_ASSIGN_OR_RETURN(operands[i], reader.read(reader.context, step.operand(), scratch[i]));
  }
  evaluate_expression(plan, stored, {operands, steps.size()}, out);
  return {};
}

}  // namespace

Status StoragePlan::parse(std::span<const uint8_t> bytes) {
  if (bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) return error(Code::InvalidParams, "a storage plan of %zu bytes is larger than any", bytes.size());
  if (!bytes_.append(bytes)) return no_memory("a storage plan");
  // A table takes 4 bytes and its reference 4; a limit keeps tables that are shared between many parents from making the work quadratic.
  flatbuffers::Verifier verifier(bytes_.data(), bytes_.size(), 64, static_cast<uint32_t>(bytes.size() / 8 + 2));
  if (bytes.size() >= 8 && abi::VerifyEnvelopeBuffer(verifier)) table_ = abi::GetEnvelope(bytes_.data())->root_as_StoragePlan();
  if (table_ == nullptr) return error(Code::InvalidParams, "the %zu bytes of a storage plan are not a well-formed table", bytes.size());
  TIFFIN_TRY(check_storage_plan(*table_));
  digest_ = digest_of(bytes);
  return build_index();
}

Result<StoragePlan> StoragePlan::read(std::span<const uint8_t> bytes) {
  StoragePlan plan;
  TIFFIN_TRY(plan.parse(bytes));
  return plan;
}

Status StoragePlan::build_index() {
  size_t name_bytes = 0;
  for (const abi::Parameter* parameter : *table_->parameters()) {
    ParamEntry entry;
    entry.name = {parameter->name()->c_str(), parameter->name()->size()};
    entry.dtype = dtype_of(parameter->dtype());
    entry.shape = {parameter->shape()->data(), parameter->shape()->size()};
    entry.bytes = parameter->bytes();
    entry.is_frozen = parameter->frozen();
    name_bytes += entry.name.size();
    if (!entries_.append(entry)) return no_memory("a storage plan");
  }
  // Strings that many tables share would make the comparison of names slow.
  if (name_bytes > bytes_.size()) return error(Code::InvalidParams, "the parameters of a storage plan share their names");
  TIFFIN_ASSIGN_OR_RETURN(const NameIndex names, NameIndex::create(entries_.span()));
  if (const ParamEntry* twice = names.first_duplicate()) {
    return error(Code::InvalidParams, "the storage plan has two parameters '%.*s'", static_cast<int>(twice->name.size()), twice->name.data());
  }
  const auto& stored = *table_->stored();
  for (uint32_t s = 0; s < stored.size(); ++s) {
    if (!order_.append(s)) return no_memory("a storage plan");
    if (stored.Get(s)->pieces() == nullptr) continue;
    for (uint32_t p = 0; p < stored.Get(s)->pieces()->size(); ++p) {
      if (!pieces_.append(PieceRef{stored.Get(s)->pieces()->Get(p)->parameter(), s, p})) return no_memory("a storage plan");
    }
  }
  sort(pieces_.span(), [](const PieceRef& a, const PieceRef& b) {
    if (a.parameter != b.parameter) return a.parameter < b.parameter;
    return a.stored != b.stored ? a.stored < b.stored : a.piece < b.piece;
  });
  return order_stored();
}

Status StoragePlan::order_stored() {
  const auto& stored = *table_->stored();
  sort(order_.span(), [&stored](uint32_t a, uint32_t b) {
    const uint64_t first = stored.Get(a)->offset(), second = stored.Get(b)->offset();
    return first != second ? first < second : stored.Get(a)->bytes() < stored.Get(b)->bytes();
  });
  for (size_t i = 1; i < order_.size(); ++i) {
    const abi::Stored& before = *stored.Get(order_[i - 1]);
    const abi::Stored& after = *stored.Get(order_[i]);
    if (before.offset() + before.bytes() > after.offset()) {
      return error(Code::InvalidParams, "stored tensors '%s' and '%s' overlap", before.name()->c_str(), after.name()->c_str());
    }
  }
  return {};
}

std::span<const StoragePlan::PieceRef> StoragePlan::pieces_of(size_t parameter) const {
  const auto is_before = [](const PieceRef& piece, size_t wanted) { return piece.parameter < wanted; };
  const PieceRef* first = std::lower_bound(pieces_.begin(), pieces_.end(), parameter, is_before);
  const PieceRef* last = std::lower_bound(first, pieces_.end(), parameter + 1, is_before);
  return {first, last};
}

Status StoragePlan::fill_pieces(const abi::Stored& stored, const ParameterReader& reader, std::span<uint8_t> out) const {
  const auto dtype = dtype_of(stored.dtype());
  uint64_t written = 0;
  for (const abi::Piece* piece : *stored.pieces()) written += volume_of(*piece);
  uint64_t written_bytes = 0;
  const bool is_full = storage_bytes(dtype, written, &written_bytes) && written_bytes >= stored.bytes();
  if (!is_full) memset(out.data(), 0, out.size());
  Array<uint8_t> scratch;
  std::span<const uint8_t> value;
  uint32_t held = UINT32_MAX;
  for (const abi::Piece* piece : *stored.pieces()) {
    if (piece->parameter() != held) {
      TIFFIN_ASSIGN_OR_RETURN(value, reader.read(reader.context, piece->parameter(), scratch));
      held = piece->parameter();
      if (value.size() != entries_[held].bytes) return error(Code::Internal, "parameter %u was read with %zu bytes", held, value.size());
    }
    copy_piece(*piece, dtype, Direction::IntoStored, value.data(), out.data(), entries_[held].bytes);
  }
  return {};
}

Status StoragePlan::fill_stored(size_t index, const ParameterReader& reader, std::span<uint8_t> out) const {
  const abi::Stored& stored = *table_->stored()->Get(static_cast<uint32_t>(index));
  if (out.size() != stored.bytes()) return error(Code::Internal, "stored tensor '%s' is filled into %zu bytes", stored.name()->c_str(), out.size());
  if (out.empty()) return {};
  if (stored.pieces() != nullptr && stored.pieces()->size() > 0) return fill_pieces(stored, reader, out);
  memset(out.data(), 0, out.size());
  if (stored.steps() == nullptr || stored.steps()->size() == 0) return {};
  return fill_expression(*table_, stored, reader, out);
}

Status StoragePlan::write_stored(size_t index, const ParameterReader& reader, Array<uint8_t>& scratch, const ByteSink& sink) const {
  const abi::Stored& stored = *table_->stored()->Get(static_cast<uint32_t>(index));
  if (stored.bytes() == 0) return {};
  const abi::Piece* piece = find_only_piece(stored);
  if (piece == nullptr) {
    if (!scratch.resize_uninitialized(stored.bytes())) return error(Code::OutOfMemory, "no memory for stored tensor '%s'", stored.name()->c_str());
    TIFFIN_TRY(fill_stored(index, reader, scratch.span()));
    return write_slices(scratch.span(), sink);
  }
  Array<uint8_t> value_scratch;
  TIFFIN_ASSIGN_OR_RETURN(const auto value, reader.read(reader.context, piece->parameter(), value_scratch));
  const uint64_t expected = entries_[piece->parameter()].bytes;
  if (value.size() != expected) return error(Code::Internal, "parameter %u was read with %zu bytes", piece->parameter(), value.size());
  const auto element_bytes = static_cast<size_t>(dtype_bits(dtype_of(stored.dtype()))) / 8;
  if (piece->source_offset() == 0 && is_compact(*piece->extents(), *piece->source_strides())) return write_slices(value.first(stored.bytes()), sink);
  return write_piece(copy_of(*piece, Direction::IntoStored), stored.bytes(), element_bytes, value.data(), scratch, sink);
}

Status StoragePlan::fill_data(const ParameterReader& reader, std::span<uint8_t> data) const {
  if (data.size() != data_bytes()) return error(Code::Internal, "stored tensors are filled into %zu bytes", data.size());
  uint64_t done = 0;
  for (const uint32_t index : order_) {
    const abi::Stored& stored = *table_->stored()->Get(index);
    if (stored.bytes() == 0) continue;
    memset(data.data() + done, 0, stored.offset() - done);
    TIFFIN_TRY(fill_stored(index, reader, data.subspan(stored.offset(), stored.bytes())));
    done = stored.offset() + stored.bytes();
  }
  if (done < data.size()) memset(data.data() + done, 0, data.size() - done);
  return {};
}

Status StoragePlan::restore_parameter(size_t index, std::span<const uint8_t> data, std::span<uint8_t> out) const {
  const ParamEntry& entry = entries_[index];
  if (out.size() != entry.bytes || data.size() < data_bytes())
    return error(Code::Internal, "parameter %zu is restored into %zu bytes", index, out.size());
  if (out.empty()) return {};
  const auto pieces = pieces_of(index);
  // A plan whose pieces leave an element out gives a zero there, never what the memory held.
  if (pieces.size() != 1) memset(out.data(), 0, out.size());
  for (const PieceRef& ref : pieces) {
    const abi::Stored& stored = *table_->stored()->Get(ref.stored);
    copy_piece(*stored.pieces()->Get(ref.piece), entry.dtype, Direction::OutOfStored, data.data() + stored.offset(), out.data(), entry.bytes);
  }
  return {};
}

const uint8_t* StoragePlan::find_in_place(size_t index, std::span<const uint8_t> data) const {
  const ParamEntry& entry = entries_[index];
  for (const PieceRef& ref : pieces_of(index)) {
    const abi::Stored& stored = *table_->stored()->Get(ref.stored);
    const abi::Piece& piece = *stored.pieces()->Get(ref.piece);
    uint64_t bytes = 0;
    const bool is_whole = piece.source_offset() == 0 && storage_bytes(entry.dtype, volume_of(piece), &bytes) && bytes == entry.bytes &&
                          is_compact(*piece.extents(), *piece.source_strides()) && is_compact(*piece.extents(), *piece.target_strides());
    if (!is_whole) continue;
    return data.data() + stored.offset() + static_cast<uint64_t>(piece.target_offset()) * static_cast<uint64_t>(dtype_bits(entry.dtype)) / 8;
  }
  return nullptr;
}

Result<StoredParameters> StoredParameters::create(const StoragePlan& plan, std::span<const uint8_t> data) {
  StoredParameters stored;
  stored.plan_ = &plan;
  stored.data_ = data;
  if (data.size() != plan.data_bytes()) return error(Code::Internal, "stored tensors have %zu bytes", data.size());
  if (!stored.entries_.append(plan.parameters())) return no_memory("a list of parameters");
  for (size_t i = 0; i < stored.entries_.size(); ++i) stored.entries_[i].data = plan.find_in_place(i, data);
  return stored;
}

ParamSource StoredParameters::source() const {
  const auto read = [](void* context, size_t index, std::span<uint8_t> out) -> Status {
    const auto& stored = *static_cast<const StoredParameters*>(context);
    return stored.plan_->restore_parameter(index, stored.data_, out);
  };
  return {entries_.span(), read, const_cast<StoredParameters*>(this)};
}

}  // namespace tiffin::params
