// SPDX-License-Identifier: Apache-2.0
#include "compiler/graph/verifier.h"

#include <gtest/gtest.h>

namespace tiffin::graph {
namespace {

struct Net {
  Graph graph{"net"};
  ValueId x, w, h, y;
  Net() {
    x = graph.add_input("x", Type(DType::Float32, {1, 2}));
    w = graph.add_parameter("w", Tensor(DType::Float32, {2, 2}, std::vector<uint8_t>(16)));
    h = graph.add_node(Op::MatMul, "mm", {x, w});
    y = graph.add_node(Op::Relu, "act", {h});
    graph.set_outputs({y});
  }
  std::string failure() const {
    const Status status = verify_graph(graph);
    return status.is_ok() ? "ok" : status.message();
  }
};

void expect_in(const std::string& part, const std::string& whole) { EXPECT_NE(whole.find(part), std::string::npos) << whole; }

TEST(Verifier, AcceptsASoundGraph) { EXPECT_EQ(Net().failure(), "ok"); }

TEST(Verifier, NamesNodesOnACycle) {
  Net net;
  net.graph.node(net.graph.value(net.h).producer).inputs[0] = net.y;
  expect_in("cycle (verify.c18)", net.failure());
}

TEST(Verifier, FindsReadersOfErasedValues) {
  Net net;
  net.graph.erase_value(net.w);
  expect_in("node 'mm' (MatMul): input 1", net.failure());
}

TEST(Verifier, FindsOperandsOutOfRange) {
  Net net;
  net.graph.node(0).inputs[0] = 99;
  expect_in("value 99, which does not exist (verify.c9)", net.failure());
}

TEST(Verifier, FindsTwoProducers) {
  Net net;
  net.graph.node(1).outputs[0] = net.h;
  expect_in("verify.c", net.failure());
}

TEST(Verifier, FindsMissingOutputs) {
  Net net;
  net.graph.set_outputs({kNone});
  expect_in("verify.c16", net.failure());
  net.graph.set_outputs({net.y});
  net.graph.set_output_names({"a", "b"});
  expect_in("verify.c17", net.failure());
}

TEST(Verifier, FindsTypesThatDifferFromTheTensor) {
  Net net;
  net.graph.value(net.w).type = Type(DType::Float32, {4});
  expect_in("verify.c3", net.failure());
}

TEST(Verifier, FindsTensorsOfTheWrongSize) {
  Net net;
  net.graph.value(net.w).tensor = Tensor(DType::Float32, {2, 2}, std::vector<uint8_t>(15));
  expect_in("has 15 bytes, expected 16", net.failure());
}

TEST(Verifier, FindsNamesThatStandForTwoValues) {
  Net net;
  net.graph.value(net.y).name = "x";
  expect_in("the name 'x' stands for two values", net.failure());
}

TEST(Verifier, ChecksBodies) {
  Net net;
  auto body = std::make_shared<Graph>("body");
  const ValueId outer = body->add_outer("x", Type());
  body->set_outputs({body->add_node(Op::Neg, "neg", {outer})});
  const ValueId condition = net.graph.add_input("c", Type(DType::Bool, {}));
  net.graph.add_node(Op::If, "if", {condition, net.x}, {{"then_branch", body}, {"captured", int64_t{1}}});
  EXPECT_EQ(net.failure(), "ok");
  net.graph.node(2).attributes["captured"] = int64_t{0};
  expect_in("node 'if' (If): attribute 'captured' is 0", net.failure());
  net.graph.node(2).attributes["captured"] = int64_t{1};
  body->node(0).inputs[0] = 5;
  expect_in("node 'if' (If), body 'then_branch': node 'neg' (Neg): input 0", net.failure());
}

TEST(Verifier, RefusesOuterValuesOutsideBodies) {
  Net net;
  net.graph.add_outer("o", Type());
  expect_in("verify.c8", net.failure());
}

}  // namespace
}  // namespace tiffin::graph
