// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/json_output.h"

#include <cerrno>
#include <cstring>

namespace tiffin::tools {

Status flush_output() {
  if (fflush(stdout) != 0 || ferror(stdout) != 0) return error(Code::Io, "cannot write to standard output: %s", strerror(errno));
  return {};
}

void report_reason(Code code, const char* message, const char* remedy) {
  fprintf(stderr, "tiffin: error[%s]: %s\n", code_row(code).name, message);
  if (remedy != nullptr && remedy[0] != 0) fprintf(stderr, "  remedy: %s\n", remedy);
}

namespace {

// "details": a text under each key that has one value, an array under each that has a list.
void write_details(JsonOutput& out, const Status& status) {
  out.begin_object("details");
  for (size_t i = 0; i < status.detail_count(); ++i) {
    const Status::Detail detail = status.detail(i);
    if (!detail.is_listed) {
      out.text(detail.key, detail.value);
      continue;
    }
    const auto has_key = [&](size_t other) { return strcmp(status.detail(other).key, detail.key) == 0; };
    bool is_written = false;
    for (size_t k = 0; k < i; ++k) is_written = is_written || has_key(k);
    if (is_written) continue;
    out.begin_array(detail.key);
    for (size_t k = i; k < status.detail_count(); ++k) {
      if (has_key(k)) out.text(nullptr, status.detail(k).value);
    }
    out.end_array();
  }
  out.end_object();
}

}  // namespace

void report_failure(const Status& status, bool json) {
  report_reason(status.code(), status.message(), status.remedy());
  if (!json) return;
  JsonOutput out(stdout);
  out.begin_object();
  out.begin_object("error");
  out.text("code", code_row(status.code()).name);
  out.text("message", status.message());
  out.text("remedy", status.remedy());
  write_details(out, status);
  out.end_object();
  out.end_object();
  (void)out.finish().is_ok();
}

}  // namespace tiffin::tools
