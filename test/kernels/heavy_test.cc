// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "compiler/kernel/printer.h"
#include "test/kernels/kernel_cases.h"

namespace tiffin::kernel_cases {
namespace {

using graph::Attributes;
using graph::Op;
using graph::Tensor;
using graph::ValueId;

TEST(Heavy, MatMulOfAllRanks) {
  const std::vector<std::pair<std::vector<int64_t>, std::vector<int64_t>>> shapes = {
      {{5, 33}, {33, 40}}, {{1, 64}, {64, 7}}, {{3, 7, 20}, {20, 37}}, {{2, 1, 5, 9}, {3, 9, 33}},
      {{65}, {65, 18}},    {{4, 65}, {65}},    {{70}, {70}},           {{9, 0}, {0, 4}}};
  uint64_t seed = 2000;
  for (const auto& [a, b] : shapes) {
    for (DType dtype : {DType::Float32, DType::Float64, DType::Int32, DType::Float16}) {
      Case c(seed++);
      ValueId product = c.node(Op::MatMul, {c.input(dtype, a), c.input(dtype, b)});
      c.graph.set_outputs({dtype == DType::Int32 ? product : c.node(Op::Relu, {product})});
      expect_agreement(c, 1e-4);
    }
  }
}

// Windows of one step keep an image's size, so that all axes of the result step through the data together; its borders are still rows' own.
TEST(Heavy, PoolsOfBlockedImagesAreVectors) {
  uint64_t seed = 2050;
  for (const Op op : {Op::MaxPool, Op::AveragePool}) {
    Case c(seed++);
    const Attributes window{{"kernel_shape", std::vector<int64_t>{5, 3, 1}}, {"pads", std::vector<int64_t>{2, 1, 0, 2, 1, 0}}};
    c.graph.set_outputs({c.node(op, {c.input(DType::Float32, {1, 2, 7, 10, 8})}, window)});
    expect_agreement(c);
    kernel::LowerOptions options;
    options.machine = targets()[1].machine;
    const Result<kernel::LoweredKernel> lowered = kernel::lower_group(c.graph, c.graph.topological_order(), options);
    ASSERT_TRUE(lowered.has_value()) << lowered.error().message();
    EXPECT_NE(kernel::print(*lowered->kernel).find("float32x8"), std::string::npos) << kernel::print(*lowered->kernel);
  }
}

TEST(Heavy, GemmWithBias) {
  for (uint64_t seed = 2100; seed < 2106; ++seed) {
    Case c(seed);
    const bool turned = seed % 2 == 0;
    const int64_t m = c.extent(1, 9), n = c.extent(1, 40), k = c.extent(1, 90);
    ValueId b = turned ? c.input(DType::Float32, {n, k}) : c.input(DType::Float32, {k, n});
    ValueId y = c.node(Op::Gemm, {c.input(DType::Float32, {m, k}), b, c.input(DType::Float32, {n})}, Attributes{{"transB", int64_t{turned}}});
    c.graph.set_outputs({c.node(Op::Tanh, {y})});
    expect_agreement(c, 1e-4);
  }
}

TEST(Heavy, ConvolutionsOfAllForms) {
  for (uint64_t seed = 2200; seed < 2224; ++seed) {
    Case c(seed);
    const int64_t spatial = 1 + static_cast<int64_t>(seed % 3), group = c.extent(1, 2), inputs = group * c.extent(1, 3),
                  outputs = group * c.extent(1, 5);
    std::vector<int64_t> x{c.extent(1, 2), inputs}, w{outputs, inputs / group}, strides, pads, dilations;
    for (int64_t i = 0; i < spatial; ++i) {
      x.push_back(c.extent(6, i + 1 == spatial ? 40 : 9));
      w.push_back(c.extent(1, 3));
      strides.push_back(c.extent(1, 2));
      dilations.push_back(c.extent(1, 2));
    }
    for (int64_t i = 0; i < 2 * spatial; ++i) pads.push_back(c.extent(0, 2));
    ValueId y = c.node(Op::Conv, {c.input(DType::Float32, x), c.input(DType::Float32, w), c.input(DType::Float32, {outputs})},
                       Attributes{{"group", group}, {"strides", strides}, {"pads", pads}, {"dilations", dilations}});
    c.graph.set_outputs({c.node(Op::Relu, {y})});
    expect_agreement(c, 1e-4);
  }
}

TEST(Heavy, TransposedConvolutions) {
  for (uint64_t seed = 2300; seed < 2308; ++seed) {
    Case c(seed);
    const int64_t group = c.extent(1, 2), inputs = group * c.extent(1, 3);
    const std::vector<int64_t> strides{c.extent(1, 2), c.extent(1, 3)}, pads{c.extent(0, 1), c.extent(0, 1), c.extent(0, 1), 0};
    ValueId x = c.input(DType::Float32, {2, inputs, 4, 19}), w = c.input(DType::Float32, {inputs, c.extent(1, 3), 3, 2});
    c.graph.set_outputs({c.node(Op::ConvTranspose, {x, w}, Attributes{{"group", group}, {"strides", strides}, {"pads", pads}})});
    expect_agreement(c, 1e-4);
  }
}

TEST(Heavy, Pools) {
  for (uint64_t seed = 2400; seed < 2416; ++seed) {
    Case c(seed);
    const std::vector<int64_t> kernel{c.extent(2, 3), c.extent(2, 3)}, strides{c.extent(1, 2), c.extent(1, 2)};
    const std::vector<int64_t> pads{1, c.extent(0, 1), c.extent(0, 1), 1};
    Attributes attributes{{"kernel_shape", kernel}, {"strides", strides}, {"pads", pads}, {"ceil_mode", c.extent(0, 1)}};
    ValueId x = c.input(DType::Float32, {1, 3, 8, 37});
    Attributes average = attributes;
    average["count_include_pad"] = c.extent(0, 1);
    c.graph.set_outputs({c.node(Op::MaxPool, {x}, attributes), c.node(Op::AveragePool, {x}, average)});
    expect_agreement(c);
  }
}

TEST(Heavy, Reductions) {
  uint64_t seed = 2500;
  for (Op op : {Op::ReduceSum, Op::ReduceMean, Op::ReduceMax, Op::ReduceMin, Op::ReduceProd}) {
    for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0}, {1}, {2}, {1, 2}, {0, 2}, {0, 1, 2}}) {
      for (int64_t keeps : {0, 1}) {
        Case c(seed++);
        ValueId x = c.input(DType::Float32, {3, 7, 85}, 0.5, 1.5);
        ValueId y = c.node(op, {x, c.constant(Tensor::int64s(axes))}, Attributes{{"keepdims", keeps}});
        c.graph.set_outputs({c.node(Op::Neg, {y})});
        SCOPED_TRACE(std::string(graph::op_name(op)));
        expect_agreement(c, 1e-4);
      }
    }
  }
}

TEST(Heavy, ArgumentsOfExtremes) {
  uint64_t seed = 2600;
  for (Op op : {Op::ArgMax, Op::ArgMin}) {
    for (int64_t axis : {0, 1, 2}) {
      Case c(seed++);
      ValueId x = c.input(DType::Int32, {5, 7, 33}, 0, 4);
      c.graph.set_outputs({c.node(op, {x}, Attributes{{"axis", axis}, {"select_last_index", c.extent(0, 1)}, {"keepdims", c.extent(0, 1)}})});
      expect_agreement(c);
    }
  }
}

TEST(Heavy, RowsWithPrologueAndEpilogue) {
  for (uint64_t seed = 2700; seed < 2712; ++seed) {
    Case c(seed);
    ValueId x = c.input(DType::Float32, {2, 5, 35}), y = c.input(DType::Float32, {2, 5, 35});
    ValueId sum = c.node(Op::Add, {x, y});
    ValueId row = sum;
    if (seed % 2 == 0) {
      row = c.node(seed % 4 == 0 ? Op::Softmax : Op::LogSoftmax, {sum}, Attributes{{"axis", static_cast<int64_t>(seed % 3)}});
    } else {
      row = c.node(Op::LayerNormalization, {sum, c.input(DType::Float32, {35}), c.input(DType::Float32, {35})}, Attributes{{"axis", int64_t{-1}}});
    }
    c.graph.set_outputs({c.node(Op::Mul, {row, y})});
    expect_agreement(c, 1e-4);
  }
}

}  // namespace
}  // namespace tiffin::kernel_cases
