// SPDX-License-Identifier: Apache-2.0
#include "compiler/graph/printer.h"

#include "compiler/graph/text_form.h"

namespace tiffin::graph {
namespace {

std::string type_text(const Type& type) {
  std::string out(dtype_name(type.dtype));
  if (!type.shape) return out + "[*]";
  out += '[';
  for (size_t i = 0; i < type.shape->size(); ++i) {
    const Dim& dim = (*type.shape)[i];
    if (i > 0) out += ',';
    if (dim.is_static()) {
      out += std::to_string(dim.value());
    } else {
      out += is_plain_symbol_name(dim.symbol_name()) ? dim.symbol_name() : quoted(dim.symbol_name());
    }
  }
  return out + ']';
}

std::string name_text(const std::string& name) { return "%" + (is_plain_value_name(name) ? name : quoted(name)); }

template <class T, class Text>
std::string list_text(const std::vector<T>& list, const char* empty, Text text) {
  if (list.empty()) return std::string(empty) + "[]";
  std::string out = "[";
  for (size_t i = 0; i < list.size(); ++i) out += (i > 0 ? ", " : "") + text(list[i]);
  return out + "]";
}

class Printer {
 public:
  Printer(const Graph& graph, const PrintOptions& options, std::string indent) : graph_(graph), options_(options), indent_(std::move(indent)) {}

  std::string print() {
    out_ = "graph " + quoted(graph_.name()) + " {\n";
    for (const ValueId input : graph_.inputs()) line("input " + typed(input));
    for (size_t i = 0; i < graph_.value_capacity(); ++i) print_source(static_cast<ValueId>(i));
    for (const NodeId id : graph_.topological_order()) print_node(graph_.node(id));
    for (size_t i = 0; i < graph_.outputs().size(); ++i) print_output(i);
    return out_ + indent_ + "}";
  }

 private:
  void line(const std::string& text) { out_ += indent_ + "  " + text + "\n"; }
  std::string name(ValueId id) const { return id == kNone ? "_" : name_text(graph_.value(id).name); }
  std::string typed(ValueId id) const { return name(id) + ": " + type_text(graph_.value(id).type); }
  void print_source(ValueId id);
  void print_node(const Node& node);
  void print_output(size_t index);
  std::string data_text(const Tensor& tensor) const;
  std::string attribute_text(const Attribute& attribute) const;
  std::string attributes_text(const Node& node) const;
  std::string result_types_text(const Node& node) const;

  const Graph& graph_;
  const PrintOptions& options_;
  std::string indent_, out_;
};

std::string Printer::data_text(const Tensor& tensor) const {
  const int64_t count = tensor.num_elements();
  if (options_.max_elements >= 0 && count > options_.max_elements && !is_uniform(tensor)) return "elided(" + std::to_string(count) + ")";
  return tensor_text(tensor);
}

void Printer::print_source(ValueId id) {
  const Value& value = graph_.value(id);
  if (value.is_erased) return;
  if (value.kind == ValueKind::Outer) line("outer " + typed(id));
  const char* frozen = value.is_frozen ? "frozen " : "";
  if (value.kind == ValueKind::Parameter) line(frozen + ("parameter " + typed(id)) + " = " + data_text(value.tensor));
  if (value.kind == ValueKind::Constant) line(frozen + ("constant " + typed(id)) + " = " + data_text(value.tensor));
}

std::string Printer::attribute_text(const Attribute& attribute) const {
  if (const auto* value = std::get_if<int64_t>(&attribute)) return std::to_string(*value);
  if (const auto* value = std::get_if<double>(&attribute)) return float_text(*value);
  if (const auto* value = std::get_if<std::string>(&attribute)) return quoted(*value);
  if (const auto* list = std::get_if<std::vector<int64_t>>(&attribute)) {
    return list_text(*list, "ints", [](int64_t value) { return std::to_string(value); });
  }
  if (const auto* list = std::get_if<std::vector<double>>(&attribute)) return list_text(*list, "floats", float_text);
  if (const auto* list = std::get_if<std::vector<std::string>>(&attribute)) return list_text(*list, "strings", quoted);
  if (const auto* tensor = std::get_if<Tensor>(&attribute)) return type_text(tensor->type()) + " = " + data_text(*tensor);
  return Printer(*std::get<std::shared_ptr<Graph>>(attribute), options_, indent_ + "  ").print();
}

std::string Printer::attributes_text(const Node& node) const {
  std::string out;
  if (!node.name.empty()) out = "name=" + quoted(node.name);
  for (const auto& [key, attribute] : node.attributes) {
    // The node's own name stands under the bare word; an attribute of that name is quoted.
    const bool is_plain = is_plain_symbol_name(key) && key != "name";
    out += (out.empty() ? "" : ", ") + (is_plain ? key : quoted(key)) + "=" + attribute_text(attribute);
  }
  return out.empty() ? "" : " {" + out + "}";
}

// " : T" or " : (T, _, T)"; nothing when no type is known.
std::string Printer::result_types_text(const Node& node) const {
  bool is_known = false;
  std::vector<std::string> types;
  for (const ValueId output : node.outputs) {
    const Type type = output == kNone ? Type() : graph_.value(output).type;
    const bool has_type = type != Type();
    is_known = is_known || has_type;
    types.push_back(has_type ? type_text(type) : "_");
  }
  if (!is_known) return "";
  if (types.size() == 1) return " : " + types[0];
  std::string out = " : (";
  for (size_t i = 0; i < types.size(); ++i) out += (i > 0 ? ", " : "") + types[i];
  return out + ")";
}

void Printer::print_node(const Node& node) {
  std::string text;
  for (size_t i = 0; i < node.outputs.size(); ++i) text += (i > 0 ? ", " : "") + name(node.outputs[i]);
  text += " = " + std::string(op_name(node.op)) + "(";
  for (size_t i = 0; i < node.inputs.size(); ++i) text += (i > 0 ? ", " : "") + name(node.inputs[i]);
  line(text + ")" + attributes_text(node) + result_types_text(node));
}

void Printer::print_output(size_t index) {
  const ValueId id = graph_.outputs()[index];
  std::string text = "output " + name(id);
  const auto& names = graph_.output_names();
  if (index < names.size() && (id == kNone || names[index] != graph_.value(id).name)) text += " as " + quoted(names[index]);
  line(text);
}

}  // namespace

std::string print_graph(const Graph& graph, const PrintOptions& options) { return Printer(graph, options, "").print() + "\n"; }

}  // namespace tiffin::graph
