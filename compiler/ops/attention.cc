// SPDX-License-Identifier: Apache-2.0
// Inference of attention and rotary embeddings.
#include "compiler/ops/attention_rule.h"
#include "compiler/ops/families.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::ops {

using graph::Dim;
using graph::Shape;

namespace {

// The mask broadcasts to [batch, heads, queries, keys]; its last axis may be shorter than the keys.
Status check_mask(const Inference& inference, const AttentionExtents& e, int64_t total_length) {
  if (!inference.has_input(3) || !inference.has_rank(3)) return {};
  const Shape& mask = inference.shape(3);
  Shape target;
  for (const int64_t extent : {e.batch, e.query_heads, e.query_length}) target.push_back(inference.dim_or_fresh(extent, 0, target.size()));
  target.push_back(inference.dim_or_fresh(total_length, 0, 3));
  const bool is_short = !mask.empty() && mask.back().is_static() && total_length >= 0 && mask.back().value() < total_length;
  if (is_short) target.back() = mask.back();
  return expect_broadcast_to(inference, 3, target, "attention.c8");
}

Status check_cache(const Inference& inference) {
  const bool has_past = inference.has_input(4);
  const bool has_lengths = inference.has_input(6);
  if (!has_lengths || (!has_past && !inference.has_output(1) && !inference.has_output(2))) return {};
  return node_error(Code::InvalidModel, inference.graph(), inference.node(),
                    "'nonpad_kv_seqlen' is given together with past or present keys, expected one of them (attention.c9)");
}

Status check_modes(const Inference& inference) {
  const int64_t mode = inference.node().int_attribute("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) {
    return node_error(Code::InvalidModel, inference.graph(), inference.node(),
                      "attribute 'qk_matmul_output_mode' is %lld, expected 0 to 3 (attention.c10)", static_cast<long long>(mode));
  }
  const int64_t precision = inference.node().int_attribute("softmax_precision", static_cast<int64_t>(DType::Float32));
  if (precision > 0 && precision < kDTypeCount && is_standard_float(static_cast<DType>(precision))) return {};
  return node_error(Code::InvalidModel, inference.graph(), inference.node(),
                    "attribute 'softmax_precision' is %lld, expected the code of a floating-point type (attention.c11)",
                    static_cast<long long>(precision));
}

}  // namespace

Status infer_attention(Inference& inference) {
  TIFFIN_TRY(check_cache(inference));
  TIFFIN_TRY(check_modes(inference));
  const DType dtype = inference.dtype(0);
  for (size_t i = 0; i < 3; ++i) {
    if (inference.has_rank(i)) continue;
    TIFFIN_TRY(inference.set(0, dtype, std::nullopt));
    TIFFIN_TRY(inference.set(1, inference.dtype(1), inference.fresh_shape(1, 4)));
    TIFFIN_TRY(inference.set(2, inference.dtype(2), inference.fresh_shape(2, 4)));
    return inference.set(3, dtype, inference.fresh_shape(3, 4));
  }
  TIFFIN_ASSIGN_OR_RETURN(const AttentionExtents e, attention_extents(inference.graph(), inference.node()));
  const int64_t total = e.key_length < 0 || e.past_length < 0 ? -1 : e.key_length + e.past_length;
  TIFFIN_TRY(check_mask(inference, e, total));
  const auto shape = [&](size_t output, std::initializer_list<int64_t> extents) {
    Shape out;
    for (const int64_t extent : extents) out.push_back(inference.dim_or_fresh(extent, output, out.size()));
    return out;
  };
  Shape result = e.is_flat ? shape(0, {e.batch, e.query_length, multiply_extents(e.query_heads, e.value_head)})
                           : shape(0, {e.batch, e.query_heads, e.query_length, e.value_head});
  // Open extents of the query keep their symbols.
  for (size_t axis = 0; axis + 1 < result.size(); ++axis) {
    if (!result[axis].is_static()) result[axis] = inference.dim(0, axis);
  }
  TIFFIN_TRY(inference.set(0, dtype, std::move(result)));
  TIFFIN_TRY(inference.set(1, inference.dtype(1), shape(1, {e.batch, e.key_heads, total, e.head})));
  TIFFIN_TRY(inference.set(2, inference.dtype(2), shape(2, {e.batch, e.key_heads, total, e.value_head})));
  return inference.set(3, dtype, shape(3, {e.batch, e.query_heads, e.query_length, total}));
}

namespace {

// The part of the head that rotates, or -1 when the head's extent is unknown.
Result<int64_t> rotated_extent(const Inference& inference) {
  const graph::Node& node = inference.node();
  const int64_t heads = node.int_attribute("num_heads", 0);
  const int64_t wanted = node.int_attribute("rotary_embedding_dim", 0);
  const bool is_flat = inference.rank(0) == 3;
  if (is_flat && heads < 1) {
    return node_error(Code::InvalidModel, inference.graph(), node,
                      "attribute 'num_heads' is %lld, expected 1 or more with an input of rank 3 (rotary.c1)", static_cast<long long>(heads));
  }
  const int64_t width = inference.shape(0).back().value();
  if (width < 0) return wanted > 0 ? wanted : -1;
  const int64_t head = is_flat ? width / heads : width;
  const int64_t rotated = wanted == 0 ? head : wanted;
  if ((!is_flat || width % heads == 0) && rotated > 0 && rotated <= head && rotated % 2 == 0) return rotated;
  return node_error(Code::ShapeMismatch, inference.graph(), node,
                    "input is %s with %lld heads and 'rotary_embedding_dim' %lld, expected an even extent within the head (rotary.c2)",
                    graph::to_string(inference.type(0)).c_str(), static_cast<long long>(heads), static_cast<long long>(wanted));
}

}  // namespace

Status infer_rotary_embedding(Inference& inference) {
  if (inference.has_rank(0)) {
    if (inference.rank(0) != 3) TIFFIN_TRY(expect_rank(inference, 0, 4, "rotary.c3"));
    TIFFIN_ASSIGN_OR_RETURN(const int64_t rotated, rotated_extent(inference));
    const size_t cache_rank = inference.has_input(3) ? 2 : 3;
    for (const size_t cache : {size_t{1}, size_t{2}}) {
      TIFFIN_TRY(expect_rank(inference, cache, cache_rank, "rotary.c4"));
      if (inference.has_rank(cache) && rotated >= 0) TIFFIN_TRY(expect_dim(inference, cache, cache_rank - 1, rotated / 2, "rotary.c5"));
    }
    if (inference.has_input(3)) TIFFIN_TRY(expect_rank(inference, 3, 2, "rotary.c6"));
  }
  return infer_same(inference);
}

}  // namespace tiffin::ops
