// SPDX-License-Identifier: Apache-2.0
// What of a model cannot be compiled, so that one error names it all. A node that cannot be is replaced by a stand-in, Op::Unsupported, which keeps
// its operands and results: every stage looks at the rest of the graph as well, and plan/check_support.h reports at the end.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::graph {

// The node becomes a stand-in for its operator in this form, which `cause` tells more of.
void make_stand_in(const Graph& graph, Node& node, const Status& cause);

// True when a live node, of a body too, is a stand-in.
bool has_stand_in(const Graph& graph);

// How messages name a node: 'conv_1', its name or that of its first result.
std::string node_label(const Graph& graph, const Node& node);
// "node 'conv_1' (Conv)".
std::string node_title(const Graph& graph, const Node& node);

class UnsupportedList {
 public:
  // `what` is the operator, perhaps with the form of it that is meant; `node` names the place: "'conv_1'" or "node 7".
  void add(const std::string& what, std::string node) { nodes_[what].push_back(std::move(node)); }
  // All stand-ins of the graph and its bodies.
  void add_stand_ins(const Graph& graph);
  bool is_empty() const { return nodes_.empty(); }
  // UnsupportedOperator: "Frobnicate (2 nodes: 'frob_1', 'frob_2'), org.example.Wibble (1 node: 'wib')". Ok when the list is empty.
  Status to_status() const;

 private:
  std::map<std::string, std::vector<std::string>> nodes_;  // by operator
};

// UnsupportedOperator with all stand-ins of the graph and its bodies; ok when there is none.
Status check_stand_ins(const Graph& graph);

}  // namespace tiffin::graph
