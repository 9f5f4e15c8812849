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

// d / divisor, d * (1 / divisor) or d * (1 / divisor * gamma).
struct Quotient {
  ValueId dividend = kNone, divisor = kNone, gamma = kNone;
};

// The divisor when `value` is 1 / divisor.
ValueId reciprocal_of(const Pattern& pattern, ValueId value, std::vector<ValueId>* out_numbers) {
  const Node* reciprocal = pattern.producer(value, Op::Div);
  if (reciprocal == nullptr || !pattern.is_number(reciprocal->inputs[0], 1)) return kNone;
  out_numbers->push_back(reciprocal->inputs[0]);
  return reciprocal->inputs[1];
}

Quotient quotient_of(const Pattern& pattern, const Node& node, std::vector<ValueId>* out_numbers) {
  if (node.op == Op::Div) return {node.inputs[0], node.inputs[1]};
  if (node.op != Op::Mul) return {};
  for (const size_t side : {0, 1}) {
    const ValueId divisor = reciprocal_of(pattern, node.inputs[side], out_numbers);
    if (divisor != kNone) return {node.inputs[1 - side], divisor};
  }
  for (const size_t side : {0, 1}) {
    const Node* factor = pattern.producer(node.inputs[side], Op::Mul);
    if (factor == nullptr) continue;
    for (const ValueId candidate : factor->inputs) {
      const ValueId divisor = reciprocal_of(pattern, candidate, out_numbers);
      if (divisor != kNone) return {node.inputs[1 - side], divisor, Pattern::other(*factor, candidate)};
    }
  }
  return {};
}

// The variance when `value` is Sqrt(variance + epsilon).
ValueId variance_below(const Pattern& pattern, ValueId value, NormalizedRows* match) {
  const Node* root = pattern.producer(value, Op::Sqrt);
  const Node* sum = root == nullptr ? nullptr : pattern.producer(root->inputs[0], Op::Add);
  if (sum == nullptr) return kNone;
  for (const size_t side : {0, 1}) {
    const std::optional<double> epsilon = pattern.number(sum->inputs[side]);
    if (!epsilon.has_value() || *epsilon < 0) continue;
    match->numbers.push_back(sum->inputs[side]);
    match->epsilon = *epsilon;
    return sum->inputs[1 - side];
  }
  return kNone;
}

// Whether `value` is ReduceMean(d ** 2) over trailing axes, which become those of `match`.
bool is_mean_square(const Pattern& pattern, ValueId value, ValueId d, NormalizedRows* match) {
  const Node* mean = pattern.producer(value, Op::ReduceMean);
  const std::optional<int64_t> axis = mean == nullptr ? std::nullopt : trailing_axis(pattern, *mean);
  if (!axis.has_value() || squared(pattern, mean->inputs[0], &match->numbers) != d) return false;
  match->axis = *axis;
  return true;
}

// Whether `value` is ReduceMean(x ** 2) - mean ** 2, bounded by 0 or not.
bool is_difference_of_squares(const Pattern& pattern, ValueId value, ValueId x, ValueId mean, NormalizedRows* match) {
  if (const Node* bounded = pattern.producer(value, Op::Max)) {
    const size_t side = pattern.number(bounded->inputs[0]) == 0.0 ? 0 : 1;
    if (bounded->inputs.size() != 2 || pattern.number(bounded->inputs[side]) != 0.0) return false;
    match->numbers.push_back(bounded->inputs[side]);
    value = bounded->inputs[1 - side];
  }
  const Node* difference = pattern.producer(value, Op::Sub);
  return difference != nullptr && squared(pattern, difference->inputs[1], &match->numbers) == mean &&
         is_mean_square(pattern, difference->inputs[0], x, match);
}

// Numbers of a higher rank than the rows would have given the quotient theirs.
bool has_shape_of_rows(const Pattern& pattern, const Node& node, const NormalizedRows& match) {
  return pattern.graph().value(node.outputs[0]).type.has_static_shape() && pattern.shape(node.outputs[0]) == pattern.shape(match.rows);
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
  if (quotient.divisor == kNone || quotient.gamma != kNone || !is_full_precision(pattern.dtype(quotient.dividend))) return std::nullopt;
  match.rows = quotient.dividend;
  const ValueId variance = variance_below(pattern, quotient.divisor, &match);
  if (variance == kNone || !is_mean_square(pattern, variance, match.rows, &match) || !has_shape_of_rows(pattern, node, match)) return std::nullopt;
  return match;
}

std::optional<NormalizedRows> match_centred_rows(const Pattern& pattern, const Node& node) {
  NormalizedRows match;
  const Quotient quotient = quotient_of(pattern, node, &match.numbers);
  const Node* centred = quotient.divisor == kNone ? nullptr : pattern.producer(quotient.dividend, Op::Sub);
  const Node* mean = centred == nullptr ? nullptr : pattern.producer(centred->inputs[1], Op::ReduceMean);
  if (mean == nullptr || mean->inputs[0] != centred->inputs[0] || !is_full_precision(pattern.dtype(mean->inputs[0]))) return std::nullopt;
  match.rows = mean->inputs[0];
  match.gamma = quotient.gamma;
  const ValueId variance = variance_below(pattern, quotient.divisor, &match);
  if (variance == kNone) return std::nullopt;
  const bool matches = is_mean_square(pattern, variance, quotient.dividend, &match) ||
                       is_difference_of_squares(pattern, variance, match.rows, centred->inputs[1], &match);
  if (!matches || trailing_axis(pattern, *mean) != match.axis) return std::nullopt;
  if (match.gamma != kNone && !is_row(pattern, match.gamma, match.rows, match.axis)) return std::nullopt;
  if (!has_shape_of_rows(pattern, node, match)) return std::nullopt;
  return match;
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
