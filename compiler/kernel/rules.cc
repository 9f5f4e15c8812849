// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/rules.h"

#include <algorithm>

#include "compiler/kernel/tile_rules.h"

namespace tiffin::kernel {

namespace {

using graph::Op;

constexpr uint32_t inputs_from(int first) { return ~uint32_t{0} << first; }
constexpr uint32_t kSecondInput = 1u << 1;

const LoweringRow kRows[] = {
    {Op::Abs, define_unary},
    {Op::Acos, define_unary},
    {Op::Acosh, define_unary},
    {Op::Add, define_binary},
    {Op::And, define_binary},
    {Op::ArgMax, define_arg_extreme},
    {Op::ArgMin, define_arg_extreme},
    {Op::Asin, define_unary},
    {Op::Asinh, define_unary},
    {Op::Atan, define_unary},
    {Op::Atanh, define_unary},
    {Op::AveragePool, define_average_pool},
    {Op::BitShift, define_binary},
    {Op::BitwiseAnd, define_binary},
    {Op::BitwiseNot, define_unary},
    {Op::BitwiseOr, define_binary},
    {Op::BitwiseXor, define_binary},
    {Op::BlockedConv, define_tile_root},
    {Op::BlockedDepthwiseConv, define_tile_root},
    {Op::Cast, define_unary},
    {Op::Ceil, define_unary},
    {Op::Clip, define_clip},
    {Op::Concat, define_concat},
    {Op::Conv, define_convolution},
    {Op::ConvInteger, define_convolution},
    {Op::ConvTranspose, define_transposed_convolution},
    {Op::Cos, define_unary},
    {Op::Cosh, define_unary},
    {Op::CumProd, nullptr, emit_scan, kSecondInput},
    {Op::CumSum, nullptr, emit_scan, kSecondInput},
    {Op::Div, define_binary},
    {Op::Elu, define_unary},
    {Op::Equal, define_binary},
    {Op::Erf, define_unary},
    {Op::Exp, define_unary},
    {Op::Expand, define_expand, nullptr, inputs_from(1)},
    {Op::Flatten, define_reshape},
    {Op::Floor, define_unary},
    {Op::Gather, define_gather},
    {Op::GatherElements, define_gather_elements},
    {Op::GatherND, define_gather_nd},
    {Op::Gelu, define_unary},
    {Op::Gemm, define_gemm},
    {Op::Greater, define_binary},
    {Op::GreaterOrEqual, define_binary},
    {Op::GridSample, define_grid_sample},
    {Op::GRU, nullptr, emit_recurrence},
    {Op::HardSigmoid, define_unary},
    {Op::Identity, define_identity},
    {Op::IsInf, define_unary},
    {Op::IsNaN, define_unary},
    {Op::LayerNormalization, define_normalization},
    {Op::LeakyRelu, define_unary},
    {Op::Less, define_binary},
    {Op::LessOrEqual, define_binary},
    {Op::Log, define_unary},
    {Op::LogSoftmax, define_softmax},
    {Op::LSTM, nullptr, emit_recurrence},
    {Op::MatMul, define_matmul},
    {Op::MatMulInteger, define_matmul},
    {Op::Max, define_binary},
    {Op::MaxPool, define_max_pool},
    {Op::Min, define_binary},
    {Op::Mod, define_binary},
    {Op::Mul, define_binary},
    {Op::Neg, define_unary},
    {Op::Not, define_unary},
    {Op::Or, define_binary},
    {Op::PackedMatMul, define_tile_root},
    {Op::PackPanels, define_pack_panels},
    {Op::Pad, define_pad, nullptr, kSecondInput | 1u << 3},
    {Op::Pow, define_binary},
    {Op::PRelu, define_binary},
    {Op::Reciprocal, define_unary},
    {Op::ReduceL1, define_reduction, nullptr, kSecondInput},
    {Op::ReduceL2, define_reduction, nullptr, kSecondInput},
    {Op::ReduceMax, define_reduction, nullptr, kSecondInput},
    {Op::ReduceMean, define_reduction, nullptr, kSecondInput},
    {Op::ReduceMin, define_reduction, nullptr, kSecondInput},
    {Op::ReduceProd, define_reduction, nullptr, kSecondInput},
    {Op::ReduceSum, define_reduction, nullptr, kSecondInput},
    {Op::ReduceSumSquare, define_reduction, nullptr, kSecondInput},
    {Op::Relu, define_unary},
    {Op::Reshape, define_reshape, nullptr, kSecondInput},
    {Op::Resize, define_resize, nullptr, inputs_from(1)},
    {Op::RMSNormalization, define_normalization},
    {Op::RNN, nullptr, emit_recurrence},
    {Op::RoiAlign, define_roi_align},
    {Op::Round, define_unary},
    {Op::ScatterElements, nullptr, emit_scatter_elements},
    {Op::ScatterND, nullptr, emit_scatter_nd},
    {Op::Sigmoid, define_unary},
    {Op::Sign, define_unary},
    {Op::Sin, define_unary},
    {Op::Sinh, define_unary},
    {Op::Slice, define_slice, nullptr, inputs_from(1)},
    {Op::Softmax, define_softmax},
    {Op::Softplus, define_unary},
    {Op::Split, define_split, nullptr, kSecondInput},
    {Op::Sqrt, define_unary},
    {Op::Squeeze, define_reshape, nullptr, kSecondInput},
    {Op::Sub, define_binary},
    {Op::Sum, define_binary},
    {Op::Swish, define_unary},
    {Op::Tan, define_unary},
    {Op::Tanh, define_unary},
    {Op::TopK, nullptr, emit_top_k, kSecondInput},
    {Op::Transpose, define_transpose},
    {Op::Unsqueeze, define_reshape, nullptr, kSecondInput},
    {Op::Where, define_where},
    {Op::Xor, define_binary},
};

}  // namespace

const LoweringRow* lowering_row(graph::Op op) {
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows), [op](const LoweringRow& candidate) { return candidate.op == op; });
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace tiffin::kernel
