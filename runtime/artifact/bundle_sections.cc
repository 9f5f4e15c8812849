// SPDX-License-Identifier: Apache-2.0
// The part of Container that finds the members of a bundle.
#include <cinttypes>

#include "base/artifact_layout.h"
#include "runtime/artifact/container.h"

namespace tiffin::runtime {

Status Container::place_member(Section& section, std::string_view member_name) {
  char path[kMemberPathBytes];
  if (!member_path(section.kind, member_name, path)) {
    return error(Code::NotAnArtifact, "'%s' is damaged: section '%s' is no member of a bundle", source_.name(), section.name.data());
  }
  TIFFIN_ASSIGN_OR_RETURN(const Members::Place place, members_.find(source_, path));
  if (place.bytes != section.length) {
    return error(place.bytes < section.length ? Code::Truncated : Code::NotAnArtifact,
                 "'%s': member '%s' has %" PRIu64 " bytes, %" PRIu64 " are expected", source_.name(), path, place.bytes, section.length);
  }
  section.file = place.source;
  section.offset = place.offset;
  section.code_offset = place.offset + section.code_start;
  return {};
}

Status Container::place_attachment(std::string_view section_name, std::string_view file_name) {
  for (Section& section : sections_) {
    if (is_bundle_ && is_attachment(section.kind) && section.name == section_name) return place_member(section, file_name);
  }
  return {};
}

Result<std::span<const uint8_t>> Container::read_member(const char* path, Arena& arena) const {
  Source own;
  Members::Place place;
  if (source_.is_folder()) {
    TIFFIN_ASSIGN_OR_RETURN(own, source_.open_file(path));
    place = {&own, 0, own.size()};
  } else {
    TIFFIN_ASSIGN_OR_RETURN(place, members_.find_packed(source_, path));
    place.source = &source_;
  }
  auto* bytes = static_cast<uint8_t*>(arena.allocate_bytes(static_cast<size_t>(place.bytes)));
  if (bytes == nullptr) return error(Code::OutOfMemory, "no memory for the %" PRIu64 " bytes of '%s'", place.bytes, path);
  TIFFIN_TRY(place.source->read(place.offset, {bytes, static_cast<size_t>(place.bytes)}));
  return std::span<const uint8_t>{bytes, static_cast<size_t>(place.bytes)};
}

}  // namespace tiffin::runtime
