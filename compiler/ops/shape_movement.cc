// SPDX-License-Identifier: Apache-2.0
// Inference of operators that move elements without computing: views, copies, joins and cuts; Shape and Size.
#include <algorithm>

#include "compiler/ops/axes.h"
#include "compiler/ops/families.h"
#include "compiler/ops/shape_rules.h"
#include "compiler/ops/slice_rule.h"

namespace tiffin::ops {

using graph::Dim;
using graph::Shape;

namespace {

Status set_rank(Inference& inference, size_t rank) { return inference.set(0, inference.dtype(0), inference.fresh_shape(0, rank)); }
Status set_unknown(Inference& inference) { return inference.set(0, inference.dtype(0), std::nullopt); }

// Number of elements of a list input that is not constant; -1 when unknown.
int64_t list_length(const Inference& inference, size_t input) {
  if (!inference.has_rank(input) || inference.rank(input) != 1) return -1;
  return inference.dim(input, 0).value();
}

// 2^24 axes or more are damage, not a shape; the limit keeps hostile models from exhausting memory.
constexpr int64_t kMaxRank = 64;

Status set_rank_of_list(Inference& inference, size_t input) {
  const int64_t length = list_length(inference, input);
  if (length > kMaxRank) {
    return node_error(Code::InvalidModel, inference.graph(), inference.node(), "the result would have rank %lld, expected at most %lld (rank.c1)",
                      static_cast<long long>(length), static_cast<long long>(kMaxRank));
  }
  return length < 0 ? set_unknown(inference) : set_rank(inference, static_cast<size_t>(length));
}

Status expect_list(const Inference& inference, size_t input, const char* rule) { return expect_rank(inference, input, 1, rule); }

}  // namespace

Status infer_concat(Inference& inference) {
  const graph::Node& node = inference.node();
  std::optional<Shape> shape;
  size_t joined = 0;
  int64_t total = 0;
  bool all_known = true;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!inference.has_rank(i)) {
      all_known = false;
      continue;
    }
    if (!shape) {
      shape = inference.shape(i);
      TIFFIN_ASSIGN_OR_RETURN(const int64_t axis,
                              normalized_axis(inference.graph(), node, node.int_attribute("axis", 0), static_cast<int64_t>(inference.rank(i))));
      joined = static_cast<size_t>(axis);
    }
    TIFFIN_TRY(expect_rank(inference, i, shape->size(), "concat.c1"));
    for (size_t axis = 0; axis < shape->size(); ++axis) {
      if (axis == joined) continue;
      TIFFIN_TRY(expect_dim(inference, i, axis, (*shape)[axis], "concat.c2"));
      if (!(*shape)[axis].is_static()) (*shape)[axis] = inference.dim(i, axis);
    }
    const Dim& part = inference.dim(i, joined);
    if (!part.is_static()) total = -1;
    if (total >= 0 && __builtin_add_overflow(total, part.value(), &total)) {
      return node_error(Code::InvalidModel, inference.graph(), node, "the extents at axis %zu sum to more than an int64 can count (concat.c3)",
                        joined);
    }
  }
  if (shape && node.inputs.size() > 1) (*shape)[joined] = inference.dim_or_fresh(all_known ? total : -1, 0, joined);
  return inference.set(0, inference.dtype(0), std::move(shape));
}

namespace {

Status expect_block(const Inference& inference, int64_t* out_block) {
  const graph::Node& node = inference.node();
  *out_block = node.int_attribute("blocksize", 0);
  const std::string mode = node.string_attribute("mode", "DCR");
  if (*out_block < 1 || *out_block > (1 << 20)) {
    return node_error(Code::InvalidModel, inference.graph(), node, "attribute 'blocksize' is %lld, expected 1 or more (block.c1)",
                      static_cast<long long>(*out_block));
  }
  if (mode != "DCR" && mode != "CRD") {
    return node_error(Code::InvalidModel, inference.graph(), node, "attribute 'mode' is '%s', expected DCR or CRD (block.c2)", mode.c_str());
  }
  return expect_rank(inference, 0, 4, "block.c3");
}

// dim / divisor, which must be whole.
Result<Dim> divide(const Inference& inference, size_t axis, int64_t divisor) {
  const Dim& dim = inference.dim(0, axis);
  if (!dim.is_static()) return inference.fresh_dim(0, axis);
  if (dim.value() % divisor == 0) return Dim(dim.value() / divisor);
  return node_error(Code::ShapeMismatch, inference.graph(), inference.node(), "input 0 is %s, expected a multiple of %lld at axis %zu (block.c4)",
                    graph::to_string(inference.type(0)).c_str(), static_cast<long long>(divisor), axis);
}

Dim times(const Inference& inference, size_t axis, int64_t factor) {
  const Dim& dim = inference.dim(0, axis);
  const int64_t product = multiply_extents(dim.value(), factor);
  // An overflow becomes the largest extent, which the check of the whole type refuses.
  if (product == -2) return Dim(INT64_MAX);
  return dim.is_static() ? Dim(product) : inference.fresh_dim(0, axis);
}

}  // namespace

Status infer_depth_to_space(Inference& inference) {
  int64_t block = 0;
  TIFFIN_TRY(expect_block(inference, &block));
  if (!inference.has_rank(0)) return set_rank(inference, 4);
  TIFFIN_ASSIGN_OR_RETURN(const Dim channels, divide(inference, 1, block * block));
  return inference.set(0, inference.dtype(0), Shape{inference.dim(0, 0), channels, times(inference, 2, block), times(inference, 3, block)});
}

Status infer_space_to_depth(Inference& inference) {
  int64_t block = 0;
  TIFFIN_TRY(expect_block(inference, &block));
  if (!inference.has_rank(0)) return set_rank(inference, 4);
  TIFFIN_ASSIGN_OR_RETURN(const Dim height, divide(inference, 2, block));
  TIFFIN_ASSIGN_OR_RETURN(const Dim width, divide(inference, 3, block));
  return inference.set(0, inference.dtype(0), Shape{inference.dim(0, 0), times(inference, 1, block * block), height, width});
}

Status infer_expand(Inference& inference) {
  TIFFIN_TRY(expect_list(inference, 1, "expand.c1"));
  if (inference.constant(1) == nullptr) {
    const int64_t length = list_length(inference, 1);
    if (length < 0 || length > kMaxRank || !inference.has_rank(0)) return set_unknown(inference);
    return set_rank(inference, std::max(static_cast<size_t>(length), inference.rank(0)));
  }
  TIFFIN_ASSIGN_OR_RETURN(const auto target, constant_ints(inference.graph(), inference.node(), 1, "shape"));
  Shape wanted;
  for (const int64_t extent : target) {
    if (extent >= 0) {
      wanted.emplace_back(extent);
      continue;
    }
    return node_error(Code::InvalidModel, inference.graph(), inference.node(), "input 'shape' is %s, expected numbers of 0 or more (expand.c2)",
                      graph::to_string(target).c_str());
  }
  if (!inference.has_rank(0)) return set_unknown(inference);
  TIFFIN_ASSIGN_OR_RETURN(Shape shape, broadcast(inference, inference.shape(0), wanted));
  return inference.set(0, inference.dtype(0), std::move(shape));
}

Status infer_flatten(Inference& inference) {
  if (!inference.has_rank(0)) return set_rank(inference, 2);
  const Shape& shape = inference.shape(0);
  const auto rank = static_cast<int64_t>(shape.size());
  int64_t axis = inference.node().int_attribute("axis", 1);
  if (axis < -rank || axis > rank) {
    return node_error(Code::InvalidModel, inference.graph(), inference.node(),
                      "attribute 'axis' is %lld, expected a number in [%lld, %lld] (flatten.c1)", static_cast<long long>(axis),
                      static_cast<long long>(-rank), static_cast<long long>(rank));
  }
  if (axis < 0) axis += rank;
  TIFFIN_ASSIGN_OR_RETURN(const Dim outer, product_of(inference, shape, 0, static_cast<size_t>(axis), 0, 0));
  TIFFIN_ASSIGN_OR_RETURN(const Dim inner, product_of(inference, shape, static_cast<size_t>(axis), shape.size(), 0, 1));
  return inference.set(0, inference.dtype(0), Shape{outer, inner});
}

namespace {

// What a mode allows: reflect reaches at most to the far end, edge and wrap need an element.
bool is_pad_possible(const std::string& mode, int64_t extent, const PadAxis& pad) {
  if (mode == "constant" || (pad.begin <= 0 && pad.end <= 0)) return true;
  if (mode == "reflect") return pad.begin < extent && pad.end < extent;
  return extent > 0;
}

}  // namespace

Status infer_pad(Inference& inference) {
  const graph::Node& node = inference.node();
  const std::string mode = node.string_attribute("mode", "constant");
  if (mode != "constant" && mode != "reflect" && mode != "edge" && mode != "wrap") {
    return node_error(Code::InvalidModel, inference.graph(), node, "attribute 'mode' is '%s', expected constant, reflect, edge or wrap (pad.c1)",
                      mode.c_str());
  }
  if (!inference.has_rank(0)) return set_unknown(inference);
  const bool is_open = inference.constant(1) == nullptr || (inference.has_input(3) && inference.constant(3) == nullptr);
  if (is_open) return set_rank(inference, inference.rank(0));
  TIFFIN_ASSIGN_OR_RETURN(const auto pads, pads_of(inference.graph(), node));
  Shape shape;
  for (size_t axis = 0; axis < pads.size(); ++axis) {
    const Dim& dim = inference.dim(0, axis);
    const PadAxis& pad = pads[axis];
    if (pad.begin == 0 && pad.end == 0) {
      shape.push_back(dim);
      continue;
    }
    int64_t extent = dim.value();
    const bool overflows = __builtin_add_overflow(extent, pad.begin, &extent) || __builtin_add_overflow(extent, pad.end, &extent);
    if (!dim.is_static()) {
      shape.push_back(inference.fresh_dim(0, axis));
    } else if (overflows || extent < 0 || !is_pad_possible(mode, dim.value(), pad)) {
      return node_error(Code::ShapeMismatch, inference.graph(), node, "axis %zu of %s cannot be padded by %lld and %lld in mode '%s' (pad.c2)", axis,
                        graph::to_string(inference.type(0)).c_str(), static_cast<long long>(pad.begin), static_cast<long long>(pad.end),
                        mode.c_str());
    } else {
      shape.emplace_back(extent);
    }
  }
  return inference.set(0, inference.dtype(0), std::move(shape));
}

namespace {

// Reshape of data with open dimensions: what the target says by itself, a copied symbol, or one open axis.
Status infer_open_reshape(Inference& inference) {
  TIFFIN_ASSIGN_OR_RETURN(const auto target, constant_ints(inference.graph(), inference.node(), 1, "shape"));
  const bool zero_is_extent = inference.node().int_attribute("allowzero", 0) != 0;
  Shape shape;
  for (size_t axis = 0; axis < target.size(); ++axis) {
    const bool is_copied = target[axis] == 0 && !zero_is_extent;
    const bool has_source = inference.has_rank(0) && axis < inference.rank(0);
    if (target[axis] < -1 || (is_copied && inference.has_rank(0) && !has_source)) {
      return node_error(Code::ShapeMismatch, inference.graph(), inference.node(), "%s cannot take shape %s (reshape.c2)",
                        graph::to_string(inference.type(0)).c_str(), graph::to_string(target).c_str());
    }
    shape.push_back(is_copied && has_source ? inference.dim(0, axis) : inference.dim_or_fresh(is_copied ? -1 : target[axis], 0, axis));
  }
  return inference.set(0, inference.dtype(0), std::move(shape));
}

}  // namespace

Status infer_reshape(Inference& inference) {
  TIFFIN_TRY(expect_list(inference, 1, "reshape.c0"));
  if (inference.constant(1) == nullptr) return set_rank_of_list(inference, 1);
  if (!inference.type(0).has_static_shape()) return infer_open_reshape(inference);
  TIFFIN_ASSIGN_OR_RETURN(const auto target, reshape_target(inference.graph(), inference.node()));
  return inference.set(0, inference.dtype(0), Shape(target.begin(), target.end()));
}

Status infer_reverse_sequence(Inference& inference) {
  TIFFIN_TRY(expect_min_rank(inference, 0, 2, "reverse_sequence.c1"));
  const int64_t batch = inference.node().int_attribute("batch_axis", 1);
  const int64_t time = inference.node().int_attribute("time_axis", 0);
  if (batch < 0 || batch > 1 || time < 0 || time > 1 || batch == time) {
    return node_error(Code::InvalidModel, inference.graph(), inference.node(),
                      "attributes 'batch_axis' and 'time_axis' are %lld and %lld, expected 0 and 1 in some order (reverse_sequence.c2)",
                      static_cast<long long>(batch), static_cast<long long>(time));
  }
  TIFFIN_TRY(expect_rank(inference, 1, 1, "reverse_sequence.c3"));
  if (inference.has_rank(0) && inference.has_rank(1)) {
    TIFFIN_TRY(expect_dim(inference, 1, 0, inference.dim(0, static_cast<size_t>(batch)), "reverse_sequence.c3"));
  }
  return infer_same(inference);
}

Status infer_shape_of(Inference& inference) {
  if (!inference.has_rank(0)) return inference.set(0, DType::Int64, inference.fresh_shape(0, 1));
  const auto rank = static_cast<int64_t>(inference.rank(0));
  const auto clamped = [&](int64_t axis) { return std::clamp<int64_t>(axis < 0 ? axis + rank : axis, 0, rank); };
  const int64_t start = clamped(inference.node().int_attribute("start", 0));
  const int64_t end = clamped(inference.node().int_attribute("end", rank));
  return inference.set(0, DType::Int64, Shape{Dim(std::max<int64_t>(end - start, 0))});
}

Status infer_size_of(Inference& inference) { return inference.set(0, DType::Int64, Shape{}); }

Status infer_slice(Inference& inference) {
  for (size_t i = 1; i < 5; ++i) TIFFIN_TRY(expect_list(inference, i, "slice.c2"));
  if (!inference.has_rank(0)) return set_unknown(inference);
  for (size_t i = 1; i < 5; ++i) {
    if (inference.has_input(i) && inference.constant(i) == nullptr) return set_rank(inference, inference.rank(0));
  }
  TIFFIN_ASSIGN_OR_RETURN(const auto axes, slice_of(inference.graph(), inference.node()));
  std::vector<int64_t> touched;
  const size_t count = static_cast<size_t>(inference.constant(1)->num_elements());
  if (inference.has_input(3)) {
    for (const int64_t axis : inference.constant(3)->to_int64s()) touched.push_back(axis < 0 ? axis + static_cast<int64_t>(axes.size()) : axis);
  } else {
    for (size_t axis = 0; axis < count; ++axis) touched.push_back(static_cast<int64_t>(axis));
  }
  Shape shape;
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    const bool is_touched = std::find(touched.begin(), touched.end(), static_cast<int64_t>(axis)) != touched.end();
    shape.push_back(is_touched ? inference.dim_or_fresh(axes[axis].extent, 0, axis) : inference.dim(0, axis));
  }
  return inference.set(0, inference.dtype(0), std::move(shape));
}

Status infer_split(Inference& inference) {
  const graph::Node& node = inference.node();
  const bool is_open = inference.has_input(1) && inference.constant(1) == nullptr;
  if (inference.has_input(1) && node.has_attribute("num_outputs")) {
    return node_error(Code::InvalidModel, inference.graph(), node,
                      "both input 'split' and attribute 'num_outputs' are given, expected one (split.c3)");
  }
  std::optional<std::vector<int64_t>> sizes;
  size_t axis = 0;
  if (inference.has_rank(0)) {
    TIFFIN_TRY(expect_min_rank(inference, 0, 1, "split.c4"));
    TIFFIN_ASSIGN_OR_RETURN(const int64_t normalized, axis_attribute(inference.graph(), node, "axis", 0));
    axis = static_cast<size_t>(normalized);
    const bool has_sizes = !is_open && (inference.has_input(1) || inference.dim(0, axis).is_static());
    if (has_sizes) {
      TIFFIN_ASSIGN_OR_RETURN(sizes, split_sizes(inference.graph(), node));
    }
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    std::optional<Shape> shape = inference.type(0).shape;
    if (shape) (*shape)[axis] = inference.dim_or_fresh(sizes ? (*sizes)[i] : -1, i, axis);
    TIFFIN_TRY(inference.set(i, inference.dtype(0), std::move(shape)));
  }
  return {};
}

Status infer_squeeze(Inference& inference) {
  if (!inference.has_rank(0)) return set_unknown(inference);
  const bool needs_extents = !inference.has_input(1) && !inference.type(0).has_static_shape();
  if (needs_extents || (inference.has_input(1) && inference.constant(1) == nullptr)) return set_unknown(inference);
  TIFFIN_ASSIGN_OR_RETURN(const auto axes, squeeze_axes(inference.graph(), inference.node()));
  Shape shape;
  for (size_t axis = 0; axis < inference.rank(0); ++axis) {
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(axis))) shape.push_back(inference.dim(0, axis));
  }
  return inference.set(0, inference.dtype(0), std::move(shape));
}

Status infer_tile(Inference& inference) {
  TIFFIN_TRY(expect_list(inference, 1, "tile.c1"));
  if (!inference.has_rank(0)) return set_rank_of_list(inference, 1);
  if (inference.has_rank(1)) TIFFIN_TRY(expect_dim(inference, 1, 0, static_cast<int64_t>(inference.rank(0)), "tile.c1"));
  if (inference.constant(1) == nullptr) return set_rank(inference, inference.rank(0));
  TIFFIN_ASSIGN_OR_RETURN(const auto repeats, constant_ints(inference.graph(), inference.node(), 1, "repeats"));
  Shape shape;
  for (size_t axis = 0; axis < repeats.size(); ++axis) {
    if (repeats[axis] < 0) {
      return node_error(Code::InvalidModel, inference.graph(), inference.node(), "input 'repeats' is %s, expected numbers of 0 or more (tile.c2)",
                        graph::to_string(repeats).c_str());
    }
    shape.push_back(repeats[axis] == 1 ? inference.dim(0, axis) : times(inference, axis, repeats[axis]));
  }
  return inference.set(0, inference.dtype(0), std::move(shape));
}

Status infer_transpose(Inference& inference) {
  const graph::Node& node = inference.node();
  std::vector<int64_t> order = node.ints_attribute("perm");
  if (!inference.has_rank(0)) return node.has_attribute("perm") ? set_rank(inference, order.size()) : set_unknown(inference);
  const size_t rank = inference.rank(0);
  if (!node.has_attribute("perm") || (order.empty() && rank > 0)) {
    order.clear();
    for (size_t axis = rank; axis-- > 0;) order.push_back(static_cast<int64_t>(axis));
  }
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  bool is_permutation = sorted.size() == rank;
  for (size_t axis = 0; is_permutation && axis < rank; ++axis) is_permutation = sorted[axis] == static_cast<int64_t>(axis);
  if (!is_permutation) {
    return node_error(Code::InvalidModel, inference.graph(), node,
                      "attribute 'perm' is %s, expected a permutation of the %zu axes of %s (transpose.c1)", graph::to_string(order).c_str(), rank,
                      graph::to_string(inference.type(0)).c_str());
  }
  Shape shape;
  for (const int64_t axis : order) shape.push_back(inference.dim(0, static_cast<size_t>(axis)));
  return inference.set(0, inference.dtype(0), std::move(shape));
}

Status infer_trilu(Inference& inference) {
  TIFFIN_TRY(expect_min_rank(inference, 0, 2, "trilu.c1"));
  return infer_same(inference);
}

Status infer_unsqueeze(Inference& inference) {
  if (!inference.has_rank(0)) return set_unknown(inference);
  if (inference.constant(1) == nullptr) {
    const int64_t length = list_length(inference, 1);
    return length < 0 || length > kMaxRank ? set_unknown(inference) : set_rank(inference, inference.rank(0) + static_cast<size_t>(length));
  }
  TIFFIN_ASSIGN_OR_RETURN(const auto axes, unsqueeze_axes(inference.graph(), inference.node()));
  Shape shape = inference.shape(0);
  for (const int64_t axis : axes) shape.insert(shape.begin() + axis, Dim(1));
  return inference.set(0, inference.dtype(0), std::move(shape));
}

}  // namespace tiffin::ops
