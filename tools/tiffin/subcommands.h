// SPDX-License-Identifier: Apache-2.0
// The commands of `tiffin` that need the compiler. Each takes the words from the command's own on, tells its errors and returns the exit status.
#pragma once

#include "tools/commands/dispatch.h"

namespace tiffin::tools {

int compile_command(int count, char** words);
int bundle_command(int count, char** words);
int export_command(int count, char** words);
int keys_command(int count, char** words);
int sign_command(int count, char** words);
int diff_command(int count, char** words);
int targets_command(int count, char** words);

// Models compiled in memory and ONNX's tensor files, for `run` and `bench`.
const Extensions& compiler_extensions();

}  // namespace tiffin::tools
