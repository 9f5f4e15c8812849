// SPDX-License-Identifier: Apache-2.0
// From an ONNX file to a Graph in the form of the newest opset: wire format, external data, model-local functions, bodies, older operator
// forms, and the dimensions of the inputs. docs/architecture/import.md tells the steps. What an operator accepts is checked in compiler/ops.
//
//   ImportOptions options;
//   options.dims["batch"] = 1;
//   TIFFIN_ASSIGN_OR_RETURN(ImportedModel model, import_onnx("net.onnx", options));
//   TIFFIN_TRY(check_open_dims(model.graph));
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::import {

// Oldest and newest version of the standard operators that is understood.
inline constexpr int64_t kOldestOpset = 7;
inline constexpr int64_t kNewestOpset = 28;

struct ImportOptions {
  std::map<std::string, int64_t> dims;                       // symbol -> extent (--dim)
  std::map<std::string, std::vector<int64_t>> input_shapes;  // input -> whole shape (--input-shape)
};

struct ImportedModel {
  graph::Graph graph;
  graph::ModelFacts facts;  // sha256 is left empty
  // What the file declares of its outputs, Undefined where it says nothing: to compare with what inference finds. Declared shapes are not kept,
  // because exporters leave stale ones behind.
  std::vector<DType> output_dtypes = {};
};

// Reads a model file. Weights borrow the mapping of the file, which lives as long as a tensor of the graph does. In the place of operators that are
// not supported the graph has stand-ins (graph/unsupported_list.h); where it cannot be built around them, UnsupportedOperator names them all.
// Errors: Io (path), InvalidModel (place in the file, node), UnsupportedType, InvalidArgument and ShapeMismatch (options that do not fit the inputs).
Result<ImportedModel> import_onnx(const std::string& path, const ImportOptions& options);

// The same from memory: `owner` keeps `bytes` alive. External data is looked for under `folder`; "" forbids it.
Result<ImportedModel> import_onnx(std::span<const uint8_t> bytes, std::shared_ptr<const void> owner, const std::string& folder,
                                  const ImportOptions& options);

// OpenShape with every symbol (--dim) and every unnamed dimension (--input-shape) of the inputs that has no extent yet; else ok. Stand-ins come
// first: UnsupportedOperator with all of them, because no extents help then.
Status check_open_dims(const graph::Graph& graph);

}  // namespace tiffin::import
