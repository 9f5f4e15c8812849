// SPDX-License-Identifier: Apache-2.0
// A complete set of other values for a module, compared and prepared before anything runs on it; then committed or let go.
#pragma once

#include <cstdint>

#include "base/params/param_file.h"
#include "runtime/executor/module.h"

namespace tiffin::runtime {

// For one thread at a time; several may be staged for one module at once, and the last commit wins.
class StagedParameters {
 public:
  enum class Fault : uint8_t { Missing, Unexpected, Mismatched };

  // Faults of single parameters (names, types, shapes, values of frozen ones) do not fail here, they are listed and refuse the commit.
  // A file's pages are read ahead. The codes of base/params/bind.h that concern the whole, Io, OutOfMemory. Free it with destroy.
  static Result<StagedParameters*> from_file(Ref<Module> module, params::ParamFile&& file);
  // `source` is read during the call only.
  static Result<StagedParameters*> from_source(Ref<Module> module, const params::ParamSource& source);
  // Lets go of a set that was not committed.
  static void destroy(StagedParameters* staged);

  uint64_t generation() const { return number_; }
  size_t fault_count(Fault kind) const;
  // NUL-terminated; null beyond the last.
  const char* fault_name(Fault kind, size_t index) const;
  const Module& module() const { return *module_; }
  const LoadReport& report() const { return report_; }
  // What an executor takes to run on this set before it is committed; null when there are faults, or after an abort.
  const Ref<ParameterSet>& set() const { return set_; }

  // All faults in one error, as a commit would give it; else the digests of all parameters, restored from the stored tensors, against those that the
  // file states or that were taken when staging (DigestMismatch), and then the artifact's golden cases on this set: GoldenMismatch for weights that
  // compute something else than the model was compiled with.
  Status verify() const;
  // Makes the set the module's current one. The faults' error by its precedence; InvalidArgument when it was committed or aborted before.
  Status commit();
  void abort();

 private:
  explicit StagedParameters(Ref<Module> module) : module_(std::move(module)) {}
  static Result<StagedParameters*> create(Ref<Module> module);
  Status take(Result<Ref<ParameterSet>> set);
  Status check_open() const;
  Status check_golden_cases() const;

  Ref<Module> module_;
  Ref<ParameterSet> set_;
  Status faults_;  // its details are the lists
  LoadReport report_;
  Generation* generation_ = nullptr;  // null once it is the module's, or let go
  uint64_t number_ = 0;
  bool is_committed_ = false;
};

}  // namespace tiffin::runtime
