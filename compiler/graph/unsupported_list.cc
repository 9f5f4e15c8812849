// SPDX-License-Identifier: Apache-2.0
#include "compiler/graph/unsupported_list.h"

namespace tiffin::graph {
namespace {

constexpr size_t kMaxNamed = 100;  // nodes of one operator that are listed

}  // namespace

Status UnsupportedList::to_status() const {
  if (is_empty()) return {};
  std::string list, names;
  for (const auto& [what, nodes] : nodes_) {
    list += (list.empty() ? "" : ", ") + what + " (" + std::to_string(nodes.size()) + (nodes.size() == 1 ? " node: " : " nodes: ");
    for (size_t i = 0; i < nodes.size() && i < kMaxNamed; ++i) list += (i > 0 ? ", " : "") + nodes[i];
    if (nodes.size() > kMaxNamed) list += " and " + std::to_string(nodes.size() - kMaxNamed) + " more";
    list += ")";
    names += what + '\0';
  }
  return error(Code::UnsupportedOperator, "operators that are not supported: %s", list.c_str()).with_details("operators", names);
}

}  // namespace tiffin::graph
