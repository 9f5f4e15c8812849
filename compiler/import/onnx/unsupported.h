// SPDX-License-Identifier: Apache-2.0
// Collects the operators of a model that cannot be imported, so that one error names them all.
#pragma once

#include <string>

#include "base/status.h"
#include "compiler/graph/unsupported_list.h"
#include "compiler/import/onnx/model_proto.h"

namespace tiffin::import {

// "Frobnicate", "org.example.Wibble".
std::string qualified_name(const NodeProto& node);

class Unsupported {
 public:
  // `what` is the operator, perhaps with the form of it that is meant.
  void add(const std::string& what, const NodeProto& node);
  // Adds the nodes, of bodies too, whose operator is none of graph::Op.
  void add_unknown(const GraphProto& graph);
  bool is_empty() const { return list_.is_empty(); }
  Status to_status() const { return list_.to_status(); }

 private:
  graph::UnsupportedList list_;
};

}  // namespace tiffin::import
