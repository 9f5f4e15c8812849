// SPDX-License-Identifier: Apache-2.0
// General forms of Gemm, and Einsum as a chain of matrix products.
#include <algorithm>
#include <cmath>

#include "compiler/ops/einsum_rule.h"
#include "compiler/passes/decompositions.h"

namespace tiffin::passes {

Replacements decompose_gemm(Rewriter& r) {
  const Node& node = r.node();
  const double alpha = node.float_attribute("alpha", 1), beta = node.float_attribute("beta", 1);
  const bool transposes_a = node.int_attribute("transA", 0) != 0, transposes_b = node.int_attribute("transB", 0) != 0;
  if (alpha == 1 && (beta == 1 || !r.has_input(2)) && !transposes_a) return {};
  const DType dtype = r.dtype(r.input(0));
  // Integers that are scaled by fractions are rounded towards zero at the end.
  const auto is_whole = [](double factor) { return factor == std::trunc(factor) && std::abs(factor) < 0x1p31; };
  const bool is_widened = is_standard_int(dtype) && !(is_whole(alpha) && is_whole(beta));
  const DType inner = is_widened ? DType::Float64 : dtype;
  const auto widened = [&](ValueId value, const char* name) { return is_widened ? r.cast(value, name, DType::Float64) : value; };
  const ValueId a = transposes_a ? r.transpose(r.input(0), "a", {1, 0}) : r.input(0);
  const ValueId b = transposes_b ? r.transpose(r.input(1), "b", {1, 0}) : r.input(1);
  ValueId result = r.add(Op::MatMul, "product", {a, b});
  result = widened(result, "wide");
  if (alpha != 1) result = r.add(Op::Mul, "scaled", {result, r.number(inner, alpha)});
  if (r.has_input(2) && beta != 0) {  // with 0 the third input is not read, whatever it holds
    ValueId c = widened(r.input(2), "wide_c");
    if (beta != 1) c = r.add(Op::Mul, "scaled_c", {c, r.number(inner, beta)});
    result = r.add(Op::Add, "sum", {result, c});
  }
  return {is_widened ? r.cast(result, "narrow", dtype) : result};
}

namespace {

// A factor of the product: its axes carry the labels, each once.
struct Factor {
  ValueId value;
  std::vector<int> labels;

  int64_t position(int label) const {
    const auto found = std::find(labels.begin(), labels.end(), label);
    return found == labels.end() ? -1 : found - labels.begin();
  }
  bool has(int label) const { return position(label) >= 0; }
};

// Two axes i < j of one label and extent n become one, their diagonal: [.., n, .., n, ..] seen as [.., n*n] with i and j last; every (n+1)-th.
void take_diagonal(Rewriter& r, Factor& factor, size_t i, size_t j) {
  const Extents shape = r.shape(factor.value);
  if (shape.size() != factor.labels.size()) return;
  Extents permutation, merged, labels;
  std::vector<int> rest;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis == i || axis == j) continue;
    permutation.push_back(static_cast<int64_t>(axis));
    merged.push_back(shape[axis]);
    rest.push_back(factor.labels[axis]);
  }
  permutation.insert(permutation.end(), {static_cast<int64_t>(i), static_cast<int64_t>(j)});
  const int64_t n = shape[i];
  merged.push_back(n * n);
  rest.push_back(factor.labels[i]);
  const ValueId flat = r.reshape(r.transpose(factor.value, "diagonal_last", permutation), "diagonal_flat", merged);
  factor.value = r.slice(flat, "diagonal", static_cast<int64_t>(merged.size()) - 1, 0, n * n, n + 1);
  factor.labels = rest;
}

void merge_repeated_labels(Rewriter& r, Factor& factor) {
  for (size_t i = 0; i < factor.labels.size(); ++i) {
    for (size_t j = i + 1; j < factor.labels.size(); ++j) {
      if (factor.labels[i] != factor.labels[j]) continue;
      take_diagonal(r, factor, i, j);
      i = static_cast<size_t>(-1);  // positions changed: look from the start
      break;
    }
  }
}

// Sums over the labels that nobody else needs.
void sum_out(Rewriter& r, Factor& factor, const std::vector<int>& needed) {
  Extents axes;
  std::vector<int> kept;
  for (size_t axis = 0; axis < factor.labels.size(); ++axis) {
    const bool is_needed = std::find(needed.begin(), needed.end(), factor.labels[axis]) != needed.end();
    if (is_needed)
      kept.push_back(factor.labels[axis]);
    else
      axes.push_back(static_cast<int64_t>(axis));
  }
  factor.value = r.reduce(Op::ReduceSum, factor.value, "summed", axes, false);
  factor.labels = kept;
}

// The factor with its axes in the order of `labels`; a label that it lacks becomes an axis of extent 1.
ValueId arranged(Rewriter& r, const Factor& factor, const std::vector<int>& labels, const std::string& part) {
  const Extents shape = r.shape(factor.value);
  Extents permutation, to;
  for (const int label : labels) {
    const int64_t position = factor.position(label);
    if (position >= 0) permutation.push_back(position);
    to.push_back(position >= 0 && r.is_ok() ? shape[static_cast<size_t>(position)] : 1);
  }
  return r.reshape(r.transpose(factor.value, part, permutation), part + "_shaped", to);
}

// The labels of a product of two factors by their part in it.
struct Roles {
  std::vector<int> batch, left, right, summed;
};

Roles roles_of(const Factor& a, const Factor& b, const std::vector<int>& needed) {
  Roles roles;
  for (const int label : a.labels) {
    const bool is_needed = std::find(needed.begin(), needed.end(), label) != needed.end();
    if (b.has(label))
      (is_needed ? roles.batch : roles.summed).push_back(label);
    else
      roles.left.push_back(label);
  }
  for (const int label : b.labels) {
    if (!a.has(label)) roles.right.push_back(label);
  }
  return roles;
}

std::vector<int> joined(std::initializer_list<std::vector<int>> lists) {
  std::vector<int> out;
  for (const auto& list : lists) out.insert(out.end(), list.begin(), list.end());
  return out;
}

int64_t extent_of(Rewriter& r, const Factor& factor, const std::vector<int>& labels) {
  int64_t extent = 1;
  const Extents shape = r.shape(factor.value);
  for (const int label : labels) {
    const int64_t position = factor.position(label);
    if (position >= 0 && position < static_cast<int64_t>(shape.size())) extent *= shape[static_cast<size_t>(position)];
  }
  return extent;
}

Extents extents_of(Rewriter& r, const Factor& a, const Factor& b, const std::vector<int>& labels) {
  Extents out;
  for (const int label : labels) {
    const int64_t left = extent_of(r, a, {label}), right = extent_of(r, b, {label});
    out.push_back(left == 1 ? right : left);
  }
  return out;
}

// Of two factors one. A summed label that broadcasts (extent 1 against n) makes the product elementwise, then a sum.
Factor multiply(Rewriter& r, const Factor& a, const Factor& b, const std::vector<int>& needed) {
  const Roles roles = roles_of(a, b, needed);
  bool broadcasts = false;
  for (const int label : joined({roles.summed, roles.batch})) broadcasts = broadcasts || extent_of(r, a, {label}) != extent_of(r, b, {label});
  if (roles.summed.empty() || broadcasts) {
    const std::vector<int> all = joined({roles.batch, roles.left, roles.right, roles.summed});
    Factor product{r.add(Op::Mul, "product", {arranged(r, a, all, "left"), arranged(r, b, all, "right")}), all};
    sum_out(r, product, needed);
    return product;
  }
  const Extents batch = extents_of(r, a, b, roles.batch);
  const int64_t batches = graph::num_elements(batch), k = extent_of(r, a, roles.summed);
  const ValueId left =
      r.reshape(arranged(r, a, joined({roles.batch, roles.left, roles.summed}), "left"), "left_matrix", {batches, extent_of(r, a, roles.left), k});
  const ValueId right = r.reshape(arranged(r, b, joined({roles.batch, roles.summed, roles.right}), "right"), "right_matrix",
                                  {batches, k, extent_of(r, b, roles.right)});
  const std::vector<int> labels = joined({roles.batch, roles.left, roles.right});
  return {r.reshape(r.add(Op::MatMul, "product", {left, right}), "product_shaped", extents_of(r, a, b, labels)), labels};
}

}  // namespace

// 1. A repeated label in one operand is its diagonal. 2. What only one operand has and the result lacks is summed there. 3. Operands are
// multiplied from left to right; a label is summed in the last product that reads it. 4. The result's order is a transposition.
Replacements decompose_einsum(Rewriter& r) {
  Result<ops::Einsum> parsed = ops::einsum_of(r.graph(), r.node());
  if (!parsed.has_value()) return {};
  const ops::Einsum& einsum = *parsed;
  std::vector<Factor> factors;
  for (size_t i = 0; i < einsum.operands.size(); ++i) {
    factors.push_back({r.input(i), einsum.operands[i]});
    merge_repeated_labels(r, factors.back());
  }
  std::vector<int> result;
  for (int label = 0; label < einsum.result_rank; ++label) result.push_back(label);
  Factor product = factors[0];
  for (size_t i = 0; i < factors.size(); ++i) {
    std::vector<int> needed = result;  // by the result and the factors still to come
    for (size_t later = i + 1; later < factors.size(); ++later) needed = joined({needed, factors[later].labels});
    if (i > 0) {
      sum_out(r, factors[i], joined({needed, product.labels}));
      product = multiply(r, product, factors[i], needed);
    } else {
      sum_out(r, product, needed);
    }
  }
  return {r.expand(arranged(r, product, result, "result"), "result_expanded", r.shape(r.node().outputs[0]))};
}

}  // namespace tiffin::passes
