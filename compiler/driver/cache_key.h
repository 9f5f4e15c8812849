// SPDX-License-Identifier: Apache-2.0
// What the bytes of a compilation depend on, as one digest: the model and the files beside it, the options that shape the output, and the compiler
// itself.
#pragma once

#include <string>
#include <vector>

#include "base/digest.h"
#include "base/status.h"
#include "compiler/driver/compile.h"

namespace tiffin::driver {

// A compilation as a cache sees it.
struct CacheRequest {
  std::string model;
  const CompileOptions* options = nullptr;
  bool is_bundle = false;                  // the library's form
  std::string params_suffix;               // ".tfw", …: the form of the parameter file, "" without one
  std::vector<std::string> input_files;    // further files whose names and contents shape the output, in this order
  std::vector<std::string> input_folders;  // the same of all files below them
  std::vector<uint8_t> input_bytes;        // what shapes the output and lies in no file
};

// Reads all of these files. Io for one that cannot be read, UnsupportedTarget; a model that is damaged has a key, too.
Result<Digest> cache_key(const CacheRequest& request);

// Of this compiler: its version, and the build IDs of the program and of every library that is loaded into it (their bytes, of one without).
Result<Digest> compiler_identity();

}  // namespace tiffin::driver
