// SPDX-License-Identifier: Apache-2.0
// Inference of RNN, GRU and LSTM. Layout 0: Y [steps, directions, batch, hidden], Y_h and Y_c [directions, batch, hidden]; layout 1 puts the batch
// first.
#include "compiler/ops/families.h"
#include "compiler/ops/recurrent_rule.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::ops {

Status infer_recurrent(Inference& inference) {
  const DType dtype = inference.dtype(0);
  for (size_t i = 0; i < 3; ++i) {
    TIFFIN_TRY(expect_rank(inference, i, 3, "recurrent.c5"));
    if (inference.has_rank(i)) continue;
    TIFFIN_TRY(inference.set(0, dtype, inference.fresh_shape(0, 4)));
    TIFFIN_TRY(inference.set(1, dtype, inference.fresh_shape(1, 3)));
    return inference.set(2, dtype, inference.fresh_shape(2, 3));
  }
  TIFFIN_ASSIGN_OR_RETURN(const Recurrence r, recurrence_of(inference.graph(), inference.node()));
  const graph::Dim steps = inference.dim(0, r.is_batch_first ? 1 : 0);
  const graph::Dim batch = inference.dim(0, r.is_batch_first ? 0 : 1);
  const graph::Dim hidden = inference.dim_or_fresh(r.hidden, 0, 3);
  const graph::Dim directions(r.directions);
  graph::Shape sequence = {steps, directions, batch, hidden};
  graph::Shape last = {directions, batch, hidden};
  if (r.is_batch_first) {
    sequence = {batch, steps, directions, hidden};
    last = {batch, directions, hidden};
  }
  TIFFIN_TRY(inference.set(0, dtype, std::move(sequence)));
  TIFFIN_TRY(inference.set(1, dtype, last));
  return inference.set(2, dtype, std::move(last));
}

}  // namespace tiffin::ops
