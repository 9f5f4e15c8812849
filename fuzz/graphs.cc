// SPDX-License-Identifier: Apache-2.0
#include "fuzz/graphs.h"

#include <string>

#include "compiler/graph/parser.h"
#include "compiler/graph/printer.h"
#include "compiler/graph/verifier.h"
#include "compiler/ops/infer.h"
#include "fuzz/target.h"

namespace tiffin::fuzz {
namespace {

constexpr int64_t kMostElements = 1 << 16;  // of a constant that is printed in full: a uniform one may stand for any number

bool has_small_tensors(const std::string& elided) { return elided.find("elided(") == std::string::npos; }

void check_text(const graph::Graph& graph) {
  if (!has_small_tensors(graph::print_graph(graph, {kMostElements}))) return;
  const std::string text = graph::print_graph(graph);
  const auto again = graph::parse_graph(text);
  if (!again.has_value()) fprintf(stderr, "%s\n%s\n", again.error().message(), text.c_str());
  require(again.has_value(), "a printed graph can be parsed");
  const std::string second = graph::print_graph(*again);
  if (second != text) fprintf(stderr, "%s\n----\n%s\n", text.c_str(), second.c_str());
  require(second == text, "a printed graph prints the same again");
}

}  // namespace

void check_graph(graph::Graph& graph) {
  if (!graph::verify_graph(graph).is_ok()) return;
  check_text(graph);
  if (!ops::infer_types(graph).is_ok()) return;
  require(graph::verify_graph(graph).is_ok(), "a graph stays sound when it is inferred");
  check_text(graph);
}

}  // namespace tiffin::fuzz
