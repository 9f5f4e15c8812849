// SPDX-License-Identifier: Apache-2.0
// An artifact prepared to run on this machine: its code and constants in memory, its own parameters bound. Shared by executors; of it only the
// generation of its parameters changes.
#pragma once

#include <cstdint>
#include <string_view>

#include "abi/kernel.h"
#include "base/status.h"
#include "runtime/artifact/artifact.h"
#include "runtime/device/cpu/code_image.h"
#include "runtime/executor/interpreted_kernels.h"
#include "runtime/executor/load_report.h"
#include "runtime/executor/parameter_sets.h"
#include "runtime/host/ref.h"

namespace tiffin::runtime {

// What an artifact may bring along that this process will execute.
enum class Trust : uint8_t {
  Native,
  Data,   // no code, only kernels as data
  Signed  // code of an artifact that a trusted key signed: all digests are checked, and code and tables once more after they were copied
};

struct LoadOptions {
  VerifyLevel verify = VerifyLevel::Code;
  bool copy = false;    // code and weights into private memory, so that the file may change or vanish
  bool strict = false;  // a fallback is an error
  Trust trust = Trust::Native;
  SignatureDemand signature{};  // of Trust::Signed; the keys are borrowed for the call
};

// Safe to use from many threads; executors keep it alive.
class Module : public Counted {
 public:
  // All checks, then the mappings. The codes of Artifact::open and choose_variant; Strict. Trust::Signed implies VerifyLevel::All.
  static Result<Ref<Module>> load(Source&& source, const LoadOptions& options);
  static Result<Ref<Module>> load(const char* path, const LoadOptions& options);
  static void destroy(Module* module);

  const Artifact& artifact() const { return artifact_; }
  const abi::Variant& variant() const { return *variant_; }
  const LoadReport& report() const { return report_; }
  // How parameters are bound to it, as it was loaded: with every value hashed, into private memory.
  params::BindOptions bind_options() const { return bind_options_; }
  // Strict, when it was loaded so, for a report whose repacked bytes became more: parameters of a strict module follow the storage plan.
  Status check_report(const LoadReport& report, uint64_t repacked_before) const;

  // MissingFunction with the names there are.
  Result<const abi::Entry*> find_entry(std::string_view name) const;

  // The current set: the embedded one (the empty one of a model without parameters) until another is committed; null in a weightless module
  // before the first commit.
  Ref<ParameterSet> parameters() const { return sets_.current_set(); }
  // Its generations. Changing them is what a module, otherwise immutable, lets through a const reference.
  ParameterSets& parameter_sets() const { return sets_; }

  // The kernel of that number, as work without buffers and units.
  Work work(uint32_t kernel) const {
    if (interpreted_.has_value()) return interpreted_->work(kernel);
    return {.function = code_->function_at(variant_->kernels()->Get(kernel)->code_offset())};
  }
  // That each thread needs for any step of the entry.
  uint64_t scratch_bytes(const abi::Entry& entry) const {
    const uint64_t interpreted = interpreted_.has_value() ? interpreted_->scratch_bytes() : 0;
    return interpreted > entry.scratch_bytes() ? interpreted : entry.scratch_bytes();
  }
  // 64-byte aligned, read-only.
  const uint8_t* constant(uint32_t index) const { return constants_[index]; }

 private:
  Status prepare(const LoadOptions& options);
  Status choose(const LoadOptions& options);
  Status load_code(const LoadOptions& options);
  Status load_kernels();
  Status load_constants(const LoadOptions& options);
  Result<std::span<const uint8_t>> constants_section(const LoadOptions& options);

  Artifact artifact_;
  Arena arena_;
  const abi::Variant* variant_ = nullptr;
  std::optional<CodeImage> code_;                  // of a native variant
  std::optional<InterpretedKernels> interpreted_;  // of one that is data
  Pages constants_window_;
  Pages uniform_constants_;
  const uint8_t** constants_ = nullptr;
  mutable ParameterSets sets_;
  LoadReport report_;
  params::BindOptions bind_options_;
  bool is_strict_ = false;
};

}  // namespace tiffin::runtime
