// SPDX-License-Identifier: Apache-2.0
#include "base/params/vector_expression.h"

#include <algorithm>

#include "abi/artifact.h"
#include "base/params/plan_bounds.h"
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

// One after the other, which lets the additions run as vectors.
bool is_contiguous(const int64_t* offsets, int count) {
  for (int i = 1; i < count; ++i) {
    if (offsets[i] != offsets[0] + i) return false;
  }
  return true;
}

template <class T>
void sum_axis(const uint8_t* base, const int64_t* offsets, int count, int64_t extent, int64_t axis_stride, int64_t* out) {
  uint32_t sums[kRegisterElements] = {};
  const auto element = [base](int64_t offset) {
    T value;
    memcpy(&value, base + offset * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return static_cast<uint32_t>(value);
  };
  if (axis_stride == 1 || axis_stride == -1) {
    for (int i = 0; i < count; ++i) {
      for (int64_t k = 0; k < extent; ++k) sums[i] += element(offsets[i] + k * axis_stride);
    }
  } else if (is_contiguous(offsets, count)) {
    for (int64_t k = 0; k < extent; ++k) {
      for (int i = 0; i < count; ++i) sums[i] += element(offsets[0] + k * axis_stride + i);
    }
  } else {
    for (int64_t k = 0; k < extent; ++k) {
      for (int i = 0; i < count; ++i) sums[i] += element(offsets[i] + k * axis_stride);
    }
  }
  for (int i = 0; i < count; ++i) out[i] = static_cast<int32_t>(sums[i]);
}

void load_sum(VectorRegister& out, DType dtype, const uint8_t* base, const int64_t* offsets, int count, const abi::VectorStep& step) {
  out.dtype = DType::Int32;
  const int64_t extent = step.extent();
  const int64_t stride = step.axis_stride();
  switch (dtype) {
    case DType::Int8:
      return sum_axis<int8_t>(base, offsets, count, extent, stride, out.integers);
    case DType::UInt8:
      return sum_axis<uint8_t>(base, offsets, count, extent, stride, out.integers);
    case DType::Int16:
      return sum_axis<int16_t>(base, offsets, count, extent, stride, out.integers);
    case DType::UInt16:
      return sum_axis<uint16_t>(base, offsets, count, extent, stride, out.integers);
    case DType::UInt32:
      return sum_axis<uint32_t>(base, offsets, count, extent, stride, out.integers);
    default:
      return sum_axis<int32_t>(base, offsets, count, extent, stride, out.integers);
  }
}

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
      if (step.op() == VectorOp::SumAxis) return load_sum(loaded, from, operand.data(), offsets, count, step);
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
