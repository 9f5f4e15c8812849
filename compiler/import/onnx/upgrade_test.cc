// SPDX-License-Identifier: Apache-2.0
// Older operator forms, seen through a whole import.
#include "compiler/import/onnx/upgrade.h"

#include <gtest/gtest.h>

#include "compiler/graph/unsupported_list.h"
#include "compiler/import/onnx/import_onnx.h"
#include "compiler/import/onnx/model_bytes.h"

namespace tiffin::import {
namespace {

using graph::Node;
using graph::Op;

// One node from x to y at an opset, and what became of it.
class Upgraded {
 public:
  Upgraded(NodeBytes node, int64_t opset, std::vector<DimBytes> dims = {2, 3, 4, 4}, std::vector<TensorBytes> tensors = {},
           std::vector<std::string> outputs = {"y"})
      : bytes_(ModelBytes{{{std::move(node)}, {{"x", std::move(dims)}}, std::move(outputs), std::move(tensors)}, opset}.bytes()),
        imported_(import_onnx(as_span(bytes_), nullptr, "", {})) {}

  bool is_ok() const { return failure().is_ok(); }
  Status failure() const { return imported_.has_value() ? graph::check_stand_ins(imported_->graph) : imported_.error().clone(); }
  std::vector<Op> ops() const {
    std::vector<Op> out;
    for (const graph::NodeId id : imported_->graph.topological_order()) out.push_back(imported_->graph.node(id).op);
    return out;
  }
  // The node that gives y.
  const Node& last() const { return imported_->graph.node(imported_->graph.value(imported_->graph.outputs()[0]).producer); }
  bool has_input(size_t i) const { return last().input(i) != graph::kNone; }
  std::vector<int64_t> ints(size_t i) const { return tensor(i)->to_int64s(); }
  std::vector<double> floats(size_t i) const { return tensor(i)->to_doubles(); }

 private:
  const graph::Tensor* tensor(size_t i) const { return imported_->graph.tensor_of(last().input(i)); }

  std::string bytes_;
  Result<ImportedModel> imported_;
};

using Ints = std::vector<int64_t>;
using Ops = std::vector<Op>;

TEST(Upgrade, AxesBecomeAnInput) {
  for (const char* op_type : {"Squeeze", "Unsqueeze", "ReduceMean", "ReduceSum"}) {
    const Upgraded upgraded(NodeBytes(op_type, {"x"}, {"y"}).with("axes", Ints{1, 2}), 11);
    ASSERT_TRUE(upgraded.is_ok()) << op_type;
    EXPECT_EQ(upgraded.ints(1), (Ints{1, 2}));
    EXPECT_FALSE(upgraded.last().has_attribute("axes"));
  }
  EXPECT_FALSE(Upgraded(NodeBytes("ReduceMax", {"x"}, {"y"}), 11).has_input(1));
  EXPECT_EQ(Upgraded(NodeBytes("Unsqueeze", {"x"}, {"y"}), 11).failure().code(), Code::InvalidModel);
}

TEST(Upgrade, ClipBoundsBecomeInputs) {
  const Upgraded both(NodeBytes("Clip", {"x"}, {"y"}).with("min", 0.0f).with("max", 6.0f), 6);
  EXPECT_EQ(both.floats(1), std::vector<double>{0});
  EXPECT_EQ(both.floats(2), std::vector<double>{6});
  EXPECT_EQ(Upgraded(NodeBytes("Clip", {"x"}, {"y"}).with("min", 0.0f), 10).floats(2), std::vector<double>{3.4028234663852886e38});
  EXPECT_EQ(Upgraded(NodeBytes("Clip", {"x", "", ""}, {"y"}), 11).last().inputs.size(), 1u);
}

TEST(Upgrade, PadSliceSplitAndTopK) {
  const Upgraded pad(NodeBytes("Pad", {"x"}, {"y"}).with("pads", Ints{0, 0, 1, 1, 0, 0, 1, 1}).with("value", 2.0f), 10);
  EXPECT_EQ(pad.ints(1), (Ints{0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(pad.floats(2), std::vector<double>{2});
  const Upgraded slice(NodeBytes("Slice", {"x"}, {"y"}).with("starts", Ints{1}).with("ends", Ints{9}).with("axes", Ints{2}), 9);
  EXPECT_EQ(slice.ints(1), Ints{1});
  EXPECT_EQ(slice.ints(2), Ints{9});
  EXPECT_EQ(slice.ints(3), Ints{2});
  EXPECT_EQ(Upgraded(NodeBytes("Slice", {"x"}, {"y"}).with("starts", Ints{1}), 9).failure().code(), Code::InvalidModel);
  EXPECT_EQ(Upgraded(NodeBytes("Split", {"x"}, {"y", "z"}).with("split", Ints{1, 1}), 11).ints(1), (Ints{1, 1}));
  EXPECT_EQ(Upgraded(NodeBytes("Split", {"x"}, {"y", "z"}), 13).last().int_attribute("num_outputs", 0), 2);
  EXPECT_EQ(Upgraded(NodeBytes("TopK", {"x"}, {"y", "i"}).with("k", int64_t{2}), 9).ints(1), Ints{2});
}

TEST(Upgrade, SoftmaxOfSeveralAxesIsFlattened) {
  const Upgraded flat(NodeBytes("Softmax", {"x"}, {"y"}).with("axis", int64_t{2}), 11);
  EXPECT_EQ(flat.ops(), (Ops{Op::Flatten, Op::Softmax, Op::Shape, Op::Reshape}));
  EXPECT_EQ(flat.last().int_attribute("allowzero", 0), 1);
  const Upgraded last(NodeBytes("LogSoftmax", {"x"}, {"y"}), 11, {2, 3});
  EXPECT_EQ(last.ops(), Ops{Op::LogSoftmax});
  EXPECT_EQ(last.last().int_attribute("axis", 0), -1);
  EXPECT_EQ(Upgraded(NodeBytes("Hardmax", {"x"}, {"y"}), 13).ops(), Ops{Op::Hardmax});
  EXPECT_EQ(Upgraded(NodeBytes("Softmax", {"x"}, {"y"}).with("axis", int64_t{9}), 11).failure().code(), Code::InvalidModel);
}

TEST(Upgrade, TrainingIsDeclined) {
  const std::vector<TensorBytes> scale = {TensorBytes::floats("s", {3}, {1, 2, 3})};
  const auto batch_norm = [&](std::vector<std::string> outputs) { return NodeBytes("BatchNormalization", {"x", "s", "s", "s", "s"}, outputs, "bn"); };
  EXPECT_TRUE(Upgraded(batch_norm({"y"}), 9, {2, 3, 4, 4}, scale).is_ok());
  EXPECT_FALSE(Upgraded(batch_norm({"y"}).with("spatial", int64_t{1}), 7, {2, 3, 4, 4}, scale).last().has_attribute("spatial"));
  for (const Upgraded& declined :
       {Upgraded(batch_norm({"y"}).with("spatial", int64_t{0}), 7, {2, 3, 4, 4}, scale),
        Upgraded(batch_norm({"y", "m", "v"}), 9, {2, 3, 4, 4}, scale), Upgraded(batch_norm({"y"}), 6, {2, 3, 4, 4}, scale)}) {
    ASSERT_FALSE(declined.is_ok());
    EXPECT_EQ(declined.failure().code(), Code::UnsupportedOperator);
    EXPECT_NE(std::string(declined.failure().message()).find("'bn'"), std::string::npos);
  }
}

TEST(Upgrade, DropoutOfInference) {
  const Upgraded unread(NodeBytes("Dropout", {"x"}, {"y", "mask"}).with("ratio", 0.25f), 9);
  ASSERT_TRUE(unread.is_ok());
  EXPECT_EQ(unread.last().outputs.size(), 1u);
  EXPECT_EQ(unread.floats(1), std::vector<double>{0.25});
  EXPECT_FALSE(unread.has_input(2));
  EXPECT_EQ(Upgraded(NodeBytes("Dropout", {"x"}, {"y", "mask"}), 9, {2}, {}, {"y", "mask"}).failure().code(), Code::UnsupportedOperator);
  EXPECT_TRUE(Upgraded(NodeBytes("Dropout", {"x"}, {"y", "mask"}), 10, {2}, {}, {"y", "mask"}).is_ok());
}

TEST(Upgrade, UpsampleAndOldResize) {
  const Upgraded upsample(NodeBytes("Upsample", {"x"}, {"y"}).with("scales", std::vector<float>{1, 1, 2, 2}), 7);
  EXPECT_EQ(upsample.ops(), Ops{Op::Resize});
  EXPECT_EQ(upsample.floats(2), (std::vector<double>{1, 1, 2, 2}));
  EXPECT_FALSE(upsample.has_input(1));
  EXPECT_EQ(upsample.last().string_attribute("coordinate_transformation_mode", ""), "asymmetric");
  EXPECT_EQ(upsample.last().string_attribute("nearest_mode", ""), "floor");
  const auto resize = [](std::vector<float> scales) {
    return Upgraded(NodeBytes("Resize", {"x", "s"}, {"y"}), 10, {2, 3, 4, 4}, {TensorBytes::floats("s", {4}, scales)});
  };
  EXPECT_EQ(resize({1, 1, 0.5f, 0.5f}).last().string_attribute("nearest_mode", ""), "ceil");
  EXPECT_EQ(resize({1, 1, 0.5f, 2}).failure().code(), Code::UnsupportedOperator);
  const Upgraded empty(NodeBytes("Resize", {"x", "e", "e", "n"}, {"y"}), 11, {2, 3, 4, 4},
                       {TensorBytes::floats("e", {0}, {}), TensorBytes::ints("n", {2, 3, 8, 8})});
  EXPECT_FALSE(empty.has_input(1));
  EXPECT_FALSE(empty.has_input(2));
  EXPECT_TRUE(empty.has_input(3));
}

TEST(Upgrade, ChangedDefaultsAndNames) {
  const std::vector<TensorBytes> operand = {TensorBytes::floats("s", {3}, {1, 2, 3})};
  EXPECT_EQ(
      Upgraded(NodeBytes("RoiAlign", {"x", "s", "s"}, {"y"}), 10, {2, 3}, operand).last().string_attribute("coordinate_transformation_mode", ""),
      "output_half_pixel");
  EXPECT_EQ(Upgraded(NodeBytes("GridSample", {"x", "s"}, {"y"}), 16, {2, 3}, operand).last().string_attribute("mode", ""), "linear");
  EXPECT_EQ(Upgraded(NodeBytes("Scatter", {"x", "x", "x"}, {"y"}), 9).ops(), Ops{Op::ScatterElements});
  const Upgraded cast(NodeBytes("CastLike", {"x", "s"}, {"y"}), 19, {2, 3}, {TensorBytes{"s", 10, {1}, "ab", {}}});
  EXPECT_EQ(cast.ops(), Ops{Op::Cast});
  EXPECT_EQ(cast.last().int_attribute("to", 0), 10);
  EXPECT_EQ(cast.last().inputs.size(), 1u);
}

TEST(Upgrade, GroupNormalizationPerGroup) {
  const std::vector<TensorBytes> operand = {TensorBytes::floats("s", {3}, {1, 2, 3})};
  const NodeBytes node = NodeBytes("GroupNormalization", {"x", "s", "s"}, {"y"}).with("num_groups", int64_t{3});
  EXPECT_EQ(Upgraded(node, 18, {2, 3}, operand).ops().size(), 10u);
  EXPECT_EQ(Upgraded(node, 21, {2, 3}, operand).ops(), Ops{Op::GroupNormalization});
}

TEST(Upgrade, FormsBeforeOpset7) {
  const std::vector<TensorBytes> operand = {TensorBytes::floats("s", {3}, {1, 2, 3})};
  const Upgraded along(NodeBytes("Add", {"x", "s"}, {"y"}).with("broadcast", int64_t{1}).with("axis", int64_t{1}), 6, {2, 3, 4, 4}, operand);
  EXPECT_EQ(along.ops(), (Ops{Op::Unsqueeze, Op::Add}));
  EXPECT_TRUE(along.last().attributes.empty());
  EXPECT_EQ(Upgraded(NodeBytes("PRelu", {"x", "s"}, {"y"}), 6, {2, 3, 4}, operand).ops(), (Ops{Op::Unsqueeze, Op::PRelu}));
  EXPECT_EQ(Upgraded(NodeBytes("Relu", {"x"}, {"y"}), 5).failure().code(), Code::UnsupportedOperator);
  EXPECT_TRUE(Upgraded(NodeBytes("Not", {"x"}, {"y"}), 1).is_ok());
}

}  // namespace
}  // namespace tiffin::import
