// SPDX-License-Identifier: Apache-2.0
// The rows of the operator catalogue, in the order of graph::Op. Element types are those ONNX allows without the ones Tiffin does not compute with:
// strings, complex numbers, and float8, float4, 4- and 2-bit integers outside of casts and quantisation.
#include "compiler/ops/catalogue.h"

#include <algorithm>

#include "compiler/ops/families.h"

namespace tiffin::ops {
namespace {

using graph::Op;
using Kind = AttributeKind;

constexpr DTypeSet set_of_all(std::initializer_list<DType> dtypes) {
  DTypeSet set = 0;
  for (const DType dtype : dtypes) set |= set_of(dtype);
  return set;
}

constexpr DTypeSet kFloats = set_of_all({DType::Float16, DType::BFloat16, DType::Float32, DType::Float64});
constexpr DTypeSet kSigned = set_of_all({DType::Int8, DType::Int16, DType::Int32, DType::Int64});
constexpr DTypeSet kUnsigned = set_of_all({DType::UInt8, DType::UInt16, DType::UInt32, DType::UInt64});
constexpr DTypeSet kInts = kSigned | kUnsigned;
constexpr DTypeSet kNumbers = kFloats | kInts;
constexpr DTypeSet kBool = set_of(DType::Bool);
constexpr DTypeSet kAny = kNumbers | kBool;
constexpr DTypeSet kIndex = set_of_all({DType::Int32, DType::Int64});
constexpr DTypeSet kInt64 = set_of(DType::Int64);
constexpr DTypeSet kFloat32 = set_of(DType::Float32);
constexpr DTypeSet kBytes = set_of_all({DType::Int8, DType::UInt8});
constexpr DTypeSet kFloat8 = set_of_all({DType::Float8E4M3FN, DType::Float8E4M3FNUZ, DType::Float8E5M2, DType::Float8E5M2FNUZ});
constexpr DTypeSet kPacked = set_of_all({DType::Int4, DType::UInt4, DType::Int2, DType::UInt2, DType::Float4E2M1});
constexpr DTypeSet kCastable = kAny | kFloat8 | kPacked | set_of(DType::Float8E8M0);
constexpr DTypeSet kQuantized = kBytes | set_of_all({DType::Int16, DType::UInt16}) | kFloat8 | kPacked;
constexpr DTypeSet kScale = set_of_all({DType::Float32, DType::Float16, DType::BFloat16});
constexpr DTypeSet kWide = kFloats | set_of_all({DType::Int32, DType::Int64, DType::UInt32, DType::UInt64});
constexpr DTypeSet kEverything = ~DTypeSet{0};

using Infer = Status (*)(Inference&);
using Inputs = std::initializer_list<InputRow>;
using Attributes = std::initializer_list<AttributeRow>;

constexpr OperatorRow row(Op op, int16_t min_inputs, int16_t max_inputs, Infer infer, Inputs inputs, Attributes attributes = {}) {
  OperatorRow out{op, min_inputs, max_inputs, 1, 1, infer, {}, {}, false};
  std::copy(inputs.begin(), inputs.end(), out.input_rows);
  std::copy(attributes.begin(), attributes.end(), out.attribute_rows);
  return out;
}
constexpr OperatorRow with_outputs(int16_t min_outputs, int16_t max_outputs, OperatorRow out) {
  out.min_outputs = min_outputs;
  out.max_outputs = max_outputs;
  return out;
}
constexpr OperatorRow composite(OperatorRow out) {
  out.is_composite = true;
  return out;
}
constexpr OperatorRow unary(Op op, DTypeSet types, Attributes attributes = {}) { return row(op, 1, 1, infer_same, {{types, 'T'}}, attributes); }
constexpr OperatorRow binary(Op op, DTypeSet types) { return row(op, 2, 2, infer_broadcast, {{types, 'T'}}); }
constexpr OperatorRow comparison(Op op, DTypeSet types) { return row(op, 2, 2, infer_comparison, {{types, 'T'}}); }
constexpr OperatorRow variadic(Op op, DTypeSet types) { return row(op, 1, -1, infer_broadcast, {{types, 'T'}}); }
constexpr OperatorRow reduction(Op op, DTypeSet types) {
  return row(op, 1, 2, infer_reduction, {{types, 'T'}, {kInt64}}, {{"keepdims", Kind::Int}, {"noop_with_empty_axes", Kind::Int}});
}
constexpr OperatorRow arg_reduction(Op op) {
  return row(op, 1, 1, infer_arg_reduction, {{kNumbers, 'T'}}, {{"axis", Kind::Int}, {"keepdims", Kind::Int}, {"select_last_index", Kind::Int}});
}
constexpr OperatorRow convolution(Op op, int16_t min_inputs, int16_t max_inputs, Infer infer, Inputs inputs) {
  return row(op, min_inputs, max_inputs, infer, inputs,
             {{"auto_pad", Kind::String},
              {"dilations", Kind::Ints},
              {"group", Kind::Int},
              {"kernel_shape", Kind::Ints},
              {"pads", Kind::Ints},
              {"strides", Kind::Ints},
              {"output_padding", Kind::Ints},
              {"output_shape", Kind::Ints}});
}
constexpr OperatorRow pool(Op op, DTypeSet types, AttributeRow extra) {
  return row(op, 1, 1, infer_pool, {{types, 'T'}},
             {{"kernel_shape", Kind::Ints, true},
              {"auto_pad", Kind::String},
              {"ceil_mode", Kind::Int},
              {"dilations", Kind::Ints},
              {"pads", Kind::Ints},
              {"strides", Kind::Ints},
              extra});
}
// X, W, R, B, sequence_lens, initial_h and of LSTM initial_c, P.
constexpr OperatorRow recurrent(Op op, int16_t max_inputs, int16_t max_outputs, AttributeRow extra) {
  const InputRow data{kFloats, 'T'};
  return with_outputs(0, max_outputs,
                      row(op, 3, max_inputs, infer_recurrent, {data, data, data, data, {set_of(DType::Int32)}, data, data, data},
                          {{"activation_alpha", Kind::Floats},
                           {"activation_beta", Kind::Floats},
                           {"activations", Kind::Strings},
                           {"clip", Kind::Float},
                           {"direction", Kind::String},
                           {"hidden_size", Kind::Int},
                           {"layout", Kind::Int},
                           extra}));
}
constexpr OperatorRow loss(Op op, int16_t max_outputs) {
  return composite(with_outputs(
      1, max_outputs,
      row(op, 2, 3, infer_loss, {{kFloats, 'T'}, {kIndex}, {kFloats, 'T'}}, {{"ignore_index", Kind::Int}, {"reduction", Kind::String}})));
}
constexpr OperatorRow blocked(Op op, int16_t min_inputs, int16_t max_inputs, Infer infer) {
  return row(op, min_inputs, max_inputs, infer, {{kEverything}},
             {{"kernel_shape", Kind::Ints, true},
              {"strides", Kind::Ints},
              {"pads", Kind::Ints},
              {"dilations", Kind::Ints},
              {"group", Kind::Int},
              {"channels", Kind::Int},
              {"block", Kind::Int},
              {"ceil_mode", Kind::Int}});
}

constexpr InputRow kZeroPointOfX{kBytes, 'X'};
constexpr InputRow kZeroPointOfW{kBytes, 'W'};

constexpr OperatorRow kRows[] = {
    unary(Op::Abs, kNumbers),
    unary(Op::Acos, kFloats),
    unary(Op::Acosh, kFloats),
    binary(Op::Add, kNumbers),
    binary(Op::And, kBool),
    arg_reduction(Op::ArgMax),
    arg_reduction(Op::ArgMin),
    unary(Op::Asin, kFloats),
    unary(Op::Asinh, kFloats),
    unary(Op::Atan, kFloats),
    unary(Op::Atanh, kFloats),
    composite(with_outputs(
        1, 4,
        row(Op::Attention, 3, 7, infer_attention, {{kFloats, 'T'}, {kFloats, 'T'}, {kFloats, 'V'}, {kAny}, {kFloats, 'T'}, {kFloats, 'V'}, {kInt64}},
            {{"is_causal", Kind::Int},
             {"kv_num_heads", Kind::Int},
             {"left_window_size", Kind::Int},
             {"q_num_heads", Kind::Int},
             {"qk_matmul_output_mode", Kind::Int},
             {"right_window_size", Kind::Int},
             {"scale", Kind::Float},
             {"softcap", Kind::Float},
             {"softmax_precision", Kind::Int}}))),
    pool(Op::AveragePool, kFloats, {"count_include_pad", Kind::Int}),
    composite(
        with_outputs(1, 3,
                     row(Op::BatchNormalization, 5, 5, infer_batch_normalization, {{kFloats, 'T'}, {kFloats, 'U'}, {kFloats, 'U'}, {kFloats, 'V'}},
                         {{"epsilon", Kind::Float}, {"momentum", Kind::Float}, {"training_mode", Kind::Int}}))),
    row(Op::BitShift, 2, 2, infer_bit_shift, {{kInts, 'T'}}, {{"direction", Kind::String, true}}),
    binary(Op::BitwiseAnd, kInts),
    unary(Op::BitwiseNot, kInts),
    binary(Op::BitwiseOr, kInts),
    binary(Op::BitwiseXor, kInts),
    row(Op::Cast, 1, 1, infer_cast, {{kCastable}}, {{"to", Kind::Int, true}, {"saturate", Kind::Int}, {"round_mode", Kind::String}}),
    unary(Op::Ceil, kFloats),
    unary(Op::Celu, kFloats, {{"alpha", Kind::Float}}),
    row(Op::Clip, 1, 3, infer_clip, {{kNumbers, 'T'}}),
    row(Op::Concat, 1, -1, infer_concat, {{kAny, 'T'}}, {{"axis", Kind::Int, true}}),
    row(Op::ConstantOfShape, 1, 1, infer_constant_of_shape, {{kInt64}}, {{"value", Kind::Tensor}}),
    convolution(Op::Conv, 2, 3, infer_convolution, {{kFloats, 'T'}}),
    convolution(Op::ConvInteger, 2, 4, infer_convolution, {kZeroPointOfX, kZeroPointOfW, kZeroPointOfX, kZeroPointOfW}),
    convolution(Op::ConvTranspose, 2, 3, infer_transposed_convolution, {{kFloats, 'T'}}),
    unary(Op::Cos, kFloats),
    unary(Op::Cosh, kFloats),
    row(Op::CumProd, 2, 2, infer_cumulative, {{kWide, 'T'}, {kIndex}}, {{"exclusive", Kind::Int}, {"reverse", Kind::Int}}),
    row(Op::CumSum, 2, 2, infer_cumulative, {{kWide, 'T'}, {kIndex}}, {{"exclusive", Kind::Int}, {"reverse", Kind::Int}}),
    row(Op::DepthToSpace, 1, 1, infer_depth_to_space, {{kAny, 'T'}}, {{"blocksize", Kind::Int, true}, {"mode", Kind::String}}),
    composite(row(Op::DequantizeLinear, 2, 3, infer_dequantize,
                  {{kQuantized | set_of(DType::Int32), 'X'}, {kScale | set_of(DType::Float8E8M0)}, {kQuantized | set_of(DType::Int32), 'X'}},
                  {{"axis", Kind::Int}, {"block_size", Kind::Int}, {"output_dtype", Kind::Int}})),
    binary(Op::Div, kNumbers),
    with_outputs(1, 2, row(Op::Dropout, 1, 3, infer_dropout, {{kFloats}, {kFloats}, {kBool}}, {{"seed", Kind::Int}})),
    composite(with_outputs(3, 3, row(Op::DynamicQuantizeLinear, 1, 1, infer_dynamic_quantize, {{kFloat32}}))),
    composite(row(Op::Einsum, 1, -1, infer_einsum, {{kNumbers, 'T'}}, {{"equation", Kind::String, true}})),
    unary(Op::Elu, kFloats, {{"alpha", Kind::Float}}),
    comparison(Op::Equal, kAny),
    unary(Op::Erf, kNumbers),
    unary(Op::Exp, kFloats),
    row(Op::Expand, 2, 2, infer_expand, {{kAny}, {kInt64}}),
    row(Op::EyeLike, 1, 1, infer_eye_like, {{kAny}}, {{"dtype", Kind::Int}, {"k", Kind::Int}}),
    row(Op::Flatten, 1, 1, infer_flatten, {{kAny}}, {{"axis", Kind::Int}}),
    unary(Op::Floor, kFloats),
    row(Op::Gather, 2, 2, infer_gather, {{kAny}, {kIndex}}, {{"axis", Kind::Int}}),
    row(Op::GatherElements, 2, 2, infer_gather_elements, {{kAny}, {kIndex}}, {{"axis", Kind::Int}}),
    row(Op::GatherND, 2, 2, infer_gather_nd, {{kAny}, {kInt64}}, {{"batch_dims", Kind::Int}}),
    unary(Op::Gelu, kFloats, {{"approximate", Kind::String}}),
    row(Op::Gemm, 2, 3, infer_gemm, {{kWide, 'T'}}, {{"alpha", Kind::Float}, {"beta", Kind::Float}, {"transA", Kind::Int}, {"transB", Kind::Int}}),
    row(Op::GlobalAveragePool, 1, 1, infer_pool, {{kFloats, 'T'}}),
    row(Op::GlobalMaxPool, 1, 1, infer_pool, {{kFloats, 'T'}}),
    comparison(Op::Greater, kNumbers),
    comparison(Op::GreaterOrEqual, kNumbers),
    row(Op::GridSample, 2, 2, infer_grid_sample, {{kAny}, {kFloats}},
        {{"align_corners", Kind::Int}, {"mode", Kind::String}, {"padding_mode", Kind::String}}),
    composite(row(Op::GroupNormalization, 3, 3, infer_channel_normalization, {{kFloats, 'T'}},
                  {{"epsilon", Kind::Float}, {"num_groups", Kind::Int, true}, {"stash_type", Kind::Int}})),
    recurrent(Op::GRU, 6, 2, {"linear_before_reset", Kind::Int}),
    unary(Op::HardSigmoid, kFloats, {{"alpha", Kind::Float}, {"beta", Kind::Float}}),
    unary(Op::HardSwish, kFloats),
    row(Op::Hardmax, 1, 1, infer_axis_normalization, {{kFloats, 'T'}}, {{"axis", Kind::Int}}),
    unary(Op::Identity, kAny),
    with_outputs(1, -1,
                 row(Op::If, 1, -1, infer_if, {{kBool}, {kEverything}},
                     {{"then_branch", Kind::Graph, true}, {"else_branch", Kind::Graph, true}, {"captured", Kind::Int}})),
    composite(row(Op::InstanceNormalization, 3, 3, infer_channel_normalization, {{kFloats, 'T'}}, {{"epsilon", Kind::Float}})),
    row(Op::IsInf, 1, 1, infer_predicate, {{kFloats}}, {{"detect_negative", Kind::Int}, {"detect_positive", Kind::Int}}),
    row(Op::IsNaN, 1, 1, infer_predicate, {{kFloats}}),
    with_outputs(1, 3,
                 row(Op::LayerNormalization, 2, 3, infer_layer_normalization, {{kFloats, 'T'}},
                     {{"axis", Kind::Int}, {"epsilon", Kind::Float}, {"stash_type", Kind::Int}})),
    unary(Op::LeakyRelu, kFloats, {{"alpha", Kind::Float}}),
    comparison(Op::Less, kNumbers),
    comparison(Op::LessOrEqual, kNumbers),
    unary(Op::Log, kFloats),
    row(Op::LogSoftmax, 1, 1, infer_axis_normalization, {{kFloats, 'T'}}, {{"axis", Kind::Int}}),
    // Both the trip count and the condition may be omitted, but their places stay.
    with_outputs(1, -1, row(Op::Loop, 0, -1, infer_loop, {{kInt64}, {kBool}, {kEverything}}, {{"body", Kind::Graph, true}, {"captured", Kind::Int}})),
    composite(row(Op::LpNormalization, 1, 1, infer_axis_normalization, {{kFloats, 'T'}}, {{"axis", Kind::Int}, {"p", Kind::Int}})),
    pool(Op::LpPool, kFloats, {"p", Kind::Int}),
    composite(row(Op::LRN, 1, 1, infer_lrn, {{kFloats, 'T'}},
                  {{"alpha", Kind::Float}, {"beta", Kind::Float}, {"bias", Kind::Float}, {"size", Kind::Int, true}})),
    recurrent(Op::LSTM, 8, 3, {"input_forget", Kind::Int}),
    row(Op::MatMul, 2, 2, infer_matmul, {{kWide, 'T'}}),
    row(Op::MatMulInteger, 2, 4, infer_matmul, {kZeroPointOfX, kZeroPointOfW, kZeroPointOfX, kZeroPointOfW}),
    variadic(Op::Max, kNumbers),
    with_outputs(1, 2, pool(Op::MaxPool, kFloats | kBytes, {"storage_order", Kind::Int})),
    variadic(Op::Mean, kFloats),
    composite(row(Op::MeanVarianceNormalization, 1, 1, infer_mean_variance_normalization, {{kFloats, 'T'}}, {{"axes", Kind::Ints}})),
    variadic(Op::Min, kNumbers),
    unary(Op::Mish, kFloats),
    row(Op::Mod, 2, 2, infer_broadcast, {{kNumbers, 'T'}}, {{"fmod", Kind::Int}}),
    binary(Op::Mul, kNumbers),
    unary(Op::Neg, kFloats | kSigned),
    loss(Op::NegativeLogLikelihoodLoss, 1),
    row(Op::NonMaxSuppression, 2, 5, infer_non_max_suppression, {{kFloat32}, {kFloat32}, {kInt64}, {kFloat32}, {kFloat32}},
        {{"center_point_box", Kind::Int}}),
    row(Op::NonZero, 1, 1, infer_non_zero, {{kAny}}),
    unary(Op::Not, kBool),
    composite(row(Op::OneHot, 3, 3, infer_one_hot, {{kNumbers}, {kNumbers}, {kAny}}, {{"axis", Kind::Int}})),
    binary(Op::Or, kBool),
    row(Op::Pad, 2, 4, infer_pad, {{kAny, 'T'}, {kInt64}, {kAny, 'T'}, {kIndex}}, {{"mode", Kind::String}}),
    row(Op::Pow, 2, 2, infer_broadcast, {{kFloats | kIndex}, {kNumbers}}),
    row(Op::PRelu, 2, 2, infer_prelu, {{kWide, 'T'}}),
    composite(convolution(
        Op::QLinearConv, 8, 9, infer_convolution,
        {kZeroPointOfX, {kFloat32}, kZeroPointOfX, kZeroPointOfW, {kFloat32}, kZeroPointOfW, {kFloat32}, {kBytes}, {set_of(DType::Int32)}})),
    composite(row(Op::QLinearMatMul, 8, 8, infer_matmul,
                  {kZeroPointOfX, {kScale}, kZeroPointOfX, kZeroPointOfW, {kScale}, kZeroPointOfW, {kScale}, {kBytes}})),
    composite(row(Op::QuantizeLinear, 2, 3, infer_quantize,
                  {{kScale | set_of(DType::Int32)}, {kScale | set_of_all({DType::Int32, DType::Float8E8M0})}, {kQuantized}},
                  {{"axis", Kind::Int}, {"block_size", Kind::Int}, {"output_dtype", Kind::Int}, {"precision", Kind::Int}, {"saturate", Kind::Int}})),
    row(Op::Range, 3, 3, infer_range, {{kFloats | kIndex | set_of(DType::Int16), 'T'}}, {{"stash_type", Kind::Int}}),
    unary(Op::Reciprocal, kFloats),
    reduction(Op::ReduceL1, kWide),
    reduction(Op::ReduceL2, kWide),
    reduction(Op::ReduceLogSum, kWide),
    reduction(Op::ReduceLogSumExp, kWide),
    reduction(Op::ReduceMax, kWide | kBytes | kBool),
    reduction(Op::ReduceMean, kWide),
    reduction(Op::ReduceMin, kWide | kBytes | kBool),
    reduction(Op::ReduceProd, kWide),
    reduction(Op::ReduceSum, kWide),
    reduction(Op::ReduceSumSquare, kWide),
    unary(Op::Relu, kFloats | kSigned),
    row(Op::Reshape, 2, 2, infer_reshape, {{kAny}, {kInt64}}, {{"allowzero", Kind::Int}}),
    row(Op::Resize, 1, 4, infer_resize, {{kAny}, {kFloats}, {kFloat32}, {kInt64}},
        {{"antialias", Kind::Int},
         {"axes", Kind::Ints},
         {"coordinate_transformation_mode", Kind::String},
         {"cubic_coeff_a", Kind::Float},
         {"exclude_outside", Kind::Int},
         {"extrapolation_value", Kind::Float},
         {"keep_aspect_ratio_policy", Kind::String},
         {"mode", Kind::String},
         {"nearest_mode", Kind::String}}),
    composite(row(Op::ReverseSequence, 2, 2, infer_reverse_sequence, {{kAny}, {kInt64}}, {{"batch_axis", Kind::Int}, {"time_axis", Kind::Int}})),
    row(Op::RMSNormalization, 2, 2, infer_rms_normalization, {{kFloats}, {kFloats}},
        {{"axis", Kind::Int}, {"epsilon", Kind::Float}, {"stash_type", Kind::Int}}),
    recurrent(Op::RNN, 6, 2, {}),
    row(Op::RoiAlign, 3, 3, infer_roi_align, {{kFloats, 'T'}, {kFloats, 'T'}, {kInt64}},
        {{"coordinate_transformation_mode", Kind::String},
         {"mode", Kind::String},
         {"output_height", Kind::Int},
         {"output_width", Kind::Int},
         {"sampling_ratio", Kind::Int},
         {"spatial_scale", Kind::Float}}),
    composite(row(Op::RotaryEmbedding, 3, 4, infer_rotary_embedding, {{kFloats, 'T'}, {kFloats, 'T'}, {kFloats, 'T'}, {kInt64}},
                  {{"interleaved", Kind::Int}, {"num_heads", Kind::Int}, {"rotary_embedding_dim", Kind::Int}})),
    unary(Op::Round, kFloats),
    with_outputs(1, -1,
                 row(Op::Scan, 1, -1, infer_scan, {{kEverything}},
                     {{"body", Kind::Graph, true},
                      {"captured", Kind::Int},
                      {"num_scan_inputs", Kind::Int, true},
                      {"scan_input_axes", Kind::Ints},
                      {"scan_input_directions", Kind::Ints},
                      {"scan_output_axes", Kind::Ints},
                      {"scan_output_directions", Kind::Ints}})),
    row(Op::ScatterElements, 3, 3, infer_scatter_elements, {{kAny, 'T'}, {kIndex}, {kAny, 'T'}}, {{"axis", Kind::Int}, {"reduction", Kind::String}}),
    row(Op::ScatterND, 3, 3, infer_scatter_nd, {{kAny, 'T'}, {kInt64}, {kAny, 'T'}}, {{"reduction", Kind::String}}),
    unary(Op::Selu, kFloats, {{"alpha", Kind::Float}, {"gamma", Kind::Float}}),
    row(Op::Shape, 1, 1, infer_shape_of, {{kCastable}}, {{"end", Kind::Int}, {"start", Kind::Int}}),
    unary(Op::Shrink, kNumbers, {{"bias", Kind::Float}, {"lambd", Kind::Float}}),
    unary(Op::Sigmoid, kFloats),
    unary(Op::Sign, kNumbers),
    unary(Op::Sin, kFloats),
    unary(Op::Sinh, kFloats),
    row(Op::Size, 1, 1, infer_size_of, {{kCastable}}),
    row(Op::Slice, 3, 5, infer_slice, {{kAny}, {kIndex, 'I'}}),
    row(Op::Softmax, 1, 1, infer_axis_normalization, {{kFloats, 'T'}}, {{"axis", Kind::Int}}),
    loss(Op::SoftmaxCrossEntropyLoss, 2),
    unary(Op::Softplus, kFloats),
    unary(Op::Softsign, kFloats),
    row(Op::SpaceToDepth, 1, 1, infer_space_to_depth, {{kAny}}, {{"blocksize", Kind::Int, true}, {"mode", Kind::String}}),
    with_outputs(1, -1, row(Op::Split, 1, 2, infer_split, {{kAny}, {kInt64}}, {{"axis", Kind::Int}, {"num_outputs", Kind::Int}})),
    unary(Op::Sqrt, kFloats),
    row(Op::Squeeze, 1, 2, infer_squeeze, {{kAny}, {kInt64}}),
    binary(Op::Sub, kNumbers),
    variadic(Op::Sum, kFloats),
    composite(row(Op::SwiGLU, 2, 2, infer_swiglu, {{kFloats, 'T'}}, {{"alpha", Kind::Float}})),
    unary(Op::Swish, kFloats, {{"alpha", Kind::Float}}),
    unary(Op::Tan, kFloats),
    unary(Op::Tanh, kFloats),
    unary(Op::ThresholdedRelu, kFloats, {{"alpha", Kind::Float}}),
    row(Op::Tile, 2, 2, infer_tile, {{kAny}, {kInt64}}),
    with_outputs(2, 2,
                 row(Op::TopK, 2, 2, infer_top_k, {{kNumbers}, {kInt64}}, {{"axis", Kind::Int}, {"largest", Kind::Int}, {"sorted", Kind::Int}})),
    row(Op::Transpose, 1, 1, infer_transpose, {{kAny}}, {{"perm", Kind::Ints}}),
    composite(row(Op::Trilu, 1, 2, infer_trilu, {{kAny}, {kInt64}}, {{"upper", Kind::Int}})),
    row(Op::Unsqueeze, 2, 2, infer_unsqueeze, {{kAny}, {kInt64}}),
    row(Op::Where, 3, 3, infer_where, {{kBool}, {kAny, 'T'}, {kAny, 'T'}}),
    binary(Op::Xor, kBool),
    blocked(Op::BlockedConv, 2, -1, infer_blocked_convolution),
    blocked(Op::BlockedDepthwiseConv, 2, -1, infer_blocked_depthwise_convolution),
    row(Op::PackPanels, 1, 1, infer_pack_panels, {{kAny}}),
    row(Op::PackedMatMul, 2, -1, infer_packed_matmul, {{kEverything}}, {{"n", Kind::Int, true}}),
    with_outputs(0, -1, row(Op::Unsupported, 0, -1, infer_nothing, {{kEverything}}, {{"what", Kind::String, true}})),
};

constexpr bool is_in_order() {
  for (int i = 0; i < graph::kOpCount; ++i) {
    if (kRows[i].op != static_cast<Op>(i)) return false;
  }
  return true;
}
static_assert(sizeof(kRows) / sizeof(kRows[0]) == graph::kOpCount, "one row for every operator");
static_assert(is_in_order(), "rows stand in the order of graph::Op");

}  // namespace

const OperatorRow& operator_row(Op op) { return kRows[static_cast<size_t>(op)]; }

std::span<const AttributeRow> OperatorRow::attributes() const {
  size_t count = 0;
  while (count < kMaxAttributes && attribute_rows[count].name != nullptr) ++count;
  return {attribute_rows, count};
}

const AttributeRow* OperatorRow::find_attribute(std::string_view name) const {
  for (const AttributeRow& attribute : attributes()) {
    if (name == attribute.name) return &attribute;
  }
  return nullptr;
}

InputRow OperatorRow::input_row(size_t index) const {
  size_t count = 0;
  while (count < kMaxInputRows && input_rows[count].allowed != 0) ++count;
  return count == 0 ? InputRow{} : input_rows[std::min(index, count - 1)];
}

std::string to_string(DTypeSet set) {
  std::string out;
  for (int code = 1; code < kDTypeCount; ++code) {
    const auto dtype = static_cast<DType>(code);
    if (contains(set, dtype)) out += (out.empty() ? "" : ", ") + std::string(dtype_name(dtype));
  }
  return out;
}

}  // namespace tiffin::ops
