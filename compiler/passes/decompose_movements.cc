// SPDX-License-Identifier: Apache-2.0
// Movements as Reshape, Transpose, Expand, Slice and selections by constant positions.
#include "compiler/ops/axes.h"
#include "compiler/ops/slice_rule.h"
#include "compiler/passes/decompositions.h"

namespace tiffin::passes {
namespace {

// 0, 1, …, count - 1 as a constant of that shape, which has as many elements.
ValueId counting(Rewriter& r, const std::string& part, const Extents& shape) {
  Extents numbers(static_cast<size_t>(graph::num_elements(shape)));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
  return r.constant(part, graph::Tensor::int64s(numbers).reshaped(shape));
}

// True at the class that the index names: indices with an axis of extent 1 at `axis`, which becomes `depth`.
ValueId is_class(Rewriter& r, ValueId indices, int64_t axis, int64_t depth) {
  Extents classes(r.shape(indices).size() - static_cast<size_t>(axis), 1);
  classes[0] = depth;
  return r.add(Op::Equal, "is_class", {indices, counting(r, "classes", classes)});
}

}  // namespace

Replacements decompose_view(Rewriter& r) { return {r.reshape(r.input(0), "view", r.shape(r.node().outputs[0]))}; }

Replacements decompose_identity(Rewriter& r) { return {r.input(0)}; }

Replacements decompose_dropout(Rewriter& r) {
  const auto operand = [&](size_t i) { return r.has_input(i) ? r.graph().tensor_of(r.input(i)) : nullptr; };
  const graph::Tensor *ratio = operand(1), *training = operand(2);
  const bool drops_nothing = ratio != nullptr && ratio->to_doubles()[0] == 0;
  const bool is_inference = !r.has_input(2) || (training != nullptr && training->to_int64s()[0] == 0);
  if (!is_inference && !drops_nothing) return {};
  Replacements results{r.input(0)};
  if (r.node().outputs.size() > 1) results.push_back(r.expand(r.number(DType::Bool, 1), "mask", r.shape(r.input(0))));
  return results;
}

Replacements decompose_split(Rewriter& r) {
  Result<int64_t> axis = ops::axis_attribute(r.graph(), r.node(), "axis", 0);
  Result<Extents> sizes = ops::split_sizes(r.graph(), r.node());
  if (!axis.has_value() || !sizes.has_value()) return {};
  Replacements results;
  int64_t begin = 0;
  for (size_t i = 0; i < sizes->size(); ++i) {
    const int64_t end = begin + (*sizes)[i];
    results.push_back(r.has_output(i) ? r.slice(r.input(0), "part" + std::to_string(i), *axis, begin, end) : graph::kNone);
    begin = end;
  }
  return results;
}

// [a, b] repeated (m, n) times: [1, a, 1, b] expanded to [m, a, n, b], then [m*a, n*b].
Replacements decompose_tile(Rewriter& r) {
  Result<Extents> repeats = ops::constant_ints(r.graph(), r.node(), 1, "repeats");
  if (!repeats.has_value()) return {};
  const Extents shape = r.shape(r.input(0));
  Extents split, expanded;
  for (size_t i = 0; i < shape.size(); ++i) {
    split.insert(split.end(), {1, shape[i]});
    expanded.insert(expanded.end(), {(*repeats)[i], shape[i]});
  }
  const ValueId copies = r.expand(r.reshape(r.input(0), "split", split), "copies", expanded);
  return {r.reshape(copies, "joined", r.shape(r.node().outputs[0]))};
}

Replacements decompose_block_movement(Rewriter& r) {
  const Extents x = r.shape(r.input(0));
  const int64_t b = r.node().int_attribute("blocksize", 1);
  Extents split, permutation;
  if (r.node().op == Op::SpaceToDepth) {
    split = {x[0], x[1], x[2] / b, b, x[3] / b, b};
    const bool channels_first = r.node().string_attribute("mode", "DCR") == "CRD";
    permutation = channels_first ? Extents{0, 1, 3, 5, 2, 4} : Extents{0, 3, 5, 1, 2, 4};
  } else if (r.node().string_attribute("mode", "DCR") == "CRD") {
    split = {x[0], x[1] / (b * b), b, b, x[2], x[3]};
    permutation = {0, 1, 4, 2, 5, 3};
  } else {
    split = {x[0], b, b, x[1] / (b * b), x[2], x[3]};
    permutation = {0, 3, 4, 1, 5, 2};
  }
  const ValueId moved = r.transpose(r.reshape(r.input(0), "split", split), "moved", permutation);
  return {r.reshape(moved, "joined", r.shape(r.node().outputs[0]))};
}

// What folding left because of its size: computed when it runs.
Replacements decompose_constant_of_shape(Rewriter& r) {
  const auto found = r.node().attributes.find("value");
  const auto* value = found == r.node().attributes.end() ? nullptr : std::get_if<graph::Tensor>(&found->second);
  const ValueId element = value == nullptr ? r.number(DType::Float32, 0) : r.constant("element", value->reshaped({}));
  return {r.expand(element, "filled", r.shape(r.node().outputs[0]))};
}

// Keeps column >= row + k (upper) or column <= row + k (lower).
Replacements decompose_trilu(Rewriter& r) {
  const ValueId x = r.input(0);
  const Extents shape = r.shape(x);
  const ValueId columns = counting(r, "columns", {shape.back()});
  ValueId rows = counting(r, "rows", {shape[shape.size() - 2], 1});
  if (r.has_input(1)) rows = r.add(Op::Add, "diagonal", {rows, r.reshape(r.cast(r.input(1), "wide_k", DType::Int64), "k", {})});
  const bool is_upper = r.node().int_attribute("upper", 1) != 0;
  const ValueId keeps = is_upper ? r.add(Op::LessOrEqual, "keeps", {rows, columns}) : r.add(Op::LessOrEqual, "keeps", {columns, rows});
  return {r.add(Op::Where, "triangle", {keeps, x, r.number(r.dtype(x), 0)})};
}

// Step t of a sequence of length n reads step n - 1 - t while t < n, and itself afterwards.
Replacements decompose_reverse_sequence(Rewriter& r) {
  const ValueId x = r.input(0);
  const Extents shape = r.shape(x);
  const auto time = static_cast<size_t>(r.node().int_attribute("time_axis", 0)), batch = static_cast<size_t>(r.node().int_attribute("batch_axis", 1));
  if (time > 1 || batch > 1) return {};
  Extents time_shape(shape.size(), 1), batch_shape(shape.size(), 1);
  time_shape[time] = shape[time];
  batch_shape[batch] = shape[batch];
  const ValueId steps = counting(r, "steps", time_shape);
  const ValueId lengths = r.reshape(r.input(1), "lengths", batch_shape);
  const ValueId last = r.add(Op::Sub, "last", {lengths, r.number(DType::Int64, 1)});
  const ValueId reversed = r.add(Op::Sub, "reversed", {last, steps});
  const ValueId indices = r.add(Op::Where, "indices", {r.add(Op::Less, "is_inside", {steps, lengths}), reversed, steps});
  return {r.add(Op::GatherElements, "gathered", {x, r.expand(indices, "all_indices", shape)}, {{"axis", static_cast<int64_t>(time)}})};
}

Replacements decompose_one_hot(Rewriter& r) {
  const Extents result = r.shape(r.node().outputs[0]);
  const auto rank = static_cast<int64_t>(result.size());
  int64_t axis = r.node().int_attribute("axis", -1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return {};
  const int64_t depth = result[static_cast<size_t>(axis)];
  // Fractional and out-of-range indices name no class, as in ONNX: the cast truncates as the indexing of the specification does.
  const ValueId indices = r.cast(r.input(0), "indices", DType::Int64);
  const ValueId is_negative = r.add(Op::Less, "is_negative", {indices, r.number(DType::Int64, 0)});
  const ValueId from_end = r.add(Op::Add, "from_end", {indices, r.number(DType::Int64, static_cast<double>(depth))});
  Extents with_axis = result;
  with_axis[static_cast<size_t>(axis)] = 1;
  const ValueId wrapped = r.reshape(r.add(Op::Where, "wrapped", {is_negative, from_end, indices}), "with_axis", with_axis);
  const ValueId off = r.reshape(r.slice(r.input(2), "off_value", 0, 0, 1), "off", {});
  const ValueId on = r.reshape(r.slice(r.input(2), "on_value", 0, 1, 2), "on", {});
  return {r.add(Op::Where, "one_hot", {is_class(r, wrapped, axis, depth), on, off})};
}

Replacements decompose_hardmax(Rewriter& r) {
  Result<int64_t> axis = ops::axis_attribute(r.graph(), r.node(), "axis", -1);
  if (!axis.has_value()) return {};
  const ValueId x = r.input(0);
  const ValueId best = r.add(Op::ArgMax, "best", {x}, {{"axis", *axis}, {"keepdims", int64_t{1}}});
  if (!r.is_ok()) return {};
  const ValueId is_best = is_class(r, best, *axis, r.shape(x)[static_cast<size_t>(*axis)]);
  return {r.cast(is_best, "hardmax", r.dtype(x))};
}

}  // namespace tiffin::passes
