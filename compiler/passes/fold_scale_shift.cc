// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/fold_scale_shift.h"

#include <algorithm>

#include "compiler/passes/pattern.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::kNone;
using graph::NodeId;
using graph::ValueKind;

// A stored vector expression holds 64 steps (plan/vector_expression.cc); those of the chain itself need room.
constexpr int kMaxSteps = 40;
constexpr int64_t kMaxElements = 16384;

// What a vector operand is made of; kinds that differ do not mix in one stored expression.
enum class VectorKind : uint8_t { None, Number, Constant, Parameters };

struct Vector {
  VectorKind kind = VectorKind::None;
  int steps = 0;
};

// x * scale + shift, each a value or kNone for 1 and 0.
struct Chain {
  ValueId x = kNone, scale = kNone, shift = kNone;
};

Vector join(Vector a, Vector b) {
  const bool mixes = a.kind != b.kind && a.kind != VectorKind::Number && b.kind != VectorKind::Number;
  if (a.kind == VectorKind::None || b.kind == VectorKind::None || mixes || a.steps + b.steps > kMaxSteps) return {};
  return {std::max(a.kind, b.kind), a.steps + b.steps + 1};
}

// How each value varies with the parameters and nothing else, for the values that the graph has at first.
class Vectors {
 public:
  explicit Vectors(const Graph& graph) : graph_(graph), vectors_(graph.value_capacity()) {
    for (size_t i = 0; i < vectors_.size(); ++i) vectors_[i] = source(graph.value(static_cast<ValueId>(i)));
    for (const NodeId id : graph.topological_order()) {
      const Node& node = graph.node(id);
      if (node.outputs.size() == 1 && is_small(graph.value(node.outputs[0]))) vectors_[static_cast<size_t>(node.outputs[0])] = expression(node);
    }
  }

  Vector of(ValueId value) const { return static_cast<size_t>(value) < vectors_.size() ? vectors_[static_cast<size_t>(value)] : Vector{}; }

 private:
  static bool is_small(const graph::Value& value) { return value.type.has_static_shape() && value.type.num_elements() <= kMaxElements; }

  static Vector source(const graph::Value& value) {
    if (value.is_erased || !is_small(value)) return {};
    if (value.kind == ValueKind::Parameter) return {VectorKind::Parameters, 1};
    if (value.kind != ValueKind::Constant) return {};
    return {value.type.num_elements() == 1 ? VectorKind::Number : VectorKind::Constant, 1};
  }

  Vector expression(const Node& node) const {
    switch (node.op) {
      case Op::Add:
      case Op::Sub:
      case Op::Mul:
      case Op::Div:
        return join(of(node.inputs[0]), of(node.inputs[1]));
      case Op::Sqrt:
        return join(of(node.inputs[0]), {VectorKind::Number, 0});
      case Op::Reshape:
        return only_adds_ones(node) ? of(node.inputs[0]) : Vector{};
      default:
        return {};
    }
  }

  bool only_adds_ones(const Node& node) const {
    const graph::Type& type = graph_.value(node.inputs[0]).type;
    if (!type.has_static_shape()) return false;
    Extents from = type.static_shape(), to = graph_.value(node.outputs[0]).type.static_shape();
    std::erase(from, 1);
    std::erase(to, 1);
    return from == to;
  }

  const Graph& graph_;
  std::vector<Vector> vectors_;
};

class Folder {
 public:
  explicit Folder(Graph& graph) : graph_(graph), pattern_(graph), vectors_(graph) {}

  // The value that stands for the chain which ends at `id`, or kNone.
  ValueId fold(Rewriter& r, NodeId id) {
    if (!is_link(id) || has_next_link(id)) return kNone;
    Vector all;
    const std::vector<NodeId> links = collect(id, &all);
    Chain chain;
    chain.x = operand_of(links[0]);
    const NodeId convolution = bias_source(chain.x, all);
    if (!gains(links, convolution != kNone)) return kNone;
    if (convolution != kNone) {
      chain.shift = channel_bias(r, convolution);
      chain.x = without_bias(r, convolution);
    }
    for (const NodeId link : links) append(r, chain, link);
    ValueId y = chain.x;
    if (chain.scale != kNone) y = r.add(Op::Mul, "scaled", {y, chain.scale});
    if (chain.shift != kNone) y = r.add(Op::Add, "shifted", {y, chain.shift});
    return y;
  }

 private:
  bool is_vector(ValueId value, const Extents& shape) const {
    const Extents own = pattern_.shape(value);
    if (!graph_.value(value).type.has_static_shape() || own.size() > shape.size() || own == shape) return false;
    const auto wide = std::count_if(own.begin(), own.end(), [](int64_t extent) { return extent != 1; });
    return wide <= 1 && vectors_.of(value).kind != VectorKind::None;
  }

  // The operand that a link scales or shifts.
  ValueId operand_of(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.op != Op::Add && node.op != Op::Mul && node.op != Op::Sub) return kNone;
    const DType dtype = pattern_.dtype(node.outputs[0]);
    const Extents shape = pattern_.shape(node.outputs[0]);
    if ((dtype != DType::Float32 && dtype != DType::Float64) || graph::num_elements(shape) <= 1) return kNone;
    for (const size_t side : {0, 1}) {
      if (node.op == Op::Sub && side == 1) break;
      const ValueId x = node.inputs[side];
      const bool is_whole = pattern_.shape(x) == shape && vectors_.of(x).kind == VectorKind::None;
      if (is_whole && is_vector(node.inputs[1 - side], shape)) return x;
    }
    return kNone;
  }
  bool is_link(NodeId id) const { return operand_of(id) != kNone; }
  bool has_next_link(NodeId id) const {
    const NodeId reader = pattern_.only_reader(graph_.node(id).outputs[0]);
    return reader != kNone && is_link(reader) && can_join(id, reader);
  }
  ValueId vector_of(NodeId id) const { return Pattern::other(graph_.node(id), operand_of(id)); }

  // The vectors of both are of one kind and vary along the same axis.
  bool can_join(NodeId a, NodeId b) const {
    const Vector both = join(vectors_.of(vector_of(a)), vectors_.of(vector_of(b)));
    const int64_t axis_a = axis_of(a), axis_b = axis_of(b);
    return both.kind != VectorKind::None && (axis_a == axis_b || axis_a == -1 || axis_b == -1);
  }
  // The axis of the result, from its end, along which the vector varies; -1 for a single number.
  int64_t axis_of(NodeId id) const {
    const Extents own = pattern_.shape(vector_of(id));
    for (size_t i = 0; i < own.size(); ++i) {
      if (own[i] != 1) return static_cast<int64_t>(own.size() - i);
    }
    return -1;
  }

  // The longest chain that ends at `last`, first link first, whose steps fit in one expression; `out_all` is what it needs.
  std::vector<NodeId> collect(NodeId last, Vector* out_all) const {
    std::vector<NodeId> links = {last};
    int64_t axis = axis_of(last);
    *out_all = vectors_.of(vector_of(last));
    while (true) {
      const ValueId x = operand_of(links.front());
      const NodeId before = graph_.value(x).producer;
      if (before == kNone || !is_link(before) || !pattern_.has_one_reader(x)) return links;
      const int64_t own_axis = axis_of(before);
      const Vector joined = join(*out_all, vectors_.of(vector_of(before)));
      if (joined.kind == VectorKind::None || (axis != -1 && own_axis != -1 && axis != own_axis)) return links;
      *out_all = joined;
      axis = axis == -1 ? own_axis : axis;
      links.insert(links.begin(), before);
    }
  }

  // Whether two operators of one kind become one.
  bool gains(const std::vector<NodeId>& links, bool has_bias) const {
    int products = 0, sums = has_bias ? 1 : 0;
    for (const NodeId link : links) ++(graph_.node(link).op == Op::Mul ? products : sums);
    return products > 1 || sums > 1;
  }

  // The convolution that computes x with a bias which can move behind it.
  NodeId bias_source(ValueId x, Vector all) const {
    const Node* convolution = pattern_.producer(x, Op::Conv);
    if (convolution == nullptr || convolution->input(2) == kNone || !pattern_.has_one_reader(x)) return kNone;
    return join(all, vectors_.of(convolution->inputs[2])).kind == VectorKind::None ? kNone : graph_.value(x).producer;
  }
  ValueId channel_bias(Rewriter& r, NodeId convolution) {
    const ValueId bias = graph_.node(convolution).inputs[2];
    Extents shape(pattern_.shape(graph_.node(convolution).outputs[0]).size() - 1, 1);
    shape[0] = pattern_.shape(bias)[0];
    return r.reshape(bias, "bias", shape);
  }
  ValueId without_bias(Rewriter& r, NodeId convolution) {
    const Node node = graph_.node(convolution);
    return r.add(Op::Conv, "product", {node.inputs[0], node.inputs[1]}, node.attributes);
  }

  void append(Rewriter& r, Chain& chain, NodeId link) {
    const Op op = graph_.node(link).op;
    const ValueId vector = vector_of(link);
    if (op == Op::Mul) {
      chain.scale = chain.scale == kNone ? vector : r.add(Op::Mul, "scale", {chain.scale, vector});
      if (chain.shift != kNone) chain.shift = r.add(Op::Mul, "shift", {chain.shift, vector});
    } else if (chain.shift != kNone) {
      chain.shift = r.add(op, "shift", {chain.shift, vector});
    } else {
      chain.shift = op == Op::Add ? vector : r.add(Op::Sub, "shift", {r.number(r.dtype(vector), 0), vector});
    }
  }

  Graph& graph_;
  Pattern pattern_;
  Vectors vectors_;
};

}  // namespace

Status fold_scale_shift(Graph& graph, PassContext&) {
  Folder folder(graph);
  for (const NodeId id : graph.topological_order()) {
    if (graph.node(id).outputs.size() != 1) continue;
    Rewriter rewriter(graph, id);
    const ValueId result = graph.node(id).outputs[0], y = folder.fold(rewriter, id);
    TIFFIN_TRY(rewriter.take_status());
    if (y != kNone) graph.replace_uses(result, y);
  }
  graph.erase_dead();
  return {};
}

}  // namespace tiffin::passes
