// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/normalized_rows.h"

namespace tiffin::passes {
namespace {

using graph::kNone;

// d when `value` is d * d or d ** 2.
ValueId squared(const Pattern& pattern, ValueId value, std::vector<ValueId>* out_numbers) {
  if (const Node* product = pattern.producer(value, Op::Mul)) return product->inputs[0] == product->inputs[1] ? product->inputs[0] : kNone;
  const Node* power = pattern.producer(value, Op::Pow);
  if (power == nullptr || !pattern.is_number(power->inputs[1], 2)) return kNone;
  out_numbers->push_back(power->inputs[1]);
  return power->inputs[0];
}

// The divisor when `node` is d / divisor or d * (1 / divisor), with d.
struct Quotient {
  ValueId dividend = kNone, divisor = kNone;
};

Quotient quotient_of(const Pattern& pattern, const Node& node, std::vector<ValueId>* out_numbers) {
  if (node.op == Op::Div) return {node.inputs[0], node.inputs[1]};
  if (node.op != Op::Mul) return {};
  for (const size_t side : {0, 1}) {
    const Node* reciprocal = pattern.producer(node.inputs[side], Op::Div);
    if (reciprocal == nullptr || !pattern.is_number(reciprocal->inputs[0], 1)) continue;
    out_numbers->push_back(reciprocal->inputs[0]);
    return {node.inputs[1 - side], reciprocal->inputs[1]};
  }
  return {};
}

}  // namespace

std::optional<int64_t> trailing_axis(const Pattern& pattern, const Node& reduction) {
  const Extents axes = pattern.kept_axes(reduction);
  const auto rank = static_cast<int64_t>(pattern.shape(reduction.inputs[0]).size());
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != rank - static_cast<int64_t>(axes.size()) + static_cast<int64_t>(i)) return std::nullopt;
  }
  return axes.empty() ? std::nullopt : std::optional<int64_t>(axes[0]);
}

std::optional<NormalizedRows> match_normalized_rows(const Pattern& pattern, const Node& node) {
  NormalizedRows match;
  const Quotient quotient = quotient_of(pattern, node, &match.numbers);
  const Node* root = pattern.producer(quotient.divisor, Op::Sqrt);
  const Node* sum = root == nullptr ? nullptr : pattern.producer(root->inputs[0], Op::Add);
  if (sum == nullptr || !is_full_precision(pattern.dtype(quotient.dividend))) return std::nullopt;
  for (const size_t side : {0, 1}) {
    const std::optional<double> epsilon = pattern.number(sum->inputs[side]);
    const Node* mean = pattern.producer(sum->inputs[1 - side], Op::ReduceMean);
    if (!epsilon.has_value() || mean == nullptr || *epsilon < 0) continue;
    match.numbers.push_back(sum->inputs[side]);
    const std::optional<int64_t> axis = trailing_axis(pattern, *mean);
    if (!axis.has_value() || squared(pattern, mean->inputs[0], &match.numbers) != quotient.dividend) return std::nullopt;
    match.rows = quotient.dividend;
    match.axis = *axis;
    match.epsilon = *epsilon;
    return match;
  }
  return std::nullopt;
}

bool is_row(const Pattern& pattern, ValueId value, ValueId x, int64_t axis) {
  if (pattern.dtype(value) != pattern.dtype(x)) return false;
  const Extents own = pattern.shape(value), whole = pattern.shape(x);
  if (!pattern.graph().value(value).type.has_static_shape()) return false;
  const int64_t count = graph::num_elements(own);
  if (count == 1) return own.size() <= whole.size();
  const Extents row(whole.begin() + axis, whole.end());
  if (own.size() < row.size() || own.size() > whole.size() || count != graph::num_elements(row)) return false;
  return std::equal(row.rbegin(), row.rend(), own.rbegin());
}

ValueId row_shaped(Rewriter& r, ValueId value, const std::string& part, ValueId x, int64_t axis) {
  const Extents own = r.shape(value), whole = r.shape(x);
  if (graph::num_elements(own) == 1) return r.reshape(value, part, {1});
  return r.reshape(value, part, Extents(whole.begin() + axis, whole.end()));
}

const Node* row_reader(const Pattern& pattern, ValueId value, Op op, ValueId x, int64_t axis) {
  const graph::NodeId reader = pattern.only_reader(value);
  if (reader == kNone) return nullptr;
  const Node& node = pattern.graph().node(reader);
  return node.op == op && is_row(pattern, Pattern::other(node, value), x, axis) ? &node : nullptr;
}

}  // namespace tiffin::passes
