// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/attention_rule.h"

#include "compiler/ops/shape_rules.h"

namespace tiffin::ops {
namespace {

using graph::Graph;
using graph::Node;

constexpr const char* kInputNames[] = {"Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"};

Status unify(const Graph& graph, const Node& node, size_t input, size_t axis, int64_t actual, int64_t* extent) {
  if (actual < 0 || *extent == actual) return {};
  if (*extent < 0) return *extent = actual, Status();
  return node_error(Code::ShapeMismatch, graph, node, "input '%s' is %s, expected %lld at axis %zu (attention.c1)", kInputNames[input],
                    graph::to_string(graph.value(node.inputs[input]).type).c_str(), static_cast<long long>(*extent), axis);
}

// A [batch, heads, length, head] input.
Status read_split(const Graph& graph, const Node& node, size_t input, int64_t* batch, int64_t* heads, int64_t* length, int64_t* head) {
  const graph::Shape& shape = *graph.value(node.inputs[input]).type.shape;
  TIFFIN_TRY(unify(graph, node, input, 0, shape[0].value(), batch));
  TIFFIN_TRY(unify(graph, node, input, 1, shape[1].value(), heads));
  TIFFIN_TRY(unify(graph, node, input, 2, shape[2].value(), length));
  return unify(graph, node, input, 3, shape[3].value(), head);
}

// A [batch, length, heads * head] input; heads is known.
Status read_flat(const Graph& graph, const Node& node, size_t input, int64_t* batch, int64_t heads, int64_t* length, int64_t* head) {
  const graph::Type& type = graph.value(node.inputs[input]).type;
  const int64_t width = (*type.shape)[2].value();
  TIFFIN_TRY(unify(graph, node, input, 0, (*type.shape)[0].value(), batch));
  TIFFIN_TRY(unify(graph, node, input, 1, (*type.shape)[1].value(), length));
  if (width < 0) return {};
  if (width % heads == 0) return unify(graph, node, input, 2, width / heads, head);
  return node_error(Code::ShapeMismatch, graph, node, "input '%s' is %s, expected a multiple of %lld heads at axis 2 (attention.c2)",
                    kInputNames[input], graph::to_string(type).c_str(), static_cast<long long>(heads));
}

Status read_heads(const Graph& graph, const Node& node, AttentionExtents* extents) {
  extents->query_heads = node.int_attribute("q_num_heads", 0);
  extents->key_heads = node.int_attribute("kv_num_heads", 0);
  if (extents->query_heads >= 1 && extents->key_heads >= 1) return {};
  return node_error(Code::InvalidModel, graph, node,
                    "attributes 'q_num_heads' and 'kv_num_heads' are %lld and %lld, expected 1 or more with inputs of rank 3 (attention.c3)",
                    static_cast<long long>(extents->query_heads), static_cast<long long>(extents->key_heads));
}

Status read_past(const Graph& graph, const Node& node, AttentionExtents* extents) {
  const bool has_key = node.input(4) != graph::kNone;
  if (has_key != (node.input(5) != graph::kNone)) {
    return node_error(Code::InvalidModel, graph, node, "one of 'past_key' and 'past_value' is given, expected both or none (attention.c4)");
  }
  if (!has_key) return {};
  extents->past_length = -1;
  for (const size_t input : {size_t{4}, size_t{5}}) {
    const graph::Type& type = graph.value(node.inputs[input]).type;
    if (!type.has_rank()) continue;
    if (type.rank() != 4) {
      return node_error(Code::ShapeMismatch, graph, node, "input '%s' is %s, expected rank 4 (attention.c5)", kInputNames[input],
                        graph::to_string(type).c_str());
    }
    TIFFIN_TRY(read_split(graph, node, input, &extents->batch, &extents->key_heads, &extents->past_length,
                          input == 4 ? &extents->head : &extents->value_head));
  }
  return {};
}

}  // namespace

Result<AttentionExtents> attention_extents(const Graph& graph, const Node& node) {
  AttentionExtents extents;
  const size_t rank = graph.value(node.inputs[0]).type.rank();
  for (size_t input = 0; input < 3; ++input) {
    const graph::Type& type = graph.value(node.inputs[input]).type;
    if (type.rank() == rank && (rank == 3 || rank == 4)) continue;
    return node_error(Code::ShapeMismatch, graph, node, "input '%s' is %s, expected rank 3 or 4 as the other inputs (attention.c6)",
                      kInputNames[input], graph::to_string(type).c_str());
  }
  extents.is_flat = rank == 3;
  if (extents.is_flat) {
    TIFFIN_TRY(read_heads(graph, node, &extents));
    TIFFIN_TRY(read_flat(graph, node, 0, &extents.batch, extents.query_heads, &extents.query_length, &extents.head));
    TIFFIN_TRY(read_flat(graph, node, 1, &extents.batch, extents.key_heads, &extents.key_length, &extents.head));
    TIFFIN_TRY(read_flat(graph, node, 2, &extents.batch, extents.key_heads, &extents.key_length, &extents.value_head));
  } else {
    TIFFIN_TRY(read_split(graph, node, 0, &extents.batch, &extents.query_heads, &extents.query_length, &extents.head));
    TIFFIN_TRY(read_split(graph, node, 1, &extents.batch, &extents.key_heads, &extents.key_length, &extents.head));
    TIFFIN_TRY(read_split(graph, node, 2, &extents.batch, &extents.key_heads, &extents.key_length, &extents.value_head));
  }
  TIFFIN_TRY(read_past(graph, node, &extents));
  if (extents.query_heads > 0 && extents.key_heads > 0 && extents.query_heads % extents.key_heads != 0) {
    return node_error(Code::InvalidModel, graph, node, "%lld query heads do not share %lld key heads evenly (attention.c7)",
                      static_cast<long long>(extents.query_heads), static_cast<long long>(extents.key_heads));
  }
  return extents;
}

}  // namespace tiffin::ops
