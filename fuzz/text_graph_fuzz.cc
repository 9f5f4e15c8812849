// SPDX-License-Identifier: Apache-2.0
// Graphs as text: what the parser takes is inferred, verified, printed and parsed again.
#include <string>

#include "compiler/graph/parser.h"
#include "fuzz/graphs.h"
#include "fuzz/target.h"

bool tiffin::fuzz::accepts(std::span<const uint8_t> bytes) {
  auto graph = graph::parse_graph({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, 1 << 16);
  if (!graph.has_value()) return false;
  check_graph(*graph);
  return true;
}
