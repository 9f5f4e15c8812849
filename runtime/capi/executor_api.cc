// SPDX-License-Identifier: Apache-2.0
// tiffin_executor_*, but for what params_api.cc has.
#include "runtime/capi/boundary.h"

using namespace tiffin;
using namespace tiffin::runtime;

namespace {

Status create_executor(tiffin_module* module, const char* name, const tiffin_executor_options* given, tiffin_executor** out_executor) {
  TIFFIN_TRY(require_pointers(__func__, {module, name, out_executor}));
  const auto options = options_or_default<tiffin_executor_options>(given, {sizeof(tiffin_executor_options), 1});
  TIFFIN_ASSIGN_OR_RETURN(GraphExecutor * executor, GraphExecutor::create(Ref<Module>::share(object_of(module)), name, {options.threads}));
  *out_executor = handle_of(executor);
  return {};
}

Status write_spec(const char* function, const tiffin_executor* handle, bool is_input, size_t index, tiffin_tensor_spec* out_spec) {
  TIFFIN_TRY(require_pointers(function, {handle, out_spec}));
  const GraphExecutor& executor = *object_of(handle);
  TIFFIN_TRY(check_index(is_input ? "input" : "output", index, is_input ? executor.input_count() : executor.output_count()));
  const TensorSpec spec = is_input ? executor.input_spec(index) : executor.output_spec(index);
  tiffin_tensor_spec value{};
  value.name = spec.name;
  value.dtype_name = dtype_name(spec.dtype).data();
  value.dtype = to_dlpack(spec.dtype);
  value.ndim = static_cast<int32_t>(spec.shape.size());
  value.shape = spec.shape.data();
  value.bytes = is_input ? executor.input_bytes(index) : executor.output_bytes(index);
  write_struct(out_spec, value);
  return {};
}

Status find_input(const tiffin_executor* executor, const char* name, size_t* out_index) {
  TIFFIN_TRY(require_pointers(__func__, {executor, name, out_index}));
  TIFFIN_ASSIGN_OR_RETURN(*out_index, object_of(executor)->find_input(name));
  return {};
}

Status set_input(tiffin_executor* executor, size_t index, const DLTensor* tensor) {
  TIFFIN_TRY(require_pointers(__func__, {executor, tensor}));
  TIFFIN_TRY(check_index("input", index, object_of(executor)->input_count()));
  return object_of(executor)->set_input(index, *tensor);
}

Status set_input_by_name(tiffin_executor* executor, const char* name, const DLTensor* tensor) {
  size_t index = 0;
  TIFFIN_TRY(require_pointers(__func__, {tensor}));
  TIFFIN_TRY(find_input(executor, name, &index));
  return object_of(executor)->set_input(index, *tensor);
}

Status bind_input(tiffin_executor* executor, size_t index, const DLTensor* tensor) {
  TIFFIN_TRY(require_pointers(__func__, {executor, tensor}));
  TIFFIN_TRY(check_index("input", index, object_of(executor)->input_count()));
  return object_of(executor)->bind_input(index, *tensor);
}

Status bind_output(tiffin_executor* executor, size_t index, const DLTensor* tensor) {
  TIFFIN_TRY(require_pointers(__func__, {executor, tensor}));
  TIFFIN_TRY(check_index("output", index, object_of(executor)->output_count()));
  return object_of(executor)->bind_output(index, *tensor);
}

Status load_params(tiffin_executor* executor, Result<params::ParamFile>&& file, int new_weights) {
  if (!file.has_value()) return file.take_error();
  return object_of(executor)->load_parameters(std::move(file).value(), {new_weights != 0});
}

Status load_params_file(tiffin_executor* executor, const char* path, int new_weights) {
  TIFFIN_TRY(require_pointers(__func__, {executor, path}));
  return load_params(executor, params::ParamFile::open(path), new_weights);
}

Status load_params_memory(tiffin_executor* executor, const void* bytes, size_t length, int new_weights) {
  TIFFIN_TRY(require_pointers(__func__, {executor, bytes}));
  return load_params(executor, params::ParamFile::from_memory({static_cast<const uint8_t*>(bytes), length}), new_weights);
}

Status get_output(const tiffin_executor* executor, size_t index, DLTensor* out_tensor) {
  TIFFIN_TRY(require_pointers(__func__, {executor, out_tensor}));
  TIFFIN_TRY(check_index("output", index, object_of(executor)->output_count()));
  TIFFIN_ASSIGN_OR_RETURN(*out_tensor, object_of(executor)->output(index));
  return {};
}

Status get_step_profile(const tiffin_executor* executor, size_t index, tiffin_step_profile* out_profile) {
  TIFFIN_TRY(require_pointers(__func__, {executor, out_profile}));
  TIFFIN_TRY(check_index("step", index, object_of(executor)->step_count()));
  const StepProfile profile = object_of(executor)->step_profile(index);
  write_struct(out_profile, {0, profile.label, profile.kernel, profile.ns, object_of(executor)->profiled_runs()});
  return {};
}

}  // namespace

tiffin_status* tiffin_executor_create(tiffin_module* module, const char* function_name, const tiffin_executor_options* options,
                                      tiffin_executor** out_executor) noexcept {
  return to_c(create_executor(module, function_name, options, out_executor));
}

void tiffin_executor_free(tiffin_executor* executor) noexcept { GraphExecutor::destroy(object_of(executor)); }

size_t tiffin_executor_input_count(const tiffin_executor* executor) noexcept { return executor == nullptr ? 0 : object_of(executor)->input_count(); }

size_t tiffin_executor_output_count(const tiffin_executor* executor) noexcept {
  return executor == nullptr ? 0 : object_of(executor)->output_count();
}

tiffin_status* tiffin_executor_get_input_spec(const tiffin_executor* executor, size_t index, tiffin_tensor_spec* out_spec) noexcept {
  return to_c(write_spec(__func__, executor, true, index, out_spec));
}

tiffin_status* tiffin_executor_get_output_spec(const tiffin_executor* executor, size_t index, tiffin_tensor_spec* out_spec) noexcept {
  return to_c(write_spec(__func__, executor, false, index, out_spec));
}

tiffin_status* tiffin_executor_find_input(const tiffin_executor* executor, const char* name, size_t* out_index) noexcept {
  return to_c(find_input(executor, name, out_index));
}

tiffin_status* tiffin_executor_set_input(tiffin_executor* executor, size_t index, const DLTensor* tensor) noexcept {
  return to_c(set_input(executor, index, tensor));
}

tiffin_status* tiffin_executor_set_input_by_name(tiffin_executor* executor, const char* name, const DLTensor* tensor) noexcept {
  return to_c(set_input_by_name(executor, name, tensor));
}

tiffin_status* tiffin_executor_bind_input(tiffin_executor* executor, size_t index, const DLTensor* tensor) noexcept {
  return to_c(bind_input(executor, index, tensor));
}

tiffin_status* tiffin_executor_bind_output(tiffin_executor* executor, size_t index, const DLTensor* tensor) noexcept {
  return to_c(bind_output(executor, index, tensor));
}

tiffin_status* tiffin_executor_load_params_file(tiffin_executor* executor, const char* path, int new_weights) noexcept {
  return to_c(load_params_file(executor, path, new_weights));
}

tiffin_status* tiffin_executor_load_params_memory(tiffin_executor* executor, const void* bytes, size_t length, int new_weights) noexcept {
  return to_c(load_params_memory(executor, bytes, length, new_weights));
}

tiffin_status* tiffin_executor_run(tiffin_executor* executor) noexcept {
  Status status = require_pointers(__func__, {executor});
  return to_c(status.is_ok() ? object_of(executor)->run() : std::move(status));
}

tiffin_status* tiffin_executor_get_output(const tiffin_executor* executor, size_t index, DLTensor* out_tensor) noexcept {
  return to_c(get_output(executor, index, out_tensor));
}

tiffin_status* tiffin_executor_set_profiling(tiffin_executor* executor, int is_on) noexcept {
  Status status = require_pointers(__func__, {executor});
  if (status.is_ok()) object_of(executor)->set_profiling(is_on != 0);
  return to_c(std::move(status));
}

size_t tiffin_executor_step_count(const tiffin_executor* executor) noexcept { return executor == nullptr ? 0 : object_of(executor)->step_count(); }

tiffin_status* tiffin_executor_get_step_profile(const tiffin_executor* executor, size_t index, tiffin_step_profile* out_profile) noexcept {
  return to_c(get_step_profile(executor, index, out_profile));
}

tiffin_status* tiffin_executor_get_report(const tiffin_executor* executor, tiffin_report* out_report) noexcept {
  Status status = require_pointers(__func__, {executor, out_report});
  if (status.is_ok()) write_report(object_of(executor)->module(), object_of(executor)->report(), out_report);
  return to_c(std::move(status));
}
