// SPDX-License-Identifier: Apache-2.0
// Inference of quantisation. The scale is a scalar, a vector along `axis`, or has one element for each block of `block_size` along `axis`.
#include "compiler/ops/axes.h"
#include "compiler/ops/families.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::ops {
namespace {

using graph::Dim;
using graph::Shape;

Status check_blocked_scale(const Inference& inference, size_t axis, int64_t block) {
  TIFFIN_TRY(expect_rank(inference, 1, inference.rank(0), "quantize.c1"));
  for (size_t i = 0; i < inference.rank(0); ++i) {
    const Dim& dim = inference.dim(0, i);
    if (!dim.is_static()) continue;
    const int64_t expected = i != axis ? dim.value() : dim.value() / block + (dim.value() % block != 0 ? 1 : 0);
    TIFFIN_TRY(expect_dim(inference, 1, i, expected, "quantize.c2"));
  }
  return {};
}

Status check_scale(const Inference& inference) {
  const graph::Node& node = inference.node();
  const int64_t block = node.int_attribute("block_size", 0);
  if (block < 0) {
    return node_error(Code::InvalidModel, inference.graph(), node, "attribute 'block_size' is %lld, expected 0 or more (quantize.c3)",
                      static_cast<long long>(block));
  }
  if (!inference.has_rank(0) || !inference.has_rank(1) || inference.rank(1) == 0) return {};
  const bool is_one = inference.rank(1) == 1 && inference.dim(1, 0) == Dim(1);
  if (block == 0 && (is_one || inference.rank(0) == 0)) return {};
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, axis_attribute(inference.graph(), node, "axis", 1));
  if (block > 0) return check_blocked_scale(inference, static_cast<size_t>(axis), block);
  TIFFIN_TRY(expect_rank(inference, 1, 1, "quantize.c4"));
  return expect_dim(inference, 1, 0, inference.dim(0, static_cast<size_t>(axis)), "quantize.c4");
}

Status check_zero_point(const Inference& inference) {
  if (!inference.has_input(2) || !inference.has_rank(2) || !inference.has_rank(1)) return {};
  const auto count_is_one = [&](size_t i) { return inference.rank(i) == 0 || (inference.rank(i) == 1 && inference.dim(i, 0) == Dim(1)); };
  if (count_is_one(1) && count_is_one(2)) return {};
  TIFFIN_TRY(expect_rank(inference, 2, inference.rank(1), "quantize.c5"));
  for (size_t axis = 0; axis < inference.rank(1); ++axis) TIFFIN_TRY(expect_dim(inference, 2, axis, inference.dim(1, axis), "quantize.c5"));
  return {};
}

bool is_quantized(DType dtype) {
  switch (dtype) {
    case DType::Int8:
    case DType::UInt8:
    case DType::Int16:
    case DType::UInt16:
    case DType::Int4:
    case DType::UInt4:
    case DType::Int2:
    case DType::UInt2:
    case DType::Float4E2M1:
    case DType::Float8E4M3FN:
    case DType::Float8E4M3FNUZ:
    case DType::Float8E5M2:
    case DType::Float8E5M2FNUZ:
      return true;
    default:
      return false;
  }
}

}  // namespace

Status infer_quantize(Inference& inference) {
  const graph::Node& node = inference.node();
  TIFFIN_TRY(check_scale(inference));
  TIFFIN_TRY(check_zero_point(inference));
  DType result = inference.has_input(2) ? inference.dtype(2) : DType::UInt8;
  const int64_t code = node.int_attribute("output_dtype", 0);
  if (code != 0) {
    TIFFIN_ASSIGN_OR_RETURN(const DType wanted, dtype_of_code(inference.graph(), node, "output_dtype", code));
    if (!is_quantized(wanted) || (inference.has_input(2) && result != wanted && result != DType::Undefined)) {
      return node_error(Code::InvalidModel, inference.graph(), node,
                        "attribute 'output_dtype' is '%s', expected a quantised type equal to the zero point's (quantize.c6)",
                        std::string(dtype_name(wanted)).c_str());
    }
    result = wanted;
  }
  return inference.set(0, result, inference.type(0).shape);
}

Status infer_dequantize(Inference& inference) {
  const graph::Node& node = inference.node();
  TIFFIN_TRY(check_scale(inference));
  TIFFIN_TRY(check_zero_point(inference));
  DType result = inference.dtype(1) == DType::Float8E8M0 ? DType::Float32 : inference.dtype(1);
  const int64_t code = node.int_attribute("output_dtype", 0);
  if (code != 0) {
    TIFFIN_ASSIGN_OR_RETURN(result, dtype_of_code(inference.graph(), node, "output_dtype", code));
    if (result != DType::Float32 && result != DType::Float16 && result != DType::BFloat16) {
      return node_error(Code::InvalidModel, inference.graph(), node,
                        "attribute 'output_dtype' is '%s', expected float32, float16 or bfloat16 (quantize.c7)",
                        std::string(dtype_name(result)).c_str());
    }
  }
  return inference.set(0, result, inference.type(0).shape);
}

Status infer_dynamic_quantize(Inference& inference) {
  TIFFIN_TRY(inference.set(0, DType::UInt8, inference.type(0).shape));
  TIFFIN_TRY(inference.set(1, DType::Float32, Shape{}));
  return inference.set(2, DType::UInt8, Shape{});
}

}  // namespace tiffin::ops
