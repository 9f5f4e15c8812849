// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "test/kernels/kernel_cases.h"

namespace tiffin::kernel_cases {
namespace {

using graph::Attributes;
using graph::Op;
using graph::Tensor;
using graph::ValueId;

TEST(Procedures, Scans) {
  for (uint64_t seed = 3000; seed < 3008; ++seed) {
    Case c(seed);
    ValueId x = c.input(DType::Float32, {3, 5, 9}, 0.5, 1.5);
    ValueId axis = c.constant(Tensor::scalar_int64(c.extent(-3, 2)));
    c.graph.set_outputs(
        {c.node(seed % 2 == 0 ? Op::CumSum : Op::CumProd, {x, axis}, Attributes{{"exclusive", c.extent(0, 1)}, {"reverse", c.extent(0, 1)}})});
    expect_agreement(c);
  }
}

TEST(Procedures, Scatters) {
  uint64_t seed = 3100;
  for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
    Case c(seed++);
    ValueId x = c.input(DType::Float32, {5, 6, 7}), at = c.input(DType::Int64, {3, 4, 7}, -6, 5), y = c.input(DType::Float32, {3, 4, 7});
    c.graph.set_outputs({c.node(Op::ScatterElements, {x, at, y}, Attributes{{"axis", int64_t{1}}, {"reduction", std::string(reduction)}})});
    expect_agreement(c);
    Case nd(seed++);
    ValueId data = nd.input(DType::Int32, {5, 6, 70}, -9, 9), tuples = nd.input(DType::Int64, {8, 2}, -5, 4.4),
            updates = nd.input(DType::Int32, {8, 70}, -9, 9);
    nd.graph.set_outputs({nd.node(Op::ScatterND, {data, tuples, updates}, Attributes{{"reduction", std::string(reduction)}})});
    expect_agreement(nd);
  }
}

TEST(Procedures, TopKKeepsTheOrderOfEquals) {
  for (uint64_t seed = 3200; seed < 3208; ++seed) {
    Case c(seed);
    ValueId x = c.input(seed % 2 == 0 ? DType::Float32 : DType::Int32, {3, 37, 2}, 0, 9);
    const std::vector<int64_t> k{c.extent(1, 37)};
    auto id = c.graph.add_node_with_results(Op::TopK, "", {x, c.constant(Tensor::int64s(k))}, {"", ""},
                                            Attributes{{"axis", int64_t{1}}, {"largest", c.extent(0, 1)}});
    c.graph.set_outputs({c.graph.node(id).outputs[0], c.graph.node(id).outputs[1]});
    expect_agreement(c);
  }
}

TEST(Procedures, Recurrences) {
  for (uint64_t seed = 3300; seed < 3324; ++seed) {
    Case c(seed);
    const Op op = seed % 3 == 0 ? Op::LSTM : seed % 3 == 1 ? Op::GRU : Op::RNN;
    const int64_t gates = op == Op::LSTM ? 4 : op == Op::GRU ? 3 : 1, hidden = c.extent(1, 19), inputs = c.extent(1, 40);
    const bool is_double = seed % 2 == 0;
    const int64_t directions = is_double ? 2 : 1, batch = 2, steps = c.extent(1, 19);
    std::vector<ValueId> operands{c.input(DType::Float32, {steps, batch, inputs}),
                                  c.input(DType::Float32, {directions, gates * hidden, inputs}, -0.5, 0.5),
                                  c.input(DType::Float32, {directions, gates * hidden, hidden}, -0.5, 0.5),
                                  c.input(DType::Float32, {directions, 2 * gates * hidden}),
                                  graph::kNone,
                                  c.input(DType::Float32, {directions, batch, hidden})};
    if (seed % 4 < 2) operands[4] = c.input(DType::Int32, {batch}, 1, static_cast<double>(steps));
    Attributes attributes{{"hidden_size", hidden}, {"direction", std::string(is_double ? "bidirectional" : "reverse")}};
    if (op == Op::GRU) attributes["linear_before_reset"] = c.extent(0, 1);
    const std::vector<std::string> names = op == Op::LSTM ? std::vector<std::string>{"", "", ""} : std::vector<std::string>{"", ""};
    auto id = c.graph.add_node_with_results(op, "", operands, names, attributes);
    c.graph.set_outputs(c.graph.node(id).outputs);
    SCOPED_TRACE(std::string(graph::op_name(op)));
    expect_agreement(c, 1e-4);
  }
}

TEST(Procedures, ResizeInEveryMode) {
  uint64_t seed = 3400;
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* coordinates : {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric"}) {
      for (int64_t antialias : {0, 1}) {
        if (antialias == 1 && std::string(mode) == "nearest") continue;
        Case c(seed++);
        ValueId x = c.input(DType::Float32, {1, 2, 7, 19});
        const std::vector<int64_t> sizes{1, 2, c.extent(3, 15), c.extent(9, 40)};
        ValueId y =
            c.node(Op::Resize, {x, graph::kNone, graph::kNone, c.constant(Tensor::int64s(sizes))},
                   Attributes{{"mode", std::string(mode)}, {"coordinate_transformation_mode", std::string(coordinates)}, {"antialias", antialias}});
        c.graph.set_outputs({y});
        SCOPED_TRACE(std::string(mode) + " " + coordinates);
        expect_agreement(c, 1e-4);
      }
    }
  }
}

}  // namespace
}  // namespace tiffin::kernel_cases
