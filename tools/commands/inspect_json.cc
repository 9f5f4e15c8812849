// SPDX-License-Identifier: Apache-2.0
// `inspect --json`: everything that an artifact says of itself.
#include <cstdio>
#include <cstring>

#include "base/description/describe.h"
#include "runtime/executor/golden.h"
#include "tools/commands/inspect.h"
#include "tools/commands/json_output.h"
#include "tools/commands/own_tensors.h"
#include "tools/commands/signature.h"
#include "tools/commands/sizes.h"

namespace tiffin::tools {
namespace {

using runtime::view;

void write_origin(JsonOutput& out, const runtime::Artifact& artifact) {
  const tiffin_artifact_header& header = artifact.container().header();
  char version[32];
  snprintf(version, sizeof version, "%u.%u", header.format_major, header.format_minor);
  out.text("format_version", version);
  out.number("abi_version", header.abi);
  describe_origin(out, artifact.manifest());
}

Status write_variants(JsonOutput& out, const runtime::Artifact& artifact) {
  TIFFIN_ASSIGN_OR_RETURN(const FixedList<OwnTensors> own, find_own_tensors(artifact));
  out.begin_array("variants");
  for (size_t i = 0; i < own.size(); ++i) {
    const abi::Variant& variant = *artifact.program().variants()->Get(static_cast<uint32_t>(i));
    const runtime::Section* code = code_section(artifact, variant);
    out.begin_object();
    describe_variant(out, variant);
    out.number("code_bytes", code == nullptr ? 0 : code->length);
    out.number("own_tensors", own[i].count);
    out.number("own_tensor_bytes", own[i].bytes);
    out.end_object();
  }
  out.end_array();
  return {};
}

Status write_stored(JsonOutput& out, const runtime::Artifact& artifact) {
  TIFFIN_ASSIGN_OR_RETURN(const uint64_t start, stored_data_offset(artifact));
  out.begin_object("stored");
  out.number("bytes", artifact.storage_plan().data_bytes());
  out.begin_array("tensors");
  for (const abi::Stored* stored : *artifact.storage_plan().table().stored()) {
    out.begin_object();
    out.text("name", view(stored->name()));
    out.number("bytes", stored->bytes());
    out.number("offset", start + stored->offset());
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return {};
}

void write_program(JsonOutput& out, const abi::Variant& variant) {
  out.begin_array("program");
  for (const abi::Entry* entry : *variant.entries()) {
    for (const abi::Step* step : *entry->steps()) {
      const abi::Kernel& kernel = *variant.kernels()->Get(step->kernel());
      out.begin_object();
      out.text("entry", view(entry->name()));
      out.text("kernel", view(kernel.name()));
      out.text("nodes", view(step->label()));
      out.integer("units", step->units());
      out.number("code_bytes", kernel.code_bytes());
      out.end_object();
    }
  }
  out.end_array();
}

// The section holds the seconds since 1970; the key is ISO 8601 in UTC.
Status write_created(JsonOutput& out, const runtime::Container& container) {
  const runtime::Section* section = container.find(TIFFIN_SECTION_CREATED);
  int64_t seconds = 0;
  if (section == nullptr || section->length != sizeof seconds) return {};
  TIFFIN_TRY(container.source_of(*section).read(section->offset, {reinterpret_cast<uint8_t*>(&seconds), sizeof seconds}));
  const TimeText time = time_text(seconds);
  if (time.text[0] != 0) out.text("created", time.text);
  return {};
}

// Unlike `verify`, without a word on whether it is valid.
Status write_signer(JsonOutput& out, const runtime::Container& container) {
  SignatureReport report;
  TIFFIN_TRY(examine_signature(container, {}, &report));
  if (report.signature.has_value()) write_signature(out, report, false);
  return {};
}

}  // namespace

void write_parameter(JsonOutput& out, const params::ParamEntry& entry, const Digest& digest) {
  describe_parameter(out, entry.name, static_cast<uint8_t>(entry.dtype), entry.shape, entry.bytes, digest, entry.is_frozen);
}

void write_choice(JsonOutput& out, std::string_view target, const char* reason) {
  out.begin_object();
  out.text("target", target);
  out.boolean("chosen", reason[0] == 0);
  out.begin_array("reasons");
  if (reason[0] != 0) out.text(nullptr, reason);
  out.end_array();
  out.end_object();
}

void write_sizes(JsonOutput& out, const char* key, const TierSizes& sizes) {
  out.begin_object(key);
  out.number("code", sizes.code);
  out.number("program", sizes.program);
  out.number("weights", sizes.weights);
  out.number("manifest", sizes.manifest);
  out.number("golden", sizes.golden);
  out.number("padding", sizes.padding);
  out.number("total", sizes.total);
  out.end_object();
}

Status print_inspection(const runtime::Artifact& artifact, const Arguments& arguments, const SizeVerdict& verdict) {
  const abi::Variant& variant = artifact.first_variant();
  JsonOutput out(stdout);
  out.begin_object();
  write_origin(out, artifact);
  describe_interface(out, variant);
  TIFFIN_TRY(write_variants(out, artifact));
  describe_params(out, {&artifact.manifest(), &artifact.program(), &artifact.storage_plan().table()});
  TIFFIN_TRY(write_stored(out, artifact));
  write_sizes(out, "sizes", tier_sizes(artifact.container()));
  if (arguments.sizes) TIFFIN_TRY(write_size_parts(out, artifact));
  write_size_verdict(out, arguments, verdict);
  describe_memory(out, variant);
  TIFFIN_ASSIGN_OR_RETURN(const uint64_t golden_cases, runtime::golden_case_count(artifact.container()));
  out.begin_object("golden");
  out.number("cases", golden_cases);
  out.end_object();
  describe_options(out, artifact.manifest());
  out.begin_object("digests");
  out.digest("content", artifact.container().content_digest());
  if (artifact.container().is_folder()) {
    out.null("file");
  } else {
    out.digest("file", artifact.container().file_digest());
  }
  out.end_object();
  TIFFIN_TRY(write_created(out, artifact.container()));
  TIFFIN_TRY(write_signer(out, artifact.container()));
  if (arguments.program) write_program(out, variant);
  out.end_object();
  return out.finish();
}

}  // namespace tiffin::tools
