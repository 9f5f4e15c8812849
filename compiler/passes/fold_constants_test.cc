// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/fold_constants.h"

#include <gtest/gtest.h>

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::Op;
using graph::Tensor;
using graph::Type;
using graph::ValueId;
using graph::ValueKind;

void fold(Graph& graph) {
  PassContext context;
  const Status status = fold_constants(graph, context);
  ASSERT_TRUE(status.is_ok()) << status.message();
}

size_t count_nodes(const Graph& graph) { return graph.topological_order().size(); }

TEST(FoldConstants, FoldsShapeArithmeticIntoAReshape) {
  Graph graph("net");
  const ValueId x = graph.add_input("x", Type(DType::Float32, {2, 3, 4}));
  const ValueId shape = graph.add_node(Op::Shape, "shape", {x});
  const ValueId first = graph.add_node(Op::Gather, "first", {shape, graph.add_parameter("zero", Tensor::int64s(std::vector<int64_t>{0}))});
  const ValueId rest = graph.add_constant("rest", Tensor::int64s(std::vector<int64_t>{-1}));
  const ValueId target = graph.add_node(Op::Concat, "target", {first, rest}, {{"axis", int64_t{0}}});
  const ValueId y = graph.add_node(Op::Reshape, "reshape", {x, target});
  graph.set_outputs({y});
  fold(graph);
  EXPECT_EQ(count_nodes(graph), 1u);
  EXPECT_EQ(graph.value(graph.outputs()[0]).type, Type(DType::Float32, {2, 12}));
  EXPECT_TRUE(graph.value(graph.find_value("zero")).is_frozen) << "its value shaped the program";
}

TEST(FoldConstants, NeverFoldsWeights) {
  Graph graph("net");
  const ValueId x = graph.add_input("x", Type(DType::Float32, {1, 2}));
  const std::vector<float> numbers{1, 2, 3, 4};
  const ValueId w = graph.add_parameter("w", Tensor::from<float>(DType::Float32, {2, 2}, std::span<const float>(numbers)));
  const ValueId transposed = graph.add_node(Op::Transpose, "transpose", {w});
  graph.set_outputs({graph.add_node(Op::MatMul, "matmul", {x, transposed})});
  fold(graph);
  EXPECT_EQ(count_nodes(graph), 2u);
  EXPECT_FALSE(graph.value(w).is_frozen);
}

TEST(FoldConstants, FreezesParametersThatAreBounds) {
  Graph graph("net");
  const ValueId x = graph.add_input("x", Type(DType::Float32, {2}));
  const ValueId limit = graph.add_parameter("limit", Tensor::scalar_float(6));
  graph.set_outputs({graph.add_node(Op::Clip, "clip", {x, graph::kNone, limit})});
  fold(graph);
  EXPECT_TRUE(graph.value(limit).is_frozen);
}

TEST(FoldConstants, FoldsOutputs) {
  Graph graph("net");
  const ValueId two =
      graph.add_node(Op::Add, "two", {graph.add_constant("a", Tensor::scalar_float(1)), graph.add_constant("b", Tensor::scalar_float(1))});
  graph.set_outputs({two, two});
  fold(graph);
  EXPECT_EQ(count_nodes(graph), 0u);
  EXPECT_EQ(graph.value(graph.outputs()[0]).kind, ValueKind::Constant);
  EXPECT_EQ(graph.outputs()[0], graph.outputs()[1]);
}

TEST(FoldConstants, ReportsAnIndexThatIsOutOfRange) {
  Graph graph("net");
  const ValueId x = graph.add_input("x", Type(DType::Float32, {2, 3}));
  const ValueId shape = graph.add_node(Op::Shape, "shape", {x});
  const ValueId dim = graph.add_node(Op::Gather, "dim", {shape, graph.add_constant("index", Tensor::int64s(std::vector<int64_t>{5}))});
  graph.set_outputs({graph.add_node(Op::Reshape, "reshape", {x, dim})});
  PassContext context;
  const Status status = fold_constants(graph, context);
  EXPECT_EQ(status.code(), Code::IndexOutOfRange);
  EXPECT_NE(std::string(status.message()).find("dim"), std::string::npos);
}

std::shared_ptr<Graph> branch(Op op, const std::string& captured) {
  auto body = std::make_shared<Graph>("branch");
  const ValueId outer = body->add_outer(captured, Type(DType::Float32, {2}));
  body->set_outputs({body->add_node(op, "inner", {outer})});
  return body;
}

TEST(FoldConstants, InlinesTheBranchThatAConstantConditionChooses) {
  Graph graph("net");
  const ValueId x = graph.add_input("x", Type(DType::Float32, {2}));
  const ValueId z = graph.add_input("z", Type(DType::Float32, {2}));
  const ValueId rank = graph.add_node(Op::Size, "size", {x});
  const ValueId condition = graph.add_node(Op::Equal, "equal", {rank, graph.add_constant("three", Tensor::scalar_int64(3))});
  const ValueId y = graph.add_node(Op::If, "if", {condition, x, z},
                                   {{"then_branch", branch(Op::Neg, "x")}, {"else_branch", branch(Op::Abs, "z")}, {"captured", int64_t{2}}});
  graph.set_outputs({y});
  fold(graph);
  ASSERT_EQ(count_nodes(graph), 1u);
  const graph::Node& node = graph.node(graph.topological_order()[0]);
  EXPECT_EQ(node.op, Op::Abs);
  EXPECT_EQ(node.inputs[0], z);
}

}  // namespace
}  // namespace tiffin::passes
