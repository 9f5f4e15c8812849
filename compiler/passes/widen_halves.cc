// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/widen_halves.h"

#include <algorithm>
#include <map>

#include "compiler/ops/infer.h"
#include "compiler/ops/op_class.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::NodeId;
using graph::Op;
using graph::ValueId;

// Up to here a second copy in float32 costs nothing worth a rounding.
constexpr int64_t kMostWidenedElements = 4096;

bool is_half(DType dtype) { return dtype == DType::Float16 || dtype == DType::BFloat16; }

enum class Treatment : uint8_t { Keep, Widen, Follow };  // Follow: wide if its first operand is

Treatment treatment_of(Op op) {
  switch (op) {
    case Op::Cast:
    case Op::Equal:
    case Op::Less:
    case Op::LessOrEqual:
    case Op::IsInf:
    case Op::IsNaN:
      return Treatment::Keep;
    case Op::AveragePool:
    case Op::Conv:
    case Op::ConvTranspose:
    case Op::CumSum:
    case Op::Gemm:
    case Op::LayerNormalization:
    case Op::LogSoftmax:
    case Op::MatMul:
    case Op::ReduceMean:
    case Op::ReduceProd:
    case Op::ReduceSum:
    case Op::RMSNormalization:
    case Op::Softmax:
      return Treatment::Widen;
    case Op::ReduceMax:
    case Op::ReduceMin:
      return Treatment::Follow;
    default:
      break;
  }
  switch (ops::op_class(op)) {
    case ops::OpClass::Elementwise:
      return Treatment::Widen;
    case ops::OpClass::View:
    case ops::OpClass::Movement:
      return Treatment::Follow;
    case ops::OpClass::Heavy:
      return Treatment::Keep;
  }
  return Treatment::Keep;
}

class Widening {
 public:
  explicit Widening(Graph& graph) : graph_(graph) {}

  Status run() {
    for (const NodeId id : graph_.topological_order()) {
      const Node& node = graph_.node(id);
      if (node.op == Op::Cast && graph_.value(node.inputs[0]).type.dtype == graph_.value(node.outputs[0]).type.dtype) {
        graph_.replace_uses(node.outputs[0], node.inputs[0]);  // to its own type: nothing to round
      } else if (is_widened(node)) {
        TIFFIN_TRY(widen(id));
      }
    }
    graph_.erase_dead();
    return {};
  }

 private:
  bool is_half_value(ValueId value) const { return value != kNone && is_half(graph_.value(value).type.dtype); }

  bool is_widened(const Node& node) const {
    const Treatment treatment = treatment_of(node.op);
    if (treatment == Treatment::Keep || std::none_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return is_half_value(v); }))
      return false;
    if (treatment == Treatment::Follow && wide_.count(node.input(0)) == 0) return false;
    return std::none_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) {
      return is_half_value(v) && graph_.is_constant(v) && graph_.value(v).type.num_elements() > kMostWidenedElements;
    });
  }

  Result<ValueId> add_cast(ValueId value, DType to, const std::string& name) {
    const ValueId out = graph_.add_node(Op::Cast, name, {value}, {{"to", static_cast<int64_t>(to)}});
    TIFFIN_TRY(ops::infer_node(graph_, graph_.value(out).producer));
    return out;
  }

  // The float32 value that a 16-bit one was rounded from, or is widened to.
  Result<ValueId> wide_of(ValueId value) {
    const auto found = wide_.find(value);
    if (found != wide_.end()) return found->second;
    TIFFIN_ASSIGN_OR_RETURN(const ValueId wide, add_cast(value, DType::Float32, graph_.value(value).name + "/wide"));
    wide_[value] = wide;
    return wide;
  }

  Status widen(NodeId id) {
    for (size_t i = 0; i < graph_.node(id).inputs.size(); ++i) {
      const ValueId input = graph_.node(id).inputs[i];
      if (!is_half_value(input)) continue;
      TIFFIN_ASSIGN_OR_RETURN(graph_.node(id).inputs[i], wide_of(input));
    }
    std::vector<DType> stored;
    const std::vector<ValueId> outputs = graph_.node(id).outputs;
    for (const ValueId output : outputs) stored.push_back(output == kNone ? DType::Undefined : graph_.value(output).type.dtype);
    TIFFIN_TRY(ops::infer_node(graph_, id));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (is_half(stored[i])) TIFFIN_TRY(narrow(outputs[i], stored[i]));
    }
    return {};
  }

  // Readers take the result rounded to its own type; those that are widened later find what it was rounded from.
  Status narrow(ValueId wide, DType stored) {
    TIFFIN_ASSIGN_OR_RETURN(const ValueId narrow, add_cast(wide, stored, graph_.value(wide).name + "/stored"));
    graph_.replace_uses(wide, narrow);
    graph_.node(graph_.value(narrow).producer).inputs[0] = wide;
    wide_[narrow] = wide;
    return {};
  }

  Graph& graph_;
  std::map<ValueId, ValueId> wide_;  // of 16-bit values
};

}  // namespace

Status widen_halves(Graph& graph, PassContext&) { return Widening(graph).run(); }

}  // namespace tiffin::passes
