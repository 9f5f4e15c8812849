// SPDX-License-Identifier: Apache-2.0
// Whether a vector expression is sound. Apart from its evaluation, because the small runtime library has neither.
#include <algorithm>

#include "abi/artifact.h"
#include "base/params/plan_bounds.h"
#include "base/params/vector_expression.h"
#include "base/params/vector_register.h"

namespace tiffin::params {
namespace {

using abi::VectorOp;

Status unsound(const abi::Stored& stored, const char* why) {
  return error(Code::InvalidParams, "the expression of stored tensor '%s' %s", stored.name()->c_str(), why);
}

bool has_strides(const abi::VectorStep& step) { return step.strides() != nullptr && step.strides()->size() > 0; }

// Reads of one element per stored element, or of `extent` elements each for SumAxis, stay inside the parameter. An empty stored tensor reads nothing.
bool is_read_within(const abi::Stored& stored, const abi::VectorStep& step, int64_t extent, int64_t axis_stride, int64_t parameter_count) {
  int64_t count = 0;
  if (!count_elements(*stored.shape(), &count)) return false;
  if (count == 0) return true;
  int64_t reach = 0;
  if (__builtin_mul_overflow(extent - 1, axis_stride, &reach)) return false;
  int64_t moved = 0;
  if (__builtin_add_overflow(step.offset(), reach, &moved)) return false;
  if (has_strides(step)) {
    return is_within(*stored.shape(), *step.strides(), step.offset(), parameter_count) &&
           is_within(*stored.shape(), *step.strides(), moved, parameter_count);
  }
  const int64_t lowest = std::min(step.offset(), moved);
  const int64_t highest = std::max(step.offset(), moved);
  int64_t end = 0;
  return lowest >= 0 && !__builtin_add_overflow(highest, count, &end) && end <= parameter_count;
}

Status check_load(const abi::StoragePlan& plan, const abi::Stored& stored, const abi::VectorStep& step) {
  if (step.operand() >= plan.parameters()->size()) return unsound(stored, "names a parameter that is not there");
  const abi::Parameter& parameter = *plan.parameters()->Get(step.operand());
  const DType dtype = dtype_of(parameter.dtype());
  int64_t parameter_count = 0;
  int64_t count = 0;
  if (!count_elements(*parameter.shape(), &parameter_count) || !count_elements(*stored.shape(), &count))
    return unsound(stored, "has an unusable shape");
  if (step.op() == VectorOp::LoadParameter) {
    if (!is_register_dtype(dtype)) return unsound(stored, "reads a parameter of a type that has no arithmetic");
    return is_read_within(stored, step, 1, 0, parameter_count) ? Status() : unsound(stored, "reads beyond a parameter");
  }
  if (!is_standard_int(dtype) || dtype_bits(dtype) > 32) return unsound(stored, "sums a parameter that is not of integers of at most 32 bits");
  if (step.dtype() != TIFFIN_DTYPE_INT32) return unsound(stored, "sums into another type than int32");
  // Each element of the parameter is summed at most once, which bounds the time.
  int64_t volume = 0;
  if (step.extent() < 0 || __builtin_mul_overflow(step.extent(), count, &volume) || volume > parameter_count)
    return unsound(stored, "sums more than a parameter holds");
  if (step.extent() == 0 || is_read_within(stored, step, step.extent(), step.axis_stride(), parameter_count)) return {};
  return unsound(stored, "reads beyond a parameter");
}

// The dtypes on the evaluation stack.
struct TypeStack {
  DType dtypes[kMaxExpressionDepth];
  size_t depth = 0;
};

Status check_step(const abi::StoragePlan& plan, const abi::Stored& stored, const abi::VectorStep& step, TypeStack& stack) {
  const DType dtype = dtype_of(step.dtype());
  if (!is_register_dtype(dtype)) return unsound(stored, "has a step of a type that has no arithmetic");
  switch (step.op()) {
    case VectorOp::LoadParameter:
    case VectorOp::SumAxis:
      TIFFIN_TRY(check_load(plan, stored, step));
      break;
    case VectorOp::LoadConstant:
      if (stored.constants() == nullptr || !is_aligned(*stored.constants()) || step.operand() >= stored.constants()->size())
        return unsound(stored, "names a constant that is not there");
      break;
    case VectorOp::Add:
    case VectorOp::Subtract:
    case VectorOp::Multiply:
    case VectorOp::Divide: {
      const bool is_integer = is_standard_int(dtype) && step.op() != VectorOp::Divide;
      if (!is_integer && !is_standard_float(dtype)) return unsound(stored, "computes in a type that has no such operation");
      if (stack.depth < 2) return unsound(stored, "has an operation without operands");
      if (stack.dtypes[stack.depth - 1] != dtype || stack.dtypes[stack.depth - 2] != dtype) return unsound(stored, "mixes types in one operation");
      stack.depth -= 2;
      break;
    }
    case VectorOp::SquareRoot:
    case VectorOp::Cast:
      if (stack.depth < 1) return unsound(stored, "has an operation without operands");
      if (step.op() == VectorOp::SquareRoot && (!is_standard_float(dtype) || stack.dtypes[stack.depth - 1] != dtype))
        return unsound(stored, "mixes types in one operation");
      --stack.depth;
      break;
    default:
      return unsound(stored, "has an operation that this version does not know");
  }
  if (stack.depth == kMaxExpressionDepth) return unsound(stored, "needs more than 64 values at once");
  stack.dtypes[stack.depth++] = dtype;
  return {};
}

}  // namespace

Status check_expression(const abi::StoragePlan& plan, const abi::Stored& stored) {
  const auto& steps = *stored.steps();
  if (steps.size() > kMaxExpressionSteps) return unsound(stored, "has more than 256 steps");
  TypeStack stack;
  for (const abi::VectorStep* step : steps) TIFFIN_TRY(check_step(plan, stored, *step, stack));
  if (stack.depth != 1) return unsound(stored, "leaves more than one value");
  if (stack.dtypes[0] != dtype_of(stored.dtype())) return unsound(stored, "gives another type than the tensor's");
  return {};
}

}  // namespace tiffin::params
