// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/catalogue.h"

#include <gtest/gtest.h>

#include <set>

#include "compiler/ops/inference_case.h"

namespace tiffin::ops {
namespace {

TEST(Catalogue, EveryOperatorHasAnInferenceCase) {
  std::set<std::string> names;
  for (const auto cases : {elementwise_and_movement_cases(), window_and_matrix_cases()}) {
    for (const InferenceCase& c : cases) names.insert(std::string(c.node).substr(0, std::string_view(c.node).find('(')));
  }
  for (int i = 0; i < graph::kOpCount; ++i) {
    const std::string name(graph::op_name(static_cast<graph::Op>(i)));
    EXPECT_TRUE(names.count(name) == 1) << name;
  }
}

TEST(Catalogue, RowsAreSound) {
  for (int i = 0; i < graph::kOpCount; ++i) {
    const auto op = static_cast<graph::Op>(i);
    const OperatorRow& row = operator_row(op);
    EXPECT_EQ(row.op, op);
    EXPECT_NE(row.infer, nullptr);
    EXPECT_TRUE(row.max_inputs < 0 || row.min_inputs <= row.max_inputs) << graph::op_name(op);
    EXPECT_TRUE(row.max_outputs < 0 || row.min_outputs <= row.max_outputs) << graph::op_name(op);
    EXPECT_NE(row.input_row(0).allowed, 0u) << graph::op_name(op);
    std::set<std::string> attributes;
    for (const AttributeRow& attribute : row.attributes()) EXPECT_TRUE(attributes.insert(attribute.name).second) << attribute.name;
  }
}

TEST(Catalogue, TheLastInputRowServesFurtherInputs) {
  EXPECT_EQ(operator_row(graph::Op::Concat).input_row(0).allowed, operator_row(graph::Op::Concat).input_row(99).allowed);
  EXPECT_TRUE(contains(operator_row(graph::Op::Gather).input_row(1).allowed, DType::Int64));
  EXPECT_FALSE(contains(operator_row(graph::Op::Gather).input_row(1).allowed, DType::Float32));
}

TEST(Catalogue, FindsAttributes) {
  ASSERT_NE(operator_row(graph::Op::Cast).find_attribute("to"), nullptr);
  EXPECT_TRUE(operator_row(graph::Op::Cast).find_attribute("to")->is_required);
  EXPECT_EQ(operator_row(graph::Op::Cast).find_attribute("too"), nullptr);
}

}  // namespace
}  // namespace tiffin::ops
