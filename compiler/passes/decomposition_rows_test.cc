// SPDX-License-Identifier: Apache-2.0
// Every row of decompose_operators has a form here that it rewrites; the operator is gone afterwards, or in the form that kernels know.
#include "compiler/passes/decompose_operators.h"
#include "compiler/passes/equivalence_case.h"

namespace tiffin::passes {
namespace {

struct Row {
  const char* sources;
  const char* node;
  int remaining = 0;  // nodes of the operator, in its primitive form
};

constexpr Row kRows[] = {
    {"input %q: float32[1,2,3,4] input %k: float32[1,2,5,4] input %v: float32[1,2,5,6]", "Attention(%q, %k, %v)"},
    {"input %x: float32[2,3,4] input %c: float32[3]", "BatchNormalization(%x, %c, %c, %c, %c)"},
    {"input %x: float32[4]", "Celu(%x)"},
    {"input %x: float32[4] input %low: float32[]", "Clip(%x, %low)"},
    {"input %x: float32[1,4,2,2]", "DepthToSpace(%x) {blocksize=2}"},
    {"input %x: int8[4] input %s: float32[]", "DequantizeLinear(%x, %s)"},
    {"input %x: float32[4]", "Dropout(%x)"},
    {"input %x: float32[2,3] input %z: float32[3,4]", "Einsum(%x, %z) {equation=\"ij,jk->ki\"}"},
    {"input %x: float32[2,3,4]", "Flatten(%x)"},
    {"input %x: float32[2,3] input %z: float32[4,3]", "Gemm(%x, %z) {alpha=2.0, transB=1}"},
    {"input %x: float32[1,2,3,3]", "GlobalAveragePool(%x)"},
    {"input %x: float32[1,2,3,3]", "GlobalMaxPool(%x)"},
    {"input %x: float32[4] input %z: float32[4]", "Greater(%x, %z)"},
    {"input %x: float32[4] input %z: float32[4]", "GreaterOrEqual(%x, %z)"},
    {"input %x: float32[2,4,5] input %c: float32[4]", "GroupNormalization(%x, %c, %c) {num_groups=2}"},
    {"input %x: float32[2,4]", "Hardmax(%x)"},
    {"input %x: float32[4]", "HardSwish(%x)"},
    {"input %x: float32[4]", "Identity(%x)"},
    {"input %x: float32[2,3,4] input %c: float32[3]", "InstanceNormalization(%x, %c, %c)"},
    {"input %x: float32[2,4]", "LpNormalization(%x)"},
    {"input %x: float32[1,2,6]", "LpPool(%x) {kernel_shape=[3]}"},
    {"input %x: float32[1,4,3,3]", "LRN(%x) {size=3}"},
    {"input %x: float32[4] input %z: float32[4] input %w: float32[4]", "Max(%x, %z, %w)", 2},
    {"input %x: float32[4] input %z: float32[4] input %w: float32[4]", "Mean(%x, %z, %w)"},
    {"input %x: float32[1,2,3,3]", "MeanVarianceNormalization(%x)"},
    {"input %x: float32[4] input %z: float32[4] input %w: float32[4]", "Min(%x, %z, %w)", 2},
    {"input %x: float32[4]", "Mish(%x)"},
    {"input %x: float32[3,5] input %t: int64[3]", "NegativeLogLikelihoodLoss(%x, %t)"},
    {"input %t: int64[3] constant %d: int64[] = [5] input %v: float32[2]", "OneHot(%t, %d, %v)"},
    {"input %x: int32[4] input %z: float32[4]", "Pow(%x, %z)", 1},
    {"input %x: float32[2,4] input %z: float32[4]", "PRelu(%x, %z)"},
    {"input %x: uint8[1,2,4,4] input %s: float32[] input %o: uint8[] input %w: uint8[3,2,3,3]", "QLinearConv(%x, %s, %o, %w, %s, %o, %s, %o)"},
    {"input %x: uint8[2,3] input %s: float32[] input %o: uint8[] input %w: uint8[3,4]", "QLinearMatMul(%x, %s, %o, %w, %s, %o, %s, %o)"},
    {"input %x: float32[4] input %s: float32[] input %o: uint8[]", "QuantizeLinear(%x, %s, %o)"},
    {"input %x: float32[4]", "Reciprocal(%x)"},
    {"input %x: float32[2,4]", "ReduceL1(%x)"},
    {"input %x: float32[2,4]", "ReduceL2(%x)"},
    {"input %x: float32[2,4]", "ReduceLogSum(%x)"},
    {"input %x: float32[2,4]", "ReduceLogSumExp(%x)"},
    {"input %x: float32[2,4]", "ReduceSumSquare(%x)"},
    {"input %x: float32[1,1,3,3] constant %s: float32[4] = [1, 1, 2, 2]", "Resize(%x, _, %s)"},
    {"input %x: float32[3,2,4] input %n: int64[2]", "ReverseSequence(%x, %n)"},
    {"input %x: float32[1,2,3,4] input %c: float32[1,3,2]", "RotaryEmbedding(%x, %c, %c)"},
    {"input %x: float32[4]", "Selu(%x)"},
    {"input %x: float32[4]", "Shrink(%x)"},
    {"input %x: float32[3,5] input %t: int64[3]", "SoftmaxCrossEntropyLoss(%x, %t)"},
    {"input %x: float32[4]", "Softsign(%x)"},
    {"input %x: float32[1,1,4,4]", "SpaceToDepth(%x) {blocksize=2}"},
    {"input %x: float32[1,4] constant %a: int64[1] = [0]", "Squeeze(%x, %a)"},
    {"input %x: float32[4] input %z: float32[4]", "Sum(%x, %z)"},
    {"input %x: float32[4]", "Swish(%x)"},
    {"input %x: float32[4]", "Tan(%x)"},
    {"input %x: float32[4]", "ThresholdedRelu(%x)"},
    {"input %x: float32[2,3] constant %r: int64[2] = [2, 2]", "Tile(%x, %r)"},
    {"input %x: float32[4,4]", "Trilu(%x)"},
    {"input %x: float32[4] constant %a: int64[1] = [0]", "Unsqueeze(%x, %a)"},
};

TEST(DecomposeOperators, EveryRowRewritesItsOperator) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.node);
    graph::Graph graph = parsed(std::string("graph \"g\" { ") + row.sources + " %y = " + row.node + " output %y }");
    if (HasFailure()) return;
    const std::string name(row.node, std::string_view(row.node).find('('));
    graph::Op op{};
    ASSERT_TRUE(graph::parse_op(name, &op));
    const std::string before = graph::print_graph(graph);
    run_pass(graph, decompose_operators);
    EXPECT_EQ(count_nodes(graph, op), row.remaining);
    EXPECT_NE(graph::print_graph(graph), before);
  }
}

// Reductions keep their operator; the axes become a constant, sorted and not negative.
TEST(DecomposeOperators, ReductionsNameTheirAxes) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"}) {
    SCOPED_TRACE(op);
    graph::Graph graph =
        parsed(std::string("graph \"g\" { input %x: float32[2,3,4] constant %a: int64[2] = [-1, 0] %y = ") + op + "(%x, %a) output %y }");
    run_pass(graph, decompose_operators);
    const graph::Node& node = graph.node(graph.value(graph.outputs()[0]).producer);
    ASSERT_NE(graph.tensor_of(node.input(1)), nullptr);
    EXPECT_EQ(graph.tensor_of(node.input(1))->to_int64s(), (std::vector<int64_t>{0, 2}));
  }
}

TEST(DecomposeOperators, SplitBecomesSlicesAndQuantizationFindsItsScale) {
  graph::Graph split = parsed("graph \"g\" { input %x: float32[6] constant %n: int64[2] = [2, 4] %y, %z = Split(%x, %n) output %y output %z }");
  run_pass(split, decompose_operators);
  EXPECT_EQ(count_nodes(split, graph::Op::Slice), 2);
  EXPECT_EQ(count_nodes(split, graph::Op::Split), 0);
  graph::Graph quantized = parsed("graph \"g\" { input %x: float32[6] %y, %s, %o = DynamicQuantizeLinear(%x) output %y output %s output %o }");
  run_pass(quantized, decompose_operators);
  EXPECT_EQ(count_nodes(quantized, graph::Op::DynamicQuantizeLinear), 0);
  graph::Graph filled =
      parsed("graph \"g\" { input %x: float32[6] constant %s: int64[1] = [6] %c = ConstantOfShape(%s) %y = Add(%x, %c) output %y }");
  run_pass(filled, decompose_operators);
  EXPECT_EQ(count_nodes(filled, graph::Op::ConstantOfShape), 0);
  graph::Graph gated = parsed("graph \"g\" { input %x: float32[2,6] %y = SwiGLU(%x, %x) output %y }");
  run_pass(gated, decompose_operators);
  EXPECT_EQ(count_nodes(gated, graph::Op::SwiGLU), 0);
}

}  // namespace
}  // namespace tiffin::passes
