// SPDX-License-Identifier: Apache-2.0
// Parameters of a module that change while it runs, and where the weights of the process lie: what the small runtime library leaves out.
#include "runtime/capi/boundary.h"
#include "runtime/capi/tensor_entry.h"
#include "runtime/executor/parameter_sharing.h"
#include "runtime/executor/staged_parameters.h"

using namespace tiffin;
using namespace tiffin::runtime;

namespace {

tiffin_staged* handle_of(StagedParameters* staged) { return reinterpret_cast<tiffin_staged*>(staged); }
StagedParameters* object_of(tiffin_staged* staged) { return reinterpret_cast<StagedParameters*>(staged); }
const StagedParameters* object_of(const tiffin_staged* staged) { return reinterpret_cast<const StagedParameters*>(staged); }

Status stage_file(tiffin_module* module, const char* path, tiffin_staged** out_staged) {
  TIFFIN_TRY(require_pointers(__func__, {module, path, out_staged}));
  TIFFIN_ASSIGN_OR_RETURN(params::ParamFile file, params::ParamFile::open(path));
  TIFFIN_ASSIGN_OR_RETURN(StagedParameters * staged, StagedParameters::from_file(Ref<Module>::share(runtime::object_of(module)), std::move(file)));
  *out_staged = handle_of(staged);
  return {};
}

Status stage_tensors(tiffin_module* module, const char* const* names, const DLTensor* tensors, size_t count, tiffin_staged** out_staged) {
  TIFFIN_TRY(require_pointers(__func__, {module, out_staged}));
  Arena memory;
  TIFFIN_ASSIGN_OR_RETURN(const params::ParamSource source, to_source(__func__, names, tensors, count, memory));
  TIFFIN_ASSIGN_OR_RETURN(StagedParameters * staged, StagedParameters::from_source(Ref<Module>::share(runtime::object_of(module)), source));
  *out_staged = handle_of(staged);
  return {};
}

Status rollback(tiffin_module* module, uint64_t generation) {
  TIFFIN_TRY(require_pointers(__func__, {module}));
  return runtime::object_of(module)->parameter_sets().rollback(generation);
}

Status get_report(const tiffin_staged* staged, tiffin_report* out_report) {
  TIFFIN_TRY(require_pointers(__func__, {staged, out_report}));
  write_report(object_of(staged)->module(), object_of(staged)->report(), out_report);
  return {};
}

Status verify(const tiffin_staged* staged) {
  TIFFIN_TRY(require_pointers(__func__, {staged}));
  return object_of(staged)->verify();
}

Status commit(tiffin_staged* staged) {
  TIFFIN_TRY(require_pointers(__func__, {staged}));
  return object_of(staged)->commit();
}

Status report_memory(tiffin_memory_report* out_report) {
  TIFFIN_TRY(require_pointers(__func__, {out_report}));
  const MemoryUse use = measure_parameters();
  write_struct(out_report, {0, use.set_count, use.unique_bytes, use.shared_bytes, use.private_bytes});
  return {};
}

bool is_fault_kind(int kind) { return kind >= TIFFIN_PARAMS_MISSING && kind <= TIFFIN_PARAMS_MISMATCHED; }

}  // namespace

tiffin_status* tiffin_report_memory(tiffin_memory_report* out_report) noexcept { return to_c(report_memory(out_report)); }

tiffin_status* tiffin_params_stage_file(tiffin_module* module, const char* path, tiffin_staged** out_staged) noexcept {
  return to_c(stage_file(module, path, out_staged));
}

tiffin_status* tiffin_params_stage_tensors(tiffin_module* module, const char* const* names, const DLTensor* tensors, size_t count,
                                           tiffin_staged** out_staged) noexcept {
  return to_c(stage_tensors(module, names, tensors, count, out_staged));
}

uint64_t tiffin_params_generation(const tiffin_module* module) noexcept {
  return module == nullptr ? 0 : runtime::object_of(module)->parameter_sets().current_number();
}

tiffin_status* tiffin_params_rollback(tiffin_module* module, uint64_t generation) noexcept { return to_c(rollback(module, generation)); }

uint64_t tiffin_staged_generation(const tiffin_staged* staged) noexcept { return staged == nullptr ? 0 : object_of(staged)->generation(); }

size_t tiffin_staged_fault_count(const tiffin_staged* staged, int kind) noexcept {
  if (staged == nullptr || !is_fault_kind(kind)) return 0;
  return object_of(staged)->fault_count(static_cast<StagedParameters::Fault>(kind));
}

const char* tiffin_staged_fault_name(const tiffin_staged* staged, int kind, size_t index) noexcept {
  if (staged == nullptr || !is_fault_kind(kind)) return nullptr;
  return object_of(staged)->fault_name(static_cast<StagedParameters::Fault>(kind), index);
}

tiffin_status* tiffin_staged_get_report(const tiffin_staged* staged, tiffin_report* out_report) noexcept {
  return to_c(get_report(staged, out_report));
}

tiffin_status* tiffin_staged_verify(tiffin_staged* staged) noexcept { return to_c(verify(staged)); }

tiffin_status* tiffin_staged_commit(tiffin_staged* staged) noexcept { return to_c(commit(staged)); }

void tiffin_staged_abort(tiffin_staged* staged) noexcept {
  if (staged != nullptr) object_of(staged)->abort();
}

void tiffin_staged_free(tiffin_staged* staged) noexcept { StagedParameters::destroy(object_of(staged)); }
