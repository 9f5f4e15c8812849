// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/simplify_graph.h"

#include "compiler/passes/equivalence_case.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::Op;

TEST(SimplifyGraph, CancelsTransposesAndReshapes) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[2,3,4,5]
  %a = Transpose(%x) {perm=[0, 2, 3, 1]}
  %b = Transpose(%a) {perm=[0, 3, 1, 2]}
  constant %flat: int64[2] = [6, 20]
  constant %back: int64[4] = [2, 3, 4, 5]
  %c = Reshape(%b, %flat)
  %d = Reshape(%c, %back)
  %y = Relu(%d)
  output %y
})",
                                          {simplify_graph}, 0);
  EXPECT_EQ(count_nodes(graph), 1);
}

TEST(SimplifyGraph, ComposesTransposes) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[2,3,4]
  %a = Transpose(%x)
  %y = Transpose(%a) {perm=[1, 0, 2]}
  output %y
})",
                                          {simplify_graph}, 0);
  EXPECT_EQ(count_nodes(graph, Op::Transpose), 1);
}

TEST(SimplifyGraph, MakesMovesOfOnesAView) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[1,7,1,5]
  %y = Transpose(%x) {perm=[1, 0, 3, 2]}
  output %y
})",
                                          {simplify_graph}, 0);
  EXPECT_EQ(count_nodes(graph, Op::Transpose), 0);
  EXPECT_EQ(count_nodes(graph, Op::Reshape), 1);
}

TEST(SimplifyGraph, MovesReshapesOfOnesBeforeTransposes) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[2,3,1,4,5]
  constant %shape: int64[4] = [5, 1, 2, 12]
  constant %squeezed: int64[4] = [4, 2, 3, 5]
  %a = Transpose(%x) {perm=[3, 2, 0, 1, 4]}
  %b = Reshape(%a, %squeezed)
  %y = Transpose(%b) {perm=[1, 2, 0, 3]}
  output %y
})",
                                          {simplify_graph}, 0);
  EXPECT_EQ(count_nodes(graph, Op::Transpose), 0) << graph::print_graph(graph);
}

TEST(SimplifyGraph, SlicesBeforeItTransposes) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[2,6,3,4]
  constant %index: int64[] = [-1]
  %a = Transpose(%x) {perm=[2, 0, 3, 1]}
  %y = Gather(%a, %index) {axis=0}
  output %y
})",
                                          {simplify_graph}, 0);
  EXPECT_EQ(count_nodes(graph, Op::Gather), 0);
  EXPECT_EQ(count_nodes(graph, Op::Slice), 1);
}

TEST(SimplifyGraph, DropsCastsThatKeepEveryValue) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[9]
  input %n: int8[9]
  input %b: bool[9]
  %a = Cast(%x) {to=11}
  %y = Cast(%a) {to=1}
  %c = Cast(%n) {to=7}
  %z = Cast(%c) {to=1}
  %d = Cast(%b) {to=1}
  %w = Cast(%d) {to=9}
  %e = Cast(%n) {to=1}
  %v = Cast(%e) {to=2}
  output %y
  output %z
  output %w
  output %v
})",
                                          {simplify_graph}, 0);
  // int8 -> float32 -> uint8 saturates, int8 -> uint8 wraps: that pair stays.
  EXPECT_EQ(count_nodes(graph, Op::Cast), 3);
}

TEST(SimplifyGraph, KeepsCastsThatRound) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[9]
  %a = Cast(%x) {to=10}
  %y = Cast(%a) {to=1}
  output %y
})",
                                          {simplify_graph}, 0);
  EXPECT_EQ(count_nodes(graph, Op::Cast), 2);
}

TEST(SimplifyGraph, DropsNeutralOperandsOnly) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[3]
  constant %one: float32[] = [1]
  constant %zero: float32[1] = [0]
  constant %minus_zero: float32[1] = [-0]
  constant %four: float32[] = [4]
  parameter %p: float32[] = [1]
  %a = Mul(%one, %x)
  %b = Div(%a, %one)
  %c = Sub(%b, %zero)
  %d = Add(%c, %minus_zero)
  %e = Neg(%d)
  %f = Neg(%e)
  %g = Add(%f, %zero)
  %h = Mul(%g, %p)
  %y = Div(%h, %four)
  output %y
})",
                                          {simplify_graph}, 0);
  EXPECT_EQ(count_nodes(graph, Op::Add), 1) << "x + 0 turns -0 into 0";
  EXPECT_EQ(count_nodes(graph, Op::Mul), 2) << "the parameter stays; division by 4 is multiplication by 0.25";
  EXPECT_EQ(count_nodes(graph), 3);
  EXPECT_FALSE(graph.value(graph.find_value("p")).is_frozen);
}

TEST(SimplifyGraph, DropsExpandsThatBroadcastingRepeats) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[2,3]
  input %s: float32[2,1]
  constant %shape: int64[2] = [2, 3]
  %a = Expand(%s, %shape)
  %y = Add(%x, %a)
  %z = Relu(%a)
  output %y
  output %z
})",
                                          {simplify_graph}, 0);
  EXPECT_EQ(count_nodes(graph, Op::Expand), 1) << "Relu needs it, Add does not";
}

TEST(SimplifyGraph, ChoosesTheBranchOfAConstantWhere) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[2,3]
  input %z: float32[3]
  constant %yes: bool[2,3] = fill(1)
  constant %no: bool[2,1] = fill(0)
  %a = Where(%yes, %x, %z)
  %y = Where(%no, %a, %z)
  output %y
})",
                                          {simplify_graph}, 0);
  EXPECT_EQ(count_nodes(graph, Op::Where), 0);
  EXPECT_EQ(count_nodes(graph, Op::Expand), 1);
}

TEST(SimplifyGraph, DropsWhatCopiesEverything) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[2,3]
  input %b: bool[2,3]
  constant %pads: int64[4] = [0, 0, 0, 0]
  constant %shape: int64[2] = [2, 3]
  constant %start: int64[1] = [0]
  constant %end: int64[1] = [9]
  constant %axis: int64[1] = [1]
  %c = Concat(%x) {axis=1}
  %d = Pad(%c, %pads)
  %e = Slice(%d, %start, %end, %axis)
  %f = Expand(%e, %shape)
  %g = Reshape(%f, %shape)
  %h = Transpose(%g) {perm=[0, 1]}
  %y = Relu(%h)
  %n = Not(%b)
  %m = Not(%n)
  %z = Where(%m, %y, %y)
  output %y
  output %m
  output %z
})",
                                          {simplify_graph}, 0);
  EXPECT_EQ(count_nodes(graph), 1) << graph::print_graph(graph);
  EXPECT_EQ(count_nodes(graph, Op::Relu), 1);
}

TEST(SimplifyGraph, KeepsTheDimensionsOfAReductionInsteadOfPuttingThemBack) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[2,3,4]
  constant %axis: int64[1] = [1]
  constant %shape: int64[3] = [2, 1, 4]
  %a = ReduceMax(%x, %axis) {keepdims=0}
  %b = Reshape(%a, %shape)
  %y = Sub(%x, %b)
  output %y
})",
                                          {simplify_graph}, 0);
  EXPECT_EQ(count_nodes(graph, Op::Reshape), 0);
}

TEST(SimplifyGraph, LetsAnOutputBeAnInput) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[2,3]
  %a = Transpose(%x)
  %y = Transpose(%a)
  output %y
})",
                                          {simplify_graph}, 0);
  EXPECT_EQ(graph.outputs(), graph.inputs());
}

}  // namespace
}  // namespace tiffin::passes
