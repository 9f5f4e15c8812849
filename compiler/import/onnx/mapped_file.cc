// SPDX-License-Identifier: Apache-2.0
#include "compiler/import/onnx/mapped_file.h"

#include "base/mapping.h"

namespace tiffin::import {

Result<MappedFile> map_file(const std::string& path) {
  TIFFIN_ASSIGN_OR_RETURN(Mapping mapping, Mapping::open_file(path.c_str()));
  auto owner = std::make_shared<const Mapping>(std::move(mapping));
  const auto bytes = owner->bytes();
  return MappedFile{bytes, std::move(owner)};
}

}  // namespace tiffin::import
