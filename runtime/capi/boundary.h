// SPDX-License-Identifier: Apache-2.0
// Where Status meets the C boundary: handles, and structures that may be shorter or longer on the caller's side.
#pragma once

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "base/status.h"
#include "runtime/executor/graph_executor.h"
#include "runtime/executor/module.h"
#include "runtime/executor/parameter_view.h"
#include "runtime/include/tiffin/tiffin.h"

namespace tiffin::runtime {

// Handles are the runtime's own objects under another name.
inline tiffin_module* handle_of(Module* module) { return reinterpret_cast<tiffin_module*>(module); }
inline tiffin_executor* handle_of(GraphExecutor* executor) { return reinterpret_cast<tiffin_executor*>(executor); }
inline tiffin_params* handle_of(ParameterView* params) { return reinterpret_cast<tiffin_params*>(params); }
inline Module* object_of(tiffin_module* module) { return reinterpret_cast<Module*>(module); }
inline const Module* object_of(const tiffin_module* module) { return reinterpret_cast<const Module*>(module); }
inline GraphExecutor* object_of(tiffin_executor* executor) { return reinterpret_cast<GraphExecutor*>(executor); }
inline const GraphExecutor* object_of(const tiffin_executor* executor) { return reinterpret_cast<const GraphExecutor*>(executor); }
inline ParameterView* object_of(tiffin_params* params) { return reinterpret_cast<ParameterView*>(params); }
inline const ParameterView* object_of(const tiffin_params* params) { return reinterpret_cast<const ParameterView*>(params); }

inline tiffin_keys* handle_of(TrustedKeys* keys) { return reinterpret_cast<tiffin_keys*>(keys); }
inline const TrustedKeys* object_of(const tiffin_keys* keys) { return reinterpret_cast<const TrustedKeys*>(keys); }

// NULL for success, else a status for the caller to free.
tiffin_status* to_c(Status status);

// InvalidArgument unless all pointers are given; `what` names the function.
Status require_pointers(const char* what, std::initializer_list<const void*> pointers);
// AbiMismatch unless the caller was compiled with this library's ABI.
Status check_abi(uint32_t abi_version);
// InvalidArgument.
Status check_index(const char* what, size_t index, size_t count);

// The caller's options over their defaults; fields that the caller's version lacks keep the defaults.
template <class T>
T options_or_default(const T* given, T defaults) {
  if (given == nullptr) return defaults;
  const size_t bytes = std::min(given->struct_bytes, sizeof(T));
  memcpy(static_cast<void*>(&defaults), given, bytes);
  return defaults;
}

// Writes the fields that the caller's version has.
template <class T>
void write_struct(T* out, T value) {
  const size_t bytes = std::min(out->struct_bytes, sizeof(T));
  value.struct_bytes = bytes;
  memcpy(static_cast<void*>(out), &value, bytes);
}

// What every tiffin_module_load_* ends with.
Status load_module(Result<Source>&& source, const tiffin_load_options* given, tiffin_module** out_module);

void write_report(const Module& module, const LoadReport& report, tiffin_report* out_report);

}  // namespace tiffin::runtime
