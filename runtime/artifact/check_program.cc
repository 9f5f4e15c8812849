// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/check_program.h"

#include <cinttypes>

#include "abi/kernel.h"
#include "base/dtype.h"
#include "base/params/plan_bounds.h"

namespace tiffin::runtime {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 47;

bool is_inside(uint64_t offset, uint64_t bytes, uint64_t whole) { return offset <= whole && bytes <= whole - offset; }

// Its type, rank, symbols, extents (-1: open) and, where they are known, its size.
bool is_possible(const abi::Value& value) {
  const auto& shape = *value.shape();
  if (!is_known_dtype(value.dtype()) || shape.size() > TIFFIN_MAX_RANK || !params::is_aligned(shape)) return false;
  if (value.symbols() != nullptr && value.symbols()->size() != 0 && value.symbols()->size() != shape.size()) return false;
  bool is_open = false;
  for (const int64_t extent : shape) {
    if (extent < -1) return false;
    is_open = is_open || extent == -1;
  }
  uint64_t bytes = 0;
  return is_open || (value_bytes(value, &bytes) && bytes <= kMaxBytes);
}

class Checker {
 public:
  Checker(const abi::Program& program, const abi::StoragePlan& plan, const Container& container)
      : program_(program), plan_(plan), container_(container) {}

  Status check_constants() const;
  Status check_variant(const abi::Variant& variant) const;

 private:
  Status damaged(const char* format, ...) const __attribute__((format(printf, 2, 3)));
  Status check_kernels(const abi::Variant& variant) const;
  Status check_values(const abi::Entry& entry, const flatbuffers::Vector<flatbuffers::Offset<abi::Value>>& values) const;
  Status check_buffer(const abi::Entry& entry, uint32_t index) const;
  Status check_step(const abi::Variant& variant, const abi::Entry& entry, uint32_t index) const;
  bool space_bytes(const abi::Entry& entry, const abi::Buffer& buffer, uint64_t* out_bytes) const;

  const abi::Program& program_;
  const abi::StoragePlan& plan_;
  const Container& container_;
};

Status Checker::damaged(const char* format, ...) const {
  va_list arguments;
  va_start(arguments, format);
  Status status = error_v(Code::NotAnArtifact, format, arguments);
  va_end(arguments);
  return std::move(status).with_context("'%s' is damaged", container_.source().name());
}

Status Checker::check_constants() const {
  const Section* section = container_.find(TIFFIN_SECTION_CONSTANTS);
  const uint64_t whole = section == nullptr ? 0 : section->length;
  for (const abi::Constant* constant : *program_.constants()) {
    const auto dtype = static_cast<DType>(constant->dtype());
    uint64_t element = 0;
    if (!is_known_dtype(constant->dtype()) || !storage_bytes(dtype, 1, &element)) return damaged("a constant has dtype %u", constant->dtype());
    const uint64_t stored = constant->uniform() ? element : constant->bytes();
    if (constant->offset() % TIFFIN_BUFFER_ALIGNMENT != 0 || constant->bytes() > kMaxBytes || !is_inside(constant->offset(), stored, whole)) {
      return damaged("a constant of %" PRIu64 " bytes lies at %" PRIu64 " of %" PRIu64, constant->bytes(), constant->offset(), whole);
    }
    if (constant->uniform() && constant->bytes() % element != 0) return damaged("a uniform constant has %" PRIu64 " bytes", constant->bytes());
  }
  return {};
}

Status Checker::check_kernels(const abi::Variant& variant) const {
  const tiffin_section_kind kind = is_data(variant) ? TIFFIN_SECTION_KERNEL_IR : TIFFIN_SECTION_CODE;
  const Section* code = container_.find(kind, {variant.code_section()->c_str(), variant.code_section()->size()});
  if (code == nullptr || variant.code_section()->size() == 0) return damaged("there is no code section '%s'", variant.code_section()->c_str());
  for (const abi::Kernel* kernel : *variant.kernels()) {
    if (kernel->code_offset() >= code->code_start && kernel->code_bytes() > 0 && is_inside(kernel->code_offset(), kernel->code_bytes(), code->length))
      continue;
    return damaged("kernel '%s' has its code at %" PRIu64 ", %" PRIu64 " bytes, outside of [%" PRIu64 ", %" PRIu64 ")", kernel->name()->c_str(),
                   kernel->code_offset(), kernel->code_bytes(), code->code_start, code->length);
  }
  return {};
}

Status Checker::check_values(const abi::Entry& entry, const flatbuffers::Vector<flatbuffers::Offset<abi::Value>>& values) const {
  for (const abi::Value* value : values) {
    if (is_possible(*value)) continue;
    return damaged("value '%s' of entry '%s' is not possible: dtype %u, rank %u, %u symbols", value->name()->c_str(), entry.name()->c_str(),
                   value->dtype(), value->shape()->size(), value->symbols() == nullptr ? 0 : value->symbols()->size());
  }
  return {};
}

// Bytes of the tensor or memory that a buffer lies in; false when the index is none.
bool Checker::space_bytes(const abi::Entry& entry, const abi::Buffer& buffer, uint64_t* out_bytes) const {
  const uint32_t index = buffer.index();
  switch (buffer.space()) {
    case abi::Space::Input:
      return index < entry.inputs()->size() && value_bytes(*entry.inputs()->Get(index), out_bytes);
    case abi::Space::Output:
      return index < entry.outputs()->size() && value_bytes(*entry.outputs()->Get(index), out_bytes);
    case abi::Space::Arena:
      *out_bytes = entry.arena_bytes();
      return true;
    case abi::Space::Stored:
      if (index >= plan_.stored()->size()) return false;
      *out_bytes = plan_.stored()->Get(index)->bytes();
      return true;
    case abi::Space::Constant:
      if (index >= program_.constants()->size()) return false;
      *out_bytes = program_.constants()->Get(index)->bytes();
      return true;
  }
  return false;
}

Status Checker::check_buffer(const abi::Entry& entry, uint32_t index) const {
  const abi::Buffer& buffer = *entry.buffers()->Get(index);
  uint64_t whole = 0;
  if (!space_bytes(entry, buffer, &whole)) {
    return damaged("buffer %u of entry '%s' refers to number %u of space %u", index, entry.name()->c_str(), buffer.index(),
                   static_cast<unsigned>(buffer.space()));
  }
  if (buffer.offset() % TIFFIN_BUFFER_ALIGNMENT != 0 || !is_inside(buffer.offset(), buffer.bytes(), whole)) {
    return damaged("buffer %u of entry '%s' has %" PRIu64 " bytes at %" PRIu64 " of %" PRIu64, index, entry.name()->c_str(), buffer.bytes(),
                   buffer.offset(), whole);
  }
  return {};
}

Status Checker::check_step(const abi::Variant& variant, const abi::Entry& entry, uint32_t index) const {
  const abi::Step& step = *entry.steps()->Get(index);
  const char* label = step.label()->c_str();
  if (step.kernel() >= variant.kernels()->size()) return damaged("step '%s' calls kernel %u of %u", label, step.kernel(), variant.kernels()->size());
  const uint32_t expected = variant.kernels()->Get(step.kernel())->buffer_count();
  if (step.buffers()->size() != expected) return damaged("step '%s' has %u buffers, its kernel wants %u", label, step.buffers()->size(), expected);
  uint64_t most_units = 1;  // each computes at least one element, of 2 bits or more
  for (const uint32_t buffer : *step.buffers()) {
    if (buffer >= entry.buffers()->size()) return damaged("step '%s' uses buffer %u of %u", label, buffer, entry.buffers()->size());
    most_units += entry.buffers()->Get(buffer)->bytes() * 4;
  }
  if (step.units() < 0 || static_cast<uint64_t>(step.units()) > most_units || step.grain() < 0 || step.scratch_bytes() > entry.scratch_bytes()) {
    return damaged("step '%s' has %" PRId64 " units, grain %" PRId64 " and %" PRIu64 " bytes of scratch", label, step.units(), step.grain(),
                   step.scratch_bytes());
  }
  return {};
}

Status Checker::check_variant(const abi::Variant& variant) const {
  TIFFIN_TRY(check_kernels(variant));
  for (const abi::Entry* entry : *variant.entries()) {
    TIFFIN_TRY(check_values(*entry, *entry->inputs()));
    TIFFIN_TRY(check_values(*entry, *entry->outputs()));
    if (entry->arena_bytes() > kMaxBytes || entry->scratch_bytes() > kMaxBytes) {
      return damaged("entry '%s' needs %" PRIu64 " bytes of arena and %" PRIu64 " of scratch", entry->name()->c_str(), entry->arena_bytes(),
                     entry->scratch_bytes());
    }
    for (uint32_t i = 0; i < entry->buffers()->size(); ++i) TIFFIN_TRY(check_buffer(*entry, i));
    uint64_t uses = 0;
    for (uint32_t i = 0; i < entry->steps()->size(); ++i) uses += entry->steps()->Get(i)->buffers()->size();
    // A list that many steps share would make the check slow.
    if (uses > container_.find(TIFFIN_SECTION_PROGRAM)->length) return damaged("the steps of entry '%s' share their buffers", entry->name()->c_str());
    for (uint32_t i = 0; i < entry->steps()->size(); ++i) TIFFIN_TRY(check_step(variant, *entry, i));
  }
  return {};
}

}  // namespace

bool value_bytes(const abi::Value& value, uint64_t* out_bytes) {
  uint64_t count = 1;
  for (const int64_t extent : *value.shape()) {
    if (extent < 0 || __builtin_mul_overflow(count, static_cast<uint64_t>(extent), &count)) return false;
  }
  return is_known_dtype(value.dtype()) && storage_bytes(static_cast<DType>(value.dtype()), count, out_bytes);
}

Status check_program(const abi::Program& program, const abi::StoragePlan& plan, const Container& container) {
  const Checker checker(program, plan, container);
  if (program.variants()->size() == 0) return error(Code::NotAnArtifact, "'%s' is damaged: it holds no variant", container.source().name());
  TIFFIN_TRY(checker.check_constants());
  for (const abi::Variant* variant : *program.variants()) TIFFIN_TRY(checker.check_variant(*variant));
  return {};
}

}  // namespace tiffin::runtime
