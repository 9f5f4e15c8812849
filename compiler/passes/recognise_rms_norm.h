// SPDX-License-Identifier: Apache-2.0
// Finds RMS normalisation written out and makes it one operator.
//
//   y = x / Sqrt(ReduceMean(x ** 2) + epsilon) * gamma  ->  y = RMSNormalization(x, gamma)
#pragma once

#include "compiler/passes/pass.h"

namespace tiffin::passes {

// Over trailing axes only. Precondition: recognise_layer_norm ran, whose rows look the same. A scalar Parameter that is epsilon or the exponent is
// frozen.
Status recognise_rms_norm(graph::Graph& graph, PassContext& context);

}  // namespace tiffin::passes
