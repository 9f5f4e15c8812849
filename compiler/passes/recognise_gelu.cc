// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/recognise_gelu.h"

#include <cmath>
#include <numbers>

#include "compiler/passes/pattern.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::kNone;
using graph::NodeId;

// A product taken apart: number * value * value * …
struct Product {
  double number = 1;
  std::vector<ValueId> factors;
  std::vector<ValueId> numbers;  // the values that the number came from
};

class GeluMatcher {
 public:
  explicit GeluMatcher(const Pattern& pattern) : pattern_(pattern) {}

  // x of the formula whose last product is `root`, else kNone.
  ValueId match(ValueId root) {
    product_ = {};
    take_apart(root, kNone, 0);
    if (product_.factors.size() != 2 || !near(product_.number, 0.5)) return kNone;
    for (const size_t side : {0, 1}) {
      const ValueId x = product_.factors[side], gate = product_.factors[1 - side];
      numbers_ = product_.numbers;
      if (is_gate(gate, x)) return x;
    }
    return kNone;
  }
  bool is_approximate() const { return is_approximate_; }
  const std::vector<ValueId>& numbers() const { return numbers_; }

 private:
  bool near(double actual, double expected) const { return pattern_.is_near(dtype_of_numbers(), actual, expected); }
  DType dtype_of_numbers() const { return product_.numbers.empty() ? DType::Float32 : pattern_.dtype(product_.numbers[0]); }

  // Appends the factors of `value` to product_. Everything but the root and powers of `x` must have no other reader.
  void take_apart(ValueId value, ValueId x, int depth) {
    if (const auto number = pattern_.number(value)) {
      product_.number *= *number;
      product_.numbers.push_back(value);
      return;
    }
    const bool may_open = depth == 0 || x != kNone || pattern_.has_one_reader(value);
    if (value == x || !may_open || depth > 4) {
      product_.factors.push_back(value);
      return;
    }
    if (const Node* product = pattern_.producer(value, Op::Mul)) {
      take_apart(product->inputs[0], x, depth + 1);
      take_apart(product->inputs[1], x, depth + 1);
      return;
    }
    const Node* quotient = pattern_.producer(value, Op::Div);
    const auto divisor = quotient == nullptr ? std::nullopt : pattern_.number(quotient->inputs[1]);
    if (divisor.has_value()) {
      product_.number /= *divisor;
      product_.numbers.push_back(quotient->inputs[1]);
      take_apart(quotient->inputs[0], x, depth + 1);
      return;
    }
    const Node* power = pattern_.producer(value, Op::Pow);
    const auto exponent = power == nullptr ? std::nullopt : pattern_.number(power->inputs[1]);
    if (exponent.has_value() && power->inputs[0] == x && (*exponent == 2 || *exponent == 3)) {
      product_.numbers.push_back(power->inputs[1]);
      product_.factors.insert(product_.factors.end(), static_cast<size_t>(*exponent), x);
      return;
    }
    product_.factors.push_back(value);
  }

  // `value` as a product of powers of x and other factors; the numbers it uses are kept.
  Product factors_of(ValueId value, ValueId x) {
    product_ = {};
    take_apart(value, x, 0);
    numbers_.insert(numbers_.end(), product_.numbers.begin(), product_.numbers.end());
    return product_;
  }

  // The operand of Add(operand, number) in any order.
  ValueId plus_number(ValueId value, double number) {
    const Node* sum = pattern_.producer(value, Op::Add);
    if (sum == nullptr) return kNone;
    for (const size_t side : {0, 1}) {
      if (!pattern_.is_number(sum->inputs[side], number)) continue;
      numbers_.push_back(sum->inputs[side]);
      return sum->inputs[1 - side];
    }
    return kNone;
  }

  bool is_gate(ValueId gate, ValueId x) {
    const ValueId curve = plus_number(gate, 1);
    if (curve == kNone) return false;
    const Product before = product_;
    bool matches = false;
    if (const Node* erf = pattern_.producer(curve, Op::Erf)) {
      is_approximate_ = false;
      const Product inner = factors_of(erf->inputs[0], x);
      matches = near(inner.number, 1 / std::numbers::sqrt2) && inner.factors == std::vector<ValueId>{x};
    } else if (const Node* tanh = pattern_.producer(curve, Op::Tanh)) {
      is_approximate_ = true;
      matches = is_cubic(tanh->inputs[0], x);
    }
    product_ = before;
    return matches;
  }

  // sqrt(2 / pi) * (x + 0.044715 * x ** 3), or with x outside: sqrt(2 / pi) * x * (1 + 0.044715 * x ** 2).
  bool is_cubic(ValueId value, ValueId x) {
    const Product outer = factors_of(value, x);
    if (!near(outer.number, std::sqrt(2 / std::numbers::pi))) return false;
    if (outer.factors.size() == 1) {
      const Node* sum = pattern_.producer(outer.factors[0], Op::Add);
      if (sum == nullptr || (sum->inputs[0] != x && sum->inputs[1] != x)) return false;
      return is_power(Pattern::other(*sum, x), x, 3);
    }
    if (outer.factors.size() != 2) return false;
    const ValueId rest = outer.factors[0] == x ? outer.factors[1] : outer.factors[1] == x ? outer.factors[0] : kNone;
    const ValueId square = rest == kNone ? kNone : plus_number(rest, 1);
    return square != kNone && is_power(square, x, 2);
  }

  bool is_power(ValueId value, ValueId x, size_t exponent) {
    const Product product = factors_of(value, x);
    return near(product.number, 0.044715) && product.factors == std::vector<ValueId>(exponent, x);
  }

  const Pattern& pattern_;
  Product product_;
  std::vector<ValueId> numbers_;
  bool is_approximate_ = false;
};

}  // namespace

Status recognise_gelu(Graph& graph, PassContext&) {
  const Pattern pattern(graph);
  GeluMatcher matcher(pattern);
  for (const NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    if (node.op != Op::Mul && node.op != Op::Div) continue;
    const ValueId root = node.outputs[0], x = matcher.match(root);
    if (x == kNone || !is_full_precision(pattern.dtype(x)) || graph.value(x).type != graph.value(root).type) continue;
    Rewriter rewriter(graph, id);
    const std::string form = matcher.is_approximate() ? "tanh" : "none";
    const ValueId gelu = rewriter.add(Op::Gelu, "gelu", {x}, {{"approximate", form}});
    TIFFIN_TRY(rewriter.take_status());
    freeze(graph, matcher.numbers());
    graph.replace_uses(root, gelu);
  }
  graph.erase_dead();
  return {};
}

}  // namespace tiffin::passes
