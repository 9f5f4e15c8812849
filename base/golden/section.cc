// SPDX-License-Identifier: Apache-2.0
#include "base/golden/section.h"

#include <cinttypes>
#include <cstring>

#include "base/golden/element.h"

namespace tiffin::golden {
namespace {

static_assert(sizeof(tiffin_golden_header) == 32 && sizeof(tiffin_golden_tensor) == 16 && sizeof(tiffin_golden_tolerance) == 24 &&
              sizeof(tiffin_golden_variant) == 8 && sizeof(tiffin_golden_sketch) == 192);

Status malformed(const char* what, uint64_t actual, uint64_t expected) {
  return error(Code::NotAnArtifact, "section 'golden' is malformed: %s is %" PRIu64 ", expected %" PRIu64, what, actual, expected);
}

// Walks over the parts in order; a part that is longer than what is left makes it fail for good.
class Parts {
 public:
  explicit Parts(std::span<const uint8_t> bytes) : next_(bytes.data()), left_(bytes.size()) {}

  template <class T>
  const T* take(uint64_t count) {
    if (has_failed_ || count > left_ / sizeof(T)) {
      has_failed_ = true;
      return nullptr;
    }
    const auto* part = reinterpret_cast<const T*>(next_);
    next_ += count * sizeof(T);
    left_ -= count * sizeof(T);
    return part;
  }
  bool has_failed() const { return has_failed_; }
  uint64_t left() const { return left_; }

 private:
  const uint8_t* next_;
  uint64_t left_;
  bool has_failed_ = false;
};

bool is_usable(double tolerance) { return tolerance >= 0 && tolerance - tolerance == 0; }

Status check_tolerances(std::span<const tiffin_golden_tolerance> tolerances) {
  for (const tiffin_golden_tolerance& row : tolerances) {
    if (!is_usable(row.ulp) || !is_usable(row.relative) || !is_usable(row.absolute)) {
      return error(Code::NotAnArtifact, "section 'golden' is malformed: a tolerance is %g ulp, %g relative, %g absolute, expected finite ones",
                   row.ulp, row.relative, row.absolute);
    }
  }
  return {};
}

Status check_sketches(std::span<const tiffin_golden_sketch> sketches, uint32_t per_case) {
  for (size_t i = 0; i < sketches.size(); ++i) {
    const tiffin_golden_sketch& row = sketches[i];
    const bool is_known = row.dtype < kDTypeCount && is_known_dtype(static_cast<uint8_t>(row.dtype));
    if (!is_known) return malformed("the dtype of a sketch", row.dtype, kDTypeCount - 1);
    if (row.not_finite > row.elements) return malformed("the number of elements that are not finite", row.not_finite, row.elements);
    if (!is_usable(row.relative) || !is_usable(row.absolute)) return malformed("the tolerance of a sketch at step", row.step, 0);
    if (i % per_case != 0 && row.step < sketches[i - 1].step) return malformed("the step of a sketch", row.step, sketches[i - 1].step);
  }
  return {};
}

}  // namespace

Result<Section> Section::read(std::span<const uint8_t> bytes) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % 8 != 0)
    return error(Code::Internal, "the golden cases lie in memory that is not aligned to 8 bytes");
  Parts parts(bytes);
  Section out;
  out.header_ = parts.take<tiffin_golden_header>(1);
  if (out.header_ == nullptr) return malformed("its length", bytes.size(), sizeof(tiffin_golden_header));
  const tiffin_golden_header& header = *out.header_;
  if (header.total_length != bytes.size()) return malformed("its length", bytes.size(), header.total_length);
  const uint64_t cases = header.case_count, tensor_count = uint64_t{header.input_count} + header.output_count;
  out.tensors_ = parts.take<tiffin_golden_tensor>(tensor_count);
  out.tolerances_ = parts.take<tiffin_golden_tolerance>(cases * header.output_count);
  out.variants_ = parts.take<tiffin_golden_variant>(header.variant_count);
  // Every case has at least one output, hence a row, so that a small section cannot ask for many runs.
  if (parts.has_failed() || header.output_count == 0) return malformed("the number of its outputs", header.output_count, 1);
  uint64_t sketch_count = 0;
  for (const tiffin_golden_variant& row : out.variants()) {
    if (&row != out.variants_ && row.variant <= (&row - 1)->variant)
      return malformed("the number of a variant", row.variant, (&row - 1)->variant + 1);
    const tiffin_golden_sketch* sketches = parts.take<tiffin_golden_sketch>(cases * row.sketch_count);
    if (sketches == nullptr) return malformed("the number of sketches", row.sketch_count, sketch_count);
    if (out.sketches_ == nullptr) out.sketches_ = sketches;
    sketch_count += row.sketch_count;
    TIFFIN_TRY(check_sketches({sketches, static_cast<size_t>(cases * row.sketch_count)}, row.sketch_count));
  }
  for (const tiffin_golden_tensor& tensor : out.tensors()) {
    if (tensor.dtype >= kDTypeCount || !is_known_dtype(static_cast<uint8_t>(tensor.dtype))) {
      return malformed("the dtype of a tensor", tensor.dtype, kDTypeCount - 1);
    }
    if (tensor.bytes > parts.left()) return malformed("the size of a tensor", tensor.bytes, parts.left());
    out.case_bytes_ += padded(tensor.bytes);
    if (out.case_bytes_ > parts.left() + 7) return malformed("the size of a case", out.case_bytes_, parts.left());
  }
  uint64_t all = 0;
  if (__builtin_mul_overflow(cases, out.case_bytes_, &all) || all != parts.left()) return malformed("the size of its tensors", parts.left(), all);
  out.elements_ = parts.take<uint8_t>(all);
  TIFFIN_TRY(check_tolerances({out.tolerances_, static_cast<size_t>(cases * header.output_count)}));
  return out;
}

uint64_t Section::case_count_of(std::span<const uint8_t> start) {
  tiffin_golden_header header;
  if (start.size() < sizeof(header)) return 0;
  memcpy(&header, start.data(), sizeof(header));
  return header.case_count;
}

std::span<const uint8_t> Section::elements(uint32_t number, size_t index) const {
  uint64_t at = number * case_bytes_;
  for (size_t i = 0; i < index; ++i) at += padded(tensors_[i].bytes);
  return {elements_ + at, static_cast<size_t>(tensors_[index].bytes)};
}

std::span<const tiffin_golden_sketch> Section::sketches(uint32_t variant, uint32_t number) const {
  const tiffin_golden_sketch* first = sketches_;
  for (const tiffin_golden_variant& row : variants()) {
    if (row.variant == variant) return {first + size_t{number} * row.sketch_count, row.sketch_count};
    first += size_t{header_->case_count} * row.sketch_count;
  }
  return {};
}

}  // namespace tiffin::golden
