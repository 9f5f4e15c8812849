// SPDX-License-Identifier: Apache-2.0
#include "base/params/vector_expression.h"

#include <algorithm>

#include "abi/artifact.h"
#include "base/params/plan_bounds.h"
#include "base/params/sum_axis.h"
#include "base/params/vector_register.h"

namespace tiffin::params {
namespace {

using abi::VectorOp;

bool has_strides(const abi::VectorStep& step) { return step.strides() != nullptr && step.strides()->size() > 0; }

// Element offsets of a block of the stored tensor's elements into a parameter.
class OffsetWalk {
 public:
  OffsetWalk(const abi::Stored& stored, const abi::VectorStep& step) : stored_(stored), step_(step) {}

  void fill(int64_t begin, int count, int64_t* out_offsets) const {
    if (!has_strides(step_)) {
      for (int i = 0; i < count; ++i) out_offsets[i] = step_.offset() + begin + i;
      return;
    }
    const int rank = static_cast<int>(stored_.shape()->size());
    int64_t index[TIFFIN_MAX_RANK];
    int64_t offset = step_.offset();
    for (int axis = rank; axis-- > 0;) {
      index[axis] = begin % extent(axis);
      begin /= extent(axis);
      offset += index[axis] * stride(axis);
    }
    for (int i = 0; i < count; ++i) {
      out_offsets[i] = offset;
      for (int axis = rank; axis-- > 0;) {
        offset += stride(axis);
        if (++index[axis] < extent(axis)) break;
        offset -= stride(axis) * extent(axis);
        index[axis] = 0;
      }
    }
  }

 private:
  int64_t extent(int axis) const { return stored_.shape()->Get(static_cast<flatbuffers::uoffset_t>(axis)); }
  int64_t stride(int axis) const { return step_.strides()->Get(static_cast<flatbuffers::uoffset_t>(axis)); }
  const abi::Stored& stored_;
  const abi::VectorStep& step_;
};

void load_constant(VectorRegister& out, DType dtype, double value, int count) {
  out.dtype = DType::Float64;
  for (int i = 0; i < count; ++i) out.floats[i] = value;
  cast_elements(out, dtype, count);
}

Arithmetic arithmetic_of(VectorOp op) {
  switch (op) {
    case VectorOp::Subtract:
      return Arithmetic::Subtract;
    case VectorOp::Multiply:
      return Arithmetic::Multiply;
    case VectorOp::Divide:
      return Arithmetic::Divide;
    default:
      return Arithmetic::Add;
  }
}

struct RegisterStack {
  VectorRegister registers[kMaxExpressionDepth];
  size_t depth = 0;
};

void run_step(const abi::StoragePlan& plan, const abi::Stored& stored, const abi::VectorStep& step, std::span<const uint8_t> operand, int64_t begin,
              int count, RegisterStack& stack) {
  const DType dtype = dtype_of(step.dtype());
  int64_t offsets[kRegisterElements];
  switch (step.op()) {
    case VectorOp::LoadParameter:
    case VectorOp::SumAxis: {
      const DType from = dtype_of(plan.parameters()->Get(step.operand())->dtype());
      VectorRegister& loaded = stack.registers[stack.depth++];
      OffsetWalk(stored, step).fill(begin, count, offsets);
      if (step.op() == VectorOp::SumAxis) {
        loaded.dtype = DType::Int32;
        sum_axis(from, operand.data(), offsets, count, step.extent(), step.axis_stride(), loaded.integers);
        return;
      }
      load_elements(loaded, from, operand.data(), offsets, count);
      return cast_elements(loaded, dtype, count);
    }
    case VectorOp::LoadConstant:
      return load_constant(stack.registers[stack.depth++], dtype, stored.constants()->Get(step.operand()), count);
    case VectorOp::SquareRoot:
      return apply_square_root(stack.registers[stack.depth - 1], count);
    case VectorOp::Cast:
      return cast_elements(stack.registers[stack.depth - 1], dtype, count);
    default:
      --stack.depth;
      return apply_arithmetic(arithmetic_of(step.op()), stack.registers[stack.depth - 1], stack.registers[stack.depth], count);
  }
}

}  // namespace

void evaluate_expression(const abi::StoragePlan& plan, const abi::Stored& stored, std::span<const std::span<const uint8_t>> operands,
                         std::span<uint8_t> out) {
  int64_t total = 0;
  if (!count_elements(*stored.shape(), &total)) return;
  const auto width = static_cast<size_t>(dtype_bits(dtype_of(stored.dtype()))) / 8;
  const auto& steps = *stored.steps();
  RegisterStack stack;
  for (int64_t begin = 0; begin < total; begin += kRegisterElements) {
    const int count = static_cast<int>(std::min<int64_t>(kRegisterElements, total - begin));
    stack.depth = 0;
    for (flatbuffers::uoffset_t i = 0; i < steps.size(); ++i) run_step(plan, stored, *steps.Get(i), operands[i], begin, count, stack);
    store_elements(stack.registers[0], out.data() + static_cast<size_t>(begin) * width, count);
  }
}

}  // namespace tiffin::params
