// SPDX-License-Identifier: Apache-2.0
// The parts of `inspect`, and what other commands print in the same form.
#pragma once

#include "base/params/param_source.h"
#include "runtime/artifact/artifact.h"
#include "tools/commands/arguments.h"
#include "tools/commands/json_output.h"
#include "tools/commands/open_artifact.h"
#include "tools/commands/sizes.h"

namespace tiffin::tools {

// {name dtype shape bytes digest frozen}
void write_parameter(JsonOutput& out, const params::ParamEntry& entry, const Digest& digest);

// {target chosen reasons}: a variant, and why it is not the chosen one; `reason` is "" for that.
void write_choice(JsonOutput& out, std::string_view target, const char* reason);

void write_sizes(JsonOutput& out, const char* key, const TierSizes& sizes);

// The whole JSON object on standard output. Io.
Status print_inspection(const runtime::Artifact& artifact, const Arguments& arguments, const SizeVerdict& verdict);

// Bytes as people read them: "97.8 MB (97,812,480 bytes)" without the second part below 1 kB.
struct SizeText {
  char text[64];
};
SizeText size_text(uint64_t bytes);

}  // namespace tiffin::tools
