// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/verify_texts.h"

#include <cstdio>
#include <cstring>

#include "abi/version.h"
#include "base/artifact_layout.h"
#include "base/description/describe.h"
#include "base/memory_stream.h"

namespace tiffin::tools {
namespace {

using WriteText = Status (*)(FILE*, const ArtifactTables&);

Status compare(const runtime::Container& container, const char* path, const ArtifactTables& tables, WriteText write) {
  MemoryStream expected;
  if (expected.stream == nullptr) return error(Code::OutOfMemory, "no memory for '%s'", path);
  TIFFIN_TRY(write(expected.stream, tables));
  if (fflush(expected.stream) != 0) return error(Code::OutOfMemory, "no memory for '%s'", path);
  runtime::Arena arena;
  TIFFIN_ASSIGN_OR_RETURN(const auto actual, container.read_member(path, arena));
  if (actual.size() == expected.size && memcmp(actual.data(), expected.bytes, expected.size) == 0) return {};
  return error(Code::DigestMismatch, "'%s': member '%s' does not say what the sections say", container.source().name(), path);
}

}  // namespace

Status verify_texts(const runtime::Artifact& artifact) {
  const runtime::Container& container = artifact.container();
  if (!container.is_bundle()) return {};
  const ArtifactTables tables{&artifact.manifest(), &artifact.program(), &artifact.storage_plan().table()};
  // Another version may have written them with more keys or fewer.
  if (strcmp(artifact.manifest().producer_version()->c_str(), TIFFIN_VERSION) != 0) return {};
  char name[80], path[96];
  header_file_name(artifact.manifest(), name);
  snprintf(path, sizeof(path), "include/%s", name);
  TIFFIN_TRY(compare(container, kManifestMember, tables, write_manifest_json));
  return compare(container, path, tables, write_c_header);
}

}  // namespace tiffin::tools
