// SPDX-License-Identifier: Apache-2.0
// Collects the operators of a model that cannot be compiled, so that one error names them all.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"

namespace tiffin::graph {

class UnsupportedList {
 public:
  // `what` is the operator, perhaps with the form of it that is meant; `node` names the place: "'conv_1'" or "node 7".
  void add(const std::string& what, std::string node) { nodes_[what].push_back(std::move(node)); }
  bool is_empty() const { return nodes_.empty(); }
  // UnsupportedOperator: "Frobnicate (2 nodes: 'frob_1', 'frob_2'), org.example.Wibble (1 node: 'wib')". Ok when the list is empty.
  Status to_status() const;

 private:
  std::map<std::string, std::vector<std::string>> nodes_;  // by operator
};

}  // namespace tiffin::graph
