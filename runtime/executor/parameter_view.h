// SPDX-License-Identifier: Apache-2.0
// A model's own tensors, by name and with their original bytes: out of a module's or executor's current set, or out of a parameter file.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/params/param_file.h"
#include "base/params/storage_plan.h"
#include "runtime/executor/module.h"

namespace tiffin::runtime {

// For one thread at a time.
class ParameterView {
 public:
  // Free each with destroy. `set` is not null. OutOfMemory.
  static Result<ParameterView*> of_set(Ref<Module> module, Ref<ParameterSet> set);
  static Result<ParameterView*> of_file(params::ParamFile&& file);
  static void destroy(ParameterView* view);

  std::span<const params::ParamEntry> entries() const { return source_.entries; }
  const params::ParamSource& source() const { return source_; }
  // NUL-terminated.
  const char* name(size_t index) const { return names_[index]; }
  // The compact bytes, where they lie or made once; they live as long as the view.
  Result<const uint8_t*> bytes(size_t index);

 private:
  ParameterView() = default;
  static Result<ParameterView*> allocate();
  Status finish();

  Ref<Module> module_;
  Ref<ParameterSet> set_;
  std::optional<params::StoredParameters> stored_;
  std::optional<params::ParamFile> file_;
  params::ParamSource source_;
  Arena arena_;
  const char** names_ = nullptr;
  const uint8_t** restored_ = nullptr;
};

}  // namespace tiffin::runtime
