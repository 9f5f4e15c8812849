// SPDX-License-Identifier: Apache-2.0
// Inference of pools. x: [N, C, spatial...]; y: [N, C, windows...].
#include "compiler/ops/families.h"
#include "compiler/ops/shape_rules.h"
#include "compiler/ops/window.h"

namespace tiffin::ops {
namespace {

Status check_attributes(const Inference& inference) {
  const graph::Node& node = inference.node();
  const int64_t p = node.int_attribute("p", 2);
  const int64_t order = node.int_attribute("storage_order", 0);
  if (p < 1) {
    return node_error(Code::InvalidModel, inference.graph(), node, "attribute 'p' is %lld, expected 1 or more (pool.c1)", static_cast<long long>(p));
  }
  if (order == 0 || order == 1) return {};
  return node_error(Code::InvalidModel, inference.graph(), node, "attribute 'storage_order' is %lld, expected 0 or 1 (pool.c2)",
                    static_cast<long long>(order));
}

}  // namespace

Status infer_pool(Inference& inference) {
  TIFFIN_TRY(check_attributes(inference));
  std::optional<graph::Shape> shape;
  if (inference.has_rank(0)) {
    TIFFIN_ASSIGN_OR_RETURN(const Window window, window_of(inference.graph(), inference.node()));
    shape = graph::Shape{inference.dim(0, 0), inference.dim(0, 1)};
    for (const int64_t extent : window.output) shape->push_back(inference.dim_or_fresh(extent, 0, shape->size()));
  }
  TIFFIN_TRY(inference.set(1, DType::Int64, shape));
  return inference.set(0, inference.dtype(0), std::move(shape));
}

}  // namespace tiffin::ops
