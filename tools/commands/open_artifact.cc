// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/open_artifact.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>

#include "abi/artifact.h"
#include "abi/version.h"
#include "base/params/weights_file.h"
#include "tools/commands/byte_file.h"

namespace tiffin::tools {

Result<runtime::Artifact> open_artifact(const char* path, runtime::VerifyLevel level) {
  TIFFIN_ASSIGN_OR_RETURN(runtime::Source source, runtime::Source::open(path));
  return runtime::Artifact::open(std::move(source), level);
}

bool forbids_running_only(const Status& obstacle, const runtime::Container& container) {
  return obstacle.code() == Code::AbiMismatch || (obstacle.code() == Code::FormatTooNew && container.header().format_major == TIFFIN_FORMAT_MAJOR);
}

Result<runtime::Artifact> open_to_describe(const char* path) {
  TIFFIN_ASSIGN_OR_RETURN(runtime::Source source, runtime::Source::open(path));
  runtime::Artifact artifact;
  runtime::Obstacles obstacles;
  Status failure = artifact.read_past(std::move(source), obstacles);
  for (size_t i = 0; i < obstacles.count; ++i) {
    if (!forbids_running_only(obstacles.list[i], artifact.container())) return std::move(obstacles.list[i]);
  }
  if (!failure.is_ok()) return failure;
  return artifact;
}

bool is_artifact_file(const char* path) {
  constexpr uint8_t kElf[4] = {0x7F, 'E', 'L', 'F'};
  constexpr uint8_t kTiffin[8] = TIFFIN_MAGIC_BYTES;
  constexpr char kTar[] = {'u', 's', 't', 'a', 'r'};
  constexpr size_t kTarOffset = 257;
  struct stat status {};
  if (stat(path, &status) != 0) return false;
  if (S_ISDIR(status.st_mode)) return true;
  if (!S_ISREG(status.st_mode)) return false;  // opening a pipe would wait for a writer
  Result<InputFile> file = InputFile::open(path);
  uint8_t start[kTarOffset + sizeof kTar] = {};
  if (!file.has_value() || !file->read(start, std::min<uint64_t>(sizeof start, file->remaining())).is_ok()) return false;
  return memcmp(start, kElf, sizeof kElf) == 0 || memcmp(start, kTiffin, sizeof kTiffin) == 0 || memcmp(start + kTarOffset, kTar, sizeof kTar) == 0;
}

TierSizes tier_sizes(const runtime::Container& container) {
  TierSizes sizes;
  sizes.total = container.size();
  for (const runtime::Section& section : container.sections()) {
    switch (section.kind) {
      case TIFFIN_SECTION_CODE:
      case TIFFIN_SECTION_KERNEL_IR:
        sizes.code += section.length;
        break;
      case TIFFIN_SECTION_PROGRAM:
      case TIFFIN_SECTION_STORAGE_PLAN:
      case TIFFIN_SECTION_CONSTANTS:
        sizes.program += section.length;
        break;
      case TIFFIN_SECTION_WEIGHTS:
        sizes.weights += section.length;
        break;
      case TIFFIN_SECTION_GOLDEN:
        sizes.golden += section.length;
        break;
      default:
        sizes.manifest += section.length;
        break;
    }
  }
  sizes.padding = sizes.total - (sizes.code + sizes.program + sizes.weights + sizes.manifest + sizes.golden);
  return sizes;
}

const runtime::Section* code_section(const runtime::Artifact& artifact, const abi::Variant& variant) {
  return artifact.container().find(variant.machine() == 0 ? TIFFIN_SECTION_KERNEL_IR : TIFFIN_SECTION_CODE, runtime::view(variant.code_section()));
}

const abi::Entry* find_entry(const abi::Variant& variant, std::string_view name) {
  for (const abi::Entry* entry : *variant.entries()) {
    if (runtime::view(entry->name()) == name) return entry;
  }
  return nullptr;
}

std::span<const int64_t> shape_of(const abi::Value& value) { return {value.shape()->data(), value.shape()->size()}; }

Result<uint64_t> stored_data_offset(const runtime::Artifact& artifact) {
  const runtime::Section* section = artifact.weights();
  if (section == nullptr) return params::weights_layout(artifact.storage_plan()).data_offset;
  tiffin_weights_header header{};
  TIFFIN_TRY(artifact.container().source_of(*section).read(section->offset, {reinterpret_cast<uint8_t*>(&header), sizeof header}));
  return section->offset + header.data_offset;
}

uint64_t arena_bytes(const abi::Variant& variant) {
  uint64_t largest = 0;
  for (const abi::Entry* entry : *variant.entries()) largest = std::max(largest, entry->arena_bytes());
  return largest;
}

}  // namespace tiffin::tools
