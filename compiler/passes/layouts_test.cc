// SPDX-License-Identifier: Apache-2.0
// pack_weights and block_channels: what each rule makes. That results stay the same is shown by test/kernels/families_test.cc, with kernels.
#include "compiler/passes/block_channels.h"
#include "compiler/passes/equivalence_case.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/passes/pack_weights.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::Node;
using graph::Op;

Graph packed(const std::string& body) {
  Graph graph = parsed("graph \"g\" { " + body + " output %y }");
  run_pass(graph, pack_weights);
  return graph;
}

TEST(PackWeights, PacksAMatrixThatIsAParameter) {
  const Graph graph = packed("input %x: float32[5,20] parameter %w: float32[20,33] = random(1) %y = MatMul(%x, %w)");
  EXPECT_EQ(count_nodes(graph, Op::PackedMatMul), 1);
  EXPECT_EQ(count_nodes(graph, Op::PackPanels), 1);
  EXPECT_EQ(count_nodes(graph, Op::MatMul), 0);
}

TEST(PackWeights, TakesGemmApart) {
  const Graph graph = packed(
      "input %x: float32[5,20] parameter %w: float32[33,20] = random(1) parameter %b: float32[33] = random(2) %y = Gemm(%x, %w, %b) {transB=1}");
  EXPECT_EQ(count_nodes(graph, Op::PackedMatMul), 1);
  EXPECT_EQ(count_nodes(graph, Op::Transpose), 1);
  EXPECT_EQ(count_nodes(graph, Op::Add), 1);
  EXPECT_EQ(count_nodes(graph, Op::Gemm), 0);
}

TEST(PackWeights, LeavesWhatIsNoParameterOrReadOtherwise) {
  const Graph computed = packed("input %x: float32[5,20] input %w: float32[20,33] %y = MatMul(%x, %w)");
  EXPECT_EQ(count_nodes(computed, Op::MatMul), 1);
  const Graph shared =
      packed("input %x: float32[5,20] parameter %w: float32[20,20] = random(1) %a = MatMul(%x, %w) %s = Relu(%w) %y = MatMul(%a, %s)");
  EXPECT_EQ(count_nodes(shared, Op::PackedMatMul), 0);
}

// The body stands between two convolutions of %x: float32[2,16,9,9]; it reads %a and makes %b.
Graph blocked(const std::string& body, const std::string& last = "%y = Conv(%b, %w2)") {
  Graph graph = parsed(
      "graph \"g\" { input %x: float32[2,16,9,9] parameter %w: float32[16,16,3,3] = random(1) parameter %w2: float32[8,16,1,1] = random(2) "
      "parameter %d: float32[16,1,3,3] = random(3) parameter %t: float32[16,16,2,2] = random(4) parameter %c: float32[16,1,1] = random(5) "
      "constant %first: int64[1] = [0] constant %eight: int64[1] = [8] constant %sixteen: int64[1] = [16] constant %one: int64[1] = [1] "
      "constant %pixels: int64[2] = [2, 3] constant %scales: float32[4] = [1, 1, 2, 2] %a = Conv(%x, %w) " +
      body + " " + last + " output %y }");
  run_pass(graph, fold_constants);
  PassContext context;
  context.machine.vector_bytes = 32;  // blocks of 8
  const Status status = block_channels(graph, context);
  EXPECT_TRUE(status.is_ok()) << status.message();
  const Status valid = graph::verify_graph(graph);
  EXPECT_TRUE(valid.is_ok()) << valid.message();
  return graph;
}

// Rank 5 is a blocked image.
int count_blocked(const Graph& graph, Op op) {
  int count = 0;
  for (const graph::NodeId id : graph.topological_order()) {
    const Node& node = graph.node(id);
    count += node.op == op && graph.value(node.outputs[0]).type.rank() == 5;
  }
  return count;
}

TEST(BlockChannels, ConvolutionsFollowEachOtherWithoutConversion) {
  const Graph graph = blocked("%b = Relu(%a)");
  EXPECT_EQ(count_nodes(graph, Op::BlockedConv), 2);
  EXPECT_EQ(count_nodes(graph, Op::Conv), 0);
  EXPECT_EQ(count_blocked(graph, Op::Relu), 1);
  EXPECT_EQ(count_blocked(graph, Op::Transpose), 2) << "one into blocks, one back\n" << graph::print_graph(graph);
}

TEST(BlockChannels, EachRuleKeepsTheBlocks) {
  struct Case {
    const char* body;
    Op op;
    const char* last = "%y = Conv(%b, %w2)";
  };
  const Case cases[] = {
      {"%b = Conv(%a, %d) {group=16}", Op::BlockedDepthwiseConv},
      {"%b = ConvTranspose(%a, %t) {strides=[2, 2]}", Op::BlockedConv},
      {"%b = Mul(%a, %c)", Op::Mul},
      {"%b = Add(%a, %a)", Op::Add},
      {"%b = MaxPool(%a) {kernel_shape=[2, 2]}", Op::MaxPool},
      {"%b = AveragePool(%a) {kernel_shape=[2, 2], pads=[1, 1, 0, 0]}", Op::AveragePool},
      {"%b = ReduceMean(%a, %pixels) {keepdims=1}", Op::ReduceMean},
      {"%e = Relu(%a) %f = Concat(%a, %e) {axis=1} %b = Slice(%f, %eight, %sixteen, %one)", Op::Concat, "%g = Neg(%b) %y = Abs(%g)"},
      {"%b = Slice(%a, %first, %eight, %one)", Op::Slice, "%y = Neg(%b)"},
      {"%b = Resize(%a, _, %scales)", Op::Resize},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.body);
    const Graph graph = blocked(one.body, one.last);
    const int expected = one.op == Op::BlockedConv ? 3 : 1;
    EXPECT_EQ(count_blocked(graph, one.op), expected) << graph::print_graph(graph);
  }
}

TEST(BlockChannels, WideWindowsReadAPaddedCopy) {
  Graph graph = parsed(R"(graph "g" {
  input %x: float32[1,16,9,40]
  parameter %w: float32[16,16,1,13] = random(1)
  %y = Conv(%x, %w) {pads=[0, 6, 0, 6]}
  output %y
})");
  PassContext context;
  context.machine.vector_bytes = 32;
  ASSERT_TRUE(block_channels(graph, context).is_ok());
  EXPECT_EQ(count_blocked(graph, Op::Pad), 1);
  EXPECT_EQ(count_nodes(graph, Op::BlockedConv), 1);
}

TEST(BlockChannels, LeavesGroupsAlone) {
  Graph graph = parsed(R"(graph "g" {
  input %x: float32[1,16,9,9]
  parameter %w: float32[16,8,3,3] = random(1)
  %y = Conv(%x, %w) {group=2}
  output %y
})");
  PassContext context;
  ASSERT_TRUE(block_channels(graph, context).is_ok());
  EXPECT_EQ(count_nodes(graph, Op::Conv), 1);
}

}  // namespace
}  // namespace tiffin::passes
