// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/separate_outputs.h"

#include <algorithm>

#include "compiler/ops/infer.h"

namespace tiffin::passes {
namespace {

using graph::ValueId;

// What an output is once Identities are looked through.
ValueId origin_of(const graph::Graph& graph, ValueId value) {
  while (value != graph::kNone && graph.value(value).producer != graph::kNone) {
    const graph::Node& producer = graph.node(graph.value(value).producer);
    if (producer.op != graph::Op::Identity) break;
    value = producer.inputs[0];
  }
  return value;
}

}  // namespace

Status separate_outputs(graph::Graph& graph) {
  const std::vector<ValueId> before = graph.outputs();
  std::vector<ValueId> outputs;
  std::vector<ValueId> taken;
  for (size_t i = 0; i < before.size(); ++i) {
    const ValueId origin = origin_of(graph, before[i]);
    const bool is_own = graph.value(origin).producer != graph::kNone && std::find(taken.begin(), taken.end(), origin) == taken.end();
    taken.push_back(origin);
    if (is_own) {
      outputs.push_back(origin);
      continue;
    }
    const bool has_copy = before[i] != origin && std::find(outputs.begin(), outputs.end(), before[i]) == outputs.end();
    if (has_copy) {
      outputs.push_back(before[i]);
      continue;
    }
    const std::string name = i < graph.output_names().size() ? graph.output_names()[i] : graph.value(origin).name;
    const ValueId copy = graph.add_node(graph::Op::Identity, name + "/copy", {origin});
    TIFFIN_TRY(ops::infer_node(graph, graph.value(copy).producer));
    outputs.push_back(copy);
  }
  graph.set_outputs(outputs);
  return {};
}

}  // namespace tiffin::passes
