// SPDX-License-Identifier: Apache-2.0
// Sections of golden cases: what the reader takes is walked and compared with itself.
#include <cstring>
#include <memory>

#include "base/golden/compare.h"
#include "base/golden/section.h"
#include "fuzz/target.h"

namespace tiffin::fuzz {
namespace {

void walk_case(const golden::Section& section, uint32_t number) {
  const auto tensors = section.tensors();
  const uint32_t inputs = section.header().input_count;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto elements = section.elements(number, i);
    const auto dtype = static_cast<DType>(tensors[i].dtype);
    require(elements.size() == tensors[i].bytes, "a tensor has the bytes that its row says");
    tiffin_golden_sketch sketch{};
    golden::take_sketch(dtype, elements, &sketch);
    if (i < inputs) continue;
    const auto difference = golden::compare(dtype, elements, elements, section.tolerance(number, static_cast<uint32_t>(i - inputs)));
    require(difference.is_accepted, "a tensor equals itself");
  }
  for (const tiffin_golden_variant& variant : section.variants()) {
    for (const tiffin_golden_sketch& sketch : section.sketches(variant.variant, number)) use(golden::departs(sketch, sketch));
  }
}

}  // namespace

bool accepts(std::span<const uint8_t> bytes) {
  // Aligned to 8, and exactly so long.
  const auto aligned = std::make_unique<uint64_t[]>((bytes.size() + 7) / 8);
  if (!bytes.empty()) memcpy(aligned.get(), bytes.data(), bytes.size());
  const std::span<const uint8_t> copy(reinterpret_cast<const uint8_t*>(aligned.get()), bytes.size());
  use(golden::Section::case_count_of(copy));
  const auto section = golden::Section::read(copy);
  if (!section.has_value()) return false;
  for (uint32_t number = 0; number < section->header().case_count && number < 64; ++number) walk_case(*section, number);
  return true;
}

}  // namespace tiffin::fuzz
