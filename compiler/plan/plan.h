// SPDX-License-Identifier: Apache-2.0
// The plan: everything that is decided before code is generated, as pure printable data. Steps call kernels on buffers; buffers lie in the
// arena, in stored tensors made from parameters (the storage plan), or in constants. docs/architecture/plan.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/kernel/ir.h"

namespace tiffin::plan {

// ---- storage plan; the same concepts as in abi/artifact.fbs ----

struct Parameter {
  std::string name;
  graph::Tensor tensor;  // the original
  bool is_frozen = false;
};

// A strided copy of one box of a parameter into a stored tensor; all counts in elements.
struct Piece {
  uint32_t parameter = 0;
  std::vector<int64_t> extents, source_strides, target_strides;
  int64_t source_offset = 0, target_offset = 0;
};

enum class VectorOp : uint8_t { LoadParameter, LoadConstant, Add, Subtract, Multiply, Divide, SquareRoot, Cast, SumAxis };

struct VectorStep {
  VectorOp op{};
  DType dtype{};
  uint32_t operand = 0;
  std::vector<int64_t> strides;
  int64_t offset = 0, extent = 0, axis_stride = 0;
};

struct Stored {
  std::string name;
  DType dtype{};
  std::vector<int64_t> shape;      // physical
  uint64_t bytes = 0, offset = 0;  // offset: from the start of the weights' data, a multiple of 64
  std::vector<Piece> pieces;       // a placement, or
  std::vector<VectorStep> steps;   // a vector expression
  std::vector<double> constants;
};

struct StoragePlan {
  std::vector<Parameter> parameters;
  std::vector<Stored> stored;
  uint64_t data_bytes = 0;
};

// ---- program ----

enum class Space : uint8_t { Input, Output, Arena, Stored, Constant };

struct Buffer {
  Space space{};
  uint32_t index = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct Constant {
  graph::Tensor tensor;
  bool is_uniform = false;  // stored as one element, filled at bind
};

struct Step {
  uint32_t kernel = 0;
  std::vector<uint32_t> buffers;
  std::vector<graph::ValueId> results;  // values of the planned graph that the last of the buffers hold after the step, in their order
  std::string label;
};

struct Value {
  std::string name;
  graph::Type type;
};

struct Entry {
  std::string name = "default";
  std::vector<Value> inputs, outputs;
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  uint64_t arena_bytes = 0, arena_lower_bound = 0;
};

struct Plan {
  StoragePlan storage;
  std::vector<Constant> constants;
  std::vector<std::unique_ptr<kernel::Kernel>> kernels;  // distinct ones; units, scratch and grain stand in each
  Entry entry;
};

}  // namespace tiffin::plan
