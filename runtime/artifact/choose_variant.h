// SPDX-License-Identifier: Apache-2.0
// Which variant of an artifact a machine runs, and why not the others: by what its CPU can do, never by a name. The loader asks for this
// machine, `doctor` for any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/text.h"
#include "runtime/artifact/artifact.h"

namespace tiffin::runtime {

// A machine as far as the choice depends on it.
struct Machine {
  const char* name = "this machine";  // as it stands in messages
  uint16_t elf_machine = 0;
  bool (*has_feature)(const void* context, std::string_view llvm_name) = nullptr;
  const void* context = nullptr;
  bool runs_code = true;  // false: only kernels as data may run
};
Machine this_machine();

// Whether the machine can run the variant; kernels as data run everywhere. NoVariant for another kind of machine, MissingCpuFeature with all
// that is missing (`features` of its details), NotTrusted for code where none may run. Messages begin with the variant's target.
Status judge_variant(const Artifact& artifact, const abi::Variant& variant, const Machine& machine);

// A larger rank is a better variant: code before data, wider vectors before narrower ones, then the one that uses more features. A superset of
// features always has the larger one.
size_t rank_variant(const abi::Variant& variant);

// Position of the best variant that the machine can run, of equal ranks the first. SIZE_MAX when there is none.
size_t find_best_variant(const Artifact& artifact, const Machine& machine);

// Why variant `index` is not `best`, which find_best_variant gave; nothing for the best itself.
void explain_variant(const Artifact& artifact, size_t index, size_t best, const Machine& machine, Text& out);

// A variant of an artifact, and why it is not the one that runs; "" for the one that is.
struct VariantChoice {
  const char* target;
  const char* reason;
};

// Every variant in the artifact's order, `chosen` being the one that runs; in `arena`. False when memory ran out. The core library, whose files
// have one variant, leaves `out` empty.
bool explain_variants(const Artifact& artifact, const abi::Variant& chosen, const Machine& machine, Arena& arena,
                      std::span<const VariantChoice>* out);

// The best variant. NoVariant naming both machines; MissingCpuFeature with all that the variant nearest to running lacks; NotTrusted.
Result<const abi::Variant*> choose_variant(const Artifact& artifact, const Machine& machine);
Result<const abi::Variant*> choose_variant(const Artifact& artifact);  // for this machine

}  // namespace tiffin::runtime
