// SPDX-License-Identifier: Apache-2.0
// Attention as two matrix products around a softmax, in the form that pattern recognition and fusion know; rotary position embeddings.
#include <cmath>
#include <optional>

#include "compiler/ops/attention_rule.h"
#include "compiler/passes/decompositions.h"

namespace tiffin::passes {
namespace {

const double kMinusInfinity = -HUGE_VAL;

struct Attention {
  Rewriter& r;
  ops::AttentionExtents e;
  DType dtype;
  int64_t total = 0;  // keys with the past

  // [batch, length, heads * head] -> [batch, heads, length, head]; four axes stay.
  ValueId split_heads(ValueId x, const std::string& part, int64_t heads) const {
    if (!e.is_flat) return x;
    const Extents shape = r.shape(x);
    return r.transpose(r.reshape(x, part + "_split", {shape[0], shape[1], heads, shape[2] / heads}), part, {0, 2, 1, 3});
  }

  ValueId with_past(ValueId x, size_t past, const std::string& part) const { return r.has_input(past) ? r.concat({r.input(past), x}, part, 2) : x; }

  ValueId scores(ValueId q, ValueId key) const {
    // Query heads that share a key head lie side by side, so that sharing is a reshape of the queries instead of a copy of the keys.
    const int64_t shared = e.query_heads / e.key_heads;
    const ValueId grouped = r.reshape(q, "query_groups", {e.batch, e.key_heads, shared * e.query_length, e.head});
    const ValueId product = r.add(Op::MatMul, "scores", {grouped, r.transpose(key, "key_transposed", {0, 1, 3, 2})});
    const double scale = r.node().float_attribute("scale", 1 / std::sqrt(static_cast<double>(e.head)));
    const ValueId scaled = r.add(Op::Mul, "scaled_scores", {product, r.number(dtype, scale)});
    return r.reshape(scaled, "scores_by_head", {e.batch, e.query_heads, e.query_length, total});
  }

  ValueId softcapped(ValueId x) const {
    const double cap = r.node().float_attribute("softcap", 0);
    if (cap <= 0) return x;
    const ValueId limit = r.number(dtype, cap);
    return r.add(Op::Mul, "softcapped", {r.add(Op::Tanh, "capped", {r.add(Op::Div, "over_cap", {x, limit})}), limit});
  }

  ValueId counting(const std::string& part, int64_t count, const Extents& shape) const {
    Extents numbers;
    for (int64_t i = 0; i < count; ++i) numbers.push_back(i);
    return r.constant(part, graph::Tensor::int64s(numbers).reshaped(shape));
  }

  // The position of each query among the keys: [length, 1], or per batch element behind the keys that are in use.
  ValueId query_positions() const {
    const ValueId rows = counting("query_index", e.query_length, {e.query_length, 1});
    if (r.has_input(6)) {
      const ValueId in_use = r.reshape(r.input(6), "keys_in_use", {e.batch, 1, 1, 1});
      return r.add(Op::Add, "query_position",
                   {rows, r.add(Op::Sub, "offset", {in_use, r.number(DType::Int64, static_cast<double>(e.query_length))})});
    }
    return e.past_length == 0 ? rows : r.add(Op::Add, "query_position", {rows, r.number(DType::Int64, static_cast<double>(e.past_length))});
  }

  // Which keys a query may see by position; none when all.
  std::optional<ValueId> allowed_keys() const {
    std::optional<ValueId> allowed;
    const auto require = [&](ValueId condition) { allowed = allowed ? r.add(Op::And, "allowed", {*allowed, condition}) : condition; };
    const ValueId keys = counting("key_index", total, {total});
    const int64_t left = r.node().int_attribute("left_window_size", -1), right = r.node().int_attribute("right_window_size", -1);
    if (r.node().int_attribute("is_causal", 0) != 0) require(r.add(Op::LessOrEqual, "is_past", {keys, query_positions()}));
    if (left >= 0) {
      const ValueId first = r.add(Op::Sub, "window_begin", {query_positions(), r.number(DType::Int64, static_cast<double>(left))});
      require(r.add(Op::LessOrEqual, "is_after_begin", {first, keys}));
    }
    if (right >= 0) {
      const ValueId last = r.add(Op::Add, "window_end", {query_positions(), r.number(DType::Int64, static_cast<double>(right))});
      require(r.add(Op::LessOrEqual, "is_before_end", {keys, last}));
    }
    if (r.has_input(6)) require(r.add(Op::Less, "is_in_use", {keys, r.reshape(r.input(6), "in_use", {e.batch, 1, 1, 1})}));
    return allowed;
  }

  // The model's mask as numbers to add, as long as the keys.
  ValueId mask_bias() const {
    ValueId mask = r.input(3);
    const bool is_choice = r.dtype(mask) == DType::Bool;
    if (is_choice)
      mask = r.add(Op::Where, "mask_bias", {mask, r.number(dtype, 0), r.number(dtype, kMinusInfinity)});
    else
      mask = r.cast(mask, "mask_bias", dtype);
    const Extents shape = r.shape(mask);
    if (shape.empty() || shape.back() == total || shape.back() == 1) return mask;
    Extents pads(2 * shape.size(), 0);
    pads.back() = total - shape.back();
    return r.add(Op::Pad, "padded_mask", {mask, r.ints("mask_pads", pads), r.number(dtype, kMinusInfinity)}, {{"mode", std::string("constant")}});
  }

  std::optional<ValueId> bias() const {
    const std::optional<ValueId> allowed = allowed_keys();
    if (!allowed && !r.has_input(3)) return std::nullopt;
    const ValueId mask = r.has_input(3) ? mask_bias() : r.number(dtype, 0);
    return allowed ? r.add(Op::Where, "bias", {*allowed, mask, r.number(dtype, kMinusInfinity)}) : mask;
  }

  // Causal order alone leaves every query at least one key.
  bool can_mask_all() const {
    return r.has_input(3) || r.has_input(6) || r.node().int_attribute("left_window_size", -1) >= 0 ||
           r.node().int_attribute("right_window_size", -1) >= 0;
  }

  // Rows that may see nothing become 0 instead of the NaN of 0/0.
  ValueId probabilities(ValueId biased, std::optional<ValueId> added) const {
    const ValueId softmax = r.add(Op::Softmax, "probabilities", {biased}, {{"axis", int64_t{-1}}});
    if (!added || !can_mask_all() || r.shape(*added).empty()) return softmax;
    const ValueId best = r.reduce(Op::ReduceMax, *added, "best_bias", {r.rank(*added) - 1}, true);
    const ValueId is_blind = r.add(Op::Equal, "is_blind", {best, r.number(dtype, kMinusInfinity)});
    return r.add(Op::Where, "seen_probabilities", {is_blind, r.number(dtype, 0), softmax});
  }

  ValueId weighted_values(ValueId weights, ValueId value) const {
    const int64_t shared = e.query_heads / e.key_heads;
    const ValueId grouped = r.reshape(weights, "probability_groups", {e.batch, e.key_heads, shared * e.query_length, total});
    const DType value_dtype = r.dtype(value);
    const ValueId product = r.add(Op::MatMul, "values", {r.cast(grouped, "probabilities_as_values", value_dtype), value});
    const ValueId by_head = r.reshape(product, "values_by_head", {e.batch, e.query_heads, e.query_length, e.value_head});
    const ValueId result = r.cast(by_head, "result", r.dtype(r.node().outputs[0]));
    if (!e.is_flat) return result;
    return r.reshape(r.transpose(result, "heads_last", {0, 2, 1, 3}), "joined", {e.batch, e.query_length, e.query_heads * e.value_head});
  }
};

bool is_complete(const ops::AttentionExtents& e) {
  return e.batch >= 0 && e.query_heads > 0 && e.key_heads > 0 && e.query_length >= 0 && e.key_length >= 0 && e.past_length >= 0 && e.head > 0 &&
         e.value_head >= 0;
}

}  // namespace

Replacements decompose_attention(Rewriter& r) {
  Result<ops::AttentionExtents> extents = ops::attention_extents(r.graph(), r.node());
  if (!extents.has_value() || !is_complete(*extents)) return {};
  const Attention attention{r, *extents, r.dtype(r.input(0)), extents->key_length + extents->past_length};
  const ValueId query = attention.split_heads(r.input(0), "query", extents->query_heads);
  const ValueId key = attention.with_past(attention.split_heads(r.input(1), "key", extents->key_heads), 4, "present_key");
  const ValueId value = attention.with_past(attention.split_heads(r.input(2), "value", extents->key_heads), 5, "present_value");
  const ValueId scores = attention.scores(query, key), capped = attention.softcapped(scores);
  const std::optional<ValueId> bias = attention.bias();
  const ValueId biased = bias ? r.add(Op::Add, "biased_scores", {capped, *bias}) : capped;
  const ValueId probabilities = attention.probabilities(biased, bias);
  const ValueId result = attention.weighted_values(probabilities, value);
  const ValueId by_mode[] = {scores, capped, biased, probabilities};
  const auto mode = static_cast<size_t>(r.node().int_attribute("qk_matmul_output_mode", 0)) & 3;
  const ValueId all[] = {result, key, value, by_mode[mode]};
  Replacements results;
  for (size_t i = 0; i < r.node().outputs.size(); ++i) results.push_back(r.has_output(i) && i < 4 ? all[i] : graph::kNone);
  return results;
}

// x1, x2 are the halves (or the even and odd elements) of the part of each head that rotates: x1 cos - x2 sin, x1 sin + x2 cos.
Replacements decompose_rotary_embedding(Rewriter& r) {
  const Extents shape = r.shape(r.input(0));
  const bool is_flat = shape.size() == 3, is_interleaved = r.node().int_attribute("interleaved", 0) != 0;
  const int64_t heads = r.node().int_attribute("num_heads", 0);
  if (is_flat && heads < 1) return {};
  const Extents split = is_flat ? Extents{shape[0], shape[1], heads, shape[2] / heads} : shape;  // heads behind or before the positions
  const int64_t head = split[3], declared = r.node().int_attribute("rotary_embedding_dim", 0), rotated = declared == 0 ? head : declared;
  const int64_t half = rotated / 2, positions = is_flat ? shape[1] : shape[2];
  const ValueId x = r.reshape(r.input(0), "by_head", split);
  const auto angles = [&](size_t i, const std::string& part) {
    const ValueId rows = r.has_input(3) ? r.add(Op::Gather, part + "_rows", {r.input(i), r.input(3)}, {{"axis", int64_t{0}}}) : r.input(i);
    return r.reshape(rows, part, is_flat ? Extents{shape[0], positions, 1, half} : Extents{shape[0], 1, positions, half});
  };
  const ValueId cosine = angles(1, "cos"), sine = angles(2, "sin");
  const ValueId x1 = is_interleaved ? r.slice(x, "even", 3, 0, rotated, 2) : r.slice(x, "first", 3, 0, half);
  const ValueId x2 = is_interleaved ? r.slice(x, "odd", 3, 1, rotated, 2) : r.slice(x, "second", 3, half, rotated);
  const auto product = [&](ValueId a, ValueId b, const char* part) { return r.add(Op::Mul, part, {a, b}); };
  ValueId real = r.add(Op::Sub, "real", {product(x1, cosine, "x1_cos"), product(x2, sine, "x2_sin")});
  ValueId imaginary = r.add(Op::Add, "imaginary", {product(x1, sine, "x1_sin"), product(x2, cosine, "x2_cos")});
  Extents rotated_shape = split;
  rotated_shape[3] = rotated;
  if (is_interleaved) {
    Extents pairs = split;
    pairs[3] = half;
    pairs.push_back(1);
    real = r.reshape(real, "real_column", pairs);
    imaginary = r.reshape(imaginary, "imaginary_column", pairs);
  }
  const ValueId turned = r.reshape(r.concat({real, imaginary}, "turned", is_interleaved ? 4 : 3), "turned_shaped", rotated_shape);
  const ValueId all = rotated == head ? turned : r.concat({turned, r.slice(x, "rest", 3, rotated, head)}, "whole", 3);
  return {r.reshape(all, "joined", shape)};
}

}  // namespace tiffin::passes
