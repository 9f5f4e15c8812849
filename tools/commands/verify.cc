// SPDX-License-Identifier: Apache-2.0
// `verify`: every byte of an artifact against the digests it carries, and a parameter file against the artifact.
#include <cinttypes>
#include <cstdio>

#include "base/text.h"
#include "tools/commands/byte_file.h"
#include "tools/commands/commands.h"
#include "tools/commands/json_output.h"
#include "tools/commands/open_artifact.h"
#include "tools/commands/verify_params.h"

namespace tiffin::tools {
namespace {

struct Verdict {
  uint64_t checked = 0;
  Text failed;  // names, NUL separated
  size_t failed_count = 0;
  bool is_rewritten = false;
};

Status add_failure(Verdict& verdict, std::string_view name, const Status& reason) {
  report_reason(reason.code(), reason.message(), reason.remedy());
  verdict.failed.add(name);
  verdict.failed.add(std::string_view("\0", 1));
  ++verdict.failed_count;
  return verdict.failed.has_failed() ? out_of_memory() : Status();
}

// A difference is noted in the verdict; anything else (no memory, an unreadable file) ends the command.
Status note(Verdict& verdict, std::string_view name, Status status) {
  ++verdict.checked;
  if (status.is_ok()) return {};
  if (status.code() == Code::OutOfMemory || status.code() == Code::Io) return status;
  return add_failure(verdict, name, status);
}

Status check_file(const runtime::Container& container, Verdict& verdict) {
  const char* path = container.source().name();
  TIFFIN_ASSIGN_OR_RETURN(const Digest actual, container.hash_file());
  if (actual == container.file_digest()) return note(verdict, "file", {});
  verdict.is_rewritten = container.is_rewritten();
  if (verdict.is_rewritten) {
    return note(verdict, "file",
                error(Code::DigestMismatch, "'%s': the container was rewritten, it has %" PRIu64 " bytes instead of %" PRIu64, path,
                      container.source().size(), container.header().total_length)
                    .with_remedy("the sections decide whether the model is intact; for the original file, get the artifact again"));
  }
  return note(verdict, "file",
              error(Code::DigestMismatch, "'%s': the digest of the file is %.16s…, recorded is %.16s…", path, to_text(actual).text,
                    to_text(container.file_digest()).text));
}

Status verify_all(const Arguments& arguments, Verdict& verdict) {
  TIFFIN_ASSIGN_OR_RETURN(runtime::Source source, runtime::Source::open(arguments.file));
  Result<runtime::Container> opened = runtime::Container::open(std::move(source), runtime::VerifyLevel::None);
  // A header that contradicts its digest is an answer; a file that is no artifact is none.
  if (!opened.has_value()) return opened.error().code() == Code::DigestMismatch ? note(verdict, "header", opened.take_error()) : opened.take_error();
  verdict.checked += 1;
  const runtime::Container container = std::move(opened).value();
  for (const runtime::Section& section : container.sections()) TIFFIN_TRY(note(verdict, section.name, container.check_section(section)));
  TIFFIN_TRY(check_file(container, verdict));
  const bool sections_hold = verdict.failed_count == 0 || (verdict.failed_count == 1 && verdict.is_rewritten);
  if (!sections_hold) return {};
  Result<runtime::Artifact> artifact = open_artifact(arguments.file, runtime::VerifyLevel::None);
  if (!artifact.has_value()) return note(verdict, "contents", artifact.take_error());
  if (arguments.params != nullptr) {
    TIFFIN_TRY(note(verdict, "params", verify_params(*artifact, arguments.params, arguments.new_weights)));
  }
  return {};
}

Status print_json(const Verdict& verdict) {
  JsonOutput out(stdout);
  out.begin_object();
  out.boolean("ok", verdict.failed_count == 0);
  out.begin_object("digests");
  out.number("checked", verdict.checked);
  out.begin_array("failed");
  std::string_view rest = verdict.failed.view();
  for (size_t i = 0; i < verdict.failed_count; ++i) {
    const size_t length = rest.find('\0');
    out.text(nullptr, {rest.data(), length});
    rest.remove_prefix(length + 1);
  }
  out.end_array();
  out.end_object();
  out.begin_object("golden");
  out.number("cases", 0);
  out.number("passed", 0);
  out.null("worst_ulp");
  out.null("first_bad_kernel");
  out.end_object();
  out.null("signature");
  out.boolean("rewritten", verdict.is_rewritten);
  out.end_object();
  return out.finish();
}

}  // namespace

Result<int> verify_artifact(const Arguments& arguments) {
  Verdict verdict;
  TIFFIN_TRY(verify_all(arguments, verdict));
  if (arguments.json) {
    TIFFIN_TRY(print_json(verdict));
  } else if (!arguments.quiet) {
    printf("%s: %s, %" PRIu64 " digests checked, %zu failed\n", arguments.file, verdict.failed_count == 0 ? "ok" : "not ok", verdict.checked,
           verdict.failed_count);
    TIFFIN_TRY(flush_output());
  }
  return verdict.failed_count == 0 ? 0 : 1;
}

}  // namespace tiffin::tools
