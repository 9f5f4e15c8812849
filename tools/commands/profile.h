// SPDX-License-Identifier: Apache-2.0
// Time and share of each step, measured by runs of their own after the timed ones.
#pragma once

#include "runtime/executor/graph_executor.h"
#include "tools/commands/json_output.h"

namespace tiffin::tools {

// Runs the executor with profiling on until half a second has passed, at most 100 times.
Status take_profile(runtime::GraphExecutor& executor);

// "profile": [{nodes kernel ms share}], in the order of execution.
void write_profile(JsonOutput& out, const runtime::GraphExecutor& executor);

// The same as a table, slowest first.
Status print_profile(const runtime::GraphExecutor& executor);

// One run in the Trace Event Format that chrome://tracing and Perfetto read: steps one after the other, each as long as on average.
Status write_trace(const runtime::GraphExecutor& executor, const char* path);

}  // namespace tiffin::tools
