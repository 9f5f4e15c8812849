// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/sink_reshapes.h"

#include "compiler/passes/equivalence_case.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::Op;
using graph::Type;

Op last_op(const Graph& graph) { return graph.node(graph.value(graph.outputs()[0]).producer).op; }

TEST(SinkReshapes, BringsTheBiasToTheConvolution) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[1,3,6,1]
  parameter %w: float32[4,3,3,1] = random(1)
  parameter %bias: float32[1,4,1] = random(2)
  constant %shape: int64[3] = [1, 4, 4]
  constant %six: float32[] = [0.5]
  %c = Conv(%x, %w) {kernel_shape=[3, 1]}
  %r = Reshape(%c, %shape)
  %a = Add(%r, %bias)
  %b = Min(%six, %a)
  %y = Relu(%b)
  output %y
})",
                                          {sink_reshapes}, 0);
  EXPECT_EQ(last_op(graph), Op::Reshape);
  EXPECT_EQ(graph.value(graph.node(graph.value(graph.outputs()[0]).producer).inputs[0]).type, Type(DType::Float32, {1, 4, 4, 1}));
}

TEST(SinkReshapes, KeepsTrailingVectors) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[6,4]
  parameter %w: float32[4,5] = random(1)
  parameter %bias: float32[5] = random(2)
  parameter %rows: float32[3,1] = random(3)
  constant %shape: int64[3] = [2, 3, 5]
  %c = MatMul(%x, %w)
  %r = Reshape(%c, %shape)
  %a = Add(%bias, %r)
  %y = Mul(%a, %rows)
  output %y
})",
                                          {sink_reshapes}, 0);
  EXPECT_EQ(last_op(graph), Op::Mul) << "the rows of 3 exist in the new shape alone";
  EXPECT_EQ(count_nodes(graph, Op::Reshape), 1);
}

TEST(SinkReshapes, JoinsTwoReshapes) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[6,4]
  input %z: float32[6,4]
  constant %shape: int64[3] = [2, 3, 4]
  %a = Exp(%x)
  %b = Exp(%z)
  %r = Reshape(%a, %shape)
  %s = Reshape(%b, %shape)
  %y = Sub(%r, %s)
  output %y
})",
                                          {sink_reshapes}, 0);
  EXPECT_EQ(count_nodes(graph, Op::Reshape), 1);
}

TEST(SinkReshapes, LeavesAReshapeThatOthersRead) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[6,4]
  constant %shape: int64[3] = [2, 3, 4]
  %a = Exp(%x)
  %r = Reshape(%a, %shape)
  %b = Relu(%r)
  %y = Sub(%r, %b)
  output %y
})",
                                          {sink_reshapes}, 0);
  EXPECT_EQ(last_op(graph), Op::Sub);
}

}  // namespace
}  // namespace tiffin::passes
