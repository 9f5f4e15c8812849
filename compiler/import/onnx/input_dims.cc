// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/input_dims.h"

#include <algorithm>

#include "compiler/graph/unsupported_list.h"
#include "compiler/import/onnx/tensor_decoder.h"

namespace tiffin::import {
namespace {

using graph::Dim;
using graph::Shape;
using graph::Type;

bool is_named(const Dim& dim) { return !dim.is_static() && !dim.symbol_name().starts_with('?'); }

std::string quoted_list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "'" : ", '") + name + "'";
  return out.empty() ? "none" : out;
}

Status check_size(const std::string& input, const Type& type) {
  uint64_t size = 0;
  if (!type.has_static_shape()) return {};
  const int64_t count = type.num_elements();
  if (count >= 0 && storage_bytes(type.dtype, static_cast<uint64_t>(count), &size) && size <= INT64_MAX) return {};
  return error(Code::InvalidModel, "input '%s' is %s, whose size overflows", input.c_str(), to_string(type).c_str());
}

Status bind_symbol(const std::string& symbol, int64_t extent, const std::string& by, DimBindings* bindings) {
  const auto [entry, is_new] = bindings->emplace(symbol, extent);
  if (is_new || entry->second == extent) return {};
  return error(Code::ShapeMismatch, "%s gives dimension '%s' the extent %lld, but it is %lld already", by.c_str(), symbol.c_str(),
               static_cast<long long>(extent), static_cast<long long>(entry->second));
}

// Sets the whole shape of one input; what that says of its symbols goes into `bindings`.
Status give_shape(const std::string& input, const std::vector<int64_t>& wanted, Type* type, DimBindings* bindings) {
  const std::string by = "--input-shape " + input + "=" + graph::to_string(wanted);
  for (const int64_t extent : wanted) {
    if (extent < 0) return error(Code::InvalidArgument, "%s has a negative extent", by.c_str());
  }
  if (!type->has_rank()) {
    *type = Type::with_shape(type->dtype, wanted);
    return {};
  }
  const auto mismatch = [&] { return error(Code::ShapeMismatch, "%s does not fit the model's %s", by.c_str(), to_string(*type).c_str()); };
  if (wanted.size() != type->rank()) return mismatch();
  for (size_t axis = 0; axis < wanted.size(); ++axis) {
    Dim& dim = (*type->shape)[axis];
    if (dim.is_static() && dim.value() != wanted[axis]) return mismatch();
    if (is_named(dim)) {
      TIFFIN_TRY(bind_symbol(dim.symbol_name(), wanted[axis], by, bindings));
    } else {
      dim = wanted[axis];
    }
  }
  return {};
}

Status check_options(const std::vector<const ValueInfoProto*>& inputs, const std::vector<Type>& types, const ImportOptions& options) {
  std::vector<std::string> symbols, names;
  for (size_t i = 0; i < inputs.size(); ++i) {
    names.push_back(inputs[i]->name);
    if (!types[i].has_rank()) continue;
    for (const Dim& dim : *types[i].shape) {
      if (is_named(dim) && std::find(symbols.begin(), symbols.end(), dim.symbol_name()) == symbols.end()) symbols.push_back(dim.symbol_name());
    }
  }
  for (const auto& [symbol, extent] : options.dims) {
    if (extent < 0) return error(Code::InvalidArgument, "--dim %s=%lld is negative", symbol.c_str(), static_cast<long long>(extent));
    if (std::find(symbols.begin(), symbols.end(), symbol) != symbols.end()) continue;
    return error(Code::InvalidArgument, "--dim %s: the model's inputs have no dimension of that name, they have %s", symbol.c_str(),
                 quoted_list(symbols).c_str());
  }
  for (const auto& [input, shape] : options.input_shapes) {
    if (std::find(names.begin(), names.end(), input) != names.end()) continue;
    return error(Code::InvalidArgument, "--input-shape %s: the model has no input of that name, it has %s", input.c_str(),
                 quoted_list(names).c_str());
  }
  return {};
}

void fix_dims(const DimBindings& bindings, Type* type) {
  if (!type->has_rank()) return;
  for (Dim& dim : *type->shape) {
    const auto bound = dim.is_static() ? bindings.end() : bindings.find(dim.symbol_name());
    if (bound != bindings.end()) dim = bound->second;
  }
}

// "1xAx3xB": what to write after --input-shape NAME=, letters where a number is missing.
std::string shape_template(const Shape& shape) {
  std::string out;
  char letter = 'A';
  for (const Dim& dim : shape) {
    if (!out.empty()) out += 'x';
    out += dim.is_static() ? std::to_string(dim.value()) : std::string(1, letter);
    if (!dim.is_static() && letter < 'Z') ++letter;
  }
  return out;
}

}  // namespace

Result<Type> declared_type(const ValueInfoProto& declared, const DimBindings& bindings) {
  if (!declared.is_tensor) return error(Code::UnsupportedType, "input '%s' is no tensor but a sequence, map or optional", declared.name.c_str());
  auto dtype = dtype_from_onnx(declared.elem_type);
  if (!dtype) return dtype.take_error().with_context("input '%s'", declared.name.c_str());
  Type type;
  type.dtype = *dtype;
  if (!declared.shape) return type;
  type.shape.emplace();
  for (size_t axis = 0; axis < declared.shape->size(); ++axis) {
    const DimProto& dim = (*declared.shape)[axis];
    if (dim.value && *dim.value < -1) {
      return error(Code::InvalidModel, "input '%s' has the extent %lld on axis %zu", declared.name.c_str(), static_cast<long long>(*dim.value), axis);
    }
    const bool is_unnamed = dim.symbol.empty() || dim.symbol.starts_with('?');
    if (dim.value && *dim.value >= 0) {
      type.shape->push_back(*dim.value);
    } else {
      type.shape->push_back(Dim::symbol(is_unnamed ? "?" + declared.name + "." + std::to_string(axis) : dim.symbol));
    }
  }
  fix_dims(bindings, &type);
  TIFFIN_TRY(check_size(declared.name, type));
  return type;
}

Result<std::vector<Type>> resolve_input_types(const std::vector<const ValueInfoProto*>& inputs, const ImportOptions& options,
                                              DimBindings* out_bindings) {
  std::vector<Type> types;
  for (const ValueInfoProto* input : inputs) {
    TIFFIN_ASSIGN_OR_RETURN(Type type, declared_type(*input, {}));
    types.push_back(std::move(type));
  }
  TIFFIN_TRY(check_options(inputs, types, options));
  *out_bindings = options.dims;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto given = options.input_shapes.find(inputs[i]->name);
    if (given != options.input_shapes.end()) TIFFIN_TRY(give_shape(given->first, given->second, &types[i], out_bindings));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    fix_dims(*out_bindings, &types[i]);
    TIFFIN_TRY(check_size(inputs[i]->name, types[i]));
  }
  return types;
}

Status check_open_dims(const graph::Graph& graph) {
  std::vector<std::string> symbols;
  std::string places, remedy, inputs;
  for (const graph::ValueId id : graph.inputs()) {
    const graph::Value& input = graph.value(id);
    std::string axes;
    const Shape shape = input.type.shape.value_or(Shape{});
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const Dim& dim = shape[axis];
      if (dim.is_static()) continue;
      if (!is_named(dim)) {
        axes += (axes.empty() ? "" : ", ") + std::to_string(axis);
      } else if (std::find(symbols.begin(), symbols.end(), dim.symbol_name()) == symbols.end()) {
        symbols.push_back(dim.symbol_name());
      }
    }
    if (input.type.has_rank() && axes.empty()) continue;
    places += ", input '" + input.name + "' " + (input.type.has_rank() ? "axis " + axes : "(rank unknown)");
    remedy += " --input-shape " + input.name + "=" + (input.type.has_rank() ? shape_template(shape) : "AxBx...");
    inputs += input.name + '\0';
  }
  std::string list, dims, names;
  for (const std::string& symbol : symbols) {
    list += ", '" + symbol + "'";
    dims += " --dim " + symbol + "=N";
    names += symbol + '\0';
  }
  if (symbols.empty() && places.empty()) return {};
  TIFFIN_TRY(graph::check_stand_ins(graph));
  return error(Code::OpenShape, "dimensions of the inputs are open: %s; fix them with%s%s", (list + places).substr(2).c_str(), dims.c_str(),
               remedy.c_str())
      .with_remedy("pass%s%s", dims.c_str(), remedy.c_str())
      .with_details("symbols", names)
      .with_details("inputs", inputs);
}

}  // namespace tiffin::import
