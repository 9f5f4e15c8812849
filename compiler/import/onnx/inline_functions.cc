// SPDX-License-Identifier: Apache-2.0
// A call becomes the function's nodes with their values renamed: formal inputs and outputs to the actual ones, every other name to
// "FUNCTION#CALL/NAME", which no value of the model has.
#include "compiler/import/onnx/inline_functions.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "compiler/import/onnx/import_onnx.h"
#include "compiler/import/onnx/node_order.h"

namespace tiffin::import {
namespace {

// Bounds that no exported model comes near; a hostile one would double its size with every level of calls.
constexpr size_t kMaxCallDepth = 100;
constexpr size_t kMaxExpandedNodes = 400000;
constexpr size_t kMaxExpandedBytes = size_t{1} << 30;

using Renames = std::map<std::string, std::string>;

std::string function_label(const FunctionProto& function) { return (function.domain.empty() ? "" : function.domain + ".") + function.name; }

void collect_names(const std::vector<NodeProto>& nodes, std::set<std::string>* out) {
  for (const NodeProto& node : nodes) {
    out->insert(node.outputs.begin(), node.outputs.end());
    out->insert(node.inputs.begin(), node.inputs.end());
    for (const AttributeProto& attribute : node.attributes) {
      if (attribute.graph == nullptr) continue;
      for (const auto& input : attribute.graph->inputs) out->insert(input.name);
      for (const auto& initializer : attribute.graph->initializers) out->insert(initializer.name);
      collect_names(attribute.graph->nodes, out);
    }
  }
}

class Inliner {
 public:
  explicit Inliner(const ModelProto& model) : model_(model) {
    for (const FunctionProto& function : model.functions) functions_[{function.domain, function.name, function.overload}] = &function;
    if (functions_.empty()) return;
    for (const auto& input : model.graph->inputs) taken_.insert(input.name);
    for (const auto& initializer : model.graph->initializers) taken_.insert(initializer.name);
    collect_names(model.graph->nodes, &taken_);
  }

  // Appends `nodes` to `out`, calls expanded. `opset` is the version of the standard operators where they stand.
  Status expand(std::vector<NodeProto> nodes, int64_t opset, std::vector<NodeProto>* out) {
    for (NodeProto& node : nodes) {
      TIFFIN_TRY(expand_bodies(&node, opset));
      const auto called = functions_.find({node.domain, node.op_type, node.overload});
      if (called != functions_.end()) {
        TIFFIN_TRY(expand_call(node, *called->second, opset, out));
        continue;
      }
      node.opset = opset;
      out->push_back(std::move(node));
    }
    return {};
  }

 private:
  Status expand_bodies(NodeProto* node, int64_t opset) {
    for (AttributeProto& attribute : node->attributes) {
      if (attribute.graph == nullptr) continue;
      auto body = std::make_shared<GraphProto>(*attribute.graph);
      std::vector<NodeProto> expanded;
      TIFFIN_TRY(expand(std::move(body->nodes), opset, &expanded));
      body->nodes = std::move(expanded);
      attribute.captured = free_names(*body);
      attribute.graph = std::move(body);
    }
    return {};
  }

  Status check_call(const NodeProto& call, const FunctionProto& function) {
    const std::string place = describe(call);
    if (call.inputs.size() > function.inputs.size() || call.outputs.size() > function.outputs.size()) {
      return error(Code::InvalidModel, "%s gives %zu inputs and %zu outputs, function '%s' has %zu and %zu", place.c_str(), call.inputs.size(),
                   call.outputs.size(), function_label(function).c_str(), function.inputs.size(), function.outputs.size());
    }
    if (std::find(active_.begin(), active_.end(), &function) != active_.end()) {
      std::string chain;
      for (const FunctionProto* caller : active_) chain += function_label(*caller) + " -> ";
      return error(Code::InvalidModel, "%s: function '%s' calls itself (%s%s)", place.c_str(), function_label(function).c_str(), chain.c_str(),
                   function_label(function).c_str());
    }
    if (active_.size() >= kMaxCallDepth)
      return error(Code::InvalidModel, "%s: functions call each other more than %zu deep", place.c_str(), kMaxCallDepth);
    return {};
  }

  Status expand_call(const NodeProto& call, const FunctionProto& function, int64_t opset, std::vector<NodeProto>* out) {
    TIFFIN_TRY(check_call(call, function));
    const auto own = function.opsets.find("");
    const std::string prefix = fresh_prefix(function.name);
    std::vector<NodeProto> body;
    Renames renames = bind_interface(call, function, prefix, &body);
    add_fresh_names(function.nodes, prefix, &renames);
    for (const NodeProto& node : function.nodes) {
      body.push_back(node);
      TIFFIN_TRY(rename_node(&body.back(), renames, prefix, call, function));
    }
    // Aliases of outputs come first in `body`; the graph is put in order later.
    active_.push_back(&function);
    TIFFIN_TRY(expand(std::move(body), own == function.opsets.end() ? opset : own->second, out));
    active_.pop_back();
    return {};
  }

  // Formal names to actual ones. An output that is an input as well, or is listed twice, becomes an Identity in `body`.
  static Renames bind_interface(const NodeProto& call, const FunctionProto& function, const std::string& prefix, std::vector<NodeProto>* body) {
    Renames renames;
    for (size_t i = 0; i < function.inputs.size(); ++i) renames[function.inputs[i]] = i < call.inputs.size() ? call.inputs[i] : "";
    for (size_t i = 0; i < function.outputs.size(); ++i) {
      const std::string& formal = function.outputs[i];
      const std::string actual = i < call.outputs.size() ? call.outputs[i] : "";
      const auto [entry, is_new] = renames.emplace(formal, actual.empty() ? prefix + formal : actual);
      if (is_new || actual.empty()) continue;
      NodeProto alias;
      alias.name = prefix + formal;
      alias.op_type = "Identity";
      alias.inputs = {entry->second};
      alias.outputs = {actual};
      body->push_back(std::move(alias));
    }
    return renames;
  }

  static void add_fresh_names(const std::vector<NodeProto>& nodes, const std::string& prefix, Renames* renames) {
    for (const NodeProto& node : nodes) {
      for (const std::string& output : node.outputs) {
        if (!output.empty()) renames->emplace(output, prefix + output);
      }
    }
  }

  Status rename_node(NodeProto* node, const Renames& renames, const std::string& prefix, const NodeProto& call, const FunctionProto& function) {
    const auto rename = [&](std::string* name) {
      const auto found = renames.find(*name);
      // A name that the function does not define stays unknown instead of meeting one of the caller's.
      if (!name->empty()) *name = found == renames.end() ? prefix + *name : found->second;
      expanded_bytes_ += name->size() + sizeof(std::string);
    };
    for (std::string& input : node->inputs) rename(&input);
    for (std::string& output : node->outputs) rename(&output);
    node->name = prefix + (node->name.empty() ? node->op_type : node->name);
    std::vector<AttributeProto> attributes;
    for (const AttributeProto& attribute : node->attributes) {
      const AttributeProto* value = attribute.reference.empty() ? &attribute : find_argument(attribute.reference, call, function);
      if (value == nullptr) continue;
      attributes.push_back(*value);
      attributes.back().name = attribute.name;
      if (attribute.graph != nullptr) TIFFIN_TRY(rename_body(&attributes.back(), renames, prefix, call, function));
    }
    node->attributes = std::move(attributes);
    expanded_bytes_ += sizeof(NodeProto) + node->attributes.size() * sizeof(AttributeProto);
    if (++expanded_nodes_ > kMaxExpandedNodes || expanded_bytes_ > kMaxExpandedBytes) {
      return error(Code::InvalidModel, "function '%s': the calls of functions expand to more than %zu nodes or %zu bytes",
                   function_label(function).c_str(), kMaxExpandedNodes, kMaxExpandedBytes);
    }
    return {};
  }

  static const AttributeProto* find_argument(const std::string& name, const NodeProto& call, const FunctionProto& function) {
    if (const AttributeProto* given = call.find(name)) return given;
    for (const AttributeProto& otherwise : function.defaults) {
      if (otherwise.name == name) return &otherwise;
    }
    return nullptr;
  }

  Status rename_body(AttributeProto* attribute, const Renames& outer, const std::string& prefix, const NodeProto& call,
                     const FunctionProto& function) {
    auto body = std::make_shared<GraphProto>(*attribute->graph);
    Renames renames = outer;
    for (auto& input : body->inputs) renames[input.name] = prefix + input.name, input.name = prefix + input.name;
    for (auto& initializer : body->initializers) renames[initializer.name] = prefix + initializer.name, initializer.name = prefix + initializer.name;
    for (const NodeProto& node : body->nodes) {
      for (const std::string& output : node.outputs) {
        if (!output.empty()) renames[output] = prefix + output;
      }
    }
    for (NodeProto& node : body->nodes) TIFFIN_TRY(rename_node(&node, renames, prefix, call, function));
    for (auto& output : body->outputs) {
      const auto found = renames.find(output.name);
      output.name = found == renames.end() ? prefix + output.name : found->second;
    }
    attribute->graph = std::move(body);
    return {};
  }

  std::string fresh_prefix(const std::string& function) {
    for (;;) {
      std::string prefix = function + "#" + std::to_string(++calls_) + "/";
      const auto next = taken_.lower_bound(prefix);
      if (next == taken_.end() || !next->starts_with(prefix)) return prefix;
    }
  }

  const ModelProto& model_;
  std::map<std::tuple<std::string, std::string, std::string>, const FunctionProto*> functions_;  // domain, name, overload
  std::set<std::string> taken_;
  std::vector<const FunctionProto*> active_;
  int64_t calls_ = 0;
  size_t expanded_nodes_ = 0, expanded_bytes_ = 0;
};

Status check_opset(const Opsets& opsets, const char* place) {
  const auto standard = opsets.find("");
  if (standard == opsets.end()) return {};
  const int64_t version = standard->second;
  if (version > kNewestOpset) {
    return error(Code::InvalidModel, "%s is written in opset %lld, the newest that is understood is %lld", place, static_cast<long long>(version),
                 static_cast<long long>(kNewestOpset))
        .with_remedy("export the model with opset %lld, or convert it with onnx.version_converter", static_cast<long long>(kNewestOpset));
  }
  if (version < 1)
    return error(Code::InvalidModel, "%s has opset %lld, 1 to %lld are understood", place, static_cast<long long>(version),
                 static_cast<long long>(kNewestOpset));
  return {};
}

// A call of one of two would be a guess.
Status check_unique(const std::vector<FunctionProto>& functions) {
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  for (const FunctionProto& function : functions) {
    if (seen.insert({function.domain, function.name, function.overload}).second) continue;
    return error(Code::InvalidModel, "function '%s' is defined twice", function_label(function).c_str());
  }
  return {};
}

}  // namespace

Status inline_functions(ModelProto* model) {
  TIFFIN_TRY(check_unique(model->functions));
  TIFFIN_TRY(check_opset(model->opsets, "the model"));
  for (const FunctionProto& function : model->functions) {
    TIFFIN_TRY(check_opset(function.opsets, ("function '" + function_label(function) + "'").c_str()));
  }
  const auto standard = model->opsets.find("");
  std::vector<NodeProto> expanded;
  Inliner inliner(*model);
  TIFFIN_TRY(inliner.expand(model->graph->nodes, standard == model->opsets.end() ? 0 : standard->second, &expanded));
  model->graph->nodes = std::move(expanded);
  return {};
}

}  // namespace tiffin::import
