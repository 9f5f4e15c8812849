// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/check_interface.h"

#include "abi/artifact.h"

namespace tiffin::driver {
namespace {

Status check_rank(const char* role, const std::string& name, const graph::Value& value) {
  if (!value.type.has_rank() || value.type.rank() <= TIFFIN_MAX_RANK) return {};
  return error(Code::UnsupportedType, "%s '%s' has %zu dimensions, at most %u are supported", role, name.c_str(),
               static_cast<size_t>(value.type.rank()), TIFFIN_MAX_RANK);
}

}  // namespace

Status check_interface(const graph::Graph& graph, std::span<const DType> declared) {
  for (const graph::ValueId id : graph.inputs()) TIFFIN_TRY(check_rank("input", graph.value(id).name, graph.value(id)));
  for (size_t i = 0; i < graph.value_capacity(); ++i) {
    const graph::Value& value = graph.value(static_cast<graph::ValueId>(i));
    if (!value.is_erased && value.kind == graph::ValueKind::Parameter) TIFFIN_TRY(check_rank("parameter", value.name, value));
  }
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const graph::Value& value = graph.value(graph.outputs()[i]);
    const std::string& name = i < graph.output_names().size() ? graph.output_names()[i] : value.name;
    TIFFIN_TRY(check_rank("output", name, value));
    if (i >= declared.size() || declared[i] == DType::Undefined || declared[i] == value.type.dtype) continue;
    return error(Code::InvalidModel, "output '%s' is declared as %s, its node computes %s", name.c_str(), dtype_name(declared[i]).data(),
                 dtype_name(value.type.dtype).data());
  }
  return {};
}

}  // namespace tiffin::driver
