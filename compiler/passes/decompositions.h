// SPDX-License-Identifier: Apache-2.0
// The decompositions by family; internal to decompose_operators. Each gives one value for each result of the node, or none when the node stays
// as it is. All types of the node are static. A failure of inference is in the rewriter.
#pragma once

#include "compiler/passes/rewriter.h"

namespace tiffin::passes {

using Replacements = std::vector<ValueId>;

// decompose_elementwise.cc
Replacements decompose_variadic(Rewriter& rewriter);  // Sum, Mean, Max, Min
Replacements decompose_activation(Rewriter& rewriter);
Replacements decompose_swapped_comparison(Rewriter& rewriter);  // Greater, GreaterOrEqual
Replacements decompose_clip(Rewriter& rewriter);
Replacements decompose_pow(Rewriter& rewriter);

// decompose_reductions.cc
Replacements decompose_reduction(Rewriter& rewriter);
Replacements decompose_global_pool(Rewriter& rewriter);
Replacements decompose_lp_pool(Rewriter& rewriter);
Replacements decompose_lp_normalization(Rewriter& rewriter);
Replacements decompose_loss(Rewriter& rewriter);

// decompose_normalizations.cc
Replacements decompose_batch_normalization(Rewriter& rewriter);
Replacements decompose_group_normalization(Rewriter& rewriter);  // and InstanceNormalization
Replacements decompose_mean_variance_normalization(Rewriter& rewriter);
Replacements decompose_lrn(Rewriter& rewriter);

// decompose_movements.cc
Replacements decompose_view(Rewriter& rewriter);  // Flatten, Squeeze, Unsqueeze
Replacements decompose_identity(Rewriter& rewriter);
Replacements decompose_dropout(Rewriter& rewriter);
Replacements decompose_split(Rewriter& rewriter);
Replacements decompose_tile(Rewriter& rewriter);
Replacements decompose_block_movement(Rewriter& rewriter);  // DepthToSpace, SpaceToDepth
Replacements decompose_constant_of_shape(Rewriter& rewriter);
Replacements decompose_trilu(Rewriter& rewriter);
Replacements decompose_reverse_sequence(Rewriter& rewriter);
Replacements decompose_one_hot(Rewriter& rewriter);
Replacements decompose_hardmax(Rewriter& rewriter);

// decompose_resize.cc
Replacements decompose_resize(Rewriter& rewriter);

// decompose_quantization.cc
Replacements decompose_quantize_linear(Rewriter& rewriter);
Replacements decompose_dequantize_linear(Rewriter& rewriter);
Replacements decompose_dynamic_quantize_linear(Rewriter& rewriter);
Replacements decompose_quantized_product(Rewriter& rewriter);  // QLinearConv, QLinearMatMul

// decompose_products.cc
Replacements decompose_gemm(Rewriter& rewriter);
Replacements decompose_einsum(Rewriter& rewriter);

// decompose_attention.cc
Replacements decompose_attention(Rewriter& rewriter);
Replacements decompose_rotary_embedding(Rewriter& rewriter);

}  // namespace tiffin::passes
