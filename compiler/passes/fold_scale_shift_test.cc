// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/fold_scale_shift.h"

#include "compiler/passes/equivalence_case.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::Op;

std::string case_of(const std::string& body) {
  return R"(graph "g" {
  input %x: float32[2,3,5,4]
  parameter %w: float32[4,3,3,3] = random(1)
  parameter %bias: float32[4] = random(2)
  parameter %mean: float32[1,4,1,1] = random(3)
  parameter %scale: float32[4,1,1] = random(4)
  parameter %shift: float32[4,1,1] = random(5)
  parameter %factor: float32[1] = [1.5]
  parameter %row: float32[2] = random(6)
  constant %known: float32[4,1,1] = [1, 2, 3, 4]
  )" + body +
         "\n  output %y\n}";
}

// Operators that read the input, directly or not.
int count_work(const Graph& graph) {
  std::vector<char> varies(graph.value_capacity(), 0);
  for (const graph::ValueId input : graph.inputs()) varies[static_cast<size_t>(input)] = 1;
  int count = 0;
  for (const graph::NodeId id : graph.topological_order()) {
    const graph::Node& node = graph.node(id);
    for (const graph::ValueId input : node.inputs) {
      if (input == graph::kNone || varies[static_cast<size_t>(input)] == 0) continue;
      varies[static_cast<size_t>(node.outputs[0])] = 1;
    }
    count += varies[static_cast<size_t>(node.outputs[0])];
  }
  return count;
}

TEST(FoldScaleShift, LeavesOneProductAndOneSum) {
  const Graph graph = expect_same_results(case_of(R"(
  %c = Conv(%x, %w, %bias) {kernel_shape=[3, 3]}
  %d = Sub(%c, %mean)
  %s = Mul(%scale, %d)
  %t = Add(%s, %shift)
  %y = Mul(%t, %factor))"),
                                          {fold_scale_shift}, 1e-5);
  EXPECT_EQ(count_work(graph), 3) << graph::print_graph(graph);
  for (const graph::NodeId id : graph.topological_order()) EXPECT_TRUE(graph.node(id).op != Op::Conv || graph.node(id).inputs.size() == 2);
}

TEST(FoldScaleShift, FollowsAConvolutionWithoutBias) {
  const Graph graph = expect_same_results(case_of(R"(
  %c = Conv(%x, %w) {kernel_shape=[3, 3]}
  %d = Sub(%c, %mean)
  %s = Mul(%scale, %d)
  %y = Add(%s, %shift))"),
                                          {fold_scale_shift}, 1e-5);
  EXPECT_EQ(count_work(graph), 3);
}

TEST(FoldScaleShift, EndsAtAResultThatOthersRead) {
  const Graph graph = expect_same_results(case_of(R"(
  %c = Conv(%x, %w) {kernel_shape=[3, 3]}
  %a = Mul(%c, %scale)
  %b = Mul(%a, %factor)
  %r = Relu(%a)
  %y = Add(%b, %r))"),
                                          {fold_scale_shift}, 0);
  EXPECT_EQ(count_work(graph), 5);
}

TEST(FoldScaleShift, DoesNotMixConstantVectorsWithParameters) {
  const Graph graph = expect_same_results(case_of(R"(
  %c = Conv(%x, %w) {kernel_shape=[3, 3]}
  %a = Mul(%c, %scale)
  %y = Mul(%a, %known))"),
                                          {fold_scale_shift}, 0);
  EXPECT_EQ(count_work(graph), 3) << "a stored expression holds numbers and parameters, no vectors of constants";
}

TEST(FoldScaleShift, DoesNotMixAxes) {
  const Graph graph = expect_same_results(case_of(R"(
  %c = Conv(%x, %w) {kernel_shape=[3, 3]}
  %a = Add(%c, %scale)
  %y = Add(%a, %row))"),
                                          {fold_scale_shift}, 0);
  EXPECT_EQ(count_work(graph), 3);
}

}  // namespace
}  // namespace tiffin::passes
