// SPDX-License-Identifier: Apache-2.0
// Keeps commands from writing over what they read.
#pragma once

#include "runtime/artifact/container.h"

namespace tiffin::tools {

// InvalidArgument when `output` is the file `input`, under whatever name or link.
Status check_output(const char* output, const char* input);

// The same for the files that an artifact was read from: one, or those of its folder.
Status check_output(const char* output, const runtime::Container& input);

// InvalidArgument when two outputs are one file, be it there yet or not.
Status check_distinct(const char* output, const char* other);

}  // namespace tiffin::tools
