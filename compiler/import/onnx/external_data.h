// SPDX-License-Identifier: Apache-2.0
// Tensor bytes that lie in files beside the model. Only regular files inside the model's own folder are read, each mapped once.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "compiler/import/onnx/mapped_file.h"

namespace tiffin::import {

// The entries of TensorProto.external_data.
struct ExternalLocation {
  std::string location;
  std::optional<std::string> offset, length;
};

class ExternalFiles {
 public:
  // `folder` is the model's; "" refuses every location.
  explicit ExternalFiles(std::string folder) : folder_(std::move(folder)) {}

  // The `size` bytes that `where` names. Errors: InvalidModel (a path that is absolute, has "..", or is a link out of the folder; offset or
  // length that do not fit the file or the tensor), Io (file missing or unreadable).
  Result<MappedFile> find(const ExternalLocation& where, uint64_t size);

 private:
  Result<MappedFile> open(const std::string& location);

  std::string folder_;
  std::map<std::string, MappedFile> files_;  // by location
};

}  // namespace tiffin::import
