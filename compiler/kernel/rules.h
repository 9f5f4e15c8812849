// SPDX-License-Identifier: Apache-2.0
// The table of lowering rules, one row per operator, and their declarations by family.
#pragma once

#include "compiler/kernel/lowering.h"

namespace tiffin::kernel {

struct LoweringRow {
  graph::Op op;
  DefineFn define = nullptr;        // by its element, or
  ProcedureFn procedure = nullptr;  // as a whole kernel
  // Bit i: input i shapes the program and is no buffer.
  uint32_t shaping_inputs = 0;
};

// Null when the operator has no lowering.
const LoweringRow* lowering_row(graph::Op op);

// define_elementwise.cc, define_binary.cc
Result<ElementFn> define_unary(Lowering&, const graph::Node&);
Result<ElementFn> define_clip(Lowering&, const graph::Node&);
Result<ElementFn> define_binary(Lowering&, const graph::Node&);
Result<ElementFn> define_where(Lowering&, const graph::Node&);
// define_movement.cc
Result<ElementFn> define_identity(Lowering&, const graph::Node&);
Result<ElementFn> define_reshape(Lowering&, const graph::Node&);
Result<ElementFn> define_transpose(Lowering&, const graph::Node&);
Result<ElementFn> define_expand(Lowering&, const graph::Node&);
Result<ElementFn> define_slice(Lowering&, const graph::Node&);
Result<ElementFn> define_concat(Lowering&, const graph::Node&);
Result<ElementFn> define_pad(Lowering&, const graph::Node&);
Result<ElementFn> define_pack_panels(Lowering&, const graph::Node&);
Result<ElementFn> define_split(Lowering&, const graph::Node&);
// define_indexing.cc
Result<ElementFn> define_gather(Lowering&, const graph::Node&);
Result<ElementFn> define_gather_elements(Lowering&, const graph::Node&);
Result<ElementFn> define_gather_nd(Lowering&, const graph::Node&);
// define_reduction.cc
Result<ElementFn> define_reduction(Lowering&, const graph::Node&);
Result<ElementFn> define_arg_extreme(Lowering&, const graph::Node&);
// define_rows.cc
Result<ElementFn> define_softmax(Lowering&, const graph::Node&);
Result<ElementFn> define_normalization(Lowering&, const graph::Node&);
// define_matmul.cc
Result<ElementFn> define_matmul(Lowering&, const graph::Node&);
Result<ElementFn> define_gemm(Lowering&, const graph::Node&);
// define_convolution.cc, define_pooling.cc
Result<ElementFn> define_convolution(Lowering&, const graph::Node&);
Result<ElementFn> define_transposed_convolution(Lowering&, const graph::Node&);
Result<ElementFn> define_average_pool(Lowering&, const graph::Node&);
Result<ElementFn> define_max_pool(Lowering&, const graph::Node&);
// define_resize.cc
Result<ElementFn> define_resize(Lowering&, const graph::Node&);
// define_sampling.cc
Result<ElementFn> define_grid_sample(Lowering&, const graph::Node&);
Result<ElementFn> define_roi_align(Lowering&, const graph::Node&);
// emit_*.cc
Status emit_scan(Lowering&, const graph::Node&);
Status emit_scatter_elements(Lowering&, const graph::Node&);
Status emit_scatter_nd(Lowering&, const graph::Node&);
Status emit_top_k(Lowering&, const graph::Node&);
Status emit_recurrence(Lowering&, const graph::Node&);

}  // namespace tiffin::kernel
