// SPDX-License-Identifier: Apache-2.0
#include "compiler/graph/text_form.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/graph/parser.h"
#include "compiler/graph/printer.h"
#include "compiler/graph/verifier.h"

namespace tiffin::graph {
namespace {

constexpr const char* kWhole = R"(graph "net" {
  input %x: float32[1,64]
  input %mask: bool[batch,"?mask.1",3]
  input %any: float16[*]
  parameter %w: float32[64,128] = fill(0.5)
  frozen parameter %axes: int64[2] = [-1, 2]
  constant %"odd name:0": float32[3] = [-0, inf, 1e-30]
  constant %none: int64[0] = []
  %h = MatMul(%x, %w) {name="mm"} : float32[1,128]
  %y, _ = LayerNormalization(%h, %"odd name:0", _) {"name"="k", axis=-1, epsilon=1e-05, list=[1, 2], reals=[1.0, 2.5],
      words=["a\"b", "c"], none=ints[], other=floats[], texts=strings[], t=float32[2] = [1, 2]} : (float32[1,128], _)
  %z = Relu(%y)
  output %z
  output %y as "other/name"
}
)";

std::string round_trip(std::string_view text) {
  Result<Graph> graph = parse_graph(text);
  if (!graph.has_value()) return graph.error().message();
  return print_graph(*graph);
}

TEST(TextForm, RoundTripsAllForms) {
  const std::string once = round_trip(kWhole);
  EXPECT_EQ(once, round_trip(once));
  EXPECT_NE(once.find("parameter %w: float32[64,128] = fill(0.5)"), std::string::npos) << once;
  EXPECT_NE(once.find("frozen parameter %axes: int64[2] = [-1, 2]"), std::string::npos) << once;
  EXPECT_NE(once.find("constant %\"odd name:0\": float32[3] = [-0, inf, 1e-30]"), std::string::npos) << once;
  EXPECT_NE(once.find("input %mask: bool[batch,\"?mask.1\",3]"), std::string::npos) << once;
  EXPECT_NE(once.find("none=ints[]"), std::string::npos) << once;
  EXPECT_NE(once.find("\"name\"=\"k\""), std::string::npos) << once;
  EXPECT_NE(once.find("output %y as \"other/name\""), std::string::npos) << once;
  EXPECT_NE(once.find("%z = Relu(%y)\n"), std::string::npos) << once;
}

TEST(TextForm, RoundTripsBodies) {
  constexpr const char* kText = R"(// a comment
graph "g" {
  input %c: bool[]   # another
  input %x: float32[2]
  %y = If(%c, %x, %x) {captured=2, else_branch=graph "else" {
      outer %x: float32[2]
      %n = Neg(%x)
      output %n
    }, then_branch=graph "then" {
      outer %x: float32[2]
      %a = Abs(%x)
      output %a
    }} : float32[2]
  output %y
})";
  const std::string once = round_trip(kText);
  EXPECT_EQ(once, round_trip(once));
  EXPECT_NE(once.find("outer %x: float32[2]"), std::string::npos) << once;
  Result<Graph> graph = parse_graph(kText);
  ASSERT_TRUE(graph.has_value()) << graph.error().message();
  EXPECT_TRUE(verify_graph(*graph).is_ok()) << verify_graph(*graph).message();
}

TEST(TextForm, KeepsEveryBitOfTensors) {
  const uint32_t payload = 0x7FC12345, negative_nan = 0xFFC00000;
  const float values[] = {0.1f, -0.0f, std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max(), -HUGE_VALF};
  Graph graph("g");
  graph.add_constant("plain", Tensor::from<float>(DType::Float32, {5}, values));
  graph.add_constant("payload", Tensor::from<uint32_t>(DType::Float32, {1}, {&payload, 1}));
  graph.add_constant("nan", Tensor::from<uint32_t>(DType::Float32, {1}, {&negative_nan, 1}));
  graph.add_constant("packed", Tensor(DType::Int4, {3}, std::vector<uint8_t>{0x21, 0x03}));
  std::vector<uint8_t> bytes;
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16, DType::Int8, DType::UInt64, DType::Bool}) {
    for (const int64_t count : {int64_t{7}, int64_t{100}}) {
      bytes.clear();
      ASSERT_TRUE(append_random(dtype, 1, count, &bytes));
      graph.add_constant(std::string(dtype_name(dtype)) + std::to_string(count), Tensor(dtype, {count}, bytes));
    }
  }
  Result<Graph> read = parse_graph(print_graph(graph));
  ASSERT_TRUE(read.has_value()) << read.error().message();
  for (size_t i = 0; i < graph.value_capacity(); ++i) {
    const Value& value = graph.value(static_cast<ValueId>(i));
    EXPECT_TRUE(value.tensor.equals(read->value(read->find_value(value.name)).tensor)) << value.name;
  }
}

TEST(TextForm, RandomDependsOnTheSeedAlone) {
  constexpr const char* kText = R"(graph "g" { parameter %w: float32[100] = random(7) })";
  Result<Graph> a = parse_graph(kText), b = parse_graph(kText);
  ASSERT_TRUE(a.has_value() && b.has_value());
  EXPECT_TRUE(a->value(0).tensor.equals(b->value(0).tensor));
  for (const double value : a->value(0).tensor.to_doubles()) EXPECT_TRUE(value >= -1 && value < 1);
}

TEST(TextForm, ElidesLargeTensorsOnDemand) {
  Result<Graph> graph = parse_graph(R"(graph "g" { parameter %w: float32[100] = random(7) parameter %u: float32[100] = fill(1) })");
  ASSERT_TRUE(graph.has_value());
  const std::string text = print_graph(*graph, {.max_elements = 10});
  EXPECT_NE(text.find("= elided(100)"), std::string::npos) << text;
  EXPECT_NE(text.find("= fill(1)"), std::string::npos) << text;
}

TEST(TextForm, ErrorsTellLineAndColumn) {
  struct Case {
    const char* text;
    const char* message;
  };
  constexpr Case kCases[] = {
      {"", "line 1, column 1: the text ends, expected 'graph'"},
      {"graph net {}", "line 1, column 7: 'net', expected the graph's name in quotes"},
      {"graph \"g\" {\n  %y = Relu(%x)\n}", "line 2, column 13: no value 'x' stands before this"},
      {"graph \"g\" {\n  input %x: float32[2]\n  input %x: float32[2] }", "line 3, column 9: the name 'x' stands for another value already"},
      {"graph \"g\" { input %x: float33[2] }", "line 1, column 23: 'float33', expected a type"},
      {"graph \"g\" { input %x: float32[-2] }", "line 1, column 31: dimension -2, expected 0 or more"},
      {"graph \"g\" { parameter %x: float32[2] = [1] }", "line 1, column 40: the data has 4 bytes, expected 8 for float32[2]"},
      {"graph \"g\" { parameter %x: float32[n] = [1] }", "expected numbers for all dimensions"},
      {"graph \"g\" { parameter %x: uint8[1] = [256] }", "'256', expected a number that is a uint8"},
      {"graph \"g\" { parameter %x: uint8[1] = raw(\"0g\") }", "byte 0 of the raw data"},
      {"graph \"g\" { parameter %x: uint8[1] = raw(\"012\") }", "byte 1 of the raw data"},
      {"graph \"g\" { parameter %x: float32[9000000000000000000,9] = fill(1) }", "which text cannot hold"},
      {"graph \"g\" { parameter %x: float32[99999999,999] = fill(1) }", "which text cannot hold"},
      {"graph \"g\" { parameter %x: string[1] = fill(1) }", "which text cannot hold"},
      {"graph \"g\" { %y = Nothing() }", "line 1, column 18: 'Nothing', expected an operator"},
      {"graph \"g\" { input %x: float32[1] %y = Relu(%x) {axis=[]} }", "an empty list has no kind"},
      {"graph \"g\" { input %x: float32[1] %y = Relu(%x) {axis=[1, \"a\"]} }", "mixes integers, floats and texts"},
      {"graph \"g\" { input %x: float32[1] %y = Relu(%x) {a=1, a=2} }", "attribute 'a' stands twice"},
      {"graph \"g\" { input %x: float32[1] %y, %y = Relu(%x) }", "the node has two results 'y'"},
      {"graph \"g\" { output %y }", "no value 'y' stands before this"},
      {"graph \"g\" { $ }", "line 1, column 13: unexpected character '$'"},
      {"graph \"g", "line 1, column 7: text that begins here has no closing quote"},
      {"graph \"g\\q\" {}", "unknown escape"},
      {"graph \"g\" {", "the text ends, expected '}'"},
      {"graph \"g\" {} graph", "'graph', expected the end of the text"},
      {"graph \"g\" { frozen input %x: float32[1] }", "'input' begins no statement"},
      {"graph \"g\" { % }", "a value without a name"},
  };
  for (const Case& c : kCases) {
    Result<Graph> graph = parse_graph(c.text);
    ASSERT_FALSE(graph.has_value()) << c.text;
    EXPECT_EQ(graph.error().code(), Code::InvalidModel);
    EXPECT_NE(std::string(graph.error().message()).find(c.message), std::string::npos) << c.text << "\n" << graph.error().message();
  }
}

TEST(TextForm, RefusesDeepNesting) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += "graph \"g\" { %y = Loop() {body=";
  EXPECT_FALSE(parse_graph(text).has_value());
}

TEST(TextForm, EveryPrefixOfATextIsAnErrorAndNoCrash) {
  const std::string text = kWhole;
  for (size_t length = 0; length + 3 < text.size(); ++length) EXPECT_FALSE(parse_graph(text.substr(0, length)).has_value()) << length;
}

}  // namespace
}  // namespace tiffin::graph
