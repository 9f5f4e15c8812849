// SPDX-License-Identifier: Apache-2.0
// Reductions, global pools and losses by means of ReduceSum, ReduceMean, ReduceMax and elementwise primitives.
#include <algorithm>

#include "compiler/ops/axes.h"
#include "compiler/ops/window.h"
#include "compiler/passes/decompositions.h"

namespace tiffin::passes {
namespace {

ValueId square(Rewriter& r, ValueId x) { return r.add(Op::Mul, "square", {x, x}); }

// log(sum(exp(x))) with the maximum taken out; an infinite maximum is not, so that inf - inf does not appear.
ValueId log_sum_exp(Rewriter& r, ValueId x, const Extents& axes, bool keeps_dims) {
  const ValueId maximum = r.reduce(Op::ReduceMax, x, "maximum", axes, true);
  const ValueId is_infinite = r.add(Op::IsInf, "is_infinite", {maximum});
  const ValueId offset = r.add(Op::Where, "offset", {is_infinite, r.number(r.dtype(x), 0), maximum});
  const ValueId exponentials = r.add(Op::Exp, "exp", {r.add(Op::Sub, "shifted", {x, offset})});
  const ValueId logarithm = r.add(Op::Log, "log", {r.reduce(Op::ReduceSum, exponentials, "sum", axes, true)});
  const ValueId result = r.add(Op::Add, "unshifted", {logarithm, offset});
  if (keeps_dims || !r.is_ok()) return result;
  return r.reshape(result, "result", r.shape(r.node().outputs[0]));
}

bool has_normal_axes(Rewriter& r, const Extents& axes) {
  if (axes.empty() || !r.has_input(1)) return false;
  const graph::Tensor* given = r.graph().tensor_of(r.input(1));
  return given != nullptr && given->to_int64s() == axes;
}

// The same over integers: in double, as ONNX leaves the rounding open, then truncated.
bool needs_float(Op op, DType dtype) {
  return !is_standard_float(dtype) && (op == Op::ReduceL2 || op == Op::ReduceLogSum || op == Op::ReduceLogSumExp);
}

Extents spatial_axes(Rewriter& r, ValueId x) {
  Extents axes;
  for (int64_t axis = 2; axis < r.rank(x); ++axis) axes.push_back(axis);
  return axes;
}

ValueId power(Rewriter& r, ValueId x, const std::string& part, double exponent) { return r.add(Op::Pow, part, {x, r.number(r.dtype(x), exponent)}); }

}  // namespace

Replacements decompose_reduction(Rewriter& r) {
  Result<Extents> found = ops::reduction_axes(r.graph(), r.node());
  if (!found.has_value()) return {};
  const Extents axes = *found;
  const bool keeps_dims = r.node().int_attribute("keepdims", 1) != 0;
  ValueId x = r.input(0);
  const DType dtype = r.dtype(x);
  const Op op = r.node().op;
  if (needs_float(op, dtype)) x = r.cast(x, "wide", DType::Float64);
  const auto sum_of = [&](ValueId terms) { return r.reduce(Op::ReduceSum, terms, "sum", axes, keeps_dims); };
  switch (op) {
    case Op::ReduceL1:
      return {sum_of(r.add(Op::Abs, "magnitude", {x}))};
    case Op::ReduceL2:
      return {r.cast(r.add(Op::Sqrt, "root", {sum_of(square(r, x))}), "narrow", dtype)};
    case Op::ReduceSumSquare:
      return {sum_of(square(r, x))};
    case Op::ReduceLogSum:
      return {r.cast(r.add(Op::Log, "log", {sum_of(x)}), "narrow", dtype)};
    case Op::ReduceLogSumExp:
      if (axes.empty()) return {x};
      return {r.cast(log_sum_exp(r, x, axes, keeps_dims), "narrow", dtype)};
    default:
      break;
  }
  if (has_normal_axes(r, axes)) return {};
  return {r.reduce(op, x, "normal", axes, keeps_dims)};
}

Replacements decompose_global_pool(Rewriter& r) {
  const Op op = r.node().op == Op::GlobalMaxPool ? Op::ReduceMax : Op::ReduceMean;
  return {r.reduce(op, r.input(0), "pool", spatial_axes(r, r.input(0)), true)};
}

Replacements decompose_lp_pool(Rewriter& r) {
  Result<ops::Window> window = ops::window_of(r.graph(), r.node());
  if (!window.has_value()) return {};
  const auto p = static_cast<double>(r.node().int_attribute("p", 2));
  const ValueId magnitude = r.add(Op::Abs, "magnitude", {r.input(0)});
  // Padding that reaches to the end of the last window takes the place of ceil_mode, with which the average divides by fewer taps than the kernel
  // has.
  Extents pads = window->pads_begin;
  for (size_t i = 0; i < window->spatial_rank(); ++i) {
    const int64_t end = (window->output[i] - 1) * window->strides[i] + window->reach(i);
    pads.push_back(std::max(window->pads_end[i], end - window->input[i] - window->pads_begin[i]));
  }
  const ValueId mean = r.add(Op::AveragePool, "mean", {power(r, magnitude, "powers", p)},
                             {{"kernel_shape", window->kernel},
                              {"strides", window->strides},
                              {"dilations", window->dilations},
                              {"pads", pads},
                              {"count_include_pad", int64_t{1}}});
  const auto taps = static_cast<double>(graph::num_elements(window->kernel));
  return {power(r, r.add(Op::Mul, "sum", {mean, r.number(r.dtype(mean), taps)}), "root", 1 / p)};
}

Replacements decompose_lp_normalization(Rewriter& r) {
  Result<int64_t> axis = ops::axis_attribute(r.graph(), r.node(), "axis", -1);
  if (!axis.has_value()) return {};
  const ValueId x = r.input(0);
  const bool is_l1 = r.node().int_attribute("p", 2) == 1;
  const ValueId terms = is_l1 ? r.add(Op::Abs, "magnitude", {x}) : square(r, x);
  ValueId norm = r.reduce(Op::ReduceSum, terms, "sum", {*axis}, true);
  if (!is_l1) norm = r.add(Op::Sqrt, "norm", {norm});
  const ValueId is_zero = r.add(Op::Equal, "is_zero", {norm, r.number(r.dtype(x), 0)});
  return {r.add(Op::Div, "normalized", {x, r.add(Op::Where, "divisor", {is_zero, r.number(r.dtype(x), 1), norm})})};
}

namespace {

// Loss terms -log_probability[n, label, d…] with their weights, both of the labels' shape; an ignored label weighs 0.
struct Terms {
  ValueId losses, weights;
};

Terms loss_terms(Rewriter& r, ValueId log_probabilities) {
  const ValueId labels = r.cast(r.input(1), "labels", DType::Int64);
  const DType dtype = r.dtype(log_probabilities);
  Extents shape = r.shape(labels);
  const Extents label_shape = shape;
  ValueId safe_labels = labels, is_ignored = graph::kNone;
  if (r.node().has_attribute("ignore_index")) {
    const auto ignored = static_cast<double>(r.node().int_attribute("ignore_index", 0));
    is_ignored = r.add(Op::Equal, "is_ignored", {labels, r.number(DType::Int64, ignored)});
    safe_labels = r.add(Op::Where, "safe_labels", {is_ignored, r.number(DType::Int64, 0), labels});
  }
  shape.insert(shape.begin() + 1, 1);
  const ValueId indices = r.reshape(safe_labels, "indices", shape);
  const ValueId picked = r.add(Op::GatherElements, "picked", {log_probabilities, indices}, {{"axis", int64_t{1}}});
  const ValueId losses = r.add(Op::Neg, "losses", {r.reshape(picked, "flat", label_shape)});
  ValueId weights = r.has_input(2) ? r.add(Op::Gather, "weights", {r.input(2), safe_labels}, {{"axis", int64_t{0}}})
                                   : r.expand(r.number(dtype, 1), "weights", label_shape);
  if (is_ignored != graph::kNone) weights = r.add(Op::Where, "kept_weights", {is_ignored, r.number(dtype, 0), weights});
  return {r.add(Op::Mul, "weighted", {losses, weights}), weights};
}

}  // namespace

Replacements decompose_loss(Rewriter& r) {
  ValueId log_probabilities = r.input(0);
  if (r.node().op == Op::SoftmaxCrossEntropyLoss) {
    log_probabilities = r.add(Op::LogSoftmax, "log_probabilities", {r.input(0)}, {{"axis", int64_t{1}}});
  }
  const Terms terms = loss_terms(r, log_probabilities);
  const std::string mode = r.node().string_attribute("reduction", "mean");
  Extents axes;
  for (int64_t axis = 0; axis < r.rank(r.input(1)); ++axis) axes.push_back(axis);
  ValueId loss = terms.losses;
  if (mode != "none") loss = r.reduce(Op::ReduceSum, terms.losses, "sum", axes, false);
  if (mode == "mean") loss = r.add(Op::Div, "mean", {loss, r.reduce(Op::ReduceSum, terms.weights, "weight", axes, false)});
  Replacements results{loss};
  if (r.node().outputs.size() > 1) results.push_back(log_probabilities);
  return results;
}

}  // namespace tiffin::passes
