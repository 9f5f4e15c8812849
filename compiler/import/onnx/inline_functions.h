// SPDX-License-Identifier: Apache-2.0
// Replaces calls of model-local functions by the functions' nodes, nested ones too, and notes on every node the opset that holds for it.
#pragma once

#include "base/status.h"
#include "compiler/import/onnx/model_proto.h"

namespace tiffin::import {

// Errors: InvalidModel (a function that calls itself, a call with too many inputs or outputs, an expansion beyond all bounds, an opset that
// is missing or newer than kNewestOpset).
Status inline_functions(ModelProto* model);

}  // namespace tiffin::import
