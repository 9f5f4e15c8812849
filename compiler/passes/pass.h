// SPDX-License-Identifier: Apache-2.0
// What every pass has in common: `Status name(graph::Graph&, PassContext&)`, one pass per file pair, leaving the graph valid and all types
// inferred. driver/pipeline.cc holds the list.
#pragma once

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/kernel/machine.h"

namespace tiffin::passes {

// Options of one compilation that passes may depend on. Passes read it; none of them writes it.
struct PassContext {
  int opt_level = 3;        // 0: only what kernels need; 3: everything
  kernel::Machine machine;  // layouts depend on it
};

}  // namespace tiffin::passes
