// SPDX-License-Identifier: Apache-2.0
// The shared commands, one function each. Each returns 0, or 1 when the answer is no (its reasons are on standard error by then); failures come
// back as a Status, and wrong usage as InvalidArgument.
#pragma once

#include "base/params/compare_sets.h"
#include "base/status.h"
#include "tools/commands/arguments.h"
#include "tools/commands/dispatch.h"
#include "tools/commands/json_output.h"

namespace tiffin::tools {

Result<int> run_model(const Arguments& arguments, const Extensions* extensions);
Result<int> bench_model(const Arguments& arguments, const Extensions* extensions);
Result<int> inspect_artifact(const Arguments& arguments);
Result<int> examine_artifact(const Arguments& arguments);  // doctor
Result<int> verify_artifact(const Arguments& arguments);
Result<int> list_params(const Arguments& arguments);
Result<int> extract_params(const Arguments& arguments);
Result<int> convert_params(const Arguments& arguments);
Result<int> diff_params(const Arguments& arguments);
Result<int> write_params_delta(const Arguments& arguments);
Result<int> apply_params_delta(const Arguments& arguments);
Result<int> list_errors(const Arguments& arguments);
Result<int> list_devices(const Arguments& arguments);

// "OUT: N tensors", or the object with path and count.
Status print_written(const char* path, size_t count, const Arguments& arguments);
// The array `tensors` of differences: name, change, max_difference.
void write_tensor_changes(JsonOutput& out, std::span<const params::TensorChange> changes);

}  // namespace tiffin::tools
