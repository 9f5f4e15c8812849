// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/fold_constants.h"

#include <algorithm>

#include "compiler/graph/unsupported_list.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/op_class.h"
#include "compiler/passes/frozen_operands.h"
#include "compiler/passes/inline_if.h"
#include "compiler/reference/evaluate.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::NodeId;
using graph::Op;
using graph::Tensor;
using graph::ValueId;
using graph::ValueKind;

// Larger results stay computed at run time: folding saves little then, and a hostile model cannot exhaust memory.
constexpr int64_t kMaxFoldedElements = int64_t{1} << 24;
// A uniform tensor is stored as one value, however large; weights of synthetic models are made so.
constexpr int64_t kMaxUniformElements = int64_t{1} << 28;
// Products cost far more than they store.
constexpr int64_t kMaxFoldedProductElements = int64_t{1} << 16;

bool is_control(Op op) { return op == Op::If || op == Op::Loop || op == Op::Scan; }

bool is_product(Op op) {
  switch (op) {
    case Op::Conv:
    case Op::ConvInteger:
    case Op::ConvTranspose:
    case Op::Gemm:
    case Op::GRU:
    case Op::LSTM:
    case Op::MatMul:
    case Op::MatMulInteger:
    case Op::RNN:
      return true;
    default:
      return false;
  }
}

// Which values the program needs to know: operands that decide shapes and bounds, and all that they are computed from.
std::vector<char> values_that_shape_the_program(const Graph& graph) {
  std::vector<char> is_needed(graph.value_capacity(), 0);
  std::vector<NodeId> order = graph.topological_order();
  std::reverse(order.begin(), order.end());
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    const auto is_wanted = [&](ValueId output) { return output != kNone && is_needed[static_cast<size_t>(output)] != 0; };
    const bool feeds_program = std::any_of(node.outputs.begin(), node.outputs.end(), is_wanted) && !ops::reads_only_the_shape(node.op);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] != kNone && (feeds_program || is_program_operand(node.op, i))) is_needed[static_cast<size_t>(node.inputs[i])] = 1;
    }
  }
  return is_needed;
}

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph), shapes_program_(values_that_shape_the_program(graph)) {}

  // One walk over the graph. `out_has_inlined`: there are nodes that the walk has not seen.
  Status walk(bool* out_has_inlined) {
    *out_has_inlined = false;
    for (const NodeId id : graph_.topological_order()) {
      const Node& node = graph_.node(id);
      if (can_inline_if(graph_, node)) {
        TIFFIN_TRY(inline_if(graph_, id));
        *out_has_inlined = true;
        return {};
      }
      TIFFIN_TRY(infer(id));
      if (can_fold(node)) {
        TIFFIN_TRY(fold(id));
      } else if (gives_nothing(node)) {
        replace_by_nothing(node);
      }
    }
    return {};
  }

 private:
  // Bodies look up outer values by name, which folding replaces: a control node keeps the types of its first inference.
  // What cannot be inferred in this form becomes a stand-in, unless it reads what is unknown itself: then another node is the cause.
  Status infer(NodeId id) {
    Node& node = graph_.node(id);
    const bool is_inferred = !node.outputs.empty() && node.outputs[0] != kNone && graph_.value(node.outputs[0]).type.dtype != DType::Undefined;
    if (is_control(node.op) && is_inferred) return {};
    Status inferred = ops::infer_node(graph_, id);
    if (inferred.code() != Code::UnsupportedOperator) return inferred;
    const auto is_open = [this](ValueId input) { return input != kNone && !graph_.value(input).type.has_static_shape(); };
    if (std::none_of(node.inputs.begin(), node.inputs.end(), is_open)) {
      graph::make_stand_in(graph_, node, inferred);
    }
    return {};
  }

  bool shapes_program(const Node& node) const {
    for (const ValueId output : node.outputs) {
      const auto index = static_cast<size_t>(output);
      if (output != kNone && index < shapes_program_.size() && shapes_program_[index] != 0) return true;
    }
    return false;
  }

  bool has_foldable_inputs(const Node& node) const {
    if (ops::reads_only_the_shape(node.op)) return graph_.value(node.inputs[0]).type.has_static_shape();
    bool reads_parameter = false;  // other than for operands that are frozen in any case
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNone) continue;
      if (!graph_.is_constant(node.inputs[i])) return false;
      const bool is_parameter = graph_.value(node.inputs[i]).kind == ValueKind::Parameter;
      reads_parameter = reads_parameter || (is_parameter && !is_program_operand(node.op, i));
    }
    return !reads_parameter || shapes_program(node);
  }

  bool has_foldable_size(const Node& node) const {
    const int64_t ordinary = is_product(node.op) ? kMaxFoldedProductElements : kMaxFoldedElements;
    const int64_t limit = node.op == Op::ConstantOfShape ? kMaxUniformElements : ordinary;
    for (const ValueId output : node.outputs) {
      if (output == kNone || !graph_.value(output).type.has_static_shape()) continue;
      const int64_t count = graph_.value(output).type.num_elements();
      if (count < 0 || count > limit) return false;
    }
    return true;
  }

  bool can_fold(const Node& node) const {
    if (is_control(node.op) || !reference::can_evaluate(node.op)) return false;
    return has_foldable_inputs(node) && has_foldable_size(node);
  }

  // True when no result has an element: there is nothing to compute, whatever the operator.
  bool gives_nothing(const Node& node) const {
    return !is_control(node.op) && std::all_of(node.outputs.begin(), node.outputs.end(), [this](ValueId output) {
      if (output == kNone) return true;
      const graph::Type& type = graph_.value(output).type;
      return type.dtype != DType::Undefined && type.has_static_shape() && type.num_elements() == 0;
    });
  }

  void replace_by_nothing(const Node& node) {
    for (const ValueId output : std::vector<ValueId>(node.outputs)) {
      if (output == kNone) continue;
      const graph::Type& type = graph_.value(output).type;
      graph_.replace_uses(output, graph_.add_constant(graph_.value(output).name, Tensor(type.dtype, type.static_shape(), {}, nullptr)));
    }
  }

  std::vector<Tensor> operands(const Node& node) {
    std::vector<Tensor> tensors;
    for (const ValueId input : node.inputs) {
      if (input == kNone) {
        tensors.emplace_back();
        continue;
      }
      graph::Value& value = graph_.value(input);
      if (graph_.is_constant(input)) {
        tensors.push_back(*graph_.tensor_of(input));
        if (value.kind == ValueKind::Parameter && !ops::reads_only_the_shape(node.op)) value.is_frozen = true;
      } else {  // only its shape is read
        tensors.emplace_back(value.type.dtype, value.type.static_shape(), std::span<const uint8_t>(), nullptr);
      }
    }
    return tensors;
  }

  Status fold(NodeId id) {
    const Node& node = graph_.node(id);
    const std::vector<Tensor> inputs = operands(node);
    Result<std::vector<Tensor>> results = reference::evaluate(graph_, node, inputs);
    if (!results.has_value()) {
      const Code code = results.error().code();
      const bool is_missing = code == Code::UnsupportedOperator || code == Code::UnsupportedType;
      return is_missing ? Status() : results.take_error();
    }
    const std::vector<ValueId> outputs = node.outputs;
    for (size_t i = 0; i < outputs.size() && i < results->size(); ++i) {
      if (outputs[i] == kNone || (*results)[i].is_empty()) continue;
      graph_.replace_uses(outputs[i], graph_.add_constant(graph_.value(outputs[i]).name, (*results)[i]));
    }
    return {};
  }

  Graph& graph_;
  std::vector<char> shapes_program_;
};

}  // namespace

Status fold_constants(Graph& graph, PassContext&) {
  for (bool has_inlined = true; has_inlined;) {
    Folder folder(graph);
    TIFFIN_TRY(folder.walk(&has_inlined));
  }
  freeze_program_operands(graph);
  graph.erase_dead();
  return {};
}

}  // namespace tiffin::passes
