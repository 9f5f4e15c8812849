// SPDX-License-Identifier: Apache-2.0
// The section of golden cases (abi/golden.h), checked once and then read in place.
#pragma once

#include <cstdint>
#include <span>

#include "abi/golden.h"
#include "base/dtype.h"
#include "base/status.h"

namespace tiffin::golden {

// Borrows the section's bytes. Immutable.
class Section {
 public:
  // NotAnArtifact saying what does not fit. `bytes` are aligned to 8.
  static Result<Section> read(std::span<const uint8_t> bytes);
  // The number of cases that the first bytes of a section speak of; 0 for less than a header.
  static uint64_t case_count_of(std::span<const uint8_t> start);

  const tiffin_golden_header& header() const { return *header_; }
  // Inputs, then outputs.
  std::span<const tiffin_golden_tensor> tensors() const { return {tensors_, size_t{header_->input_count} + header_->output_count}; }
  std::span<const tiffin_golden_variant> variants() const { return {variants_, header_->variant_count}; }
  const tiffin_golden_tolerance& tolerance(uint32_t number, uint32_t output) const {
    return tolerances_[size_t{number} * header_->output_count + output];
  }
  // Elements of tensor `index` of a case, by the order of tensors().
  std::span<const uint8_t> elements(uint32_t number, size_t index) const;
  // Of one case in the order of steps; empty for a variant without sketches.
  std::span<const tiffin_golden_sketch> sketches(uint32_t variant, uint32_t number) const;

 private:
  const tiffin_golden_header* header_ = nullptr;
  const tiffin_golden_tensor* tensors_ = nullptr;
  const tiffin_golden_tolerance* tolerances_ = nullptr;
  const tiffin_golden_variant* variants_ = nullptr;
  const tiffin_golden_sketch* sketches_ = nullptr;
  const uint8_t* elements_ = nullptr;
  uint64_t case_bytes_ = 0;
};

// Rounded up to where the next tensor of a case begins.
inline uint64_t padded(uint64_t bytes) { return (bytes + 7) / 8 * 8; }

}  // namespace tiffin::golden
