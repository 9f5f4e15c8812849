// SPDX-License-Identifier: Apache-2.0
// What tiffin.compile asks of the compiler, as values that need no interpreter: it is carried out in another thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "compiler/driver/compile.h"
#include "runtime/artifact/artifact.h"

namespace tiffin::python {

struct NamedTensor {
  std::string name;
  DType dtype = DType::Undefined;
  std::vector<int64_t> shape;
  std::vector<uint8_t> bytes;  // compact, packed below 8 bits
};

struct CompileRequest {
  std::string model;
  driver::CompileOptions options;
  std::string golden_folder;                           // "" or where inputs of golden cases lie
  std::vector<std::vector<NamedTensor>> golden_cases;  // or these inputs
  std::string cache;                                   // "" or the folder of the cache
  uint64_t cache_bytes = 0;
};

// Compiles, or takes the module from the cache; a cache that cannot be written is not used. The codes of compile_onnx, and Io for a cache that cannot
// be made.
Result<driver::CompiledModule> compile_request(CompileRequest& request);

// Opens an artifact, checks all of it, and hands it to `write`, which writes `outputs`. InvalidArgument, before anything is read, for an output
// that is the artifact or another output.
Status export_artifact(const std::string& path, const std::vector<std::string>& outputs,
                       const std::function<Status(const runtime::Artifact&)>& write);

}  // namespace tiffin::python
