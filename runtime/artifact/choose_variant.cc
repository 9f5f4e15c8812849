// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/choose_variant.h"

#include <elf.h>

#include "runtime/artifact/check_program.h"
#include "runtime/host/cpu.h"

namespace tiffin::runtime {
namespace {

// In a shared object the whole file is for one machine; a bundle is for any.
uint16_t machine_of(const Artifact& artifact, const abi::Variant& variant, const Machine& machine) {
  if (is_data(variant)) return machine.elf_machine;
  const uint16_t outer = artifact.container().machine();
  return variant.machine() == machine.elf_machine && outer != EM_NONE ? outer : variant.machine();
}

size_t count_missing(const abi::Variant& variant, const Machine& machine) {
  size_t count = 0;
  for (const flatbuffers::String* feature : *variant.features()) count += machine.has_feature(machine.context, view(feature)) ? 0 : 1;
  return count;
}

Status missing_features(const char* what, const abi::Variant& variant, const Machine& machine) {
  Text missing, keys;
  for (const flatbuffers::String* feature : *variant.features()) {
    if (machine.has_feature(machine.context, view(feature))) continue;
    missing.add_item("%s", feature->c_str());
    keys.add_key(view(feature));
  }
  return error(Code::MissingCpuFeature, "'%s' is compiled for '%s' and needs CPU features that %s lacks: %s", what, variant.cpu()->c_str(),
               machine.name, missing.c_str())
      .with_details("features", keys.view());
}

Status other_machine(const char* what, uint16_t held, const abi::Variant& variant, const Machine& machine) {
  return error(Code::NoVariant, "'%s' holds code for %s (%s), %s is %s", what, machine_name(held), variant.triple()->c_str(), machine.name,
               machine_name(machine.elf_machine));
}

Status not_trusted(const char* what) {
  return error(Code::NotTrusted, "'%s' holds code, and only kernels as data may run", what)
      .with_remedy("compile the model with --target portable-ir as well, or trust its code with --trust native");
}

Status judge(const char* what, const Artifact& artifact, const abi::Variant& variant, const Machine& machine) {
  if (is_data(variant)) return {};
  if (!machine.runs_code) return not_trusted(what);
  const uint16_t held = machine_of(artifact, variant, machine);
  if (held != machine.elf_machine) return other_machine(what, held, variant, machine);
  if (count_missing(variant, machine) > 0) return missing_features(what, variant, machine);
  return {};
}

// Of the variants that do not run, the one that lacks least: of the machine's kind before others, fewer missing features before more.
const abi::Variant& nearest_variant(const Artifact& artifact, const Machine& machine) {
  const abi::Variant* nearest = nullptr;
  size_t fewest = SIZE_MAX;
  for (const abi::Variant* variant : *artifact.program().variants()) {
    if (machine_of(artifact, *variant, machine) != machine.elf_machine) continue;
    const size_t missing = count_missing(*variant, machine);
    if (missing >= fewest) continue;
    nearest = variant;
    fewest = missing;
  }
  return nearest == nullptr ? artifact.first_variant() : *nearest;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.elf_machine = host_machine();
  machine.has_feature = [](const void*, std::string_view name) { return cpu_has_feature(name); };
  return machine;
}

size_t rank_variant(const abi::Variant& variant) {
  if (is_data(variant)) return 0;
  size_t width = 0;
  for (const flatbuffers::String* feature : *variant.features()) {
    const std::string_view name = view(feature);
    const size_t own = name == "avx512f" || name == "sve2" ? 3 : name == "avx2" || name == "sve" ? 2 : name == "avx" ? 1 : 0;
    if (own > width) width = own;
  }
  return (width << 32) + variant.features()->size() + 1;
}

Status judge_variant(const Artifact& artifact, const abi::Variant& variant, const Machine& machine) {
  return judge(variant.target()->c_str(), artifact, variant, machine);
}

size_t find_best_variant(const Artifact& artifact, const Machine& machine) {
  const auto& variants = *artifact.program().variants();
  size_t best = SIZE_MAX, best_rank = 0;
  for (uint32_t i = 0; i < variants.size(); ++i) {
    const abi::Variant& variant = *variants.Get(i);
    if (best != SIZE_MAX && rank_variant(variant) <= best_rank) continue;
    if (!judge_variant(artifact, variant, machine).is_ok()) continue;
    best = i;
    best_rank = rank_variant(variant);
  }
  return best;
}

Result<const abi::Variant*> choose_variant(const Artifact& artifact, const Machine& machine) {
  const size_t best = find_best_variant(artifact, machine);
  if (best != SIZE_MAX) return artifact.program().variants()->Get(static_cast<uint32_t>(best));
  return judge(artifact.container().source().name(), artifact, nearest_variant(artifact, machine), machine);
}

Result<const abi::Variant*> choose_variant(const Artifact& artifact) { return choose_variant(artifact, this_machine()); }

}  // namespace tiffin::runtime
