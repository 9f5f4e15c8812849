// SPDX-License-Identifier: Apache-2.0
// Types of graph inputs: the declared dimensions, fixed by the options where they name a symbol or an input.
#pragma once

#include <vector>

#include "compiler/import/onnx/import_onnx.h"
#include "compiler/import/onnx/model_proto.h"

namespace tiffin::import {

using DimBindings = std::map<std::string, int64_t>;

// The declared type; symbols that `bindings` knows become numbers, unnamed dimensions the symbol "?INPUT.AXIS".
// Errors: InvalidModel (negative extents, sizes that overflow), UnsupportedType.
Result<graph::Type> declared_type(const ValueInfoProto& declared, const DimBindings& bindings);

// The types of the model's inputs under the options, and in `out_bindings` what that says of every symbol.
// Errors: those of declared_type, InvalidArgument (unknown symbol or input), ShapeMismatch (options against the model or each other).
Result<std::vector<graph::Type>> resolve_input_types(const std::vector<const ValueInfoProto*>& inputs, const ImportOptions& options,
                                                     DimBindings* out_bindings);

}  // namespace tiffin::import
