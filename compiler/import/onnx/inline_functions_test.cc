// SPDX-License-Identifier: Apache-2.0
// Model-local functions and bodies, seen through a whole import.
#include "compiler/import/onnx/inline_functions.h"

#include <gtest/gtest.h>

#include "compiler/graph/unsupported_list.h"
#include "compiler/import/onnx/import_onnx.h"
#include "compiler/import/onnx/model_bytes.h"

namespace tiffin::import {
namespace {

using graph::Graph;
using graph::Node;
using graph::Op;
using graph::ValueKind;

Result<ImportedModel> import_model(const ModelBytes& model) { return import_onnx(as_span(model.bytes()), nullptr, "", {}); }

std::vector<Op> ops_of(const Graph& graph) {
  std::vector<Op> out;
  for (const graph::NodeId id : graph.topological_order()) out.push_back(graph.node(id).op);
  return out;
}

void expect_invalid(const ModelBytes& model, const std::string& word) {
  const std::string bytes = model.bytes();
  const auto imported = import_onnx(as_span(bytes), nullptr, "", {});
  ASSERT_FALSE(imported.has_value());
  EXPECT_EQ(imported.error().code(), Code::InvalidModel);
  EXPECT_NE(std::string(imported.error().message()).find(word), std::string::npos) << imported.error().message();
}

ModelBytes calling(std::vector<FunctionBytes> functions, NodeBytes call = NodeBytes("F", {"x"}, {"y"}, "call", "local")) {
  return {{{std::move(call)}, {{"x", {2, 3}}}, {"y"}}, 17, std::move(functions)};
}

TEST(InlineFunctions, NestedCalls) {
  const auto imported =
      import_model(calling({{"F", {"a"}, {"c"}, {NodeBytes("G", {"a"}, {"b"}, "", "local"), NodeBytes("G", {"b"}, {"c"}, "", "local")}},
                            {"G", {"a"}, {"b"}, {NodeBytes("Neg", {"a"}, {"t"}), NodeBytes("Relu", {"t"}, {"b"})}}}));
  ASSERT_TRUE(imported.has_value()) << imported.error().message();
  EXPECT_EQ(ops_of(imported->graph), (std::vector<Op>{Op::Neg, Op::Relu, Op::Neg, Op::Relu}));
  EXPECT_EQ(imported->graph.output_names(), std::vector<std::string>{"y"});
}

TEST(InlineFunctions, AttributesAreHandedOn) {
  const FunctionBytes function{"F", {"a"}, {"b"}, {NodeBytes("LeakyRelu", {"a"}, {"b"}).with_reference("alpha", 1, "slope")}};
  const auto given = import_model(calling({function}, NodeBytes("F", {"x"}, {"y"}, "", "local").with("slope", 0.5f)));
  ASSERT_TRUE(given.has_value()) << given.error().message();
  EXPECT_EQ(given->graph.node(0).float_attribute("alpha", 0), 0.5);
  const auto omitted = import_model(calling({function}));
  ASSERT_TRUE(omitted.has_value());
  EXPECT_FALSE(omitted->graph.node(0).has_attribute("alpha"));
}

TEST(InlineFunctions, OmittedInputsAndAliasedOutputs) {
  const FunctionBytes function{"F", {"a", "b"}, {"a", "c", "c"}, {NodeBytes("Clip", {"a", "b"}, {"c"})}};
  const auto imported = import_model({{{NodeBytes("F", {"x"}, {"p", "q", "r"}, "", "local")}, {{"x", {2}}}, {"p", "q", "r"}}, 17, {function}});
  ASSERT_TRUE(imported.has_value()) << imported.error().message();
  EXPECT_EQ(ops_of(imported->graph), (std::vector<Op>{Op::Identity, Op::Clip, Op::Identity}));
}

TEST(InlineFunctions, NamesDoNotMeet) {
  // 't' is a value of the function and of the model.
  const FunctionBytes function{"F", {"a"}, {"b"}, {NodeBytes("Neg", {"a"}, {"t"}), NodeBytes("Relu", {"t"}, {"b"})}};
  const auto imported =
      import_model({{{NodeBytes("Abs", {"x"}, {"t"}), NodeBytes("F", {"t"}, {"y"}, "", "local")}, {{"x", {2}}}, {"y"}}, 17, {function}});
  ASSERT_TRUE(imported.has_value()) << imported.error().message();
  EXPECT_EQ(ops_of(imported->graph), (std::vector<Op>{Op::Abs, Op::Neg, Op::Relu}));
  expect_invalid({{{NodeBytes("Abs", {"x"}, {"t"}), NodeBytes("F", {"x"}, {"y"}, "", "local")}, {{"x", {2}}}, {"y"}},
                  17,
                  {{"F", {"a"}, {"b"}, {NodeBytes("Add", {"a", "t"}, {"b"})}}}},
                 "nothing defines");
}

TEST(InlineFunctions, CallsThatCannotBe) {
  expect_invalid(calling({{"F", {"a"}, {"b"}, {NodeBytes("F", {"a"}, {"b"}, "", "local")}}}), "calls itself");
  expect_invalid(
      calling({{"F", {"a"}, {"b"}, {NodeBytes("G", {"a"}, {"b"}, "", "local")}}, {"G", {"a"}, {"b"}, {NodeBytes("F", {"a"}, {"b"}, "", "local")}}}),
      "local.F -> local.G -> local.F");
  expect_invalid(calling({{"F", {}, {"b"}, {NodeBytes("Relu", {"x"}, {"b"})}}}), "1 inputs");
}

TEST(InlineFunctions, NothingIsDefinedTwice) {
  const FunctionBytes one{"F", {"a"}, {"b"}, {NodeBytes("Neg", {"a"}, {"b"})}}, other{"F", {"a"}, {"b"}, {NodeBytes("Abs", {"a"}, {"b"})}};
  expect_invalid(calling({one, other}), "'local.F' is defined twice");
  const auto import_with = [&](int64_t second) {
    std::string bytes = calling({one}).bytes();
    protozero::pbf_writer writer(bytes);
    writer.add_message(8, opset_bytes(second));
    return import_onnx(as_span(bytes), nullptr, "", {}).has_value();
  };
  EXPECT_TRUE(import_with(17));
  EXPECT_FALSE(import_with(18));
}

TEST(InlineFunctions, ExplosionsAreStopped) {
  std::vector<FunctionBytes> functions;
  for (int level = 0; level < 40; ++level) {
    const std::string next = level == 39 ? "Neg" : "F" + std::to_string(level + 1), domain = level == 39 ? "" : "local";
    functions.push_back({level == 0 ? "F" : "F" + std::to_string(level),
                         {"a"},
                         {"c"},
                         {NodeBytes(next, {"a"}, {"b"}, "", domain), NodeBytes(next, {"b"}, {"c"}, "", domain)}});
  }
  expect_invalid(calling(functions), "expand");
}

TEST(Bodies, CapturedValuesAreInputs) {
  const std::string then_body = GraphBytes{{NodeBytes("Add", {"x", "w"}, {"t"})}, {}, {"t"}}.bytes();
  const std::string else_body = GraphBytes{{NodeBytes("Mul", {"a", "c"}, {"e"})}, {}, {"e"}, {TensorBytes::floats("c", {}, {2})}}.bytes();
  // The If stands before the node that computes 'a', which it captures.
  const auto imported =
      import_model({{{NodeBytes("If", {"cond"}, {"y"}, "if").with_graph("else_branch", else_body).with_graph("then_branch", then_body),
                      NodeBytes("Neg", {"x"}, {"a"})},
                     {{"x", {3}}, {"cond", {}, 9}},
                     {"y"},
                     {TensorBytes::floats("w", {3}, {1, 2, 3})}}});
  ASSERT_TRUE(imported.has_value()) << imported.error().message();
  const Graph& graph = imported->graph;
  const Node& node = graph.node(graph.value(graph.outputs()[0]).producer);
  EXPECT_EQ(node.int_attribute("captured", 0), 3);
  ASSERT_EQ(node.inputs.size(), 4u);
  EXPECT_EQ(graph.value(node.inputs[1]).name, "x");
  EXPECT_EQ(graph.value(node.inputs[2]).name, "w");
  EXPECT_EQ(graph.value(node.inputs[3]).name, "a");
  const auto& body = *std::get<std::shared_ptr<Graph>>(node.attributes.at("else_branch"));
  EXPECT_EQ(body.value(body.find_value("a")).kind, ValueKind::Outer);
  EXPECT_EQ(body.value(body.find_value("c")).kind, ValueKind::Parameter);
  const auto& other = *std::get<std::shared_ptr<Graph>>(node.attributes.at("then_branch"));
  EXPECT_EQ(to_string(other.value(other.find_value("w")).type), "float32[3]");
}

TEST(Bodies, CaptureThroughTwoLevels) {
  const std::string leaf = GraphBytes{{NodeBytes("Neg", {"x"}, {"t"})}, {}, {"t"}}.bytes();
  const std::string middle =
      GraphBytes{{NodeBytes("If", {"cond"}, {"m"}).with_graph("then_branch", leaf).with_graph("else_branch", leaf)}, {}, {"m"}}.bytes();
  const auto imported = import_model(
      {{{NodeBytes("If", {"cond"}, {"y"}).with_graph("then_branch", middle).with_graph("else_branch", leaf)}, {{"x", {3}}, {"cond", {}, 9}}, {"y"}}});
  ASSERT_TRUE(imported.has_value()) << imported.error().message();
  EXPECT_EQ(imported->graph.node(0).int_attribute("captured", 0), 3);
}

TEST(Bodies, FaultsInsideAreFound) {
  const std::string good = GraphBytes{{NodeBytes("Neg", {"x"}, {"t"})}, {}, {"t"}}.bytes();
  const auto with_body = [&](std::vector<NodeBytes> nodes) {
    const std::string body = GraphBytes{std::move(nodes), {}, {"t"}}.bytes();
    return ModelBytes{{{NodeBytes("If", {"cond"}, {"y"}, "if").with_graph("then_branch", good).with_graph("else_branch", body)},
                       {{"x", {3}}, {"cond", {}, 9}},
                       {"y"}}};
  };
  expect_invalid(with_body({NodeBytes("Add", {"x", "nowhere"}, {"t"})}), "nowhere");
  expect_invalid(with_body({NodeBytes("Add", {"x", "y"}, {"t"})}), "cycle");
  expect_invalid(with_body({NodeBytes("Relu", {"u"}, {"t"}), NodeBytes("Relu", {"t"}, {"u"})}), "cycle");
  expect_invalid({{{NodeBytes("If", {"cond"}, {"y"}).with_graph("then_branch", good)}, {{"x", {3}}, {"cond", {}, 9}}, {"y"}}},
                 "then_branch and else_branch");
  const auto unknown = import_model(with_body({NodeBytes("Frobnicate", {"x"}, {"t"}, "inner")}));
  ASSERT_TRUE(unknown.has_value()) << unknown.error().message();
  const Status status = graph::check_stand_ins(unknown->graph);
  EXPECT_NE(std::string(status.message()).find("Frobnicate (1 node: 'inner')"), std::string::npos) << status.message();
}

TEST(Bodies, NestingHasABound) {
  std::string body = GraphBytes{{NodeBytes("Neg", {"x"}, {"t"})}, {}, {"t"}}.bytes();
  for (int depth = 0; depth < 100; ++depth) body = GraphBytes{{NodeBytes("If", {"cond"}, {"t"}).with_graph("then_branch", body)}, {}, {"t"}}.bytes();
  expect_invalid({{{NodeBytes("If", {"cond"}, {"y"}).with_graph("then_branch", body)}, {{"x", {3}}, {"cond", {}, 9}}, {"y"}}}, "nested");
}

}  // namespace
}  // namespace tiffin::import
