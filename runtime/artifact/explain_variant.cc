// SPDX-License-Identifier: Apache-2.0
// Why a variant is not the one that runs, for people.
#include "runtime/artifact/check_program.h"
#include "runtime/artifact/choose_variant.h"

namespace tiffin::runtime {

void explain_variant(const Artifact& artifact, size_t index, size_t best, const Machine& machine, Text& out) {
  if (index == best) return;
  const auto& variants = *artifact.program().variants();
  const abi::Variant& variant = *variants.Get(static_cast<uint32_t>(index));
  const Status verdict = judge_variant(artifact, variant, machine);
  if (!verdict.is_ok()) {
    out.add_format("%s", verdict.message());
    return;
  }
  const abi::Variant& chosen = *variants.Get(static_cast<uint32_t>(best));
  if (is_data(variant)) {
    out.add_format("it runs there as well, but its kernels are data that is interpreted, and '%s' is code", chosen.target()->c_str());
  } else if (rank_variant(variant) == rank_variant(chosen)) {
    out.add_format("it runs there as well, but '%s' asks for as much and comes first", chosen.target()->c_str());
  } else {
    out.add_format("it runs there as well, but '%s' uses more of what the CPU can do", chosen.target()->c_str());
  }
}

bool explain_variants(const Artifact& artifact, const abi::Variant& chosen, const Machine& machine, Arena& arena,
                      std::span<const VariantChoice>* out) {
  const auto& variants = *artifact.program().variants();
  uint32_t best = 0;
  while (variants.Get(best) != &chosen) ++best;
  auto* rows = arena.allocate<VariantChoice>(variants.size());
  if (rows == nullptr) return false;
  for (uint32_t i = 0; i < variants.size(); ++i) {
    Text reason;
    explain_variant(artifact, i, best, machine, reason);
    rows[i] = {variants.Get(i)->target()->c_str(), arena.copy_text(reason.view())};
    if (rows[i].reason == nullptr || reason.has_failed()) return false;
  }
  *out = {rows, variants.size()};
  return true;
}

}  // namespace tiffin::runtime
