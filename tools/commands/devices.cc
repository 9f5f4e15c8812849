// SPDX-License-Identifier: Apache-2.0
// `devices`: what a module can run on here.
#include <cstdio>

#include "runtime/host/cpu.h"
#include "tools/commands/commands.h"
#include "tools/commands/json_output.h"

namespace tiffin::tools {
namespace {

// The features that decide how fast kernels can be; `doctor` compares all that a file needs.
constexpr std::string_view kShownFeatures[] = {
    "sse4.2",   "avx",      "avx2",     "fma",        "f16c",       "avxvnni",    "avx512f",  "avx512bw",
    "avx512dq", "avx512vl", "avx512cd", "avx512vnni", "avx512bf16", "avx512fp16", "amx-tile", "amx-int8",
    "amx-bf16", "neon",     "dotprod",  "i8mm",       "fullfp16",   "bf16",       "sve",      "sve2",
};

Status print_json() {
  JsonOutput out(stdout);
  out.begin_object();
  out.begin_array("devices");
  out.begin_object();
  out.text("name", "cpu");
  out.text("machine", runtime::machine_name(runtime::host_machine()));
  out.integer("cores", runtime::usable_core_count());
  out.begin_array("features");
  for (const std::string_view feature : kShownFeatures) {
    if (runtime::cpu_has_feature(feature)) out.text(nullptr, feature);
  }
  out.end_array();
  out.end_object();
  out.end_array();
  out.end_object();
  return out.finish();
}

}  // namespace

Result<int> list_devices(const Arguments& arguments) {
  if (arguments.json) {
    TIFFIN_TRY(print_json());
    return 0;
  }
  printf("cpu  %s, %d cores usable\n    ", runtime::machine_name(runtime::host_machine()), runtime::usable_core_count());
  for (const std::string_view feature : kShownFeatures) {
    if (runtime::cpu_has_feature(feature)) printf(" %.*s", static_cast<int>(feature.size()), feature.data());
  }
  printf("\n");
  TIFFIN_TRY(flush_output());
  return 0;
}

}  // namespace tiffin::tools
