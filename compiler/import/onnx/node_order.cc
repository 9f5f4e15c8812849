// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/node_order.h"

#include <algorithm>

namespace tiffin::import {
namespace {

// Every name the node reads, those of its bodies included.
std::vector<std::string> names_read(const NodeProto& node) {
  std::vector<std::string> out;
  for (const std::string& input : node.inputs) {
    if (!input.empty()) out.push_back(input);
  }
  for (const AttributeProto& attribute : node.attributes) {
    out.insert(out.end(), attribute.captured.begin(), attribute.captured.end());
  }
  return out;
}

using Producers = std::map<std::string, size_t>;

class Orderer {
 public:
  Orderer(const GraphProto& graph, const Producers& producers) : graph_(graph), producers_(producers), marks_(graph.nodes.size(), Mark::New) {}

  Result<std::vector<size_t>> run() {
    for (size_t root = 0; root < graph_.nodes.size(); ++root) {
      if (marks_[root] == Mark::New) TIFFIN_TRY(visit(root));
    }
    return std::move(order_);
  }

 private:
  enum class Mark : uint8_t { New, Open, Done };
  struct Frame {
    size_t node;
    std::vector<size_t> producers;
    size_t next = 0;
  };

  Frame enter(size_t node) {
    marks_[node] = Mark::Open;
    Frame frame{node, {}};
    for (const std::string& name : names_read(graph_.nodes[node])) {
      const auto found = producers_.find(name);
      if (found != producers_.end()) frame.producers.push_back(found->second);
    }
    return frame;
  }

  // Depth first, with a stack of its own: chains may be as long as the model.
  Status visit(size_t root) {
    std::vector<Frame> stack;
    stack.push_back(enter(root));
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next == frame.producers.size()) {
        marks_[frame.node] = Mark::Done;
        order_.push_back(frame.node);
        stack.pop_back();
        continue;
      }
      const size_t producer = frame.producers[frame.next++];
      if (marks_[producer] == Mark::Done) continue;
      if (marks_[producer] == Mark::Open) return describe_cycle(stack, producer);
      stack.push_back(enter(producer));
    }
    return {};
  }

  Status describe_cycle(const std::vector<Frame>& stack, size_t start) const {
    std::string list;
    size_t count = 0;
    for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) {
      if (++count <= 8) list += (list.empty() ? "" : ", ") + describe(graph_.nodes[frame->node]);
      if (frame->node == start) break;
    }
    return error(Code::InvalidModel, "%zu nodes form a cycle: %s%s", count, list.c_str(), count > 8 ? ", …" : "");
  }

  const GraphProto& graph_;
  const Producers& producers_;
  std::vector<Mark> marks_;
  std::vector<size_t> order_;
};

}  // namespace

std::set<std::string> names_read(const GraphProto& graph) {
  std::set<std::string> out;
  for (const NodeProto& node : graph.nodes) {
    const std::vector<std::string> names = names_read(node);
    out.insert(names.begin(), names.end());
  }
  for (const ValueInfoProto& output : graph.outputs) out.insert(output.name);
  return out;
}

std::vector<std::string> free_names(const GraphProto& graph) {
  std::set<std::string> defined, seen;
  for (const ValueInfoProto& input : graph.inputs) defined.insert(input.name);
  for (const InitializerProto& initializer : graph.initializers) defined.insert(initializer.name);
  for (const NodeProto& node : graph.nodes) defined.insert(node.outputs.begin(), node.outputs.end());
  std::vector<std::string> out;
  const auto add = [&](const std::string& name) {
    if (!defined.contains(name) && seen.insert(name).second) out.push_back(name);
  };
  for (const NodeProto& node : graph.nodes) {
    for (const std::string& name : names_read(node)) add(name);
  }
  for (const ValueInfoProto& output : graph.outputs) add(output.name);
  return out;
}

Result<std::vector<size_t>> order_nodes(const GraphProto& graph, const std::set<std::string>& own_names,
                                        const std::function<bool(const std::string&)>& is_outer) {
  Producers producers;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const std::string& output : graph.nodes[i].outputs) {
      if (output.empty()) continue;
      const auto [entry, is_new] = producers.emplace(output, i);
      if (is_new && !own_names.contains(output)) continue;
      const std::string other = is_new ? "an input or initializer" : describe(graph.nodes[entry->second]);
      return error(Code::InvalidModel, "value '%s' is defined twice, by %s and by %s", output.c_str(), other.c_str(),
                   describe(graph.nodes[i]).c_str());
    }
  }
  for (const NodeProto& node : graph.nodes) {
    for (const std::string& name : names_read(node)) {
      if (producers.contains(name) || own_names.contains(name) || is_outer(name)) continue;
      return error(Code::InvalidModel, "%s reads '%s', which nothing defines", describe(node).c_str(), name.c_str());
    }
  }
  return Orderer(graph, producers).run();
}

}  // namespace tiffin::import
