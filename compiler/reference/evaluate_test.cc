// SPDX-License-Identifier: Apache-2.0
#include "compiler/reference/evaluate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tiffin::reference {
namespace {

using graph::Attributes;
using graph::Op;
using graph::Tensor;

Tensor floats(std::vector<int64_t> shape, std::vector<float> values) {
  return Tensor::from<float>(DType::Float32, std::move(shape), std::span<const float>(values));
}
Tensor ints(std::vector<int64_t> values) { return Tensor::int64s(values); }

// The first result of one operator.
Result<Tensor> run(Op op, std::vector<Tensor> inputs, Attributes attributes = {}) {
  graph::Graph graph("test");
  std::vector<graph::ValueId> operands;
  for (const Tensor& input : inputs) operands.push_back(input.is_empty() ? graph::kNone : graph.add_constant("", input));
  const graph::ValueId result = graph.add_node(op, "node", operands, std::move(attributes));
  TIFFIN_ASSIGN_OR_RETURN(std::vector<Tensor> results, evaluate(graph, graph.node(graph.value(result).producer), inputs));
  return results[0];
}

std::vector<double> values(const Result<Tensor>& result) {
  EXPECT_TRUE(result.has_value()) << (result.has_value() ? "" : result.error().message());
  return result.has_value() ? result->to_doubles() : std::vector<double>();
}

using Doubles = std::vector<double>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Evaluate, BroadcastsBinaryOperands) {
  EXPECT_EQ(values(run(Op::Add, {floats({2, 1}, {1, 2}), floats({3}, {10, 20, 30})})), (Doubles{11, 21, 31, 12, 22, 32}));
}

TEST(Evaluate, IntegersWrapAndDivisionNeverTraps) {
  const auto int32s = [](std::vector<int32_t> v) { return Tensor::from<int32_t>(DType::Int32, {static_cast<int64_t>(v.size())}, v); };
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  EXPECT_EQ(values(run(Op::Div, {int32s({7, -7, 7, kMin}), int32s({2, 2, 0, -1})})), (Doubles{3, -3, 0, kMin}));
  EXPECT_EQ(values(run(Op::Add, {int32s({std::numeric_limits<int32_t>::max()}), int32s({1})})), (Doubles{kMin}));
}

TEST(Evaluate, ModTakesTheSignOfTheDivisorUnlessFmod) {
  EXPECT_EQ(values(run(Op::Mod, {ints({-5, 5, -5, 5}), ints({3, -3, -3, 0})})), (Doubles{1, -1, -2, 0}));
  EXPECT_EQ(values(run(Op::Mod, {ints({-5, 5}), ints({3, -3})}, {{"fmod", int64_t{1}}})), (Doubles{-2, 2}));
  const std::vector<double> floats_mod = values(run(Op::Mod, {floats({4}, {-5, 5, -1, 4}), floats({4}, {3, -3, INFINITY, -2})}));
  EXPECT_EQ(floats_mod, (Doubles{1, -1, INFINITY, 0}));
  EXPECT_TRUE(std::signbit(floats_mod[3]));
}

TEST(Evaluate, NanSurvivesMaxMinReluAndClip) {
  const Tensor x = floats({2}, {kNan, -1});
  EXPECT_TRUE(std::isnan(values(run(Op::Max, {x, floats({1}, {0})}))[0]));
  EXPECT_TRUE(std::isnan(values(run(Op::Min, {floats({1}, {0}), x}))[0]));
  EXPECT_TRUE(std::isnan(values(run(Op::Relu, {x}))[0]));
  EXPECT_TRUE(std::isnan(values(run(Op::Clip, {x, floats({}, {0}), floats({}, {6})}))[0]));
  EXPECT_EQ(values(run(Op::Relu, {x}))[1], 0);
}

TEST(Evaluate, CastTruncatesAndSaturates) {
  const Tensor x = floats({6}, {2.9f, -2.9f, 300, -300, kNan, kInfinity});
  EXPECT_EQ(values(run(Op::Cast, {x}, {{"to", static_cast<int64_t>(DType::Int8)}})), (Doubles{2, -2, 127, -128, 0, 127}));
  EXPECT_EQ(values(run(Op::Cast, {x}, {{"to", static_cast<int64_t>(DType::UInt8)}})), (Doubles{2, 0, 255, 0, 0, 255}));
}

TEST(Evaluate, RoundsHalfToEven) { EXPECT_EQ(values(run(Op::Round, {floats({4}, {0.5, 1.5, 2.5, -0.5})})), (Doubles{0, 2, 2, 0})); }

TEST(Evaluate, HalfIsComputedInFloat) {
  const std::vector<uint16_t> halves{graph::float_to_half(1), graph::float_to_half(65504)};
  const Tensor x = Tensor::from<uint16_t>(DType::Float16, {2}, halves);
  EXPECT_EQ(values(run(Op::Add, {x, x})), (Doubles{2, HUGE_VAL}));
}

TEST(Evaluate, ReducesAlongAxes) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values(run(Op::ReduceSum, {x, ints({1})})), (Doubles{6, 15}));
  EXPECT_EQ(values(run(Op::ReduceMean, {x, ints({0})})), (Doubles{2.5, 3.5, 4.5}));
  EXPECT_EQ(values(run(Op::ReduceMax, {x})), (Doubles{6}));
  EXPECT_EQ(values(run(Op::ArgMax, {floats({4}, {1, 3, 3, 2})}, {{"axis", int64_t{0}}})), (Doubles{1}));
}

TEST(Evaluate, ReducesNothingToTheIdentity) {
  EXPECT_EQ(values(run(Op::ReduceSum, {floats({0, 2}, {}), ints({0})})), (Doubles{0, 0}));
  EXPECT_EQ(values(run(Op::ReduceMax, {floats({0, 2}, {}), ints({0})})), (Doubles{-HUGE_VAL, -HUGE_VAL}));
}

TEST(Evaluate, MultipliesMatricesAndVectors) {
  const Tensor a = floats({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(values(run(Op::MatMul, {a, a})), (Doubles{7, 10, 15, 22}));
  EXPECT_EQ(values(run(Op::MatMul, {a, floats({2}, {1, 1})})), (Doubles{3, 7}));
  EXPECT_EQ(values(run(Op::Gemm, {a, a, floats({2}, {100, 200})}, {{"transB", int64_t{1}}})), (Doubles{105, 211, 111, 225}));
}

TEST(Evaluate, ConvolvesWithPaddingStrideAndGroups) {
  const Tensor x = floats({1, 1, 3}, {1, 2, 3}), w = floats({1, 1, 3}, {1, 10, 100});
  EXPECT_EQ(values(run(Op::Conv, {x, w}, {{"pads", std::vector<int64_t>{1, 1}}})), (Doubles{210, 321, 32}));
  EXPECT_EQ(values(run(Op::Conv, {x, w, floats({1}, {0.5})}, {{"pads", std::vector<int64_t>{1, 1}}, {"strides", std::vector<int64_t>{2}}})),
            (Doubles{210.5, 32.5}));
  const Tensor two = floats({1, 2, 2}, {1, 2, 3, 4}), each = floats({2, 1, 1}, {10, 100});
  EXPECT_EQ(values(run(Op::Conv, {two, each}, {{"group", int64_t{2}}})), (Doubles{10, 20, 300, 400}));
}

TEST(Evaluate, PoolsWithoutCountingPadding) {
  const Attributes window{{"kernel_shape", std::vector<int64_t>{2}}, {"pads", std::vector<int64_t>{1, 1}}};
  EXPECT_EQ(values(run(Op::AveragePool, {floats({1, 1, 2}, {2, 4})}, window)), (Doubles{2, 3, 4}));
  EXPECT_EQ(values(run(Op::MaxPool, {floats({1, 1, 2}, {-2, -4})}, window)), (Doubles{-2, -2, -4}));
}

TEST(Evaluate, MovesElements) {
  const Tensor x = floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values(run(Op::Transpose, {x})), (Doubles{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(values(run(Op::Slice, {x, ints({2}), ints({-4}), ints({1}), ints({-2})})), (Doubles{3, 1, 6, 4}));
  EXPECT_EQ(values(run(Op::Concat, {x, x}, {{"axis", int64_t{1}}})), (Doubles{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
  EXPECT_EQ(values(run(Op::Pad, {floats({3}, {1, 2, 3}), ints({2, 1})}, {{"mode", std::string("reflect")}})), (Doubles{3, 2, 1, 2, 3, 2}));
  EXPECT_EQ(values(run(Op::Tile, {floats({2}, {1, 2}), ints({2})})), (Doubles{1, 2, 1, 2}));
}

TEST(Evaluate, GathersFromTheEndAndRefusesWhatIsOutside) {
  const Tensor x = floats({3}, {1, 2, 3});
  EXPECT_EQ(values(run(Op::Gather, {x, ints({-1, 0})})), (Doubles{3, 1}));
  const Result<Tensor> outside = run(Op::Gather, {x, ints({3})});
  ASSERT_FALSE(outside.has_value());
  EXPECT_EQ(outside.error().code(), Code::IndexOutOfRange);
}

TEST(Evaluate, ScattersWithReduction) {
  const Attributes sum{{"reduction", std::string("add")}};
  EXPECT_EQ(values(run(Op::ScatterElements, {floats({3}, {1, 2, 3}), ints({1, 1}), floats({2}, {10, 20})}, sum)), (Doubles{1, 32, 3}));
}

TEST(Evaluate, SoftmaxOfLargeNumbersStaysFinite) { EXPECT_EQ(values(run(Op::Softmax, {floats({2}, {1000, 1000})})), (Doubles{0.5, 0.5})); }

TEST(Evaluate, ResizesHalfPixelLinear) {
  const Attributes linear{{"mode", std::string("linear")}};
  EXPECT_EQ(values(run(Op::Resize, {floats({2}, {0, 4}), Tensor(), floats({1}, {2})}, linear)), (Doubles{0, 1, 3, 4}));
}

TEST(Evaluate, DeclinesWhatHasNoEvaluation) {
  const Result<Tensor> result = run(Op::Loop, {ints({1})});
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::UnsupportedOperator);
}

}  // namespace
}  // namespace tiffin::reference
