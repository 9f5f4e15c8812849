// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/verify_texts.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "abi/version.h"
#include "base/artifact_layout.h"
#include "base/description/describe.h"

namespace tiffin::tools {
namespace {

using WriteText = Status (*)(FILE*, const ArtifactTables&);

Status compare(runtime::Container& container, const char* path, const ArtifactTables& tables, WriteText write) {
  char* expected = nullptr;
  size_t length = 0;
  FILE* stream = open_memstream(&expected, &length);
  if (stream == nullptr) return error(Code::OutOfMemory, "no memory for '%s'", path);
  Status status = write(stream, tables);
  fclose(stream);
  runtime::Arena arena;
  if (status.is_ok()) {
    Result<std::span<const uint8_t>> actual = container.read_member(path, arena);
    if (!actual.has_value()) {
      status = actual.take_error();
    } else if (actual->size() != length || memcmp(actual->data(), expected, length) != 0) {
      status = error(Code::DigestMismatch, "'%s': member '%s' does not say what the sections say", container.source().name(), path);
    }
  }
  free(expected);
  return status;
}

}  // namespace

Status verify_texts(const runtime::Artifact& artifact, runtime::Container& container) {
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
