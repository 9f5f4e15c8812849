// SPDX-License-Identifier: Apache-2.0
// Collects the operators of a model that cannot be imported, so that one error names them all.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/import/onnx/model_proto.h"

namespace tiffin::import {

class Unsupported {
 public:
  // `what` is the operator, perhaps with the form of it that is meant.
  void add(const std::string& what, const NodeProto& node);
  // Adds the nodes, of bodies too, whose operator is none of graph::Op.
  void add_unknown(const GraphProto& graph);
  bool is_empty() const { return nodes_.empty(); }
  // UnsupportedOperator: "Frobnicate (2 nodes: 'frob_1', 'frob_2'), org.example.Wibble (1 node: 'wib')".
  Status to_status() const;

 private:
  std::map<std::string, std::vector<std::string>> nodes_;  // by operator
};

}  // namespace tiffin::import
