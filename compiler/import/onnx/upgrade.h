// SPDX-License-Identifier: Apache-2.0
// Older forms of standard operators into that of the newest opset: attributes that became inputs, changed defaults, renamed operators.
#pragma once

#include "base/status.h"
#include "compiler/import/onnx/emitter.h"

namespace tiffin::import {

// The Op of a standard operator's name, or of the one that took its place (Scatter, Upsample, CastLike). False when there is none.
bool find_op(const std::string& op_type, graph::Op* out_op);

// Rewrites the draft in place; nodes that must come before it are emitted. The draft's last node keeps the outputs.
// Errors: UnsupportedOperator (its message is "OPERATOR with REASON"), InvalidModel (a required attribute is missing).
Status upgrade(Draft* draft, Emitter* emitter);

}  // namespace tiffin::import
