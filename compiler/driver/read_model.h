// SPDX-License-Identifier: Apache-2.0
// A model file of either kind: ONNX, or a graph as text (docs/architecture/graph_ir.md), told apart by how the file begins.
#pragma once

#include <string>

#include "base/status.h"
#include "compiler/import/onnx/import_onnx.h"

namespace tiffin::driver {

// The graph, verified and without open dimensions. Codes as import_onnx; InvalidArgument for options of shapes with a text, which says its shapes
// itself.
Result<import::ImportedModel> read_model(const std::string& path, const import::ImportOptions& options);

}  // namespace tiffin::driver
