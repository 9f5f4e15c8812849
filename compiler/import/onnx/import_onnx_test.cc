// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/import_onnx.h"

#include <gtest/gtest.h>

#include "compiler/graph/unsupported_list.h"
#include "compiler/import/onnx/model_bytes.h"

namespace tiffin::import {
namespace {

using graph::Op;
using graph::ValueKind;

Result<ImportedModel> import_bytes(const std::string& bytes, const ImportOptions& options = {}) {
  return import_onnx(as_span(bytes), nullptr, "", options);
}

Result<ImportedModel> import_graph(GraphBytes graph, const ImportOptions& options = {}) {
  return import_bytes(ModelBytes{std::move(graph)}.bytes(), options);
}

// Code and words of the failure that an import must give.
template <class Imported>
void expect_failure(const Imported& imported, Code code, const std::vector<std::string>& words) {
  ASSERT_FALSE(imported.has_value());
  EXPECT_EQ(imported.error().code(), code) << imported.error().message();
  for (const auto& word : words)
    EXPECT_NE(std::string(imported.error().message()).find(word), std::string::npos) << word << " in " << imported.error().message();
}

GraphBytes relu_graph() {
  return {{NodeBytes("Add", {"x", "w"}, {"a"}, "add"), NodeBytes("Relu", {"a"}, {"y"}, "relu")},
          {{"x", {2, 3}}},
          {"y"},
          {TensorBytes::floats("w", {3}, {1, 2, 3})}};
}

TEST(ImportOnnx, ReadsASmallModel) {
  const std::string bytes = ModelBytes{relu_graph()}.bytes();
  const auto imported = import_bytes(bytes);
  ASSERT_TRUE(imported.has_value()) << imported.error().message();
  const graph::Graph& graph = imported->graph;
  EXPECT_EQ(imported->facts.opset, 17);
  EXPECT_EQ(imported->facts.producer, "test");
  EXPECT_EQ(imported->facts.ir_version, 8);
  ASSERT_EQ(graph.inputs().size(), 1u);
  EXPECT_EQ(to_string(graph.value(graph.inputs()[0]).type), "float32[2,3]");
  const graph::Value& weight = graph.value(graph.find_value("w"));
  EXPECT_EQ(weight.kind, ValueKind::Parameter);
  EXPECT_EQ(weight.tensor.at<float>(2), 3.0f);
  // The weight is not copied.
  EXPECT_GE(weight.tensor.bytes().data(), as_span(bytes).data());
  EXPECT_LT(weight.tensor.bytes().data(), as_span(bytes).data() + bytes.size());
  const auto order = graph.topological_order();
  ASSERT_EQ(order.size(), 2u);
  EXPECT_EQ(graph.node(order[0]).op, Op::Add);
  EXPECT_EQ(graph.node(order[1]).name, "relu");
  EXPECT_EQ(graph.output_names(), std::vector<std::string>{"y"});
}

TEST(ImportOnnx, EveryPrefixOfAFileIsAnError) {
  const std::string bytes = ModelBytes{relu_graph()}.bytes();
  for (size_t length = 0; length < bytes.size(); ++length) {
    const std::string prefix = bytes.substr(0, length);
    const auto imported = import_bytes(prefix);
    ASSERT_FALSE(imported.has_value()) << length;
    EXPECT_EQ(imported.error().code(), Code::InvalidModel) << length << ": " << imported.error().message();
  }
}

TEST(ImportOnnx, AFlippedByteNeverCrashes) {
  const std::string bytes = ModelBytes{relu_graph()}.bytes();
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int mask : {0x01, 0x08, 0x80, 0xFF}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ mask);
      const auto imported = import_bytes(damaged);
      EXPECT_TRUE(imported.has_value() || imported.error().code() != Code::Internal) << at;
    }
  }
}

TEST(ImportOnnx, PathsThatAreNoFile) {
  expect_failure(import_onnx("/nowhere/m.onnx", {}), Code::Io, {"/nowhere/m.onnx"});
  expect_failure(import_onnx("/tmp", {}), Code::Io, {"/tmp", "folder"});
}

TEST(ImportOnnx, FilesThatAreNoModel) {
  expect_failure(import_bytes(""), Code::InvalidModel, {"empty"});
  expect_failure(import_bytes("hello, this is a text file\n"), Code::InvalidModel, {});
  expect_failure(import_bytes(std::string("\x7f") + "ELF\2\1\1" + std::string(64, '\0')), Code::InvalidModel, {});
}

TEST(ImportOnnx, VersionsOutOfRange) {
  ModelBytes model{relu_graph()};
  model.opset = 99;
  expect_failure(import_bytes(model.bytes()), Code::InvalidModel, {"99", std::to_string(kNewestOpset)});
  model.opset = 0;
  expect_failure(import_bytes(model.bytes()), Code::InvalidModel, {"opset"});
  model.opset = 17;
  model.ir_version = 1000;
  expect_failure(import_bytes(model.bytes()), Code::InvalidModel, {"1000"});
}

// `rows` is the first dimension of the input.
GraphBytes unsupported_graph(DimBytes rows) {
  return {{NodeBytes("Frobnicate", {"x"}, {"a"}, "frob_1"), NodeBytes("Frobnicate", {"a"}, {"b"}),
           NodeBytes("Wibble", {"b"}, {"c"}, "wib", "org.example"), NodeBytes("PackPanels", {"c"}, {"y"}, "ours")},
          {{"x", {rows, 3}}},
          {"y"}};
}

const std::vector<std::string> kUnsupported = {"Frobnicate (2 nodes: 'frob_1', 'b')", "org.example.Wibble (1 node: 'wib')",
                                               "PackPanels (1 node: 'ours')"};

TEST(ImportOnnx, PutsStandInsForUnsupportedOperators) {
  const auto imported = import_graph(unsupported_graph(2));
  ASSERT_TRUE(imported.has_value()) << imported.error().message();
  const Status status = graph::check_stand_ins(imported->graph);
  EXPECT_EQ(status.code(), Code::UnsupportedOperator);
  for (const std::string& word : kUnsupported) EXPECT_NE(std::string(status.message()).find(word), std::string::npos) << status.message();
  EXPECT_EQ(imported->graph.value(imported->graph.outputs()[0]).type, graph::Type());
}

TEST(ImportOnnx, NamesUnsupportedOperatorsBeforeTypesAndOpenShapes) {
  GraphBytes strings = unsupported_graph(2);
  strings.initializers.push_back(TensorBytes{"w", 8, {1}, "", {}});
  expect_failure(import_graph(strings), Code::UnsupportedOperator, kUnsupported);
  const auto imported = import_graph(unsupported_graph("batch"));
  ASSERT_TRUE(imported.has_value()) << imported.error().message();
  const Status status = check_open_dims(imported->graph);
  EXPECT_EQ(status.code(), Code::UnsupportedOperator) << status.message();
}

TEST(ImportOnnx, BrokenStructureNamesThePlace) {
  const std::vector<ValueBytes> x = {{"x", {2, 3}}};
  const auto failure = [&](std::vector<NodeBytes> nodes, const std::vector<std::string>& words, std::vector<TensorBytes> tensors = {}) {
    expect_failure(import_graph({std::move(nodes), x, {"y"}, std::move(tensors)}), Code::InvalidModel, words);
  };
  failure({NodeBytes("Add", {"x", "b"}, {"a"}, "add_a"), NodeBytes("Relu", {"a"}, {"b"}), NodeBytes("Relu", {"b"}, {"y"})}, {"cycle", "add_a"});
  failure({NodeBytes("Relu", {"y"}, {"y"}, "self")}, {"cycle", "self"});
  failure({NodeBytes("Add", {"x", "nowhere"}, {"y"}, "add_1")}, {"add_1", "nowhere"});
  failure({NodeBytes("Relu", {"x"}, {"y"}, "r"), NodeBytes("Neg", {"x"}, {"y"}, "n")}, {"twice", "'y'", "'r'", "'n'"});
  failure({NodeBytes("Relu", {"x"}, {"x"}, "r"), NodeBytes("Relu", {"x"}, {"y"})}, {"twice", "'x'"});
  failure({NodeBytes("Relu", {"x"}, {"z"})}, {"output 'y'"});
  failure({NodeBytes("Relu", {"x"}, {})}, {"no output"});
  failure({NodeBytes("Relu", {"w"}, {"y"})}, {"'w'", "twice"}, {TensorBytes::floats("w", {}, {1}), TensorBytes::floats("w", {}, {1})});
  failure({NodeBytes("Relu", {"w"}, {"y"})}, {"'w'", "raw_data"}, {TensorBytes::floats("w", {3}, {1})});
  failure({NodeBytes("Relu", {"w"}, {"y"})}, {"'w'", "negative"}, {TensorBytes::floats("w", {-3}, {1})});
  failure({NodeBytes("Relu", {"w"}, {"y"})}, {"'w'", "overflow"}, {TensorBytes::floats("w", {int64_t{1} << 40, int64_t{1} << 40}, {1})});
  failure({NodeBytes("Relu", {"w"}, {"y"})}, {"'w'", "99"}, {TensorBytes{"w", 99, {}, "", {}}});
  failure({NodeBytes("Relu", {"x"}, {"y"}, "r").with("a", int64_t{1}).with("a", int64_t{2})}, {"'r'", "'a'"});
}

TEST(ImportOnnx, NamesHaveNoZeroByte) {
  const std::string name("x\0a", 3);
  expect_failure(import_graph({{NodeBytes("Relu", {name}, {"y"})}, {{name, {2}}}, {"y"}}), Code::InvalidModel, {"'x'", "zero byte"});
  expect_failure(import_graph({{NodeBytes("Relu", {"x"}, {name})}, {{"x", {2}}}, {name}}), Code::InvalidModel, {"'x'", "zero byte"});
}

TEST(ImportOnnx, NodesMayStandInAnyOrder) {
  const auto imported = import_graph({{NodeBytes("Relu", {"a"}, {"y"}), NodeBytes("Neg", {"x"}, {"a"})}, {{"x", {2}}}, {"y"}});
  ASSERT_TRUE(imported.has_value());
  EXPECT_EQ(imported->graph.node(imported->graph.topological_order()[0]).op, Op::Neg);
}

TEST(ImportOnnx, OutputsThatAreInputsOrListedTwice) {
  const auto imported = import_graph({{NodeBytes("Relu", {"x"}, {"y"})}, {{"x", {2}}}, {"x", "w", "y", "y"}, {TensorBytes::floats("w", {}, {1})}});
  ASSERT_TRUE(imported.has_value());
  const graph::Graph& graph = imported->graph;
  EXPECT_EQ(graph.output_names(), (std::vector<std::string>{"x", "w", "y", "y"}));
  EXPECT_EQ(graph.outputs()[0], graph.inputs()[0]);
  EXPECT_EQ(graph.outputs()[2], graph.outputs()[3]);
}

TEST(ImportOnnx, InitializersAmongInputsAreParameters) {
  GraphBytes graph = relu_graph();
  graph.inputs.insert(graph.inputs.begin(), ValueBytes{"w", {3}});
  graph.initializers.push_back(TensorBytes::floats("unused", {2}, {1, 2}));
  const auto imported = import_bytes(ModelBytes{graph, 9, {}, 3}.bytes());
  ASSERT_TRUE(imported.has_value());
  EXPECT_EQ(imported->graph.inputs().size(), 1u);
  EXPECT_EQ(imported->graph.value(imported->graph.find_value("unused")).kind, ValueKind::Parameter);
}

TEST(ImportOnnx, LargeConstantsAreParameters) {
  const auto imported = import_graph({{NodeBytes("Constant", {}, {"big"}).with("value", TensorBytes::floats("", {64}, std::vector<float>(64))),
                                       NodeBytes("Constant", {}, {"small"}).with("value", TensorBytes::floats("", {63}, std::vector<float>(63))),
                                       NodeBytes("Constant", {}, {"one"}).with("value_float", 1.5f), NodeBytes("Max", {"big", "one"}, {"y"})},
                                      {{"x", {2}}},
                                      {"y", "small"}});
  ASSERT_TRUE(imported.has_value()) << imported.error().message();
  const graph::Graph& graph = imported->graph;
  EXPECT_EQ(graph.value(graph.find_value("big")).kind, ValueKind::Parameter);
  EXPECT_EQ(graph.value(graph.find_value("small")).kind, ValueKind::Constant);
  EXPECT_EQ(graph.value(graph.find_value("one")).tensor.at<float>(0), 1.5f);
}

TEST(ImportOnnx, OmittedOperandsKeepTheirPlaces) {
  const auto imported = import_graph(
      {{NodeBytes("LSTM", {"x", "w", "w", "", "", "x", ""}, {"", "h", ""}, "lstm")}, {{"x", {2}}}, {"h"}, {TensorBytes::floats("w", {}, {1})}});
  ASSERT_TRUE(imported.has_value());
  const graph::Node& node = imported->graph.node(0);
  EXPECT_EQ(node.inputs.size(), 6u);
  EXPECT_EQ(node.inputs[3], graph::kNone);
  ASSERT_EQ(node.outputs.size(), 2u);
  EXPECT_EQ(node.outputs[0], graph::kNone);
  EXPECT_EQ(imported->graph.value(node.outputs[1]).output_index, 1);
}

GraphBytes two_inputs() { return {{NodeBytes("MatMul", {"a", "b"}, {"y"})}, {{"a", {"batch", 4, -1}}, {"b", {"batch", "n", 2}}}, {"y"}}; }

TEST(ImportOnnx, OpenDimensionsAreListed) {
  const auto imported = import_graph(two_inputs());
  ASSERT_TRUE(imported.has_value());
  const Status open = check_open_dims(imported->graph);
  EXPECT_EQ(open.code(), Code::OpenShape);
  for (const char* word : {"'batch'", "'n'", "--dim batch=N", "--dim n=N", "'a' axis 2", "--input-shape a=Ax4xB"}) {
    EXPECT_NE(std::string(open.message()).find(word), std::string::npos) << word << " in " << open.message();
  }
}

TEST(ImportOnnx, OptionsFixDimensions) {
  const auto imported = import_graph(two_inputs(), {{{"n", 5}}, {{"a", {3, 4, 7}}}});
  ASSERT_TRUE(imported.has_value()) << imported.error().message();
  EXPECT_TRUE(check_open_dims(imported->graph).is_ok());
  EXPECT_EQ(to_string(imported->graph.value(imported->graph.inputs()[1]).type), "float32[3,5,2]");
}

TEST(ImportOnnx, OptionsThatDoNotFit) {
  expect_failure(import_graph(two_inputs(), {{{"m", 5}}, {}}), Code::InvalidArgument, {"m", "'batch'", "'n'"});
  expect_failure(import_graph(two_inputs(), {{{"n", -5}}, {}}), Code::InvalidArgument, {"-5"});
  expect_failure(import_graph(two_inputs(), {{}, {{"c", {1}}}}), Code::InvalidArgument, {"c", "'a'", "'b'"});
  expect_failure(import_graph(two_inputs(), {{}, {{"a", {1, 4}}}}), Code::ShapeMismatch, {"[1,4]"});
  expect_failure(import_graph(two_inputs(), {{}, {{"a", {1, 5, 1}}}}), Code::ShapeMismatch, {"[1,5,1]"});
  expect_failure(import_graph(two_inputs(), {{}, {{"a", {1, 4, 1}}, {"b", {2, 1, 2}}}}), Code::ShapeMismatch, {"batch", "1", "2"});
  expect_failure(import_graph(two_inputs(), {{{"batch", 2}}, {{"a", {1, 4, 1}}}}), Code::ShapeMismatch, {"batch"});
}

TEST(ImportOnnx, InputTypes) {
  const auto with_input = [](ValueBytes input) { return import_graph({{NodeBytes("Relu", {"x"}, {"y"})}, {std::move(input)}, {"y"}}); };
  expect_failure(with_input({"x", {2}, 8}), Code::UnsupportedType, {"'x'", "string"});
  expect_failure(with_input({"x", {2}, 27}), Code::UnsupportedType, {"float6"});
  expect_failure(with_input({"x", {2}, 77}), Code::InvalidModel, {"77"});
  expect_failure(with_input({"x", {-2}}), Code::InvalidModel, {"'x'", "-2"});
  expect_failure(with_input({"x", {int64_t{1} << 40, int64_t{1} << 40}}), Code::InvalidModel, {"'x'", "overflow"});
}

}  // namespace
}  // namespace tiffin::import
