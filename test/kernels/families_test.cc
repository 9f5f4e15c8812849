// SPDX-License-Identifier: Apache-2.0
// Every family of kernels on extents that are awkward: 0, 1, primes, one beside a whole number of vectors. The graphs take the way that compilation
// takes: passes, layouts, fusion, kernels; compiled and interpreted kernels and the reference's results for the untouched graph must agree.
#include <gtest/gtest.h>

#include "compiler/ops/infer.h"
#include "compiler/ops/op_class.h"
#include "compiler/passes/block_channels.h"
#include "compiler/passes/decompose_operators.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/passes/pack_weights.h"
#include "compiler/passes/simplify_graph.h"
#include "compiler/plan/fusion.h"
#include "compiler/reference/evaluate.h"
#include "test/kernels/kernel_cases.h"

namespace tiffin::kernel_cases {
namespace {

using graph::Attributes;
using graph::Graph;
using graph::NodeId;
using graph::Op;
using graph::Tensor;
using graph::ValueId;

constexpr DType kFloat = DType::Float32;

// Extents by the round of a family: 0 where that is allowed, 1, primes, beside vectors, then any of these.
class Extents {
 public:
  Extents(Case& c, int round) : c_(c), round_(round) {}

  int64_t any() { return round_ == 0 ? 0 : some(); }
  int64_t some() {
    static constexpr int64_t kPrimes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}, kUneven[] = {15, 17, 31, 33, 47, 49};
    const int kind = round_ < 4 ? round_ : static_cast<int>(c_.extent(1, 3));
    if (kind <= 1) return 1;
    return kind == 2 ? kPrimes[c_.extent(0, 11)] : kUneven[c_.extent(0, 5)];
  }
  int64_t few() { return round_ == 1 ? 1 : c_.extent(1, 3); }

 private:
  Case& c_;
  int round_;
};

struct Family {
  const char* name;
  std::vector<ValueId> (*build)(Case&, Extents&);
};

std::vector<ValueId> matmul(Case& c, Extents& e) {
  const int64_t m = e.any(), k = e.some(), n = e.some();
  return {c.node(Op::Relu, {c.node(Op::MatMul, {c.input(kFloat, {e.few(), m, k}), c.input(kFloat, {k, n})})})};
}

std::vector<ValueId> packed_matmul(Case& c, Extents& e) {
  const int64_t m = e.any(), k = e.some(), n = e.some();
  const ValueId product = c.node(Op::MatMul, {c.input(kFloat, {m, k}), c.parameter(kFloat, {k, n})});
  return {c.node(Op::Sigmoid, {c.node(Op::Add, {product, c.parameter(kFloat, {n})})})};
}

std::vector<ValueId> gemm(Case& c, Extents& e) {
  const int64_t m = e.any(), k = e.some(), n = e.some();
  return {c.node(Op::Gemm, {c.input(kFloat, {m, k}), c.parameter(kFloat, {n, k}), c.parameter(kFloat, {n})}, Attributes{{"transB", int64_t{1}}})};
}

// A window of up to 3 x 3 over an image of at least as many pixels.
Attributes window(Case& c, const std::vector<int64_t>& kernel) {
  const std::vector<int64_t> strides{c.extent(1, 2), c.extent(1, 2)}, pads{0, c.extent(0, kernel[1] - 1), c.extent(0, kernel[0] - 1), 0};
  return {{"strides", strides}, {"pads", pads}};
}

std::vector<ValueId> convolution(Case& c, Extents& e) {
  const std::vector<int64_t> kernel{e.few(), e.few()};
  const int64_t batch = e.any() > 0 ? e.few() : 0, inputs = e.some(), outputs = e.some();
  const ValueId x = c.input(kFloat, {batch, inputs, kernel[0] + e.few(), kernel[1] + e.some()});
  const ValueId w = c.parameter(kFloat, {outputs, inputs, kernel[0], kernel[1]}), bias = c.parameter(kFloat, {outputs});
  return {c.node(Op::Relu, {c.node(Op::Conv, {x, w, bias}, window(c, kernel))})};
}

std::vector<ValueId> depthwise(Case& c, Extents& e) {
  const std::vector<int64_t> kernel{e.few(), e.few()};
  const int64_t batch = e.any() > 0 ? e.few() : 0, channels = e.some();
  Attributes attributes = window(c, kernel);
  attributes["group"] = channels;
  const ValueId x = c.input(kFloat, {batch, channels, kernel[0] + e.few(), kernel[1] + e.some()});
  return {c.node(Op::Conv, {x, c.parameter(kFloat, {channels, 1, kernel[0], kernel[1]})}, attributes)};
}

std::vector<ValueId> grouped_convolution(Case& c, Extents& e) {
  const int64_t groups = 2, inputs = e.few(), outputs = e.some();
  const ValueId x = c.input(kFloat, {1, groups * inputs, 4, 2 + e.some()}), w = c.parameter(kFloat, {groups * outputs, inputs, 2, 2});
  return {c.node(Op::Conv, {x, w}, Attributes{{"group", groups}})};
}

std::vector<ValueId> transposed_convolution(Case& c, Extents& e) {
  const int64_t inputs = e.some(), outputs = e.some(), side = e.few();
  const ValueId x = c.input(kFloat, {e.few(), inputs, e.few(), e.some()}), w = c.parameter(kFloat, {inputs, outputs, side, side});
  return {c.node(Op::ConvTranspose, {x, w}, Attributes{{"strides", std::vector<int64_t>{side, side}}})};
}

std::vector<ValueId> pools(Case& c, Extents& e) {
  const std::vector<int64_t> kernel{2, 2};
  Attributes attributes = window(c, kernel);
  attributes["kernel_shape"] = kernel;
  const ValueId x = c.input(kFloat, {e.any() > 0 ? e.few() : 0, e.some(), 3, 2 + e.some()});
  return {c.node(Op::MaxPool, {x}, attributes), c.node(Op::AveragePool, {x}, attributes)};
}

std::vector<ValueId> elementwise(Case& c, Extents& e) {
  const int64_t rows = e.any(), columns = e.some();
  const ValueId x = c.input(kFloat, {rows, columns}), sum = c.node(Op::Add, {x, c.input(kFloat, {columns})});
  return {c.node(Op::Mul, {c.node(Op::Tanh, {sum}), c.node(Op::Exp, {x})})};
}

std::vector<ValueId> reduction(Case& c, Extents& e) {
  const ValueId x = c.input(kFloat, {e.any(), e.some(), e.some()});
  return {c.node(Op::ReduceSum, {x, c.constant(Tensor::int64s(std::vector<int64_t>{c.extent(0, 2)}))}),
          c.node(Op::ReduceMax, {x, c.constant(Tensor::int64s(std::vector<int64_t>{c.extent(1, 2)}))}),
          c.node(Op::ArgMax, {x}, Attributes{{"axis", c.extent(1, 2)}})};
}

std::vector<ValueId> rows(Case& c, Extents& e) {
  const int64_t width = e.some();
  const ValueId x = c.input(kFloat, {e.any(), e.some(), width});
  return {c.node(Op::Softmax, {x}, Attributes{{"axis", c.extent(1, 2)}}),
          c.node(Op::LayerNormalization, {x, c.parameter(kFloat, {width}), c.parameter(kFloat, {width})})};
}

std::vector<ValueId> movement(Case& c, Extents& e) {
  const int64_t a = e.any(), b = e.some(), d = e.some();
  const ValueId x = c.input(kFloat, {a, b, d});
  const ValueId turned = c.node(Op::Transpose, {x}, Attributes{{"perm", std::vector<int64_t>{2, 0, 1}}});
  return {turned, c.node(Op::Concat, {x, c.input(kFloat, {a, e.some(), d})}, Attributes{{"axis", int64_t{1}}}),
          c.node(Op::Pad, {x, c.constant(Tensor::int64s(std::vector<int64_t>{0, 1, 0, 0, 2, 3}))})};
}

std::vector<ValueId> gather(Case& c, Extents& e) {
  const int64_t extent = e.some();
  const ValueId table = c.input(kFloat, {extent, e.some()}), places = c.input(DType::Int64, {e.any()}, 0, static_cast<double>(extent) - 0.6);
  return {c.node(Op::Gather, {table, places})};
}

std::vector<ValueId> scan(Case& c, Extents& e) {
  const ValueId x = c.input(kFloat, {e.any(), e.some()});
  return {c.node(Op::CumSum, {x, c.constant(Tensor::scalar_int64(c.extent(0, 1)))})};
}

std::vector<ValueId> top_k(Case& c, Extents& e) {
  const int64_t extent = e.some();
  const ValueId x = c.input(kFloat, {e.any(), extent}), k = c.constant(Tensor::int64s(std::vector<int64_t>{c.extent(1, extent)}));
  return c.graph.node(c.graph.add_node_with_results(Op::TopK, "", {x, k}, {"", ""})).outputs;
}

std::vector<ValueId> recurrence(Case& c, Extents& e) {
  const int64_t hidden = e.some(), inputs = e.some(), batch = e.few(), steps = e.few();
  const NodeId id = c.graph.add_node_with_results(Op::LSTM, "",
                                                  {c.input(kFloat, {steps, batch, inputs}), c.parameter(kFloat, {1, 4 * hidden, inputs}, -0.5, 0.5),
                                                   c.parameter(kFloat, {1, 4 * hidden, hidden}, -0.5, 0.5)},
                                                  {"", "", ""}, Attributes{{"hidden_size", hidden}});
  return c.graph.node(id).outputs;
}

constexpr Family kFamilies[] = {
    {"matmul", matmul},
    {"packed_matmul", packed_matmul},
    {"gemm", gemm},
    {"convolution", convolution},
    {"depthwise", depthwise},
    {"grouped_convolution", grouped_convolution},
    {"transposed_convolution", transposed_convolution},
    {"pools", pools},
    {"elementwise", elementwise},
    {"reduction", reduction},
    {"rows", rows},
    {"movement", movement},
    {"gather", gather},
    {"scan", scan},
    {"top_k", top_k},
    {"recurrence", recurrence},
};

void run_passes(Graph& graph, const codegen::Target& target) {
  passes::PassContext context;
  context.machine = target.machine;
  for (const auto pass : {passes::fold_constants, passes::decompose_operators, passes::fold_constants, passes::simplify_graph, passes::pack_weights,
                          passes::block_channels, passes::fold_constants}) {
    const Status status = pass(graph, context);
    ASSERT_TRUE(status.is_ok()) << status.message();
  }
}

// What has no kernel is computed by the reference: views, and layouts of parameters, which the storage plan computes.
Status know(const Graph& graph, ValueId value, std::vector<Tensor>& values) {
  if (value == graph::kNone || !values[static_cast<size_t>(value)].is_empty()) return {};
  const graph::Node& node = graph.node(graph.value(value).producer);
  std::vector<Tensor> operands;
  for (const ValueId input : node.inputs) {
    TIFFIN_TRY(know(graph, input, values));
    operands.push_back(input == graph::kNone ? Tensor() : values[static_cast<size_t>(input)]);
  }
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<Tensor> results, reference::evaluate(graph, node, operands));
  for (size_t i = 0; i < results.size(); ++i) {
    if (node.outputs[i] != graph::kNone) values[static_cast<size_t>(node.outputs[i])] = results[i];
  }
  return {};
}

void run_groups(const Case& c, const codegen::Target& target, std::vector<Tensor>& values) {
  const Graph& graph = c.graph;
  std::vector<char> is_planned(graph.node_capacity(), 0);
  for (const NodeId id : graph.topological_order()) {
    const Op op = graph.node(id).op;
    is_planned[static_cast<size_t>(id)] = kernel::has_lowering(op) && ops::op_class(op) != ops::OpClass::View;
  }
  const codegen::Target* compiled = compiled_target(c.seed) == &target ? &target : nullptr;
  for (const plan::Group& group : plan::choose_groups(graph, is_planned, true)) {
    auto lowered = kernel::lower_group(graph, group.nodes, {.machine = target.machine});
    ASSERT_TRUE(lowered.has_value()) << lowered.error().message();
    for (size_t i = 0; i < lowered->buffers.size(); ++i) {
      if (lowered->kernel->parameters()[i]->is_output) continue;
      const Status status = know(graph, lowered->buffers[i], values);
      ASSERT_TRUE(status.is_ok()) << status.message();
    }
    run_all(graph, {&*lowered, 1}, compiled, values);
    if (testing::Test::HasFailure()) return;
  }
}

void expect_family_agrees(const Family& family, uint64_t seed, int round) {
  for (const codegen::Target& target : targets()) {
    Case c(seed);
    Extents extents(c, round);
    c.graph.set_outputs(family.build(c, extents));
    const std::string where = std::string(family.name) + ", seed " + std::to_string(seed) + ", round " + std::to_string(round) + ", " + target.text;
    SCOPED_TRACE(where);
    const Status inferred = ops::infer_types(c.graph);
    ASSERT_TRUE(inferred.is_ok()) << inferred.message();
    const auto expected = reference::evaluate_graph(c.graph, c.inputs);
    ASSERT_TRUE(expected.has_value()) << expected.error().message();
    run_passes(c.graph, target);
    if (testing::Test::HasFatalFailure()) return;
    std::vector<Tensor> values = known_values(c);
    run_groups(c, target, values);
    for (size_t i = 0; i < expected->size() && !testing::Test::HasFailure(); ++i) {
      const ValueId output = c.graph.outputs()[i];
      const Status status = know(c.graph, output, values);
      ASSERT_TRUE(status.is_ok()) << status.message();
      expect_equal(values[static_cast<size_t>(output)], (*expected)[i], 2e-4, where);
    }
    if (testing::Test::HasFailure()) return;
  }
}

class Families : public testing::TestWithParam<Family> {};

TEST_P(Families, AgreeOnAwkwardExtents) {
  constexpr int kRounds = 7;
  for (int round = 0; round < kRounds && !HasFailure(); ++round) expect_family_agrees(GetParam(), 5000 + static_cast<uint64_t>(round), round);
}

INSTANTIATE_TEST_SUITE_P(All, Families, testing::ValuesIn(kFamilies), [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace tiffin::kernel_cases
