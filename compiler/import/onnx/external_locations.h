// SPDX-License-Identifier: Apache-2.0
// Which files beside an ONNX model hold tensors of it.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "base/status.h"

namespace tiffin::import {

// The external data locations that the model's tensors name, wherever they stand in it; as written, so neither checked nor resolved. InvalidModel for
// bytes that are no ONNX model.
Result<std::set<std::string>> external_locations(std::span<const uint8_t> bytes);

}  // namespace tiffin::import
