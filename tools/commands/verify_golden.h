// SPDX-License-Identifier: Apache-2.0
// Golden cases in `verify`: run with the variant for this machine, once the digests hold.
#pragma once

#include "base/text.h"
#include "runtime/executor/golden.h"
#include "tools/commands/arguments.h"
#include "tools/commands/json_output.h"

namespace tiffin::tools {

struct GoldenAnswer {
  runtime::Ref<runtime::Module> module;  // whose names the verdict shows
  runtime::GoldenVerdict verdict;
  Text not_run;  // why the cases were not run; empty when they were, and when there are none
};

// Runs the cases on the embedded weights or on those of --params. They are not run, which is no failure, where the weights are not at hand or no
// variant suits this machine. NotAnArtifact for cases that are malformed, OutOfMemory, Io.
Status verify_golden(const Arguments& arguments, const runtime::Artifact& artifact, GoldenAnswer* out);

// None is run for this reason, which is no failure. OutOfMemory.
Status skip_golden(const Status& reason, GoldenAnswer* out);

// The key "golden", and what people see of it behind the digests.
void write_golden(JsonOutput& out, const GoldenAnswer& answer);
void print_golden(const GoldenAnswer& answer);

}  // namespace tiffin::tools
