// SPDX-License-Identifier: Apache-2.0
// The inference rules that the catalogue's rows name, by family file. Each sets the types of the node's results; arity, attributes and element
// types have been checked against the row before it is called.
#pragma once

#include "base/status.h"

namespace tiffin::ops {

class Inference;

// elementwise.cc
Status infer_same(Inference& inference);        // the type of input 0
Status infer_broadcast(Inference& inference);   // all inputs broadcast, dtype of input 0
Status infer_comparison(Inference& inference);  // all inputs broadcast, bool
Status infer_predicate(Inference& inference);   // shape of input 0, bool
Status infer_bit_shift(Inference& inference);
Status infer_cast(Inference& inference);
Status infer_clip(Inference& inference);
Status infer_cumulative(Inference& inference);
Status infer_dropout(Inference& inference);
Status infer_prelu(Inference& inference);
Status infer_swiglu(Inference& inference);
Status infer_where(Inference& inference);

// reduction.cc
Status infer_reduction(Inference& inference);
Status infer_arg_reduction(Inference& inference);
Status infer_loss(Inference& inference);

// normalization.cc
Status infer_batch_normalization(Inference& inference);
Status infer_channel_normalization(Inference& inference);  // GroupNormalization, InstanceNormalization
Status infer_layer_normalization(Inference& inference);
Status infer_rms_normalization(Inference& inference);
Status infer_axis_normalization(Inference& inference);  // Softmax, LogSoftmax, Hardmax, LpNormalization
Status infer_lrn(Inference& inference);
Status infer_mean_variance_normalization(Inference& inference);

// shape_movement.cc
Status infer_concat(Inference& inference);
Status infer_depth_to_space(Inference& inference);
Status infer_expand(Inference& inference);
Status infer_flatten(Inference& inference);
Status infer_pad(Inference& inference);
Status infer_reshape(Inference& inference);
Status infer_reverse_sequence(Inference& inference);
Status infer_shape_of(Inference& inference);
Status infer_size_of(Inference& inference);
Status infer_slice(Inference& inference);
Status infer_space_to_depth(Inference& inference);
Status infer_split(Inference& inference);
Status infer_squeeze(Inference& inference);
Status infer_tile(Inference& inference);
Status infer_transpose(Inference& inference);
Status infer_trilu(Inference& inference);
Status infer_unsqueeze(Inference& inference);

// indexing.cc
Status infer_gather(Inference& inference);
Status infer_gather_elements(Inference& inference);
Status infer_gather_nd(Inference& inference);
Status infer_non_max_suppression(Inference& inference);
Status infer_non_zero(Inference& inference);
Status infer_scatter_elements(Inference& inference);
Status infer_scatter_nd(Inference& inference);
Status infer_top_k(Inference& inference);

// generation.cc
Status infer_constant_of_shape(Inference& inference);
Status infer_eye_like(Inference& inference);
Status infer_one_hot(Inference& inference);
Status infer_range(Inference& inference);

// convolution.cc
Status infer_convolution(Inference& inference);
Status infer_transposed_convolution(Inference& inference);
Status infer_blocked_convolution(Inference& inference);
Status infer_blocked_depthwise_convolution(Inference& inference);

// pooling.cc
Status infer_pool(Inference& inference);

// matmul.cc
Status infer_matmul(Inference& inference);
Status infer_gemm(Inference& inference);
Status infer_einsum(Inference& inference);
Status infer_pack_panels(Inference& inference);
Status infer_packed_matmul(Inference& inference);

// recurrent.cc
Status infer_recurrent(Inference& inference);

// quantization.cc
Status infer_quantize(Inference& inference);
Status infer_dequantize(Inference& inference);
Status infer_dynamic_quantize(Inference& inference);

// attention.cc
Status infer_attention(Inference& inference);
Status infer_rotary_embedding(Inference& inference);

// image.cc
Status infer_grid_sample(Inference& inference);
Status infer_resize(Inference& inference);
Status infer_roi_align(Inference& inference);

// control.cc
Status infer_nothing(Inference& inference);  // of a stand-in, whose results are what they were
Status infer_if(Inference& inference);
Status infer_loop(Inference& inference);
Status infer_scan(Inference& inference);

}  // namespace tiffin::ops
