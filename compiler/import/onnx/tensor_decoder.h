// SPDX-License-Identifier: Apache-2.0
// The decoding behind tensor_proto.h, for the importer: throws WireError, and knows external data.
#pragma once

#include "compiler/import/onnx/external_data.h"
#include "compiler/import/onnx/tensor_proto.h"

namespace tiffin::import {

// Checks an element type of the wire. Errors: InvalidModel (no such type), UnsupportedType (strings, 6-bit floats).
Result<DType> dtype_from_onnx(int64_t code);

// `external` may be null: data outside the message is then InvalidModel.
Result<NamedTensor> decode_tensor(std::span<const uint8_t> bytes, const std::shared_ptr<const void>& owner, ExternalFiles* external);

}  // namespace tiffin::import
