// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/ops/infer.h"
#include "compiler/passes/decompose_operators.h"
#include "compiler/reference/evaluate.h"
#include "test/kernels/kernel_cases.h"

namespace tiffin::kernel_cases {
namespace {

using graph::Attributes;
using graph::Op;
using graph::Tensor;
using graph::ValueId;

std::vector<int64_t> random_shape(Case& c, int most_axes = 4) {
  static constexpr int64_t kExtents[] = {1, 2, 3, 5, 7, 16, 17, 33};
  std::vector<int64_t> shape(static_cast<size_t>(c.extent(0, most_axes)));
  for (int64_t& extent : shape) extent = kExtents[c.extent(0, 7)];
  return shape;
}

std::vector<int64_t> broadcastable(Case& c, std::vector<int64_t> shape) {
  for (int64_t& extent : shape) extent = c.extent(0, 3) == 0 ? 1 : extent;
  const int64_t dropped = shape.empty() || c.extent(0, 2) != 0 ? 0 : c.extent(0, static_cast<int64_t>(shape.size()));
  shape.erase(shape.begin(), shape.begin() + dropped);
  return shape;
}

TEST(Elementwise, UnaryFloatOperators) {
  const Op ops[] = {Op::Abs,   Op::Acos,    Op::Asin, Op::Asinh,       Op::Atan,  Op::Ceil,     Op::Cos,       Op::Cosh, Op::Elu, Op::Erf,
                    Op::Exp,   Op::Floor,   Op::Gelu, Op::HardSigmoid, Op::IsInf, Op::IsNaN,    Op::LeakyRelu, Op::Log,  Op::Neg, Op::Relu,
                    Op::Round, Op::Sigmoid, Op::Sign, Op::Sin,         Op::Sinh,  Op::Softplus, Op::Sqrt,      Op::Tanh};
  uint64_t seed = 100;
  for (Op op : ops) {
    for (DType dtype : {DType::Float32, DType::Float64, DType::Float16}) {
      if (dtype != DType::Float32 && (op == Op::IsInf || op == Op::IsNaN)) continue;
      Case c(seed++);
      c.graph.set_outputs({c.node(op, {c.input(dtype, random_shape(c))})});
      SCOPED_TRACE(std::string(graph::op_name(op)));
      expect_agreement(c);
    }
  }
}

TEST(Elementwise, BinaryOperatorsBroadcast) {
  const Op ops[] = {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Max, Op::Min, Op::Less, Op::LessOrEqual, Op::Equal, Op::Pow};
  uint64_t seed = 300;
  for (Op op : ops) {
    for (DType dtype : {DType::Float32, DType::Float64, DType::Int32, DType::Int64, DType::UInt8, DType::BFloat16}) {
      if ((op == Op::Pow || op == Op::Less || op == Op::LessOrEqual || op == Op::Equal) && (dtype == DType::BFloat16 || dtype == DType::UInt8))
        continue;
      Case c(seed++);
      const auto shape = random_shape(c);
      const bool is_pow = op == Op::Pow;
      ValueId a = c.input(dtype, shape, is_pow ? 1 : -9, 9), b = c.input(dtype, broadcastable(c, shape), is_pow ? 0 : -5, 5);
      c.graph.set_outputs({c.node(op, {a, b})});
      SCOPED_TRACE(std::string(graph::op_name(op)) + " " + std::string(dtype_name(dtype)));
      expect_agreement(c);
    }
  }
}

TEST(Elementwise, IntegerOperators) {
  uint64_t seed = 500;
  for (Op op : {Op::BitwiseAnd, Op::BitwiseOr, Op::BitwiseXor, Op::Mod}) {
    for (DType dtype : {DType::Int8, DType::Int32, DType::UInt16, DType::Int64}) {
      Case c(seed++);
      const auto shape = random_shape(c);
      c.graph.set_outputs({c.node(op, {c.input(dtype, shape, 1, 90), c.input(dtype, shape, 1, 20)})});
      expect_agreement(c);
    }
  }
}

TEST(Elementwise, ModOfFloatsTakesEitherSign) {
  uint64_t seed = 550;
  for (DType dtype : {DType::Float32, DType::Float64, DType::Float16}) {
    for (int64_t fmod : {0, 1}) {
      Case c(seed++);
      c.graph.set_outputs({c.node(Op::Mod, {c.input(dtype, {4, 33}, -9, 9), c.input(dtype, {33}, -4, 4)}, Attributes{{"fmod", fmod}})});
      expect_agreement(c);
    }
  }
}

TEST(Elementwise, CastsBetweenAllTypes) {
  const DType dtypes[] = {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16, DType::Int8,
                          DType::Int32,   DType::Int64,   DType::UInt8,   DType::Bool};
  uint64_t seed = 600;
  for (DType from : dtypes) {
    for (DType to : dtypes) {
      Case c(seed++);
      ValueId x = c.input(from, {3, 37}, -100, 100);
      c.graph.set_outputs({c.node(Op::Cast, {x}, Attributes{{"to", static_cast<int64_t>(to)}})});
      SCOPED_TRACE(std::string(dtype_name(from)) + " to " + std::string(dtype_name(to)));
      expect_agreement(c);
    }
  }
}

// ONNX truncates the power to the base's type: a power that is a whole number may not end one below it.
TEST(Elementwise, PowersOfIntegersByFloatsAreNotTruncatedBelowWholeNumbers) {
  uint64_t seed = 650;
  for (DType base : {DType::Int32, DType::Int64}) {
    for (DType exponent : {DType::Float32, DType::Float64}) {
      for (const double power : {0.0, 0.5, 1.0, 1.5, 2.0, 3.0, -1.0}) {
        Case c(seed++);
        std::vector<int64_t> roots, expected;
        const int64_t most = power > 2 ? 40 : 200;
        for (int64_t root = 1; root <= most; ++root) {
          const bool is_fraction = power != std::floor(power);
          roots.push_back(is_fraction ? root * root : root);
          expected.push_back(static_cast<int64_t>(std::pow(static_cast<long double>(roots.back()), static_cast<long double>(power))));
        }
        const ValueId x = c.graph.add_input("x", graph::Type::with_shape(DType::Int64, std::vector<int64_t>{most}));
        c.inputs.push_back(Tensor::int64s(roots));
        const ValueId narrow = c.node(Op::Cast, {x}, Attributes{{"to", static_cast<int64_t>(base)}});
        const ValueId y =
            c.node(Op::Cast, {c.constant(Tensor::from<double>(DType::Float64, {}, {&power, 1}))}, Attributes{{"to", static_cast<int64_t>(exponent)}});
        c.graph.set_outputs({c.node(Op::Pow, {narrow, y})});
        ASSERT_TRUE(ops::infer_types(c.graph).is_ok());
        passes::PassContext context;
        ASSERT_TRUE(passes::decompose_operators(c.graph, context).is_ok());
        const auto results = reference::evaluate_graph(c.graph, c.inputs);
        ASSERT_TRUE(results.has_value());
        EXPECT_EQ(results->at(0).to_int64s(), expected) << "power " << power;
        expect_agreement(c);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(Elementwise, ChainsOfOperatorsFuse) {
  for (uint64_t seed = 700; seed < 720; ++seed) {
    Case c(seed);
    const auto shape = random_shape(c);
    ValueId x = c.input(DType::Float32, shape), y = c.input(DType::Float32, broadcastable(c, shape)),
            z = c.input(DType::Bool, broadcastable(c, shape), 0, 3);
    ValueId sum = c.node(Op::Add, {x, y});
    ValueId gate = c.node(Op::Sigmoid, {sum});
    ValueId product = c.node(Op::Mul, {sum, gate});
    ValueId chosen = c.node(Op::Where, {z, product, x});
    c.graph.set_outputs({chosen, sum});
    expect_agreement(c);
  }
}

TEST(Elementwise, EmptyTensorsHaveNoUnits) {
  Case c(1);
  c.graph.set_outputs({c.node(Op::Add, {c.input(DType::Float32, {3, 0}), c.input(DType::Float32, {1})})});
  expect_agreement(c);
}

}  // namespace
}  // namespace tiffin::kernel_cases
