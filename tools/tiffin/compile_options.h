// SPDX-License-Identifier: Apache-2.0
// The words of `tiffin compile`.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/driver/compile.h"

namespace tiffin::tools {

struct CompileWords {
  std::string model, output, params_out, golden_inputs;
  std::string cache;  // "" or the folder of the cache
  uint64_t cache_bytes = 10'000'000'000;
  bool is_strict = false, json = false, quiet = false;
  driver::CompileOptions options;
};

// What became of the words: options to compile with, or an exit status because help was asked for or they are wrong.
struct ParsedWords {
  CompileWords words;
  bool is_done = false;
  int exit_status = 0;
};

// Tells wrong usage itself.
ParsedWords parse_compile_words(int count, char** words);

// "NAME=8", "NAME=1x3x224x224": the name ends at the last '='. InvalidArgument.
Status add_dim(const std::string& word, driver::CompileOptions* options);
Status add_input_shape(const std::string& word, driver::CompileOptions* options);

}  // namespace tiffin::tools
