// SPDX-License-Identifier: Apache-2.0
// One serialized ONNX TensorProto and the Tensor it stands for, both ways: weights in a model, and `.pb` files of inputs and outputs.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/graph/tensor.h"

namespace tiffin::import {

struct NamedTensor {
  std::string name;  // may be empty
  graph::Tensor tensor;
};

// Reads a message; the tensor borrows raw_data, which `owner` keeps alive. Data outside the message is refused here.
// Errors: InvalidModel (damaged, wrong length, unknown dtype), UnsupportedType (strings, 6-bit floats).
Result<NamedTensor> read_tensor_proto(std::span<const uint8_t> bytes, std::shared_ptr<const void> owner);

// The same from a file. Errors: Io as well; a file that is no TensorProto is InvalidInput.
Result<NamedTensor> read_tensor_file(const std::string& path);

// The message of a tensor, its elements as raw_data. Precondition: not empty.
std::vector<uint8_t> write_tensor_proto(const std::string& name, const graph::Tensor& tensor);

}  // namespace tiffin::import
