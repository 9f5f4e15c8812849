// SPDX-License-Identifier: Apache-2.0
// The recognise_* passes: each form that exporters write, and forms that look alike and are not.
#include "compiler/passes/eliminate_common.h"
#include "compiler/passes/equivalence_case.h"
#include "compiler/passes/recognise_gelu.h"
#include "compiler/passes/recognise_hard_swish.h"
#include "compiler/passes/recognise_layer_norm.h"
#include "compiler/passes/recognise_rms_norm.h"
#include "compiler/passes/recognise_softmax.h"
#include "compiler/passes/simplify_graph.h"

namespace tiffin::passes {
namespace {

using graph::Graph;
using graph::Op;

constexpr double kFewUlp = 2e-6;

std::string gelu_case(const std::string& body) {
  return R"(graph "g" {
  input %x: float32[2,5]
  constant %half: float32[] = [0.5]
  constant %one: float32[1] = [1]
  constant %two: float32[] = [2]
  constant %three: float32[] = [3]
  parameter %root: float32[] = [1.41421354]
  constant %inverse_root: float32[] = [0.70710677]
  constant %k: float32[] = [0.044715]
  constant %c: float32[] = [0.7978846]
  )" + body +
         "\n  output %y\n}";
}

TEST(RecogniseGelu, FindsTheErfFormInAnyOrder) {
  const char* gate = "%u = Div(%x, %root) %e = Erf(%u) %g = Add(%e, %one) ";
  const char* turned = "%u = Mul(%inverse_root, %x) %e = Erf(%u) %g = Add(%one, %e) ";
  for (const char* start : {gate, turned}) {
    for (const char* product :
         {"%a = Mul(%x, %half) %y = Mul(%a, %g)", "%a = Mul(%x, %g) %y = Mul(%half, %a)", "%a = Mul(%half, %g) %y = Mul(%a, %x)",
          "%a = Div(%x, %two) %y = Mul(%g, %a)", "%a = Mul(%x, %g) %y = Div(%a, %two)"}) {
      const Graph graph = expect_same_results(gelu_case(std::string(start) + product), {recognise_gelu}, kFewUlp);
      EXPECT_EQ(count_nodes(graph), 1) << start << product << graph::print_graph(graph);
      EXPECT_EQ(count_nodes(graph, Op::Gelu), 1);
      EXPECT_EQ(graph.value(graph.find_value("root")).is_frozen, start == gate);
    }
  }
}

TEST(RecogniseGelu, FindsTheTanhForm) {
  const char* power = "%p = Pow(%x, %three) %q = Mul(%p, %k) %s = Add(%x, %q) %t = Mul(%c, %s) ";
  const char* products = "%p2 = Mul(%x, %x) %p = Mul(%x, %p2) %q = Mul(%k, %p) %s = Add(%q, %x) %t = Mul(%s, %c) ";
  const char* outside = "%p2 = Mul(%x, %x) %q = Mul(%k, %p2) %s = Add(%one, %q) %v = Mul(%x, %c) %t = Mul(%v, %s) ";
  for (const char* start : {power, products, outside}) {
    const std::string body = std::string(start) + "%h = Tanh(%t) %g = Add(%one, %h) %a = Mul(%half, %g) %y = Mul(%x, %a)";
    const Graph graph = expect_same_results(gelu_case(body), {recognise_gelu}, kFewUlp);
    EXPECT_EQ(count_nodes(graph), 1) << start;
    EXPECT_EQ(count_nodes(graph, Op::Gelu), 1) << start;
  }
}

TEST(RecogniseGelu, LeavesOtherProductsAlone) {
  for (const char* body : {"%u = Div(%x, %two) %e = Erf(%u) %g = Add(%e, %one) %a = Mul(%x, %half) %y = Mul(%a, %g)",
                           "%u = Div(%x, %root) %e = Erf(%u) %g = Add(%e, %one) %a = Mul(%x, %k) %y = Mul(%a, %g)",
                           "%u = Div(%x, %root) %e = Erf(%u) %g = Add(%e, %half) %a = Mul(%x, %half) %y = Mul(%a, %g)",
                           "%u = Div(%x, %root) %e = Erf(%u) %g = Add(%e, %one) %r = Relu(%x) %a = Mul(%r, %half) %y = Mul(%a, %g)"}) {
    const Graph graph = expect_same_results(gelu_case(body), {recognise_gelu}, 0);
    EXPECT_EQ(count_nodes(graph, Op::Gelu), 0) << body;
  }
}

std::string rows_case(const std::string& body) {
  return R"(graph "g" {
  input %x: float32[3,2,8]
  parameter %gamma: float32[8] = random(1)
  parameter %beta: float32[1,1,8] = random(2)
  parameter %wide: float32[2,8] = random(3)
  constant %last: int64[1] = [2]
  constant %first: int64[1] = [1]
  constant %two: float32[] = [2]
  constant %one: float32[] = [1]
  constant %zero: float32[] = [0]
  parameter %epsilon: float32[1] = [1e-05]
  )" + body +
         "\n  output %y\n}";
}

constexpr const char* kCentred = "%m = ReduceMean(%x, %last) {keepdims=1} %d = Sub(%x, %m) ";
constexpr const char* kDeviation = "%v = ReduceMean(%q, %last) {keepdims=1} %w = Add(%v, %epsilon) %s = Sqrt(%w) ";

TEST(RecogniseLayerNorm, FindsItsForms) {
  for (const char* square : {"%q = Mul(%d, %d) ", "%q = Pow(%d, %two) "}) {
    for (const char* quotient : {"%n = Div(%d, %s) ", "%i = Div(%one, %s) %n = Mul(%i, %d) "}) {
      for (const char* affine : {"%g = Mul(%n, %gamma) %y = Add(%g, %beta)", "%g = Mul(%gamma, %n) %y = Add(%beta, %g)", "%y = Mul(%n, %gamma)"}) {
        const std::string body = std::string(kCentred) + square + kDeviation + quotient + affine;
        const Graph graph = expect_same_results(rows_case(body), {recognise_layer_norm}, kFewUlp);
        EXPECT_EQ(count_nodes(graph, Op::LayerNormalization), 1) << body;
        EXPECT_EQ(count_nodes(graph, Op::Mul) + count_nodes(graph, Op::Add), 0) << body;
        EXPECT_TRUE(graph.value(graph.find_value("epsilon")).is_frozen);
        EXPECT_FALSE(graph.value(graph.find_value("gamma")).is_frozen);
      }
    }
  }
}

TEST(RecogniseLayerNorm, FindsTheVarianceAsADifferenceOfSquares) {
  const std::string moments =
      "%m = ReduceMean(%x, %last) {keepdims=1} %d = Sub(%x, %m) %q = Mul(%x, %x) %p = ReduceMean(%q, %last) {keepdims=1} %o = Mul(%m, %m) ";
  for (const char* variance : {"%v = Sub(%p, %o) ", "%e = Sub(%p, %o) %v = Max(%zero, %e) "}) {
    for (const char* rest : {"%i = Div(%one, %s) %f = Mul(%i, %gamma) %n = Mul(%d, %f) %y = Add(%n, %beta)",
                             "%i = Div(%one, %s) %n = Mul(%d, %i) %g = Mul(%n, %gamma) %y = Add(%g, %beta)", "%y = Div(%d, %s)"}) {
      const std::string body = moments + variance + "%w = Add(%v, %epsilon) %s = Sqrt(%w) " + rest;
      const Graph graph = expect_same_results(rows_case(body), {recognise_layer_norm}, 2e-5);
      EXPECT_EQ(count_nodes(graph, Op::LayerNormalization), 1) << body;
      EXPECT_EQ(count_nodes(graph, Op::Mul) + count_nodes(graph, Op::Add), 0) << body;
    }
  }
}

TEST(RecogniseLayerNorm, LeavesOtherDifferencesAlone) {
  const std::string body =
      "%m = ReduceMean(%x, %last) {keepdims=1} %d = Sub(%x, %m) %q = Mul(%d, %d) %p = ReduceMean(%q, %last) {keepdims=1} %o = Mul(%m, %m) "
      "%e = Sub(%p, %o) %v = Max(%zero, %e) %w = Add(%v, %epsilon) %s = Sqrt(%w) %y = Div(%d, %s)";
  const Graph graph = expect_same_results(rows_case(body), {recognise_layer_norm, recognise_rms_norm}, 0);
  EXPECT_EQ(count_nodes(graph, Op::LayerNormalization), 0);
}

TEST(RecogniseLayerNorm, LeavesAScaleThatIsNoRowOutside) {
  const std::string body = std::string(kCentred) + "%q = Mul(%d, %d) " + kDeviation + "%n = Div(%d, %s) %y = Mul(%n, %wide)";
  const Graph graph = expect_same_results(rows_case(body), {recognise_layer_norm}, kFewUlp);
  EXPECT_EQ(count_nodes(graph, Op::LayerNormalization), 1);
  EXPECT_EQ(count_nodes(graph, Op::Mul), 1);
}

TEST(RecogniseLayerNorm, KeepsADifferenceThatOthersRead) {
  const std::string body = std::string(kCentred) + "%q = Mul(%d, %d) " + kDeviation + "%n = Div(%d, %s) %y = Add(%n, %d)";
  const Graph graph = expect_same_results(rows_case(body), {recognise_layer_norm}, kFewUlp);
  EXPECT_EQ(count_nodes(graph, Op::LayerNormalization), 1);
  EXPECT_EQ(count_nodes(graph, Op::Add), 1);
}

TEST(RecogniseLayerNorm, LeavesOtherAxesAlone) {
  const std::string body =
      "%m = ReduceMean(%x, %first) {keepdims=1} %d = Sub(%x, %m) %q = Mul(%d, %d) %v = ReduceMean(%q, %first) {keepdims=1} "
      "%w = Add(%v, %epsilon) %s = Sqrt(%w) %y = Div(%d, %s)";
  const Graph graph = expect_same_results(rows_case(body), {recognise_layer_norm, recognise_rms_norm}, 0);
  EXPECT_EQ(count_nodes(graph, Op::Div), 1);
}

TEST(RecogniseRmsNorm, FindsItsForms) {
  for (const char* square : {"%q = Mul(%x, %x) ", "%q = Pow(%x, %two) "}) {
    for (const char* rest :
         {"%n = Div(%x, %s) %y = Mul(%n, %gamma)", "%i = Div(%one, %s) %n = Mul(%x, %i) %y = Mul(%gamma, %n)", "%y = Div(%x, %s)"}) {
      const std::string body = std::string(square) + kDeviation + rest;
      const Graph graph = expect_same_results(rows_case(body), {recognise_layer_norm, recognise_rms_norm}, kFewUlp);
      EXPECT_EQ(count_nodes(graph), 1) << body;
      EXPECT_EQ(count_nodes(graph, Op::RMSNormalization), 1) << body;
    }
  }
}

std::string hard_swish_case(const std::string& body) {
  return R"(graph "g" {
  input %raw: float32[4,8]
  constant %zero: float32[] = [0]
  constant %three: float32[] = [3]
  parameter %six: float32[] = [6]
  constant %sixth: float32[] = [0.16666667]
  %x = Mul(%raw, %six)
  )" + body +
         "\n  output %y\n}";
}

TEST(RecogniseHardSwish, FindsItsForms) {
  for (const char* body : {"%a = Add(%x, %three) %c = Clip(%a, %zero, %six) %m = Mul(%x, %c) %y = Div(%m, %six)",
                           "%a = Add(%three, %x) %c = Clip(%a, %zero, %six) %m = Div(%c, %six) %y = Mul(%x, %m)",
                           "%a = Add(%three, %x) %c = Clip(%a, %zero, %six) %m = Mul(%c, %x) %y = Mul(%sixth, %m)"}) {
    const Graph graph = expect_same_results(hard_swish_case(body), {recognise_hard_swish}, kFewUlp);
    EXPECT_EQ(count_nodes(graph), 3) << body;
    EXPECT_EQ(count_nodes(graph, Op::HardSigmoid), 1) << body;
    EXPECT_TRUE(graph.value(graph.find_value("six")).is_frozen);
  }
}

TEST(RecogniseHardSwish, LeavesOtherBoundsAlone) {
  for (const char* body : {"%a = Add(%x, %three) %c = Clip(%a, %zero, %three) %m = Mul(%x, %c) %y = Div(%m, %six)",
                           "%a = Add(%x, %six) %c = Clip(%a, %zero, %six) %m = Mul(%x, %c) %y = Div(%m, %six)"}) {
    const Graph graph = expect_same_results(hard_swish_case(body), {recognise_hard_swish}, 0);
    EXPECT_EQ(count_nodes(graph, Op::HardSigmoid), 0) << body;
  }
}

TEST(RecogniseSoftmax, FindsItsForms) {
  const Graph softmax = expect_same_results(
      rows_case("%m = ReduceMax(%x, %first) {keepdims=1} %d = Sub(%x, %m) %e = Exp(%d) %s = ReduceSum(%e, %first) {keepdims=1} %y = Div(%e, %s)"),
      {recognise_softmax}, kFewUlp);
  EXPECT_EQ(count_nodes(softmax), 1);
  EXPECT_EQ(count_nodes(softmax, Op::Softmax), 1);
  const Graph logarithm =
      expect_same_results(rows_case("%m = ReduceMax(%x, %last) {keepdims=1} %d = Sub(%x, %m) %e = Exp(%d) %s = ReduceSum(%e, %last) {keepdims=1} "
                                    "%l = Log(%s) %y = Sub(%d, %l)"),
                          {recognise_softmax}, kFewUlp);
  EXPECT_EQ(count_nodes(logarithm), 1);
  EXPECT_EQ(count_nodes(logarithm, Op::LogSoftmax), 1);
}

TEST(RecogniseSoftmax, SeesThroughABoundThatBoundsNothing) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float32[1,8]
  parameter %low: float32[] = [-inf]
  constant %axis: int64[1] = [1]
  constant %shape: int64[2] = [1, 1]
  %m = ReduceMax(%x, %axis) {keepdims=0}
  %b = Max(%low, %m)
  %r = Reshape(%b, %shape)
  %d = Sub(%x, %r)
  %e = Exp(%d)
  %s = ReduceSum(%e, %axis) {keepdims=1}
  %y = Div(%e, %s)
  output %y
})",
                                          {recognise_softmax}, kFewUlp);
  EXPECT_EQ(count_nodes(graph, Op::Softmax), 1);
  EXPECT_TRUE(graph.value(graph.find_value("low")).is_frozen);
}

TEST(RecogniseSoftmax, LeavesHalfPrecisionAlone) {
  const Graph graph = expect_same_results(R"(graph "g" {
  input %x: float16[4,8]
  constant %axis: int64[1] = [1]
  %m = ReduceMax(%x, %axis) {keepdims=1}
  %d = Sub(%x, %m)
  %e = Exp(%d)
  %s = ReduceSum(%e, %axis) {keepdims=1}
  %y = Div(%e, %s)
  output %y
})",
                                          {recognise_softmax}, 0);
  EXPECT_EQ(count_nodes(graph, Op::Softmax), 0);
}

TEST(RecogniseSoftmax, LeavesWhatOverflowsAlone) {
  const Graph graph = expect_same_results(rows_case("%e = Exp(%x) %s = ReduceSum(%e, %last) {keepdims=1} %y = Div(%e, %s)"), {recognise_softmax}, 0);
  EXPECT_EQ(count_nodes(graph, Op::Softmax), 0);
}

}  // namespace
}  // namespace tiffin::passes
