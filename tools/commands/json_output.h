// SPDX-License-Identifier: Apache-2.0
// How failures are told, as text and as the one JSON object that --json prints.
#pragma once

#include <cassert>
#include <cstdio>
#include <string_view>

#include "base/description/json_output.h"
#include "base/status.h"
#include "tools/commands/host_tensor.h"

namespace tiffin::tools {

// Tells a failure: "tiffin: error[Code]: message" and its remedy on standard error; with `json` the error object on standard output as well.
void report_failure(const Status& status, bool json);

// A reason for exit status 1, on standard error alone.
void report_reason(Code code, const char* message, const char* remedy);

// Flushes standard output. Io when it did not take everything.
Status flush_output();

}  // namespace tiffin::tools
