// SPDX-License-Identifier: Apache-2.0
// One case or more for every operator that works on windows, matrices, sequences and images, and for control flow and Tiffin's own operators.
#include <gtest/gtest.h>

#include "compiler/ops/inference_case.h"

namespace tiffin::ops {
namespace {

constexpr InferenceCase kCases[] = {
    {"input %x: float32[1,3,8,9] input %w: float32[6,3,3,3] input %b: float32[6]", "Conv(%x, %w, %b) {pads=[1, 1, 1, 1], strides=[2, 2]}",
     "float32[1,6,4,5]"},
    {"input %x: float32[n,4,h,9] input %w: float32[8,2,3,3]", "Conv(%x, %w) {group=2, auto_pad=\"SAME_UPPER\"}", "float32[n,8,?y0.2,9]"},
    {"input %x: float32[1,3,10] input %w: float32[6,3,3]", "Conv(%x, %w) {dilations=[2]}", "float32[1,6,6]"},
    {"input %x: float32[0,3,10] input %w: float32[6,3,3]", "Conv(%x, %w)", "float32[0,6,8]"},
    {"input %x: uint8[1,3,8,8] input %w: int8[6,3,3,3] input %z: uint8[]", "ConvInteger(%x, %w, %z)", "int32[1,6,6,6]"},
    {"input %x: float32[1,4,5,5] input %w: float32[4,3,3,3]", "ConvTranspose(%x, %w) {strides=[2, 2], output_padding=[1, 1], pads=[1, 1, 1, 1]}",
     "float32[1,3,10,10]"},
    {"input %x: float32[1,4,3,3] input %w: float32[4,3,3,3]", "ConvTranspose(%x, %w) {strides=[3, 2], output_shape=[10, 8]}", "float32[1,3,10,8]"},
    {"input %x: float32[1,4,3,3] input %w: float32[4,3,3,3]", "ConvTranspose(%x, %w) {strides=[2, 2], auto_pad=\"SAME_LOWER\", group=2}",
     "float32[1,6,6,6]"},
    {"input %x: uint8[1,3,8,8] input %s: float32[] input %z: uint8[] input %w: int8[6,3,3,3] input %ws: float32[6] input %wz: int8[6] input %yz: "
     "uint8[]",
     "QLinearConv(%x, %s, %z, %w, %ws, %wz, %s, %yz)", "uint8[1,6,6,6]"},
    {"input %x: float32[1,3,8,8]", "AveragePool(%x) {kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1}", "float32[1,3,4,4]"},
    {"input %x: float32[1,3,8,8]", "MaxPool(%x) {kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]}", "float32[1,3,4,4] int64[1,3,4,4]"},
    {"input %x: float32[1,1,4]", "MaxPool(%x) {kernel_shape=[1], strides=[2], ceil_mode=1}", "float32[1,1,2]"},
    {"input %x: float32[1,3,8]", "LpPool(%x) {kernel_shape=[2]}", "float32[1,3,7]"},
    {"input %x: float32[1,3,8,n]", "GlobalAveragePool(%x)", "float32[1,3,1,1]"},
    {"input %x: float32[1,3,8]", "GlobalMaxPool(%x)", "float32[1,3,1]"},
    {"input %a: float32[5,1,2,3] input %b: float32[4,3,6]", "MatMul(%a, %b)", "float32[5,4,2,6]"},
    {"input %a: float32[3] input %b: float32[4,3,6]", "MatMul(%a, %b)", "float32[4,6]"},
    {"input %a: float32[3] input %b: float32[3]", "MatMul(%a, %b)", "float32[]"},
    {"input %a: float32[n,3] input %b: float32[3]", "MatMul(%a, %b)", "float32[n]"},
    {"input %a: uint8[2,3] input %b: int8[3,4] input %z: uint8[] input %bz: int8[4]", "MatMulInteger(%a, %b, %z, %bz)", "int32[2,4]"},
    {"input %a: uint8[2,3] input %s: float32[] input %z: uint8[] input %b: int8[3,4] input %bz: int8[] input %yz: int8[]",
     "QLinearMatMul(%a, %s, %z, %b, %s, %bz, %s, %yz)", "int8[2,4]"},
    {"input %a: float32[3,n] input %b: float32[5,3] input %c: float32[5]", "Gemm(%a, %b, %c) {transA=1, transB=1}", "float32[n,5]"},
    {"input %a: float32[2,3,4] input %b: float32[2,4,5]", "Einsum(%a, %b) {equation=\"bij, bjk -> bik\"}", "float32[2,3,5]"},
    {"input %a: float32[3,3]", "Einsum(%a) {equation=\"ii\"}", "float32[]"},
    {"input %a: float32[5,2,3] input %b: float32[3,1]", "Einsum(%a, %b) {equation=\"...ij,jk->...ik\"}", "float32[5,2,1]"},
    {"input %a: float32[2,3] input %b: float32[2,3]", "Einsum(%a, %b) {equation=\"ab,ac\"}", "float32[3,3]"},
    {"input %x: float32[7,2,3] input %w: float32[1,20,3] input %r: float32[1,20,5]", "LSTM(%x, %w, %r) {hidden_size=5}",
     "float32[7,1,2,5] float32[1,2,5] float32[1,2,5]"},
    {"input %x: float32[7,n,3] input %w: float32[2,15,3] input %r: float32[2,15,5] input %b: float32[2,30]",
     "GRU(%x, %w, %r, %b) {direction=\"bidirectional\"}", "float32[7,2,n,5] float32[2,n,5]"},
    {"input %x: float32[2,7,3] input %w: float32[1,5,3] input %r: float32[1,5,5]", "RNN(%x, %w, %r) {layout=1}", "_ float32[2,1,5]"},
    {"input %x: float32[2,3] input %s: float32[3] input %z: int8[3]", "QuantizeLinear(%x, %s, %z)", "int8[2,3]"},
    {"input %x: float32[2,3] input %s: float32[]", "QuantizeLinear(%x, %s) {output_dtype=22}", "int4[2,3]"},
    {"input %x: float32[4,6] input %s: float32[4,2]", "QuantizeLinear(%x, %s) {block_size=3}", "uint8[4,6]"},
    {"input %x: uint8[2,3] input %s: float16[]", "DequantizeLinear(%x, %s)", "float16[2,3]"},
    {"input %x: float32[2,3]", "DynamicQuantizeLinear(%x)", "uint8[2,3] float32[] uint8[]"},
    {"input %q: float32[2,8,5,16] input %k: float32[2,4,7,16] input %v: float32[2,4,7,10] input %m: bool[5,7]", "Attention(%q, %k, %v, %m)",
     "float32[2,8,5,10]"},
    {"input %q: float32[2,5,32] input %k: float32[2,7,16] input %v: float32[2,7,20] input %pk: float32[2,4,3,4] input %pv: float32[2,4,3,5]",
     "Attention(%q, %k, %v, _, %pk, %pv) {q_num_heads=8, kv_num_heads=4}", "float32[2,5,40] float32[2,4,10,4] float32[2,4,10,5] float32[2,8,5,10]"},
    {"input %x: float32[2,4,3,8] input %c: float32[50,4] input %p: int64[2,3]", "RotaryEmbedding(%x, %c, %c, %p)", "float32[2,4,3,8]"},
    {"input %x: float32[1,3,4,5] constant %s: float32[4] = [1, 1, 2, 0.5]", "Resize(%x, _, %s)", "float32[1,3,8,2]"},
    {"input %x: float32[1,3,4,5] constant %s: int64[2] = [8, 20]", "Resize(%x, _, _, %s) {axes=[2, 3], keep_aspect_ratio_policy=\"not_larger\"}",
     "float32[1,3,8,10]"},
    {"input %x: float32[1,3,4,5] constant %r: float32[0] = [] constant %s: float32[0] = [] constant %z: int64[4] = [1, 3, 7, 7]",
     "Resize(%x, %r, %s, %z) {mode=\"linear\"}", "float32[1,3,7,7]"},
    {"input %x: float32[1,3,4,5] input %g: float32[1,6,7,2]", "GridSample(%x, %g)", "float32[1,3,6,7]"},
    {"input %x: float32[2,3,4,5] input %r: float32[9,4] input %b: int64[9]", "RoiAlign(%x, %r, %b) {output_height=2, output_width=3}",
     "float32[9,3,2,3]"},
    {"input %c: bool[] input %x: float32[2,n]",
     "If(%c, %x, %x) {captured=2, then_branch=graph \"t\" { outer %x: undefined[*] %y = Neg(%x) output %y }, else_branch=graph \"e\" { outer %x: "
     "undefined[*] %y = Abs(%x) output %y }}",
     "float32[2,n]"},
    {"input %c: bool[]",
     "If(%c) {then_branch=graph \"t\" { constant %a: float32[2] = [1, 2] output %a }, else_branch=graph \"e\" { constant %a: float32[3] = [1, 2, 3] "
     "output %a }}",
     "float32[?y0.0]"},
    {"input %n: int64[] input %x: float32[2]",
     "Loop(%n, _, %x) {body=graph \"b\" { input %i: int64[] input %c: bool[] input %v: float32[2] %d = Add(%v, %v) output %c output %d output %d }}",
     "float32[2] float32[?y1.0,2]"},
    {"input %n: int64[] input %x: float32[2]",
     "Loop(%n, _, %x) {body=graph \"b\" { input %i: int64[] input %c: bool[] input %v: float32[2] %d = Concat(%v, %v) {axis=0} output %c output %d "
     "}}",
     "float32[?y0.0]"},
    {"input %s: float32[2] input %x: float32[5,2]",
     "Scan(%s, %x) {num_scan_inputs=1, body=graph \"b\" { input %a: float32[2] input %e: float32[2] %d = Add(%a, %e) output %d output %d }}",
     "float32[2] float32[5,2]"},
    {"input %w: float32[20,33]", "PackPanels(%w)", "float32[3,20,16]"},
    {"input %w: float32[3,3,8,16]", "PackPanels(%w)", "float32[1,3,3,8,16]"},
    {"input %a: float32[2,7,20] input %p: float32[3,20,16]", "PackedMatMul(%a, %p) {n=33}", "float32[2,7,33]"},
    {"input %x: float32[1,2,8,8,16] input %p: float32[3,3,3,32,16]",
     "BlockedConv(%x, %p) {kernel_shape=[3, 3], pads=[1, 1, 1, 1], channels=40, block=16}", "float32[1,3,8,8,16]"},
    {"input %x: float32[1,2,1,1,16] input %p: float32[3,3,3,32,16]", "BlockedConv(%x, %p) {kernel_shape=[3, 3], channels=40, block=16, transposed=1}",
     "float32[1,3,3,3,16]"},
    {"input %x: float32[1,3,8,8] input %p: float32[3,3,3,3,16]", "BlockedConv(%x, %p) {kernel_shape=[3, 3], channels=40, block=8}",
     "float32[1,5,6,6,8]"},
    {"input %x: float32[1,2,8,8,16] input %p: float32[2,3,3,16]",
     "BlockedDepthwiseConv(%x, %p) {kernel_shape=[3, 3], strides=[2, 2], channels=32, block=16}", "float32[1,2,3,3,16]"},
    {"input %x: float32[2]", "Unsupported(%x) {what=\"Frobnicate\"}", "undefined[*]"},
};

TEST(InferWindowsAndMatrices, GivesTheTypeOfEachCase) {
  for (const InferenceCase& c : kCases) EXPECT_EQ(infer_case(c), c.results) << c.sources << "\n" << c.node;
}

}  // namespace

std::span<const InferenceCase> window_and_matrix_cases() { return kCases; }

}  // namespace tiffin::ops
