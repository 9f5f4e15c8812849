// SPDX-License-Identifier: Apache-2.0
// Builds storage plans in tests.
#pragma once

#include <string>
#include <vector>

#include "abi/artifact_generated.h"
#include "base/dtype.h"
#include "base/params/storage_plan.h"

namespace tiffin::params::testing {

struct ParameterSpec {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  bool is_frozen = false;
};
struct PieceSpec {
  uint32_t parameter;
  std::vector<int64_t> extents, source_strides, target_strides;
  int64_t source_offset = 0, target_offset = 0;
};
struct StepSpec {
  abi::VectorOp op;
  DType dtype;
  uint32_t operand = 0;
  std::vector<int64_t> strides;
  int64_t offset = 0, extent = 0, axis_stride = 0;
};
struct StoredSpec {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<PieceSpec> pieces;
  std::vector<StepSpec> steps;
  std::vector<double> constants;
  uint64_t offset = UINT64_MAX;  // by default behind the one before
};
struct PlanSpec {
  std::vector<ParameterSpec> parameters;
  std::vector<StoredSpec> stored;
};

inline uint64_t byte_count(DType dtype, const std::vector<int64_t>& shape) {
  uint64_t count = 1;
  for (const int64_t extent : shape) count *= static_cast<uint64_t>(extent);
  uint64_t bytes = 0;
  return storage_bytes(dtype, count, &bytes) ? bytes : 0;
}

inline std::vector<uint8_t> build_plan(const PlanSpec& spec) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<abi::Parameter>> parameters;
  for (const auto& parameter : spec.parameters) {
    parameters.push_back(abi::CreateParameterDirect(builder, parameter.name.c_str(), static_cast<uint8_t>(parameter.dtype), &parameter.shape,
                                                    byte_count(parameter.dtype, parameter.shape), parameter.is_frozen));
  }
  std::vector<flatbuffers::Offset<abi::Stored>> stored;
  uint64_t done = 0;
  for (const auto& tensor : spec.stored) {
    std::vector<flatbuffers::Offset<abi::Piece>> pieces;
    for (const auto& piece : tensor.pieces) {
      pieces.push_back(abi::CreatePieceDirect(builder, piece.parameter, &piece.extents, &piece.source_strides, &piece.target_strides,
                                              piece.source_offset, piece.target_offset));
    }
    std::vector<flatbuffers::Offset<abi::VectorStep>> steps;
    for (const auto& step : tensor.steps) {
      steps.push_back(abi::CreateVectorStepDirect(builder, step.op, static_cast<uint8_t>(step.dtype), step.operand, &step.strides, step.offset,
                                                  step.extent, step.axis_stride));
    }
    const uint64_t offset = tensor.offset != UINT64_MAX ? tensor.offset : (done + 63) / 64 * 64;
    const uint64_t bytes = byte_count(tensor.dtype, tensor.shape);
    stored.push_back(abi::CreateStoredDirect(builder, tensor.name.c_str(), static_cast<uint8_t>(tensor.dtype), &tensor.shape, bytes, offset, &pieces,
                                             &steps, &tensor.constants));
    done = offset + bytes;
  }
  const auto plan = abi::CreateStoragePlanDirect(builder, &parameters, &stored, (done + 63) / 64 * 64);
  builder.Finish(abi::CreateEnvelope(builder, abi::Root::StoragePlan, plan.Union()));
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

// A parameter stored as it is.
inline StoredSpec identity(const PlanSpec& spec, uint32_t parameter) {
  const ParameterSpec& from = spec.parameters[parameter];
  int64_t count = 1;
  for (const int64_t extent : from.shape) count *= extent;
  StoredSpec stored{from.name, from.dtype, from.shape, {}, {}, {}};
  if (count > 0) stored.pieces.push_back({parameter, {count}, {1}, {1}});
  return stored;
}

// Values of a plan's parameters.
struct Values {
  std::vector<std::vector<uint8_t>> bytes;
  ParameterReader reader() {
    return {this, [](void* context, size_t index, Array<uint8_t>&) -> Result<std::span<const uint8_t>> {
              return std::span<const uint8_t>(static_cast<Values*>(context)->bytes[index]);
            }};
  }
};

}  // namespace tiffin::params::testing
