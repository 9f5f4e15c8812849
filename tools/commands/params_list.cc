// SPDX-License-Identifier: Apache-2.0
// `params list`: the tensors of a parameter file or of an artifact, with their digests.
#include <cstdio>

#include "base/params/compare_sets.h"
#include "base/params/param_file.h"
#include "tools/commands/commands.h"
#include "tools/commands/inspect.h"

namespace tiffin::tools {
namespace {

struct Listing {
  const char* format;
  std::span<const params::ParamEntry> entries;
  std::span<const Digest> digests;
};

// The digest of a set: over those of its tensors, in order; the same as in a manifest.
Digest set_digest(std::span<const Digest> digests) {
  Hasher hasher;
  for (const Digest& digest : digests) hasher.update(digest.bytes);
  return hasher.finish();
}

uint64_t total_bytes(const Listing& listing) {
  uint64_t bytes = 0;
  for (const params::ParamEntry& entry : listing.entries) bytes += entry.bytes;
  return bytes;
}

Status print_json(const Listing& listing) {
  JsonOutput out(stdout);
  out.begin_object();
  out.text("format", listing.format);
  out.number("count", listing.entries.size());
  out.number("bytes", total_bytes(listing));
  out.digest("digest", set_digest(listing.digests));
  out.begin_array("tensors");
  for (size_t i = 0; i < listing.entries.size(); ++i) write_parameter(out, listing.entries[i], listing.digests[i]);
  out.end_array();
  out.end_object();
  return out.finish();
}

Status print_text(const Listing& listing) {
  printf("%s, %zu tensors, %s\n", listing.format, listing.entries.size(), size_text(total_bytes(listing)).text);
  for (size_t i = 0; i < listing.entries.size(); ++i) {
    const params::ParamEntry& entry = listing.entries[i];
    Text name;
    name.add(entry.name);
    printf("  %s  %s  %.16s%s\n", name.c_str(), type_text(entry.dtype, entry.shape).text, to_text(listing.digests[i]).text,
           entry.is_frozen ? "  frozen" : "");
  }
  return flush_output();
}

Status print(const Listing& listing, bool json) { return json ? print_json(listing) : print_text(listing); }

// Apart, because GCC 12 takes the inlined optional of an artifact for uninitialised.
[[gnu::noinline]] Status print_artifact(const runtime::Artifact& artifact, bool json) {
  return print({"artifact", artifact.storage_plan().parameters(), artifact.parameter_digests()}, json);
}

Status list_artifact(const char* path, bool json) {
  TIFFIN_ASSIGN_OR_RETURN(const runtime::Artifact artifact, open_artifact(path, runtime::VerifyLevel::None));
  return print_artifact(artifact, json);
}

Status list_file(const char* path, bool json) {
  TIFFIN_ASSIGN_OR_RETURN(const params::ParamFile file, params::ParamFile::open(path));
  const params::ParamSource source = file.source();
  const char* format = params::format_name(file.format());
  if (file.weights() != nullptr) return print({format, source.entries, file.weights()->digests()}, json);
  TIFFIN_ASSIGN_OR_RETURN(const Array<Digest> digests, params::hash_entries(source));
  return print({format, source.entries, digests.span()}, json);
}

}  // namespace

Result<int> list_params(const Arguments& arguments) {
  TIFFIN_TRY(is_artifact_file(arguments.file) ? list_artifact(arguments.file, arguments.json) : list_file(arguments.file, arguments.json));
  return 0;
}

}  // namespace tiffin::tools
