// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/index_math.h"

#include <algorithm>
#include <numeric>

namespace tiffin::kernel {

namespace {

// Integers of Kernel IR wrap.
int64_t wrapping_add(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }
int64_t wrapping_mul(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b)); }

Range add_ranges(Range a, Range b) {
  if (!a.is_bounded() || !b.is_bounded()) return {};
  return {a.low + b.low, a.high + b.high};
}

Range scale_range(Range a, int64_t factor) {
  if (factor == 0) return {0, 0};
  if (!a.is_bounded()) return {};
  int64_t low, high;
  if (__builtin_mul_overflow(a.low, factor, &low) || __builtin_mul_overflow(a.high, factor, &high)) return {};
  return factor > 0 ? Range{low, high} : Range{high, low};
}

ExprNode constant_node(int64_t value, int lanes) {
  ExprNode node;
  node.kind = ExprKind::Const;
  node.type = {DType::Int64, static_cast<uint16_t>(lanes)};
  node.int_value = value;
  return node;
}

ExprNode binary_node(BinaryOp op, Expr a, Expr b) {
  ExprNode node;
  node.kind = ExprKind::Binary;
  node.binary = op;
  node.type = a->type;
  node.a = a;
  node.b = b;
  return node;
}

bool has_vector_atom(const Linear& form) {
  return std::any_of(form.terms.begin(), form.terms.end(), [](const LinearTerm& term) { return term.atom->type.lanes > 1; });
}

}  // namespace

int64_t Linear::coefficient_of(Expr atom) const {
  for (const LinearTerm& term : terms) {
    if (term.atom == atom) return term.coefficient;
  }
  return 0;
}

int64_t IndexMath::order_of(Expr atom) { return order_.try_emplace(atom, static_cast<int64_t>(order_.size())).first->second; }

IndexMath::Key IndexMath::key_of(const Linear& form) {
  Key key{form.constant, form.lane_step, form.lanes};
  for (const LinearTerm& term : form.terms) {
    key.push_back(order_of(term.atom));
    key.push_back(term.coefficient);
  }
  return key;
}

Linear IndexMath::atom_form(Expr atom) {
  order_of(atom);
  Linear form;
  form.terms = {{atom, 1}};
  form.lanes = atom->type.lanes;
  return form;
}

Linear IndexMath::form_of(Expr value) {
  if (auto found = forms_.find(value); found != forms_.end()) return found->second;
  Linear form;
  form.lanes = value->type.lanes;
  if (value->kind == ExprKind::Const) {
    form.constant = value->int_value;
    return form;
  }
  if (value->kind == ExprKind::Lanes) {
    form = form_of(value->a);
    form.lane_step = wrapping_add(form.lane_step, value->int_value);
    form.lanes = value->type.lanes;
  } else if (value->kind == ExprKind::Splat) {
    form = form_of(value->a);
    form.lanes = value->type.lanes;
  } else {
    form = atom_form(value);
  }
  forms_[value] = form;
  return form;
}

Linear IndexMath::add(const Linear& a, const Linear& b) {
  Linear sum = a;
  sum.constant = wrapping_add(a.constant, b.constant);
  sum.lane_step = wrapping_add(a.lane_step, b.lane_step);
  sum.lanes = std::max(a.lanes, b.lanes);
  for (const LinearTerm& term : b.terms) {
    auto same = std::find_if(sum.terms.begin(), sum.terms.end(), [&](const LinearTerm& t) { return t.atom == term.atom; });
    if (same == sum.terms.end()) {
      sum.terms.push_back(term);
    } else {
      same->coefficient = wrapping_add(same->coefficient, term.coefficient);
    }
  }
  return normalise(std::move(sum));
}

Linear IndexMath::scale(const Linear& a, int64_t factor) {
  Linear product = a;
  product.constant = wrapping_mul(a.constant, factor);
  product.lane_step = wrapping_mul(a.lane_step, factor);
  for (LinearTerm& term : product.terms) term.coefficient = wrapping_mul(term.coefficient, factor);
  return normalise(std::move(product));
}

Linear IndexMath::normalise(Linear form) {
  std::erase_if(form.terms, [](const LinearTerm& term) { return term.coefficient == 0; });
  while (recombine(form)) {
  }
  std::sort(form.terms.begin(), form.terms.end(), [this](const LinearTerm& a, const LinearTerm& b) { return order_of(a.atom) < order_of(b.atom); });
  return form;
}

// (x / c) * (k * c) + (x % c) * k = x * k.
bool IndexMath::recombine(Linear& form) {
  for (const LinearTerm& term : form.terms) {
    if (term.atom->kind != ExprKind::Binary || term.atom->binary != BinaryOp::Mod || term.atom->b->kind != ExprKind::Const) continue;
    const int64_t divisor = term.atom->b->int_value, k = term.coefficient;
    const Linear operand = form_of(term.atom->a);
    if (divisor <= 0) continue;
    const Linear quotient = divide(operand, divisor);
    if (quotient.terms.size() != 1 || quotient.constant != 0 || quotient.lane_step != 0 || quotient.terms[0].coefficient != 1) continue;
    Expr partner = quotient.terms[0].atom, remainder_atom = term.atom;
    const int64_t coefficient = form.coefficient_of(partner);
    if (coefficient != wrapping_mul(k, divisor)) continue;
    std::erase_if(form.terms, [&](const LinearTerm& t) { return t.atom == partner || t.atom == remainder_atom; });
    Linear whole = scale(operand, k);
    form = add(form, whole);
    return true;
  }
  return false;
}

Range IndexMath::atom_range(Expr atom) {
  if (auto found = ranges_.find(atom); found != ranges_.end()) return found->second;
  if (atom->kind != ExprKind::Binary || atom->type.dtype != DType::Int64) return {};
  if (atom->b->kind == ExprKind::Const && atom->b->int_value > 0) {
    const Range operand = range_of(atom->a);
    const int64_t divisor = atom->b->int_value;
    if (atom->binary == BinaryOp::Div && operand.is_bounded()) return {operand.low / divisor, operand.high / divisor};
    if (atom->binary == BinaryOp::Mod && operand.is_bounded()) {
      return {operand.low < 0 ? 1 - divisor : 0, operand.high < 0 ? 0 : std::min(operand.high, divisor - 1)};
    }
  }
  const Range a = range_of(atom->a), b = range_of(atom->b);
  if (atom->binary == BinaryOp::Max) return {std::max(a.low, b.low), std::max(a.high, b.high)};
  if (atom->binary == BinaryOp::Min) return {std::min(a.low, b.low), std::min(a.high, b.high)};
  return {};
}

Range IndexMath::range_of(const Linear& form) {
  Range range{form.constant, form.constant};
  const int lanes = active_lanes_ > 0 ? std::min(active_lanes_, form.lanes) : form.lanes;
  range = add_ranges(range, scale_range({0, lanes - 1}, form.lane_step));
  for (const LinearTerm& term : form.terms) range = add_ranges(range, scale_range(atom_range(term.atom), term.coefficient));
  return range;
}

namespace {

// The part of `form` whose coefficients divide by `g` goes to `multiples`, the others to `rest`.
void split_by(const Linear& form, int64_t g, Linear* multiples, Linear* rest) {
  *multiples = *rest = Linear{};
  multiples->lanes = rest->lanes = form.lanes;
  for (const LinearTerm& term : form.terms) (term.coefficient % g == 0 ? multiples : rest)->terms.push_back(term);
  (form.lane_step % g == 0 ? multiples : rest)->lane_step = form.lane_step;
  int64_t constant = form.constant / g * g;
  if (form.constant % g < 0) constant -= g;
  multiples->constant = constant;
  rest->constant = form.constant - constant;
}

Linear exact_quotient(Linear form, int64_t g) {
  for (LinearTerm& term : form.terms) term.coefficient /= g;
  form.lane_step /= g;
  form.constant /= g;
  return form;
}

bool lies_in(Range range, int64_t low, int64_t high) { return range.is_bounded() && range.low >= low && range.high <= high; }

}  // namespace

Linear IndexMath::quotient_atom(BinaryOp op, const Linear& operand, int64_t divisor) {
  Expr& atom = quotients_[{key_of(operand), {static_cast<int>(op), divisor}}];
  if (atom == nullptr) {
    Expr value = expr_of(operand);
    atom = kernel_.add(binary_node(op, value, kernel_.add(constant_node(divisor, value->type.lanes))));
  }
  return atom_form(atom);
}

// Truncation equals rounding down here, because only non-negative operands are simplified.
Linear IndexMath::divide(const Linear& a, int64_t divisor) {
  if (divisor == 1) return a;
  if (a.is_constant()) {
    Linear quotient = a;
    quotient.constant /= divisor;
    return quotient;
  }
  const Range range = range_of(a);
  if (!range.is_bounded() || range.low < 0) return quotient_atom(BinaryOp::Div, a, divisor);
  Linear multiples, rest;
  split_by(a, divisor, &multiples, &rest);
  const Range rest_range = range_of(rest);
  if (lies_in(rest_range, 0, divisor - 1)) return exact_quotient(multiples, divisor);
  if (rest_range.is_bounded() && rest_range.low >= 0 && !(multiples.is_constant() && multiples.constant == 0)) {
    return add(exact_quotient(multiples, divisor), divide(rest, divisor));
  }
  // (g * x + y) / (g * d) = x / d where 0 <= y < g.
  for (const LinearTerm& term : a.terms) {
    const int64_t g = std::gcd(term.coefficient, divisor);
    if (g <= 1) continue;
    split_by(a, g, &multiples, &rest);
    const Range upper = range_of(multiples);
    if (upper.is_bounded() && upper.low >= 0 && lies_in(range_of(rest), 0, g - 1)) return divide(exact_quotient(multiples, g), divisor / g);
  }
  // (x / c + k) / d = (x + k c) / (c d).
  if (a.terms.size() == 1 && a.constant >= 0 && a.lane_step == 0 && a.terms[0].coefficient == 1) {
    Expr inner = a.terms[0].atom;
    if (inner->kind == ExprKind::Binary && inner->binary == BinaryOp::Div && inner->b->kind == ExprKind::Const && inner->b->int_value > 0) {
      Linear shifted = form_of(inner->a);
      if (range_of(shifted).low >= 0) {
        shifted.constant += a.constant * inner->b->int_value;
        return divide(shifted, inner->b->int_value * divisor);
      }
    }
  }
  return quotient_atom(BinaryOp::Div, a, divisor);
}

Linear IndexMath::remainder(const Linear& a, int64_t divisor) {
  Linear zero;
  zero.lanes = a.lanes;
  if (divisor == 1) return zero;
  if (a.is_constant()) {
    zero.constant = a.constant % divisor;
    return zero;
  }
  const Range range = range_of(a);
  if (!range.is_bounded() || range.low < 0) return quotient_atom(BinaryOp::Mod, a, divisor);
  Linear multiples, rest;
  split_by(a, divisor, &multiples, &rest);
  const Range rest_range = range_of(rest);
  if (lies_in(rest_range, 0, divisor - 1)) return rest;
  if (rest_range.is_bounded() && rest_range.low >= 0 && !(multiples.is_constant() && multiples.constant == 0)) return remainder(rest, divisor);
  for (const LinearTerm& term : a.terms) {
    const int64_t g = std::gcd(term.coefficient, divisor);
    if (g <= 1) continue;
    split_by(a, g, &multiples, &rest);
    const Range upper = range_of(multiples);
    if (upper.is_bounded() && upper.low >= 0 && lies_in(range_of(rest), 0, g - 1)) {
      return add(scale(remainder(exact_quotient(multiples, g), divisor / g), g), rest);
    }
  }
  return quotient_atom(BinaryOp::Mod, a, divisor);
}

Expr IndexMath::expr_of(const Linear& form) {
  Expr& known = exprs_[key_of(form)];
  if (known != nullptr) return known;
  if (form.terms.size() == 1 && form.constant == 0 && form.lane_step == 0 && form.terms[0].coefficient == 1 &&
      form.terms[0].atom->type.lanes == form.lanes) {
    return known = form.terms[0].atom;
  }
  // Scalars first, so that the vector is made once.
  const bool has_vectors = has_vector_atom(form);
  Expr sum = nullptr;
  const auto include = [&](Expr part) { sum = sum == nullptr ? part : kernel_.add(binary_node(BinaryOp::Add, sum, part)); };
  const auto scaled = [&](const LinearTerm& term) {
    if (term.coefficient == 1) return term.atom;
    return kernel_.add(binary_node(BinaryOp::Mul, term.atom, kernel_.add(constant_node(term.coefficient, term.atom->type.lanes))));
  };
  for (const LinearTerm& term : form.terms) {
    if (term.atom->type.lanes == 1) include(scaled(term));
  }
  if (form.constant != 0 || sum == nullptr) include(kernel_.add(constant_node(form.constant, 1)));
  if (form.lanes > 1) {
    ExprNode node;
    node.type = {DType::Int64, static_cast<uint16_t>(form.lanes)};
    node.a = sum;
    node.kind = form.lane_step != 0 ? ExprKind::Lanes : ExprKind::Splat;
    node.int_value = form.lane_step;
    if (form.is_constant()) {
      node = constant_node(form.constant, form.lanes);
    }
    const bool is_zero = form.lane_step == 0 && sum->kind == ExprKind::Const && sum->int_value == 0;
    sum = has_vectors && is_zero ? nullptr : kernel_.add(node);
    for (const LinearTerm& term : form.terms) {
      if (term.atom->type.lanes > 1) include(scaled(term));
    }
  }
  forms_[sum] = form;
  return exprs_[key_of(form)] = sum;
}

std::optional<bool> IndexMath::is_less(Expr a, Expr b) {
  const Range difference = range_of(add(form_of(a), scale(form_of(b), -1)));
  if (!difference.is_bounded()) return std::nullopt;
  if (difference.high < 0) return true;
  if (difference.low >= 0) return false;
  return std::nullopt;
}

bool IndexMath::mentions(Expr value, Expr variable) {
  if (value == nullptr) return false;
  if (value == variable) return true;
  return mentions(value->a, variable) || mentions(value->b, variable) || mentions(value->c, variable);
}

bool IndexMath::hides(const Linear& form, Expr variable) {
  return std::any_of(form.terms.begin(), form.terms.end(),
                     [&](const LinearTerm& term) { return term.atom != variable && mentions(term.atom, variable); });
}

}  // namespace tiffin::kernel
