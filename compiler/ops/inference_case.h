// SPDX-License-Identifier: Apache-2.0
// For tests of inference: one node in the text form of graphs, and what is to become of it.
#pragma once

#include <span>
#include <string>

#include "compiler/graph/parser.h"
#include "compiler/ops/infer.h"

namespace tiffin::ops {

struct InferenceCase {
  const char* sources;  // "input %x: float32[2]"
  const char* node;     // "Relu(%x)"
  const char* results;  // "float32[2]", one word for each result, '_' for an omitted one
};

std::span<const InferenceCase> elementwise_and_movement_cases();  // elementwise_and_movement_test.cc
std::span<const InferenceCase> window_and_matrix_cases();         // window_and_matrix_test.cc

// The types of the results, as `results` has them, or "CODE: message".
inline std::string infer_case(const InferenceCase& c) {
  std::string results;
  int count = 1;
  for (const char* at = c.results; *at != '\0'; ++at) count += *at == ' ' ? 1 : 0;
  const std::string expected = c.results;
  size_t begin = 0;
  for (int i = 0; i < count; ++i) {
    const size_t end = std::min(expected.find(' ', begin), expected.size());
    const bool is_omitted = expected.substr(begin, end - begin) == "_";
    results += (i > 0 ? ", " : "") + (is_omitted ? std::string("_") : "%y" + std::to_string(i));
    begin = end + 1;
  }
  const std::string text = std::string("graph \"g\" { ") + c.sources + " " + results + " = " + c.node + " }";
  Result<graph::Graph> graph = graph::parse_graph(text);
  if (!graph.has_value()) return std::string("text: ") + graph.error().message() + "\n" + text;
  const Status status = infer_types(*graph);
  if (!status.is_ok()) return std::string(code_row(status.code()).name) + ": " + status.message();
  std::string types;
  const graph::Node& node = graph->node(0);
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    types += (i > 0 ? " " : "") + (node.outputs[i] == graph::kNone ? std::string("_") : graph::to_string(graph->value(node.outputs[i]).type));
  }
  return types;
}

}  // namespace tiffin::ops
