// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "compiler/ops/infer.h"
#include "test/kernels/kernel_cases.h"

namespace tiffin::kernel_cases {
namespace {

using graph::Attributes;
using graph::Op;
using graph::Tensor;
using graph::ValueId;

TEST(Movement, ReshapeTransposeSliceChains) {
  for (uint64_t seed = 1000; seed < 1020; ++seed) {
    Case c(seed);
    const int64_t heads = c.extent(1, 4), depth = c.extent(1, 20), length = c.extent(1, 9);
    ValueId x = c.input(DType::Float32, {2, length, heads * depth});
    ValueId split = c.node(Op::Reshape, {x, c.constant(Tensor::int64s(std::vector<int64_t>{2, length, heads, depth}))});
    ValueId turned = c.node(Op::Transpose, {split}, Attributes{{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    ValueId back = c.node(Op::Transpose, {turned}, Attributes{{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    ValueId flat = c.node(Op::Reshape, {back, c.constant(Tensor::int64s(std::vector<int64_t>{2 * length, heads * depth}))});
    c.graph.set_outputs({c.node(Op::Neg, {flat}), c.node(Op::Abs, {turned})});
    expect_agreement(c);
  }
}

TEST(Movement, SliceForwardAndBackward) {
  for (uint64_t seed = 1100; seed < 1110; ++seed) {
    Case c(seed);
    ValueId x = c.input(DType::Int32, {7, 40}, -99, 99);
    const std::vector<int64_t> starts{c.extent(0, 3), -1}, ends{7, c.extent(-41, 10)}, axes{0, 1}, steps{c.extent(1, 2), -c.extent(1, 3)};
    ValueId y = c.node(Op::Slice, {x, c.constant(Tensor::int64s(starts)), c.constant(Tensor::int64s(ends)), c.constant(Tensor::int64s(axes)),
                                   c.constant(Tensor::int64s(steps))});
    c.graph.set_outputs({y});
    expect_agreement(c);
  }
}

TEST(Movement, ConcatAlongEachAxis) {
  for (uint64_t seed = 1200; seed < 1212; ++seed) {
    Case c(seed);
    const auto axis = static_cast<size_t>(seed % 3);
    std::vector<ValueId> parts;
    for (int i = 0; i < 3; ++i) {
      std::vector<int64_t> shape{2, 3, 35};
      shape[axis] = c.extent(1, 40);
      parts.push_back(c.input(DType::Float32, shape));
    }
    ValueId joined = c.node(Op::Concat, parts, Attributes{{"axis", static_cast<int64_t>(axis)}});
    c.graph.set_outputs({c.node(Op::Exp, {joined})});
    expect_agreement(c);
  }
}

TEST(Movement, PanelsOfComputedMatrices) {
  uint64_t seed = 1250;
  for (const int64_t columns : {1, 15, 16, 17, 32, 41, 0}) {
    for (const DType dtype : {DType::Float32, DType::Float16, DType::Int8}) {
      Case c(seed++);
      const ValueId matrix = c.node(Op::Transpose, {c.input(dtype, {columns, 3, c.extent(1, 5)})});
      c.graph.set_outputs({c.node(Op::PackPanels, {matrix})});
      expect_agreement(c);
    }
  }
}

TEST(Movement, PadInEveryMode) {
  uint64_t seed = 1300;
  for (const char* mode : {"constant", "edge", "reflect", "wrap"}) {
    for (int i = 0; i < 4; ++i) {
      Case c(seed++);
      ValueId x = c.input(DType::Float32, {2, 9, 37});
      const std::vector<int64_t> pads{0, c.extent(0, 3), c.extent(-2, 5), 0, c.extent(-1, 4), c.extent(0, 6)};
      c.graph.set_outputs({c.node(Op::Pad, {x, c.constant(Tensor::int64s(pads))}, Attributes{{"mode", std::string(mode)}})});
      SCOPED_TRACE(mode);
      expect_agreement(c);
    }
  }
}

TEST(Movement, GathersCheckAndWrapIndices) {
  for (uint64_t seed = 1400; seed < 1410; ++seed) {
    Case c(seed);
    ValueId table = c.input(DType::Float32, {11, 5, 18});
    const int64_t axis = static_cast<int64_t>(seed % 3);
    ValueId indices = c.input(seed % 2 == 0 ? DType::Int64 : DType::Int32, {3, 19}, -5, 4.4);
    c.graph.set_outputs({c.node(Op::Gather, {table, indices}, Attributes{{"axis", axis}})});
    expect_agreement(c);
    Case elements(seed);
    ValueId data = elements.input(DType::Float32, {6, 7, 20});
    ValueId at = elements.input(DType::Int64, {6, 3, 18}, -6, 5.4);
    elements.graph.set_outputs({elements.node(Op::GatherElements, {data, at}, Attributes{{"axis", seed % 2 == 0 ? int64_t{0} : int64_t{2}}})});
    expect_agreement(elements);
    Case nd(seed);
    ValueId source = nd.input(DType::Float32, {4, 5, 33}), tuples = nd.input(DType::Int64, {4, 3, 1}, -5, 4.4);
    nd.graph.set_outputs({nd.node(Op::GatherND, {source, tuples}, Attributes{{"batch_dims", int64_t{1}}})});
    expect_agreement(nd);
  }
}

TEST(Movement, GatherFailsOutsideTheAxis) {
  Case c(1);
  ValueId table = c.input(DType::Float32, {4, 16});
  const std::vector<int64_t> bad{0, 4};
  c.inputs.push_back(Tensor::int64s(bad));
  ValueId indices = c.graph.add_input("", graph::Type::with_shape(DType::Int64, std::vector<int64_t>{2}));
  c.graph.set_outputs({c.node(Op::Gather, {table, indices})});
  ASSERT_TRUE(ops::infer_types(c.graph).is_ok());
  const auto order = c.graph.topological_order();
  for (const codegen::Target& target : targets()) {
    auto lowered = kernel::lower_group(c.graph, order, {.machine = target.machine});
    ASSERT_TRUE(lowered.has_value());
    std::vector<Tensor> values(c.graph.value_capacity());
    for (size_t i = 0; i < c.inputs.size(); ++i) values[static_cast<size_t>(c.graph.inputs()[i])] = c.inputs[i];
    EXPECT_EQ(run(*lowered, c.graph, values).code(), Code::IndexOutOfRange);
  }
}

}  // namespace
}  // namespace tiffin::kernel_cases
