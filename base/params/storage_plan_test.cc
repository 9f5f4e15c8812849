// SPDX-License-Identifier: Apache-2.0
#include "base/params/storage_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "base/float16.h"
#include "base/params/testing_plans.h"

namespace tiffin::params {
namespace {

using namespace testing;
using abi::VectorOp;

template <class T>
std::vector<uint8_t> bytes_from(const std::vector<T>& values) {
  std::vector<uint8_t> bytes(values.size() * sizeof(T));
  memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
std::vector<T> values_from(std::span<const uint8_t> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

StoragePlan read(const PlanSpec& spec) {
  auto plan = StoragePlan::read(build_plan(spec));
  EXPECT_TRUE(plan.has_value()) << plan.error().message();
  return std::move(plan).value();
}

Code code_of(const PlanSpec& spec) {
  auto plan = StoragePlan::read(build_plan(spec));
  return plan.has_value() ? Code::Ok : plan.error().code();
}

std::vector<uint8_t> fill(const StoragePlan& plan, Values& values) {
  std::vector<uint8_t> data(plan.data_bytes(), 0xcd);
  const Status status = plan.fill_data(values.reader(), data);
  EXPECT_TRUE(status.is_ok()) << status.message();
  return data;
}

std::vector<uint8_t> written(const StoragePlan& plan, Values& values, size_t* largest) {
  Array<uint8_t> scratch, all;
  for (size_t i = 0; i < plan.table().stored()->size(); ++i) {
    const Status status = plan.write_stored(i, values.reader(), scratch, memory_sink(all));
    EXPECT_TRUE(status.is_ok()) << status.message();
    *largest = std::max(*largest, scratch.size());
  }
  return {all.begin(), all.end()};
}

TEST(StoragePlan, WritesTheBytesThatItFills) {
  // In order: as it is, from its third row on, in panels, transposed with an axis of one, padded, from an expression.
  constexpr int64_t kRows = 1'000, kColumns = 2'560;
  const auto row = [&](std::vector<PieceSpec> pieces, std::vector<int64_t> shape) {
    return StoredSpec{"s" + std::to_string(shape[0]), DType::Float32, shape, std::move(pieces), {}, {}};
  };
  PlanSpec spec{{{"w", DType::Float32, {kRows, kColumns}}}, {}};
  spec.stored = {row({{0, {kRows, kColumns}, {kColumns, 1}, {kColumns, 1}}}, {kRows, kColumns}),
                 row({{0, {kRows - 2, kColumns}, {kColumns, 1}, {kColumns, 1}, 2 * kColumns}}, {kRows - 2, kColumns}),
                 row({{0, {kColumns / 16, kRows, 16}, {16, kColumns, 1}, {16 * kRows, 16, 1}}}, {kColumns / 16, kRows, 16}),
                 row({{0, {1, kColumns, kRows}, {5, 1, kColumns}, {7, kRows, 1}}}, {1, kColumns, kRows}),
                 row({{0, {kRows, kColumns}, {kColumns, 1}, {kColumns + 16, 1}}}, {kRows + 1, kColumns + 16})};
  const StoragePlan plan = read(spec);
  std::vector<float> weights(static_cast<size_t>(kRows * kColumns));
  std::iota(weights.begin(), weights.end(), 1.0f);
  Values values{{bytes_from(weights)}};
  size_t largest = 0;
  EXPECT_TRUE(written(plan, values, &largest) == fill(plan, values));
  PlanSpec rearranged = spec;
  rearranged.stored.pop_back();
  largest = 0;
  written(read(rearranged), values, &largest);
  EXPECT_LE(largest, size_t{4} << 20);
}

TEST(StoragePlan, PacksPanelsAndPadsWithZeros) {
  // [K=3, N=20] into [2][3][16]: a whole panel and the rest.
  PlanSpec spec{{{"w", DType::Float32, {3, 20}}}, {{"panels", DType::Float32, {2, 3, 16}, {}, {}, {}}}};
  spec.stored[0].pieces = {{0, {1, 3, 16}, {16, 20, 1}, {48, 16, 1}}, {0, {3, 4}, {20, 1}, {16, 1}, 16, 48}};
  const StoragePlan plan = read(spec);
  std::vector<float> weights(60);
  std::iota(weights.begin(), weights.end(), 1.0f);
  Values values{{bytes_from(weights)}};
  const auto data = fill(plan, values);
  const auto packed = values_from<float>(data);
  for (int n = 0; n < 32; ++n) {
    for (int k = 0; k < 3; ++k)
      EXPECT_EQ(packed[static_cast<size_t>(n / 16 * 48 + k * 16 + n % 16)], n < 20 ? weights[static_cast<size_t>(k * 20 + n)] : 0);
  }
  std::vector<uint8_t> back(240);
  ASSERT_TRUE(plan.restore_parameter(0, data, back).is_ok());
  EXPECT_EQ(back, values.bytes[0]);
}

// A random axis permutation of every parameter, cut along one axis into two stored tensors, with some padding.
PlanSpec random_plan(std::mt19937& random) {
  const DType dtypes[] = {DType::Int8, DType::Float16, DType::Float32, DType::Float64, DType::Complex128, DType::Int4};
  PlanSpec spec;
  const uint32_t count = 1 + random() % 4;
  for (uint32_t p = 0; p < count; ++p) {
    ParameterSpec parameter{"p" + std::to_string(p), dtypes[random() % 6], {}};
    const size_t rank = random() % 5;
    for (size_t axis = 0; axis < rank; ++axis) parameter.shape.push_back(1 + static_cast<int64_t>(random() % 37) / (rank > 2 ? 3 : 1));
    spec.parameters.push_back(parameter);
    if (parameter.dtype == DType::Int4 || rank == 0) {
      spec.stored.push_back(identity(spec, p));
      continue;
    }
    std::vector<size_t> order(rank);
    std::iota(order.begin(), order.end(), 0u);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<int64_t> source(rank, 1);
    for (size_t axis = rank - 1; axis > 0; --axis) source[axis - 1] = source[axis] * parameter.shape[axis];
    const size_t cut_axis = random() % rank;
    const int64_t cut = static_cast<int64_t>(random() % static_cast<uint64_t>(parameter.shape[cut_axis]));
    const std::pair<int64_t, int64_t> parts[] = {{0, cut}, {cut, parameter.shape[cut_axis]}};
    for (const auto& [begin, end] : parts) {
      if (begin == end) continue;
      PieceSpec piece{p, {}, {}, {}, begin * source[cut_axis], 0};
      std::vector<int64_t> padded;
      for (const size_t axis : order) {
        piece.extents.push_back(axis == cut_axis ? end - begin : parameter.shape[axis]);
        piece.source_strides.push_back(source[axis]);
        padded.push_back(piece.extents.back() + static_cast<int64_t>(random() % 3));
      }
      piece.target_strides.assign(rank, 1);
      for (size_t i = rank - 1; i > 0; --i) piece.target_strides[i - 1] = piece.target_strides[i] * padded[i];
      spec.stored.push_back({"s" + std::to_string(spec.stored.size()), parameter.dtype, padded, {piece}, {}, {}});
    }
  }
  return spec;
}

TEST(StoragePlan, BackwardsUndoesForwards) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 300; ++round) {
    const PlanSpec spec = random_plan(random);
    const StoragePlan plan = read(spec);
    Values values;
    for (const ParamEntry& parameter : plan.parameters()) {
      values.bytes.emplace_back(parameter.bytes);
      for (uint8_t& byte : values.bytes.back()) byte = static_cast<uint8_t>(random());
    }
    const auto data = fill(plan, values);
    auto stored = StoredParameters::create(plan, data);
    ASSERT_TRUE(stored.has_value());
    Array<uint8_t> scratch;
    for (size_t p = 0; p < plan.parameter_count(); ++p) {
      auto back = bytes_of(stored->source(), p, scratch);
      ASSERT_TRUE(back.has_value());
      ASSERT_EQ(std::vector<uint8_t>(back->begin(), back->end()), values.bytes[p]) << "round " << round << " parameter " << p;
    }
  }
}

TEST(StoragePlan, FoldsBatchNormWithOneRoundingPerOperation) {
  PlanSpec spec{{{"gamma", DType::Float32, {300}}, {"var", DType::Float32, {300}}}, {}};
  spec.stored = {identity(spec, 0), identity(spec, 1)};
  spec.stored.push_back({"scale", DType::Float32, {300}, {}, {}, {1e-5}});
  spec.stored[2].steps = {{VectorOp::LoadParameter, DType::Float32, 0, {1}},
                          {VectorOp::LoadParameter, DType::Float32, 1},
                          {VectorOp::LoadConstant, DType::Float32, 0},
                          {VectorOp::Add, DType::Float32},
                          {VectorOp::SquareRoot, DType::Float32},
                          {VectorOp::Divide, DType::Float32}};
  const StoragePlan plan = read(spec);
  std::vector<float> gamma(300), var(300);
  for (size_t i = 0; i < 300; ++i) {
    gamma[i] = 0.3f * static_cast<float>(i) - 7;
    var[i] = 0.01f + static_cast<float>(i) / 7;
  }
  Values values{{bytes_from(gamma), bytes_from(var)}};
  const auto data = fill(plan, values);
  const auto scale = values_from<float>(std::span(data).subspan(plan.table().stored()->Get(2)->offset(), 1200));
  for (size_t i = 0; i < 300; ++i) {
    const float sum = var[i] + static_cast<float>(1e-5);
    EXPECT_EQ(scale[i], gamma[i] / std::sqrt(sum)) << i;
  }
}

TEST(StoragePlan, SumsIntegersAlongEitherAxis) {
  PlanSpec spec{{{"w", DType::Int8, {5, 600}}, {"zero", DType::UInt8, {}}}, {}};
  spec.stored = {identity(spec, 0), identity(spec, 1)};
  spec.stored.push_back({"columns", DType::Int32, {600}, {}, {{VectorOp::SumAxis, DType::Int32, 0, {1}, 0, 5, 600}}, {}});
  spec.stored.push_back({"rows", DType::Int32, {5}, {}, {{VectorOp::SumAxis, DType::Int32, 0, {600}, 0, 600, 1}}, {}});
  spec.stored[3].steps.push_back({VectorOp::LoadParameter, DType::Int32, 1, {0}});
  spec.stored[3].steps.push_back({VectorOp::Multiply, DType::Int32});
  const StoragePlan plan = read(spec);
  std::vector<int8_t> weights(3000);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<int8_t>(i * 37 % 251 - 120);
  Values values{{bytes_from(weights), {200}}};
  const auto data = fill(plan, values);
  const auto columns = values_from<int32_t>(std::span(data).subspan(plan.table().stored()->Get(2)->offset(), 2400));
  const auto rows = values_from<int32_t>(std::span(data).subspan(plan.table().stored()->Get(3)->offset(), 20));
  for (size_t n = 0; n < 600; ++n) {
    int32_t sum = 0;
    for (size_t k = 0; k < 5; ++k) sum += weights[k * 600 + n];
    EXPECT_EQ(columns[n], sum);
  }
  for (size_t k = 0; k < 5; ++k)
    EXPECT_EQ(rows[k], 200 * std::accumulate(weights.begin() + static_cast<long>(k * 600), weights.begin() + static_cast<long>(k * 600 + 600), 0));
}

TEST(StoragePlan, NarrowTypesRoundOnce) {
  PlanSpec spec{{{"a", DType::Float64, {4}}, {"h", DType::Float16, {4}}}, {}};
  spec.stored = {identity(spec, 0), identity(spec, 1)};
  spec.stored.push_back({"cast", DType::Float16, {4}, {}, {{VectorOp::LoadParameter, DType::Float64, 0}, {VectorOp::Cast, DType::Float16}}, {}});
  spec.stored.push_back({"sum", DType::Float16, {4}, {}, {}, {}});
  spec.stored[3].steps = {
      {VectorOp::LoadParameter, DType::Float16, 1}, {VectorOp::LoadParameter, DType::Float16, 1}, {VectorOp::Add, DType::Float16}};
  const StoragePlan plan = read(spec);
  // 1 + 2^-11 + 2^-40 rounds up; through float32 it would be a tie that rounds down.
  Values values{
      {bytes_from<double>({1 + 0x1p-11 + 0x1p-40, 65519.99999, 65520, 0x1p-25 + 0x1p-60}), bytes_from<uint16_t>({0x3c00, 0x7bff, 0x0001, 0x7e00})}};
  const auto data = fill(plan, values);
  const auto cast = values_from<uint16_t>(std::span(data).subspan(plan.table().stored()->Get(2)->offset(), 8));
  EXPECT_EQ(cast, (std::vector<uint16_t>{0x3c01, 0x7bff, 0x7c00, 0x0001}));
  const auto sum = values_from<uint16_t>(std::span(data).subspan(plan.table().stored()->Get(3)->offset(), 8));
  EXPECT_EQ(sum, (std::vector<uint16_t>{0x4000, 0x7c00, 0x0002, 0x7e00}));
}

TEST(StoragePlan, HalfRoundTripsThroughFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    if ((half & 0x7c00) != 0x7c00 || (half & 0x3ff) == 0) {
      ASSERT_EQ(float_to_float16(float16_to_float(half)), half);
    }
    if ((half & 0x7f80) != 0x7f80 || (half & 0x7f) == 0) {
      ASSERT_EQ(float_to_bfloat16(bfloat16_to_float(half)), half);
    }
  }
}

PlanSpec one_piece(PieceSpec piece) {
  PlanSpec spec{{{"w", DType::Float32, {4, 6}}}, {{"s", DType::Float32, {6, 4}, {std::move(piece)}, {}, {}}}};
  return spec;
}

TEST(StoragePlan, RefusesPiecesThatReachOutside) {
  EXPECT_EQ(code_of(one_piece({0, {4, 6}, {6, 1}, {1, 4}})), Code::Ok);
  EXPECT_EQ(code_of(one_piece({0, {4, 6}, {6, -1}, {1, 4}, 5})), Code::Ok);  // mirrored, inside
  EXPECT_EQ(code_of(one_piece({1, {4, 6}, {6, 1}, {1, 4}})), Code::InvalidParams);
  EXPECT_EQ(code_of(one_piece({0, {4, 6}, {6, 1}, {1, 5}})), Code::InvalidParams);
  EXPECT_EQ(code_of(one_piece({0, {4, 6}, {6, 1}, {1, 4}, 1})), Code::InvalidParams);
  EXPECT_EQ(code_of(one_piece({0, {4, 6}, {6, 1}, {1, 4}, 0, -1})), Code::InvalidParams);
  EXPECT_EQ(code_of(one_piece({0, {4, 6}, {6, 1, 1}, {1, 4}})), Code::InvalidParams);
  EXPECT_EQ(code_of(one_piece({0, {4, 6}, {INT64_MAX, 1}, {1, 4}})), Code::InvalidParams);
  EXPECT_EQ(code_of(one_piece({0, {4, 0}, {6, 1}, {1, 4}})), Code::InvalidParams);
  EXPECT_EQ(code_of(one_piece({0, {4, 6, 1000000}, {6, 1, 0}, {1, 4, 0}})), Code::InvalidParams);  // writes the same place again and again
  EXPECT_EQ(code_of(one_piece({0, {INT64_MAX, INT64_MAX}, {0, 0}, {0, 0}})), Code::InvalidParams);
  EXPECT_EQ(code_of(one_piece({0, {4, 5}, {6, 1}, {1, 4}})), Code::InvalidParams);  // covers too little
}

TEST(StoragePlan, RefusesUnsoundTensors) {
  PlanSpec overlapping{{{"a", DType::Float32, {16}}, {"b", DType::Float32, {17}}}, {}};
  overlapping.stored = {identity(overlapping, 0), identity(overlapping, 1)};
  EXPECT_EQ(code_of(overlapping), Code::Ok);
  overlapping.stored[1].offset = 0;
  EXPECT_EQ(code_of(overlapping), Code::InvalidParams);
  overlapping.stored[1].offset = 65;
  EXPECT_EQ(code_of(overlapping), Code::InvalidParams);
  PlanSpec twice{{{"a", DType::Float32, {16}}, {"a", DType::Float32, {16}}}, {}};
  twice.stored = {identity(twice, 0), identity(twice, 1)};
  EXPECT_EQ(code_of(twice), Code::InvalidParams);
  PlanSpec text{{{"a", DType::String, {}}}, {}};
  EXPECT_EQ(code_of(text), Code::InvalidParams);
  PlanSpec cut{{{"q", DType::Int4, {4, 4}}}, {{"s", DType::Int4, {4, 4}, {{0, {4, 4}, {4, 1}, {1, 4}}}, {}, {}}}};
  EXPECT_EQ(code_of(cut), Code::InvalidParams);
}

TEST(StoragePlan, RefusesUnsoundExpressions) {
  const auto with_steps = [](std::vector<StepSpec> steps) {
    PlanSpec spec{{{"a", DType::Float32, {8}}, {"i", DType::Int8, {8}}}, {}};
    spec.stored = {identity(spec, 0), identity(spec, 1)};
    spec.stored.push_back({"e", DType::Float32, {8}, {}, std::move(steps), {1.5}});
    return code_of(spec);
  };
  const StepSpec load{VectorOp::LoadParameter, DType::Float32, 0, {1}};
  EXPECT_EQ(with_steps({load}), Code::Ok);
  EXPECT_EQ(with_steps({load, load}), Code::InvalidParams);
  EXPECT_EQ(with_steps({load, {VectorOp::Add, DType::Float32}}), Code::InvalidParams);
  EXPECT_EQ(with_steps({{VectorOp::LoadParameter, DType::Float32, 2, {1}}}), Code::InvalidParams);
  EXPECT_EQ(with_steps({{VectorOp::LoadParameter, DType::Float32, 0, {2}}}), Code::InvalidParams);
  EXPECT_EQ(with_steps({{VectorOp::LoadParameter, DType::Float32, 0, {}, 1}}), Code::InvalidParams);
  EXPECT_EQ(with_steps({{VectorOp::LoadParameter, DType::Float32, 0, {1}, INT64_MAX}}), Code::InvalidParams);
  EXPECT_EQ(with_steps({{VectorOp::LoadConstant, DType::Float32, 1}}), Code::InvalidParams);
  EXPECT_EQ(with_steps({load, {VectorOp::Cast, DType::Float16}}), Code::InvalidParams);
  EXPECT_EQ(with_steps({load, {VectorOp::LoadConstant, DType::Float64, 0}, {VectorOp::Add, DType::Float32}}), Code::InvalidParams);
  EXPECT_EQ(with_steps({{VectorOp::SumAxis, DType::Int32, 1, {0}, 0, 2, 1}, {VectorOp::Cast, DType::Float32}}), Code::InvalidParams);
  EXPECT_EQ(with_steps({{VectorOp::SumAxis, DType::Int32, 1, {1}, 0, 1, INT64_MAX}, {VectorOp::Cast, DType::Float32}}), Code::Ok);
  EXPECT_EQ(with_steps({{static_cast<VectorOp>(200), DType::Float32}}), Code::InvalidParams);
  EXPECT_EQ(with_steps(std::vector<StepSpec>(65, load)), Code::InvalidParams);
}

TEST(StoragePlan, ChangedBytesNeverCrash) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  PlanSpec spec{{{"w", DType::Float32, {4, 6}}, {"v", DType::Float32, {6}}}, {{"s", DType::Float32, {6, 4}, {{0, {4, 6}, {6, 1}, {1, 4}}}, {}, {}}}};
  spec.stored.push_back(identity(spec, 1));
  spec.stored.push_back(
      {"e", DType::Float32, {6}, {}, {{VectorOp::LoadParameter, DType::Float32, 1, {1}}, {VectorOp::SquareRoot, DType::Float32}}, {}});
  const auto good = build_plan(spec);
  for (int round = 0; round < 20000; ++round) {
    auto bytes = good;
    for (uint32_t change = 0; change <= random() % 3; ++change)
      bytes[random() % bytes.size()] = static_cast<uint8_t>(random() % 4 == 0 ? random() : random() % 8);
    if (round % 4 == 0) bytes.resize(random() % bytes.size());
    auto plan = StoragePlan::read(bytes);
    if (!plan.has_value() || plan->data_bytes() > (1 << 20)) continue;
    Values values;
    for (const ParamEntry& parameter : plan->parameters()) values.bytes.emplace_back(parameter.bytes);
    std::vector<uint8_t> data(plan->data_bytes());
    ASSERT_TRUE(plan->fill_data(values.reader(), data).is_ok());
    for (size_t p = 0; p < plan->parameter_count(); ++p) ASSERT_TRUE(plan->restore_parameter(p, data, values.bytes[p]).is_ok());
  }
}

}  // namespace
}  // namespace tiffin::params
