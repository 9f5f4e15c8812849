// SPDX-License-Identifier: Apache-2.0
// `verify`: every byte of an artifact against the digests it carries, a parameter file against the artifact, and golden cases against what is
// computed here.
#include <cinttypes>
#include <cstdio>

#include "base/artifact_layout.h"
#include "base/text.h"
#include "tools/commands/byte_file.h"
#include "tools/commands/commands.h"
#include "tools/commands/json_output.h"
#include "tools/commands/open_artifact.h"
#include "tools/commands/signature.h"
#include "tools/commands/verify_golden.h"
#include "tools/commands/verify_params.h"
#include "tools/commands/verify_texts.h"

namespace tiffin::tools {
namespace {

struct Verdict {
  uint64_t checked = 0;
  Text failed;  // names, NUL separated
  size_t failed_count = 0;
  bool is_rewritten = false;
  bool is_folder = false;
  SignatureReport signature;
  GoldenAnswer golden;
  bool is_ok() const { return failed_count == 0 && golden.verdict.failure.is_ok(); }
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
  if (container.is_folder()) return {};
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

// A case that fails is an answer, and so are cases that cannot be read although their digest holds. None is run where there are obstacles.
Status check_golden(const Arguments& arguments, const runtime::Artifact& artifact, const runtime::Obstacles& obstacles, Verdict& verdict) {
  if (obstacles.count > 0) return skip_golden(obstacles.list[0], &verdict.golden);
  Status status = verify_golden(arguments, artifact, &verdict.golden);
  const Status& failure = verdict.golden.verdict.failure;
  if (status.is_ok() && !failure.is_ok()) report_reason(failure.code(), failure.message(), failure.remedy());
  if (status.is_ok()) return {};
  return status.code() == Code::NotAnArtifact ? add_failure(verdict, "golden", status) : std::move(status);
}

// An artifact that is not signed, or by another key, is an answer; a file that is no key, or a build that knows no signatures, is none.
Status check_signature(const Arguments& arguments, const runtime::Container& container, Verdict& verdict) {
  Status status = examine_signature(container, arguments.keys.span(), &verdict.signature);
  if (arguments.keys.empty() || (!status.is_ok() && status.code() != Code::SignatureInvalid)) return status;
  return note(verdict, "signature", std::move(status));
}

Status verify_all(const Arguments& arguments, Verdict& verdict) {
  TIFFIN_ASSIGN_OR_RETURN(runtime::Source source, runtime::Source::open(arguments.file));
  runtime::Container container;
  runtime::Obstacles obstacles;
  Status failure = container.read_past(std::move(source), obstacles);
  for (size_t i = 0; i < obstacles.count; ++i) {
    if (!forbids_running_only(obstacles.list[i], container)) return std::move(obstacles.list[i]);
  }
  // A header that contradicts its digest is an answer; a file that is no artifact is none.
  if (!failure.is_ok()) return failure.code() == Code::DigestMismatch ? note(verdict, "header", std::move(failure)) : std::move(failure);
  verdict.checked += 1;
  verdict.is_folder = container.is_folder();
  TIFFIN_ASSIGN_OR_RETURN(verdict.golden.verdict.cases, runtime::golden_case_count(container));
  for (const runtime::Section& section : container.sections()) {
    // Attachments of a bundle have a place once the manifest is read.
    if (!is_attachment(section.kind)) TIFFIN_TRY(note(verdict, section.name, container.check_section(section)));
  }
  if (container.is_enclosed()) TIFFIN_TRY(note(verdict, "program", container.check_program()));
  TIFFIN_TRY(check_file(container, verdict));
  TIFFIN_TRY(check_signature(arguments, container, verdict));
  const bool sections_hold = verdict.failed_count == 0 || (verdict.failed_count == 1 && verdict.is_rewritten);
  if (!sections_hold) return {};
  runtime::Artifact artifact;
  if (Status status = artifact.read(std::move(container)); !status.is_ok()) return note(verdict, "contents", std::move(status));
  for (const runtime::Section& section : artifact.container().sections()) {
    if (is_attachment(section.kind)) TIFFIN_TRY(note(verdict, section.name, artifact.container().check_section(section)));
  }
  TIFFIN_TRY(note(verdict, "texts", verify_texts(artifact)));
  if (arguments.params != nullptr) {
    const size_t before = verdict.failed_count;
    TIFFIN_TRY(note(verdict, "params", verify_params(artifact, arguments.params, arguments.new_weights)));
    if (verdict.failed_count > before) return {};
  }
  return check_golden(arguments, artifact, obstacles, verdict);
}

Status print_json(const Verdict& verdict) {
  JsonOutput out(stdout);
  out.begin_object();
  out.boolean("ok", verdict.is_ok());
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
  write_golden(out, verdict.golden);
  write_signature(out, verdict.signature, true);
  out.boolean("rewritten", verdict.is_rewritten);
  out.boolean("file_digest", !verdict.is_folder);
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
    printf("%s: %s, %" PRIu64 " digests checked, %zu failed", arguments.file, verdict.is_ok() ? "ok" : "not ok", verdict.checked,
           verdict.failed_count);
    print_golden(verdict.golden);
    if (verdict.signature.is_valid) printf("; signed: %s", signature_text(*verdict.signature.signature).text);
    printf("%s\n", verdict.is_folder ? "; a folder has no digest of the whole file" : "");
    TIFFIN_TRY(flush_output());
  }
  return verdict.is_ok() ? 0 : 1;
}

}  // namespace tiffin::tools
