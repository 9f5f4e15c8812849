// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/pack_weights.h"

#include <algorithm>
#include <set>
#include <utility>

#include "compiler/passes/rewriter.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::kNone;
using graph::NodeId;
using graph::ValueKind;

bool is_movement(Op op) { return op == Op::Transpose || op == Op::Reshape; }

// The parameter below Transposes and Reshapes, or kNone.
ValueId parameter_below(const Graph& graph, ValueId value) {
  while (value != kNone && graph.value(value).producer != kNone && is_movement(graph.node(graph.value(value).producer).op)) {
    value = graph.node(graph.value(value).producer).inputs[0];
  }
  return value != kNone && graph.value(value).kind == ValueKind::Parameter ? value : kNone;
}

// An operand as its reader wants it: the value, and whether it is transposed there.
using Form = std::pair<ValueId, bool>;

// Whether only operators of that kind read the value, behind movements or not, as that input; `forms` gets the forms in which they do.
bool readers_are(const Graph& graph, const std::vector<std::vector<NodeId>>& users, ValueId value, Op op, size_t input, std::set<Form>& forms) {
  const auto& outputs = graph.outputs();
  if (std::find(outputs.begin(), outputs.end(), value) != outputs.end()) return false;
  const auto& readers = users[static_cast<size_t>(value)];
  return std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
    const graph::Node& node = graph.node(reader);
    if (is_movement(node.op)) return readers_are(graph, users, node.outputs[0], op, input, forms);
    forms.emplace(value, node.int_attribute("transB", 0) != 0);
    return node.op == op && node.input(input) == value && std::count(node.inputs.begin(), node.inputs.end(), value) == 1;
  });
}

bool is_float_matrix(const Graph& graph, ValueId value) {
  const graph::Type& type = graph.value(value).type;
  return type.dtype == DType::Float32 && type.has_static_shape() && type.rank() == 2 && type.num_elements() > 0;
}

ValueId packed_product(Rewriter& rewriter, ValueId x, ValueId w) {
  const int64_t columns = rewriter.shape(w)[1];
  const ValueId panels = rewriter.add(Op::PackPanels, "panels", {w});
  return rewriter.add(Op::PackedMatMul, "product", {x, panels}, {{"n", columns}});
}

// The form that decompose_operators leaves; another one is not for this pass.
bool is_plain_gemm(const graph::Node& node) {
  const bool is_unscaled = node.float_attribute("alpha", 1) == 1 && (node.float_attribute("beta", 1) == 1 || node.input(2) == kNone);
  return is_unscaled && node.int_attribute("transA", 0) == 0;
}

ValueId rewrite_gemm(Rewriter& rewriter, bool packs) {
  ValueId w = rewriter.input(1);
  if (rewriter.node().int_attribute("transB", 0) != 0) w = rewriter.transpose(w, "transposed", {1, 0});
  const ValueId x = rewriter.input(0);
  const ValueId product = packs ? packed_product(rewriter, x, w) : rewriter.add(Op::MatMul, "product", {x, w});
  return rewriter.has_input(2) ? rewriter.add(Op::Add, "bias", {product, rewriter.input(2)}) : product;
}

}  // namespace

bool is_packable_weight(const Graph& graph, const std::vector<std::vector<NodeId>>& users, ValueId value, Op op) {
  const ValueId parameter = parameter_below(graph, value);
  std::set<Form> forms;  // of several, each would have to be stored
  return parameter != kNone && readers_are(graph, users, parameter, op, 1, forms) && forms.size() == 1;
}

Status pack_weights(Graph& graph, PassContext&) {
  const auto users = graph.build_users();
  for (const NodeId id : graph.topological_order()) {
    const Op op = graph.node(id).op;
    if (op != Op::MatMul && (op != Op::Gemm || !is_plain_gemm(graph.node(id)))) continue;
    Rewriter rewriter(graph, id);
    const ValueId x = rewriter.input(0), w = rewriter.input(1), result = graph.node(id).outputs[0];
    const bool is_float = rewriter.dtype(x) == DType::Float32 && graph.value(x).type.has_static_shape();
    const bool packs = is_float && is_float_matrix(graph, w) && rewriter.rank(x) >= 2 && is_packable_weight(graph, users, w, op);
    if (op == Op::MatMul && !packs) continue;
    const ValueId y = op == Op::Gemm ? rewrite_gemm(rewriter, packs) : packed_product(rewriter, x, w);
    TIFFIN_TRY(rewriter.take_status());
    graph.replace_uses(result, y);
  }
  graph.erase_dead();
  return {};
}

}  // namespace tiffin::passes
