// SPDX-License-Identifier: Apache-2.0
// `errors`: every code with its meaning and remedy.
#include <cstdio>

#include "base/error_codes.h"
#include "tools/commands/commands.h"
#include "tools/commands/json_output.h"

namespace tiffin::tools {
namespace {

constexpr size_t kFirst = static_cast<size_t>(Code::Ok) + 1;

Status print_json() {
  JsonOutput out(stdout);
  out.begin_object();
  out.begin_array("errors");
  for (size_t code = kFirst; code < kCodeCount; ++code) {
    const CodeRow& row = code_row(static_cast<Code>(code));
    out.begin_object();
    out.text("code", row.name);
    out.text("meaning", code_meaning(static_cast<Code>(code)));
    out.text("remedy", row.remedy);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return out.finish();
}

}  // namespace

Result<int> list_errors(const Arguments& arguments) {
  if (arguments.json) {
    TIFFIN_TRY(print_json());
    return 0;
  }
  for (size_t code = kFirst; code < kCodeCount; ++code) {
    const CodeRow& row = code_row(static_cast<Code>(code));
    printf("%s\n    %s\n    remedy: %s\n", row.name, code_meaning(static_cast<Code>(code)), row.remedy);
  }
  TIFFIN_TRY(flush_output());
  return 0;
}

}  // namespace tiffin::tools
