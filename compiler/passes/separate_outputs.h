// SPDX-License-Identifier: Apache-2.0
// Gives each graph output a value of its own: executors write outputs, so an output may be no input, parameter, constant or other output.
#pragma once

#include "compiler/passes/pass.h"

namespace tiffin::passes {

// Puts an Identity behind each output that needs one, and removes those Identities that separate nothing any more.
Status separate_outputs(graph::Graph& graph);

}  // namespace tiffin::passes
