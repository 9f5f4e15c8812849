// SPDX-License-Identifier: Apache-2.0
// What loading and binding did: where the bytes went, how long it took, which variant runs and why no other, and every
// fallback that was taken.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/artifact/choose_variant.h"

namespace tiffin::runtime {

struct LoadPhase {
  const char* name;
  uint64_t ns;
};

struct LoadReport {
  static constexpr int kMaxFallbacks = 8;
  static constexpr int kMaxPhases = 8;

  uint64_t mapped_bytes = 0;    // used where they lie in the file's pages
  uint64_t copied_bytes = 0;    // the same bytes in private memory
  uint64_t repacked_bytes = 0;  // stored tensors made from parameters by the storage plan
  const char* fallback_texts[kMaxFallbacks] = {};
  int fallback_count = 0;
  LoadPhase phase_rows[kMaxPhases] = {};
  int phase_count = 0;
  std::span<const VariantChoice> variants;  // every one; they live as long as the module

  std::span<const char* const> fallbacks() const { return {fallback_texts, static_cast<size_t>(fallback_count)}; }
  std::span<const LoadPhase> phases() const { return {phase_rows, static_cast<size_t>(phase_count)}; }
  // `text` is static.
  void add_fallback(const char* text) {
    if (fallback_count < kMaxFallbacks) fallback_texts[fallback_count++] = text;
  }
  void add_phase(const char* name, uint64_t ns) {
    if (phase_count < kMaxPhases) phase_rows[phase_count++] = {name, ns};
  }
};

}  // namespace tiffin::runtime
