// SPDX-License-Identifier: Apache-2.0
#include "compiler/passes/decompose_operators.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "compiler/ops/infer.h"
#include "compiler/reference/evaluate.h"

namespace tiffin::passes {
namespace {

using graph::Attributes;
using graph::Graph;
using graph::Op;
using graph::Tensor;
using graph::Type;
using graph::ValueId;

Tensor random_tensor(std::vector<int64_t> shape, std::mt19937& random) {
  std::vector<float> values(static_cast<size_t>(graph::num_elements(shape)));
  for (float& value : values) value = static_cast<float>(random() % 2001) / 500.0f - 2;
  return Tensor::from<float>(DType::Float32, std::move(shape), std::span<const float>(values));
}

Graph graph_of(Op op, const std::vector<Tensor>& inputs, const std::vector<Tensor>& constants, const Attributes& attributes) {
  Graph graph("net");
  std::vector<ValueId> operands;
  for (size_t i = 0; i < inputs.size(); ++i) operands.push_back(graph.add_input("x" + std::to_string(i), inputs[i].type()));
  for (const Tensor& constant : constants) operands.push_back(constant.is_empty() ? graph::kNone : graph.add_constant("", constant));
  graph.set_outputs({graph.add_node(op, "node", operands, attributes)});
  return graph;
}

bool has_node(const Graph& graph, Op op) {
  for (const graph::NodeId id : graph.topological_order()) {
    if (graph.node(id).op == op) return true;
  }
  return false;
}

// The decomposed graph gives what the operator itself gives in the reference.
void expect_same(Op op, const std::vector<Tensor>& inputs, const std::vector<Tensor>& constants = {}, const Attributes& attributes = {}) {
  SCOPED_TRACE(std::string(graph::op_name(op)));
  Graph graph = graph_of(op, inputs, constants, attributes);
  ASSERT_TRUE(ops::infer_types(graph).is_ok());
  auto expected = reference::evaluate_graph(graph, inputs);
  ASSERT_TRUE(expected.has_value()) << expected.error().message();
  PassContext context;
  const Status status = decompose_operators(graph, context);
  ASSERT_TRUE(status.is_ok()) << status.message();
  EXPECT_FALSE(has_node(graph, op));
  auto actual = reference::evaluate_graph(graph, inputs);
  ASSERT_TRUE(actual.has_value()) << actual.error().message();
  ASSERT_EQ((*actual)[0].type(), (*expected)[0].type());
  const std::vector<double> a = (*actual)[0].to_doubles(), b = (*expected)[0].to_doubles();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 2e-6 * (1 + std::fabs(b[i]))) << "element " << i;
}

TEST(DecomposeOperators, ActivationsKeepTheirValues) {
  std::mt19937 random(1);
  const Tensor x = random_tensor({3, 5}, random);
  for (const Op op :
       {Op::Celu, Op::HardSwish, Op::Mish, Op::Reciprocal, Op::Selu, Op::Shrink, Op::Softsign, Op::Swish, Op::Tan, Op::ThresholdedRelu}) {
    expect_same(op, {x});
  }
  expect_same(Op::PRelu, {x, random_tensor({5}, random)});
  expect_same(Op::Celu, {x}, {}, {{"alpha", 2.0}});
}

TEST(DecomposeOperators, VariadicOperatorsBecomeChains) {
  std::mt19937 random(2);
  const std::vector<Tensor> inputs{random_tensor({2, 3}, random), random_tensor({3}, random), random_tensor({1}, random)};
  expect_same(Op::Sum, inputs);
  expect_same(Op::Mean, inputs);
}

TEST(DecomposeOperators, ReductionsKeepTheirValues) {
  std::mt19937 random(3);
  const Tensor x = random_tensor({2, 3, 4}, random), axes = Tensor::int64s(std::vector<int64_t>{-1, 0});
  for (const Op op : {Op::ReduceL1, Op::ReduceL2, Op::ReduceLogSumExp, Op::ReduceSumSquare}) {
    expect_same(op, {x}, {axes}, {{"keepdims", int64_t{0}}});
    expect_same(op, {x}, {axes});
  }
  expect_same(Op::GlobalAveragePool, {random_tensor({2, 3, 4, 5}, random)});
  expect_same(Op::GlobalMaxPool, {random_tensor({2, 3, 4, 5}, random)});
  expect_same(Op::LpPool, {random_tensor({1, 2, 6}, random)}, {}, {{"kernel_shape", std::vector<int64_t>{3}}});
}

TEST(DecomposeOperators, MovementsKeepTheirValues) {
  std::mt19937 random(4);
  const Tensor x = random_tensor({1, 4, 2, 6}, random);
  const auto list = [](std::vector<int64_t> values) { return Tensor::int64s(values); };
  expect_same(Op::Flatten, {x});
  expect_same(Op::Squeeze, {x}, {list({0})});
  expect_same(Op::Unsqueeze, {x}, {list({0, -1})});
  expect_same(Op::Tile, {x}, {list({1, 2, 1, 3})});
  expect_same(Op::DepthToSpace, {x}, {}, {{"blocksize", int64_t{2}}});
  expect_same(Op::DepthToSpace, {x}, {}, {{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}});
  expect_same(Op::SpaceToDepth, {x}, {}, {{"blocksize", int64_t{2}}});
  expect_same(Op::Hardmax, {x}, {}, {{"axis", int64_t{1}}});
}

TEST(DecomposeOperators, ResizeKeepsItsValues) {
  std::mt19937 random(5);
  const Tensor x = random_tensor({1, 2, 5, 7}, random), sizes = Tensor::int64s(std::vector<int64_t>{1, 2, 8, 3});
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    SCOPED_TRACE(mode);
    expect_same(Op::Resize, {x}, {Tensor(), Tensor(), sizes}, {{"mode", std::string(mode)}});
    if (std::string(mode) != "nearest")
      expect_same(Op::Resize, {x}, {Tensor(), Tensor(), sizes}, {{"mode", std::string(mode)}, {"antialias", int64_t{1}}});
  }
}

TEST(DecomposeOperators, GeneralGemmBecomesPrimitives) {
  std::mt19937 random(6);
  const std::vector<Tensor> inputs{random_tensor({3, 2}, random), random_tensor({4, 3}, random), random_tensor({4}, random)};
  expect_same(Op::Gemm, inputs, {}, {{"alpha", 0.5}, {"beta", 2.0}, {"transA", int64_t{1}}, {"transB", int64_t{1}}});
}

TEST(DecomposeOperators, PlainFormsStay) {
  Graph graph("net");
  const ValueId a = graph.add_input("a", Type(DType::Float32, {2, 3})), b = graph.add_input("b", Type(DType::Float32, {3, 4}));
  const ValueId product = graph.add_node(Op::Gemm, "gemm", {a, b});
  graph.set_outputs({graph.add_node(Op::Max, "max", {product, product})});
  ASSERT_TRUE(ops::infer_types(graph).is_ok());
  PassContext context;
  ASSERT_TRUE(decompose_operators(graph, context).is_ok());
  EXPECT_TRUE(has_node(graph, Op::Gemm));
  EXPECT_TRUE(has_node(graph, Op::Max));
}

TEST(DecomposeOperators, EinsumMultipliesAnyEquation) {
  std::mt19937 random(7);
  const Tensor a = random_tensor({2, 3}, random), b = random_tensor({3, 4}, random);
  Graph graph = graph_of(Op::Einsum, {a, b}, {}, {{"equation", std::string("ij,jk->ki")}});
  ASSERT_TRUE(ops::infer_types(graph).is_ok());
  PassContext context;
  ASSERT_TRUE(decompose_operators(graph, context).is_ok());
  auto result = reference::evaluate_graph(graph, {a, b});
  ASSERT_TRUE(result.has_value()) << result.error().message();
  const std::vector<double> x = a.to_doubles(), y = b.to_doubles(), z = (*result)[0].to_doubles();
  for (size_t i = 0; i < 2; ++i) {
    for (size_t k = 0; k < 4; ++k) {
      double sum = 0;
      for (size_t j = 0; j < 3; ++j) sum += x[i * 3 + j] * y[j * 4 + k];
      EXPECT_NEAR(z[k * 2 + i], sum, 1e-5);
    }
  }
}

TEST(DecomposeOperators, TrainingModeStaysForLoweringToDecline) {
  Graph graph("net");
  const ValueId x = graph.add_input("x", Type(DType::Float32, {2}));
  const uint8_t is_training = 1;
  const ValueId mode = graph.add_constant("mode", Tensor::from<uint8_t>(DType::Bool, {}, {&is_training, 1}));
  graph.set_outputs({graph.add_node(Op::Dropout, "dropout", {x, graph::kNone, mode})});
  ASSERT_TRUE(ops::infer_types(graph).is_ok());
  PassContext context;
  ASSERT_TRUE(decompose_operators(graph, context).is_ok());
  EXPECT_TRUE(has_node(graph, Op::Dropout));
}

}  // namespace
}  // namespace tiffin::passes
