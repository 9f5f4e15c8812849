// SPDX-License-Identifier: Apache-2.0
// What the evaluators of one family get and give; internal to reference/.
#pragma once

#include <span>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/reference/elements.h"

namespace tiffin::reference {

using graph::Node;
using graph::Op;
using Tensors = std::vector<Tensor>;

// One evaluation. The graph holds the node alone, each input a constant, so that every rule of ops/ can resolve the node, and its results have
// been inferred.
struct Evaluation {
  const graph::Graph& graph;
  const Node& node;
  std::span<const Tensor> inputs;

  Op op() const { return node.op; }
  bool has_input(size_t i) const { return i < inputs.size() && !inputs[i].is_empty(); }
  bool has_output(size_t i) const { return node.output(i) != graph::kNone; }
  const graph::Type& result_type(size_t i = 0) const { return graph.value(node.outputs[i]).type; }
  DType result_dtype(size_t i = 0) const { return result_type(i).dtype; }
  // Precondition: the shape does not depend on data.
  std::vector<int64_t> result_shape(size_t i = 0) const { return result_type(i).static_shape(); }
  // "cannot evaluate 'name' (Op) on float8_e4m3fn"
  Status unsupported_type(DType dtype) const;
};

using Evaluator = Result<Tensors> (*)(const Evaluation&);

inline Tensors one(Tensor tensor) {
  Tensors tensors;
  tensors.push_back(std::move(tensor));
  return tensors;
}

// The families.
Result<Tensors> evaluate_unary(const Evaluation& e);
Result<Tensors> evaluate_clip(const Evaluation& e);
Result<Tensors> evaluate_predicate(const Evaluation& e);  // IsNaN, IsInf
Result<Tensors> evaluate_cast(const Evaluation& e);
Result<Tensors> evaluate_binary(const Evaluation& e);
Result<Tensors> evaluate_comparison(const Evaluation& e);
Result<Tensors> evaluate_logic(const Evaluation& e);  // And, Or, Xor
Result<Tensors> evaluate_where(const Evaluation& e);
Result<Tensors> evaluate_reduction(const Evaluation& e);
Result<Tensors> evaluate_arg_reduction(const Evaluation& e);
Result<Tensors> evaluate_cumulation(const Evaluation& e);
Result<Tensors> evaluate_softmax(const Evaluation& e);
Result<Tensors> evaluate_row_normalization(const Evaluation& e);
Result<Tensors> evaluate_matmul(const Evaluation& e);
Result<Tensors> evaluate_gemm(const Evaluation& e);
Result<Tensors> evaluate_matmul_integer(const Evaluation& e);
Result<Tensors> evaluate_convolution(const Evaluation& e);
Result<Tensors> evaluate_transposed_convolution(const Evaluation& e);
Result<Tensors> evaluate_pool(const Evaluation& e);
Result<Tensors> evaluate_same_elements(const Evaluation& e);  // Reshape and what is one
Result<Tensors> evaluate_transpose(const Evaluation& e);
Result<Tensors> evaluate_expand(const Evaluation& e);
Result<Tensors> evaluate_tile(const Evaluation& e);
Result<Tensors> evaluate_slice(const Evaluation& e);
Result<Tensors> evaluate_split(const Evaluation& e);
Result<Tensors> evaluate_concat(const Evaluation& e);
Result<Tensors> evaluate_pad(const Evaluation& e);
Result<Tensors> evaluate_pack_panels(const Evaluation& e);
Result<Tensors> evaluate_packed_matmul(const Evaluation& e);
Result<Tensors> evaluate_blocked_convolution(const Evaluation& e);  // depthwise too
Result<Tensors> evaluate_gather(const Evaluation& e);
Result<Tensors> evaluate_gather_elements(const Evaluation& e);
Result<Tensors> evaluate_gather_nd(const Evaluation& e);
Result<Tensors> evaluate_scatter_elements(const Evaluation& e);
Result<Tensors> evaluate_scatter_nd(const Evaluation& e);
Result<Tensors> evaluate_top_k(const Evaluation& e);
Result<Tensors> evaluate_shape(const Evaluation& e);  // Shape, Size
Result<Tensors> evaluate_constant_of_shape(const Evaluation& e);
Result<Tensors> evaluate_range(const Evaluation& e);
Result<Tensors> evaluate_eye_like(const Evaluation& e);
Result<Tensors> evaluate_non_zero(const Evaluation& e);
Result<Tensors> evaluate_non_max_suppression(const Evaluation& e);
Result<Tensors> evaluate_resize(const Evaluation& e);
Result<Tensors> evaluate_grid_sample(const Evaluation& e);
Result<Tensors> evaluate_roi_align(const Evaluation& e);
Result<Tensors> evaluate_recurrence(const Evaluation& e);

}  // namespace tiffin::reference
