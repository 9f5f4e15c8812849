// SPDX-License-Identifier: Apache-2.0
// Parameters by name, in and out: what the small runtime library leaves out.
#include "runtime/capi/boundary.h"
#include "runtime/capi/tensor_entry.h"

using namespace tiffin;
using namespace tiffin::runtime;

namespace {

Status module_params(const tiffin_module* handle, tiffin_params** out_params) {
  TIFFIN_TRY(require_pointers(__func__, {handle, out_params}));
  auto* module = const_cast<Module*>(object_of(handle));
  Ref<ParameterSet> set = module->parameters();
  if (!set) return error(Code::MissingParam, "the artifact holds no weights");
  TIFFIN_ASSIGN_OR_RETURN(ParameterView * params, ParameterView::of_set(Ref<Module>::share(module), std::move(set)));
  *out_params = handle_of(params);
  return {};
}

Status load_params(Result<params::ParamFile>&& file, tiffin_params** out_params) {
  if (!file.has_value()) return file.take_error();
  TIFFIN_ASSIGN_OR_RETURN(ParameterView * params, ParameterView::of_file(std::move(file).value()));
  *out_params = handle_of(params);
  return {};
}

Status load_params_file(uint32_t abi, const char* path, tiffin_params** out_params) {
  TIFFIN_TRY(check_abi(abi));
  TIFFIN_TRY(require_pointers(__func__, {path, out_params}));
  return load_params(params::ParamFile::open(path), out_params);
}

Status load_params_memory(uint32_t abi, const void* bytes, size_t length, tiffin_params** out_params) {
  TIFFIN_TRY(check_abi(abi));
  TIFFIN_TRY(require_pointers(__func__, {bytes, out_params}));
  return load_params(params::ParamFile::from_memory({static_cast<const uint8_t*>(bytes), length}), out_params);
}

Status get_param(tiffin_params* handle, size_t index, const char** out_name, DLTensor* out_tensor) {
  TIFFIN_TRY(require_pointers(__func__, {handle, out_name, out_tensor}));
  ParameterView& params = *object_of(handle);
  TIFFIN_TRY(check_index("parameter", index, params.entries().size()));
  const params::ParamEntry& entry = params.entries()[index];
  const DLDataType dtype = to_dlpack(entry.dtype);
  if (dtype.bits == 0) {
    return error(Code::UnsupportedType, "parameter '%s' is %s, which DLPack lacks", params.name(index), dtype_name(entry.dtype).data());
  }
  TIFFIN_ASSIGN_OR_RETURN(const uint8_t* bytes, params.bytes(index));
  DLTensor tensor{};
  tensor.data = const_cast<uint8_t*>(bytes);
  tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<int32_t>(entry.shape.size());
  tensor.dtype = dtype;
  tensor.shape = const_cast<int64_t*>(entry.shape.data());
  *out_name = params.name(index);
  *out_tensor = tensor;
  return {};
}

Status set_params(tiffin_executor* executor, const char* const* names, const DLTensor* tensors, size_t count, int new_weights) {
  TIFFIN_TRY(require_pointers(__func__, {executor}));
  Arena memory;
  TIFFIN_ASSIGN_OR_RETURN(const params::ParamSource source, to_source(__func__, names, tensors, count, memory));
  return object_of(executor)->set_parameters(source, {new_weights != 0});
}

Status get_params(const tiffin_executor* handle, tiffin_params** out_params) {
  TIFFIN_TRY(require_pointers(__func__, {handle, out_params}));
  const GraphExecutor& executor = *object_of(handle);
  Ref<ParameterSet> set = executor.parameters();
  if (!set) return error(Code::MissingParam, "the artifact holds no weights and no parameters were given");
  Ref<Module> module = Ref<Module>::share(const_cast<Module*>(&executor.module()));
  TIFFIN_ASSIGN_OR_RETURN(ParameterView * params, ParameterView::of_set(std::move(module), std::move(set)));
  *out_params = handle_of(params);
  return {};
}

}  // namespace

tiffin_status* tiffin_module_get_params(const tiffin_module* module, tiffin_params** out_params) noexcept {
  return to_c(module_params(module, out_params));
}

tiffin_status* tiffin_executor_set_params(tiffin_executor* executor, const char* const* names, const DLTensor* tensors, size_t count,
                                          int new_weights) noexcept {
  return to_c(set_params(executor, names, tensors, count, new_weights));
}

tiffin_status* tiffin_executor_get_params(const tiffin_executor* executor, tiffin_params** out_params) noexcept {
  return to_c(get_params(executor, out_params));
}

tiffin_status* tiffin_params_load_file(uint32_t abi_version, const char* path, tiffin_params** out_params) noexcept {
  return to_c(load_params_file(abi_version, path, out_params));
}

tiffin_status* tiffin_params_load_memory(uint32_t abi_version, const void* bytes, size_t length, tiffin_params** out_params) noexcept {
  return to_c(load_params_memory(abi_version, bytes, length, out_params));
}

size_t tiffin_params_count(const tiffin_params* params) noexcept { return params == nullptr ? 0 : object_of(params)->entries().size(); }

tiffin_status* tiffin_params_get(tiffin_params* params, size_t index, const char** out_name, DLTensor* out_tensor) noexcept {
  return to_c(get_param(params, index, out_name, out_tensor));
}

void tiffin_params_free(tiffin_params* params) noexcept { ParameterView::destroy(object_of(params)); }
