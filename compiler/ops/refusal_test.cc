// SPDX-License-Identifier: Apache-2.0
// What inference refuses: the code, and the part of the message that names the rule.
#include <gtest/gtest.h>

#include "compiler/ops/inference_case.h"

namespace tiffin::ops {
namespace {

struct Refusal {
  const char* sources;
  const char* node;
  const char* code;
  const char* message;
};

constexpr Refusal kRefusals[] = {
    {"input %a: float32[2,3] input %b: float32[2,4]", "Add(%a, %b) {name=\"add_7\"}", "ShapeMismatch",
     "node 'add_7' (Add): shapes [2,3] and [2,4] do not broadcast"},
    {"input %a: float32[2,3] input %b: float64[2,3]", "Add(%a, %b)", "InvalidModel",
     "input 1 'b' is float64, expected float32 as the inputs before it (dtype.c4)"},
    {"input %a: float32[2,3]", "Add(%a)", "InvalidModel", "1 inputs, expected 2 (arity.c1)"},
    {"input %a: float32[2,3]", "Add(%a, _)", "InvalidModel", "input 1 is omitted, expected a value (arity.c3)"},
    {"input %a: float32[2,3]", "Concat(%a, _) {axis=0}", "InvalidModel", "(arity.c3)"},
    {"input %a: float32[2,3]", "Relu(%a) {alpha=1.0}", "InvalidModel", "attribute 'alpha' is none of this operator's (attribute.c2)"},
    {"input %a: float32[2,3]", "Elu(%a) {alpha=1}", "InvalidModel", "attribute 'alpha' is an integer, expected a float (attribute.c3)"},
    {"input %a: float32[2,3]", "Cast(%a)", "InvalidModel", "attribute 'to' is missing, expected an integer (attribute.c1)"},
    {"input %a: float32[2,3]", "Cast(%a) {to=99}", "InvalidModel", "attribute 'to' is 99,"},
    {"input %a: float32[2,3]", "Cast(%a) {to=99}", "InvalidModel", "expected the code of an element type (dtype.c1)"},
    {"input %a: float32[2,3]", "Cast(%a) {to=8}", "UnsupportedType", "element type 'string'"},
    {"input %a: float32[2,3]", "Cast(%a) {to=27}", "UnsupportedType", "element type 27"},
    {"input %a: string[2,3]", "Identity(%a)", "UnsupportedType", "input 0 'a' is string"},
    {"input %a: float8_e5m2[2,3]", "Relu(%a)", "UnsupportedType", "input 0 'a' is float8_e5m2"},
    {"input %a: bool[2,3]", "Relu(%a)", "InvalidModel", "input 0 'a' is bool"},
    {"input %a: float32[4000000000,4000000000]", "Relu(%a)", "InvalidModel", "more than an int64 can count (type.overflow)"},
    {"input %a: float32[4000000000] constant %r: int64[1] = [4000000000]", "Tile(%a, %r)", "InvalidModel", "(type.overflow)"},
    {"input %a: float32[2,3] input %b: float32[4,5]", "MatMul(%a, %b) {name=\"mm_7\"}", "ShapeMismatch",
     "node 'mm_7' (MatMul): float32[2,3] by float32[4,5]: the inner extents 3 and 4 differ (matmul.c2)"},
    {"input %a: float32[] input %b: float32[4,5]", "MatMul(%a, %b)", "ShapeMismatch", "(matmul.c1)"},
    {"input %a: float32[2,3] input %b: float32[4,5]", "Gemm(%a, %b)", "ShapeMismatch", "(gemm.c2)"},
    {"input %a: float32[2,3] input %b: float32[3,5] input %c: float32[4]", "Gemm(%a, %b, %c)", "ShapeMismatch", "(gemm.c3)"},
    {"input %x: float32[1,3,8,8] input %w: float32[6,4,3,3]", "Conv(%x, %w)", "ShapeMismatch", "the channels differ (conv.c1)"},
    {"input %x: float32[1,3,8,8] input %w: float32[6,3,3]", "Conv(%x, %w)", "ShapeMismatch", "(window.c2)"},
    {"input %x: float32[1,3,8,8] input %w: float32[6,3,3,3] input %b: float32[5]", "Conv(%x, %w, %b)", "ShapeMismatch", "(conv.c3)"},
    {"input %x: float32[1,4,8,8] input %w: float32[6,2,3,3]", "Conv(%x, %w) {group=0}", "InvalidModel", "(window.c12)"},
    {"input %x: float32[1,8,8,8] input %w: float32[6,2,3,3]", "Conv(%x, %w) {group=4}", "InvalidModel", "(conv.c2)"},
    {"input %x: float32[1,3,8,8] input %w: float32[6,3,3,3]", "Conv(%x, %w) {strides=[0, 1]}", "InvalidModel",
     "attribute 'strides' is [0,1], expected 2 numbers, each 1 or more (window.c1)"},
    {"input %x: float32[1,3,8,8] input %w: float32[6,3,3,3]", "Conv(%x, %w) {strides=[1]}", "InvalidModel", "(window.c1)"},
    {"input %x: float32[1,3,8,8] input %w: float32[6,3,3,3]", "Conv(%x, %w) {pads=[-1, 0, 0, 0]}", "InvalidModel", "(window.c1)"},
    {"input %x: float32[1,3,8,8] input %w: float32[6,3,3,3]", "Conv(%x, %w) {dilations=[9223372036854775807, 1]}", "InvalidModel", "(window.c1"},
    {"input %x: float32[1,3,8,8] input %w: float32[6,3,9,3]", "Conv(%x, %w)", "ShapeMismatch",
     "the kernel reaches over 9 elements at spatial axis 0, the padded input has 8 (window.c7)"},
    {"input %x: float32[1,3,8,8] input %w: float32[6,3,3,3]", "Conv(%x, %w) {kernel_shape=[5, 5]}", "ShapeMismatch", "(window.c5)"},
    {"input %x: float32[1,3,8,8] input %w: float32[6,3,3,3]", "Conv(%x, %w) {auto_pad=\"SAME\"}", "InvalidModel", "(window.c6)"},
    {"input %x: float32[3,8] input %w: float32[6,3]", "Conv(%x, %w)", "ShapeMismatch", "(window.c9)"},
    {"input %x: float32[1,3,8,8]", "MaxPool(%x)", "InvalidModel", "attribute 'kernel_shape' is missing"},
    {"input %x: float32[1,3,8,8]", "MaxPool(%x) {kernel_shape=[0, 1]}", "InvalidModel", "(window.c1)"},
    {"input %x: float32[1,3,0,5] input %g: float32[1,6,7,2]", "GridSample(%x, %g)", "InvalidModel", "axis 2 of float32[1,3,0,5] is empty"},
    {"input %x: float32[1,3,4,5] input %g: float32[1,6,7,3]", "GridSample(%x, %g)", "ShapeMismatch", "(grid_sample.c6)"},
    {"input %x: float32[1,3,4,5] input %g: float32[1,6,7,2]", "GridSample(%x, %g) {mode=\"best\"}", "InvalidModel", "(grid_sample.c1)"},
    {"input %x: float32[1,3,4,0] input %r: float32[2,4] input %b: int64[2]", "RoiAlign(%x, %r, %b)", "InvalidModel", "(roi_align.c9)"},
    {"input %x: float32[1,3,4,5] input %r: float32[2,4] input %b: int64[3]", "RoiAlign(%x, %r, %b)", "ShapeMismatch", "(roi_align.c8)"},
    {"input %x: float32[2,3] constant %s: int64[2] = [4, 2]", "Reshape(%x, %s) {name=\"r\"}", "ShapeMismatch",
     "node 'r' (Reshape): float32[2,3] cannot take shape [4,2] (reshape.c4)"},
    {"input %x: float32[2,3] constant %s: int64[2] = [-1, -1]", "Reshape(%x, %s)", "ShapeMismatch", "(reshape.c2)"},
    {"input %x: float32[2,3] constant %s: int64[3] = [6, 1, 0]", "Reshape(%x, %s)", "ShapeMismatch", "(reshape.c1)"},
    {"input %x: float32[2,3] constant %s: int64[2] = [-1, 4]", "Reshape(%x, %s)", "ShapeMismatch", "(reshape.c5)"},
    {"input %x: float32[0,3] constant %s: int64[2] = [0, -1]", "Reshape(%x, %s)", "ShapeMismatch", "(reshape.c5)"},
    {"input %x: float32[2,3] constant %s: int64[2] = [4611686018427387904, 4]", "Reshape(%x, %s)", "ShapeMismatch", "(reshape.c3)"},
    {"input %x: float32[2,3] constant %s: int32[1] = [6]", "Reshape(%x, %s)", "InvalidModel", "(dtype.c3)"},
    {"input %x: float32[2,3]", "Transpose(%x) {perm=[0, 0]}", "InvalidModel", "(transpose.c1)"},
    {"input %x: float32[2,3]", "Transpose(%x) {perm=[0]}", "InvalidModel", "(transpose.c1)"},
    {"input %x: float32[2,3]", "Softmax(%x) {axis=2}", "InvalidModel", "'axis' is 2, expected a number in [-2, 2) (axis.c1)"},
    {"input %x: float32[2,3] constant %a: int64[2] = [0, -2]", "ReduceSum(%x, %a)", "InvalidModel", "which names axis 0 twice (axis.c2)"},
    {"input %x: float32[0,3]", "ArgMax(%x)", "InvalidModel", "(arg_reduction.c1)"},
    {"input %x: float32[2,3] constant %a: int64[1] = [0]", "Squeeze(%x, %a)", "ShapeMismatch", "(squeeze.c1)"},
    {"input %x: float32[2,3] constant %b: int64[1] = [0] constant %s: int64[1] = [0]", "Slice(%x, %b, %b, %b, %s)", "InvalidModel",
     "expected no 0 (slice.c1)"},
    {"input %x: float32[2,3] constant %b: int64[1] = [0] constant %e: int64[2] = [0, 1]", "Slice(%x, %b, %e)", "InvalidModel", "(index_list.c1)"},
    {"input %x: float32[2] constant %b: int64[2] = [0, 1]", "Slice(%x, %b, %b)", "InvalidModel", "(index_list.c1)"},
    {"input %x: float32[2,3] constant %p: int64[3] = [0, 1, 2]", "Pad(%x, %p)", "InvalidModel", "(index_list.c1)"},
    {"input %x: float32[2,3] constant %p: int64[4] = [0, 3, 0, 0]", "Pad(%x, %p) {mode=\"reflect\"}", "ShapeMismatch", "(pad.c2)"},
    {"input %x: float32[2,3] constant %p: int64[4] = [0, -2, 0, -2]", "Pad(%x, %p)", "ShapeMismatch", "(pad.c2)"},
    {"input %x: float32[2,3] constant %p: int64[4] = [0, 9223372036854775807, 0, 0]", "Pad(%x, %p)", "ShapeMismatch", "(pad.c2)"},
    {"input %x: float32[2,3] constant %p: int64[4] = fill(1)", "Pad(%x, %p) {mode=\"mirror\"}", "InvalidModel", "(pad.c1)"},
    {"input %x: float32[2,3] input %y: float32[2,3,1]", "Concat(%x, %y) {axis=0}", "ShapeMismatch", "(concat.c1)"},
    {"input %x: float32[2,3] input %y: float32[2,4]", "Concat(%x, %y) {axis=0}", "ShapeMismatch", "(concat.c2)"},
    {"input %x: float32[7] constant %s: int64[1] = [6]", "Split(%x, %s)", "ShapeMismatch", "(split.c2)"},
    {"input %x: float32[7]", "Split(%x) {num_outputs=2}", "InvalidModel", "(split.c1)"},
    {"input %x: float32[2,3] constant %s: int64[2] = [2, -1]", "Expand(%x, %s)", "InvalidModel", "(expand.c2)"},
    {"input %x: float32[2,3] constant %s: int64[2] = [2, 4]", "Expand(%x, %s)", "ShapeMismatch", "(broadcast.c1)"},
    {"input %x: float32[2,3] constant %r: int64[2] = [2, -4]", "Tile(%x, %r)", "InvalidModel", "(tile.c2)"},
    {"input %x: float32[2,3] constant %r: int64[1] = [2]", "Tile(%x, %r)", "ShapeMismatch", "(tile.c1)"},
    {"input %x: float32[1,7,2,3]", "DepthToSpace(%x) {blocksize=2}", "ShapeMismatch", "(block.c4)"},
    {"input %x: float32[1,4,2,3]", "DepthToSpace(%x) {blocksize=0}", "InvalidModel", "(block.c1)"},
    {"input %x: float32[2,3] input %i: float32[2]", "Gather(%x, %i)", "InvalidModel", "(dtype.c3)"},
    {"input %x: float32[2,3] input %i: int64[3,3]", "GatherElements(%x, %i) {axis=1}", "ShapeMismatch", "(gather_elements.c1)"},
    {"input %x: float32[2,3] input %i: int64[3,3]", "GatherND(%x, %i)", "ShapeMismatch", "(index_nd.c3)"},
    {"input %x: float32[2,3] input %i: int64[3,1] input %u: float32[3,4]", "ScatterND(%x, %i, %u)", "ShapeMismatch", "(scatter_nd.c1)"},
    {"input %x: float32[2,3] input %i: int64[3,1] input %u: float32[3,3]", "ScatterND(%x, %i, %u) {reduction=\"sub\"}", "InvalidModel",
     "(scatter.c1)"},
    {"constant %s: int64[1] = [-2]", "ConstantOfShape(%s)", "InvalidModel", "(constant_of_shape.c3)"},
    {"constant %a: int64[] = [1] constant %d: int64[] = [0]", "Range(%a, %a, %d)", "InvalidModel", "(range.c2)"},
    {"constant %a: float32[] = [1] constant %d: float32[] = [nan]", "Range(%a, %a, %d)", "InvalidModel", "(range.c2)"},
    {"input %a: float32[2,3]", "Einsum(%a) {equation=\"ijk\"}", "ShapeMismatch", "(einsum.c2)"},
    {"input %a: float32[2,3]", "Einsum(%a) {equation=\"ij->ik\"}", "InvalidModel", "(einsum.c1)"},
    {"input %a: float32[2,3]", "Einsum(%a) {equation=\"ij,jk\"}", "InvalidModel", "(einsum.c1)"},
    {"input %a: float32[2,3]", "Einsum(%a) {equation=\"i$\"}", "InvalidModel", "(einsum.c1)"},
    {"input %a: float32[2,3]", "Einsum(%a, %a) {equation=\"ij,jk\"}", "ShapeMismatch", "(einsum.c3)"},
    {"input %x: float32[7,2,3] input %w: float32[1,20,3] input %r: float32[1,20,6]", "LSTM(%x, %w, %r)", "ShapeMismatch", "(recurrent.c4)"},
    {"input %x: float32[7,2,3] input %w: float32[1,20,3] input %r: float32[1,20,5]", "LSTM(%x, %w, %r) {direction=\"up\"}", "InvalidModel",
     "(recurrent.c3)"},
    {"input %x: float32[7,2,3] input %w: float32[1,20,3] input %r: float32[1,20,5]", "LSTM(%x, %w, %r) {activations=[\"Sin\", \"Tanh\", \"Tanh\"]}",
     "InvalidModel", "(recurrent.c2)"},
    {"input %x: float32[7,2,3] input %w: float32[1,20,3] input %r: float32[1,20,5]", "LSTM(%x, %w, %r) {activations=[\"Tanh\"]}", "InvalidModel",
     "(recurrent.c1)"},
    {"input %x: float32[2,3] input %s: float32[4]", "QuantizeLinear(%x, %s)", "ShapeMismatch", "(quantize.c4)"},
    {"input %x: float32[2,3] input %s: float32[]", "QuantizeLinear(%x, %s) {output_dtype=1}", "InvalidModel", "(quantize.c6)"},
    {"input %q: float32[2,5,30]", "Attention(%q, %q, %q) {q_num_heads=8, kv_num_heads=8}", "ShapeMismatch", "(attention.c2)"},
    {"input %q: float32[2,5,30]", "Attention(%q, %q, %q)", "InvalidModel", "(attention.c3)"},
    {"input %x: float32[1,3,4,5]", "Resize(%x)", "InvalidModel", "none of 'scales' and 'sizes' are given, expected one (resize.c7)"},
    {"input %x: float32[1,3,4,5] constant %s: float32[4] = [1, 1, -1, 1]", "Resize(%x, _, %s)", "InvalidModel", "(resize.c2)"},
    {"input %x: float32[1,3,4,5] constant %s: float32[3] = [1, 1, 1]", "Resize(%x, _, %s)", "InvalidModel", "(resize.c1)"},
    {"input %x: float32[1,3,4,5] constant %s: float32[4] = fill(1)", "Resize(%x, _, %s) {mode=\"lanczos\"}", "InvalidModel", "(resize.c8)"},
    {"input %c: bool[]",
     "If(%c) {then_branch=graph \"t\" { constant %a: float32[1] = [1] output %a }, else_branch=graph \"e\" { constant %a: int64[1] = [1] output %a "
     "}}",
     "InvalidModel", "(control.c2)"},
    {"input %c: bool[]",
     "If(%c) {then_branch=graph \"t\" { outer %a: float32[1] output %a }, else_branch=graph \"e\" { constant %a: int64[1] = [1] output %a }}",
     "InvalidModel", "(body.c2)"},
    {"input %c: bool[]", "If(%c) {then_branch=graph \"t\" { }, else_branch=graph \"e\" { constant %a: int64[1] = [1] output %a }}", "InvalidModel",
     "(control.c1)"},
    {"input %c: bool[]", "If(%c) {then_branch=1, else_branch=graph \"e\" { constant %a: int64[1] = [1] output %a }}", "InvalidModel",
     "(attribute.c3)"},
};

TEST(InferRefuses, EachBrokenNodeByNameAndRule) {
  for (const Refusal& refusal : kRefusals) {
    const std::string answer = infer_case({refusal.sources, refusal.node, "error"});
    EXPECT_EQ(answer.find(std::string(refusal.code) + ": "), 0u) << refusal.node << "\n" << answer;
    EXPECT_NE(answer.find(refusal.message), std::string::npos) << refusal.node << "\n" << answer;
  }
}

// A shape that depends on a run-time value is open, not wrong.
TEST(InferRefuses, NothingThatIsOnlyOpen) {
  EXPECT_EQ(infer_case({"input %x: float32[2,3] input %s: int64[*]", "Reshape(%x, %s)", "float32[*]"}), "float32[*]");
  EXPECT_EQ(infer_case({"input %x: float32[*]", "Relu(%x)", "float32[*]"}), "float32[*]");
  EXPECT_EQ(infer_case({"input %x: undefined[*]", "Relu(%x)", "undefined[*]"}), "undefined[*]");
  EXPECT_EQ(infer_case({"input %x: float32[*] input %w: float32[4,3,3,3]", "Conv(%x, %w)", "float32[*]"}), "float32[*]");
}

}  // namespace
}  // namespace tiffin::ops
