// SPDX-License-Identifier: Apache-2.0
// GridSample and RoiAlign: every mode, positions far outside, extents of one element.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/ops/infer.h"
#include "test/kernels/kernel_cases.h"

namespace tiffin::kernel_cases {
namespace {

using graph::Attributes;
using graph::Op;
using graph::ValueId;

TEST(Sampling, GridsInEveryModeAndPadding) {
  uint64_t seed = 3600;
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const int64_t aligns : {0, 1}) {
        for (const std::vector<int64_t>& extents : {std::vector<int64_t>{5, 7}, {1, 13}, {2, 3, 4}, {6}}) {
          if (extents.size() == 3 && std::string(mode) == "cubic" && aligns == 0) continue;  // 64 elements each: once is enough
          Case c(seed++);
          std::vector<int64_t> x{2, c.extent(1, 3)}, grid{2};
          x.insert(x.end(), extents.begin(), extents.end());
          for (size_t i = 0; i < extents.size(); ++i) grid.push_back(c.extent(1, i + 1 == extents.size() ? 19 : 3));
          grid.push_back(static_cast<int64_t>(extents.size()));
          const ValueId data = c.input(DType::Float32, x), places = c.input(seed % 4 == 0 ? DType::Float64 : DType::Float32, grid, -2.6, 2.6);
          c.graph.set_outputs({c.node(Op::GridSample, {data, places},
                                      Attributes{{"mode", std::string(mode)}, {"padding_mode", std::string(padding)}, {"align_corners", aligns}})});
          SCOPED_TRACE(std::string(mode) + " " + padding + (aligns != 0 ? " aligned" : ""));
          expect_agreement(c, 1e-4);
          if (HasFailure()) return;
        }
      }
    }
  }
}

TEST(Sampling, GridsOfOtherTypesAndSizes) {
  for (const DType dtype : {DType::Float64, DType::Float16, DType::BFloat16}) {
    Case c(3700 + static_cast<uint64_t>(dtype));
    c.graph.set_outputs({c.node(Op::GridSample, {c.input(dtype, {1, 2, 6, 5}), c.input(dtype, {1, 3, 17, 2}, -1.5, 1.5)})});
    expect_agreement(c, 1e-4);
  }
  Case empty(3750);
  empty.graph.set_outputs({empty.node(Op::GridSample, {empty.input(DType::Float32, {1, 0, 6, 5}), empty.input(DType::Float32, {1, 3, 17, 2})})});
  expect_agreement(empty);
}

TEST(Sampling, PlacesThatAreNoNumbers) {
  for (const char* padding : {"zeros", "border", "reflection"}) {
    Case c(3760);
    const float places[] = {NAN, 0, INFINITY, 0, 0, -INFINITY, 1e30f, -1e30f, 0.5f, 0.5f};
    const ValueId data = c.input(DType::Float32, {1, 1, 4, 5});
    const graph::Tensor grid = graph::Tensor::from<float>(DType::Float32, {1, 1, 5, 2}, places);
    c.inputs.push_back(grid);
    const ValueId input = c.graph.add_input("", grid.type());
    c.graph.set_outputs({c.node(Op::GridSample, {data, input}, Attributes{{"padding_mode", std::string(padding)}})});
    SCOPED_TRACE(padding);
    expect_agreement(c);
  }
}

TEST(Sampling, RegionsInEveryMode) {
  uint64_t seed = 3800;
  for (const char* mode : {"avg", "max"}) {
    for (const char* coordinates : {"half_pixel", "output_half_pixel"}) {
      for (const int64_t samples : {1, 2, 3}) {
        Case c(seed++);
        const int64_t regions = c.extent(1, 4);
        const ValueId x = c.input(DType::Float32, {2, c.extent(1, 3), 9, 11}), boxes = c.input(DType::Float32, {regions, 4}, -6, 24),
                      batches = c.input(DType::Int64, {regions}, 0, 1);
        c.graph.set_outputs({c.node(Op::RoiAlign, {x, boxes, batches},
                                    Attributes{{"mode", std::string(mode)},
                                               {"coordinate_transformation_mode", std::string(coordinates)},
                                               {"output_height", c.extent(1, 3)},
                                               {"output_width", c.extent(1, 19)},
                                               {"sampling_ratio", samples},
                                               {"spatial_scale", 0.5}})});
        SCOPED_TRACE(std::string(mode) + " " + coordinates);
        expect_agreement(c, 1e-4);
        if (HasFailure()) return;
      }
    }
  }
}

TEST(Sampling, RegionsSampledAsTheDataWantsAreDeclined) {
  Case c(1);
  c.graph.set_outputs({c.node(Op::RoiAlign, {c.input(DType::Float32, {1, 1, 4, 4}), c.input(DType::Float32, {1, 4}), c.input(DType::Int64, {1})})});
  ASSERT_TRUE(ops::infer_types(c.graph).is_ok());
  const auto lowered = kernel::lower_group(c.graph, c.graph.topological_order(), {});
  ASSERT_FALSE(lowered.has_value());
  EXPECT_EQ(lowered.error().code(), Code::UnsupportedOperator);
}

}  // namespace
}  // namespace tiffin::kernel_cases
