// SPDX-License-Identifier: Apache-2.0
// The outermost layer of an artifact: header and section table, read into private memory and checked against their digests, whether they stand in
// a shared object, a tar bundle or its unpacked folder. Knows nothing of what the sections mean.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "abi/artifact.h"
#include "base/digest.h"
#include "base/status.h"
#include "runtime/artifact/elf_image.h"
#include "runtime/artifact/members.h"
#include "runtime/host/arena.h"
#include "runtime/host/source.h"

namespace tiffin::runtime {

struct Section {
  uint32_t kind = 0;  // tiffin_section_kind, or one that this version does not know
  std::string_view name;
  uint32_t version = 0;
  bool is_required = false;
  uint64_t length = 0;
  uint64_t alignment = 0;
  uint64_t code_start = 0;       // code: offset of the first instruction within the section
  const Source* file = nullptr;  // the file of its own that it lies in; null: the container's source
  uint64_t offset = 0;           // in the source; of code: of its constants
  uint64_t code_offset = 0;      // code: position in the source of the first instruction
  Digest digest;
};

// How much is hashed when an artifact is opened. The header and its table are always checked.
enum class VerifyLevel : uint8_t { None, Code, All };  // Code: all sections but weights and golden cases

// What keeps a file from being loaded though it can be read: of these there may be several at once.
struct Obstacles {
  static constexpr size_t kMax = 4;
  Status list[kMax];
  size_t count = 0;
  // No effect for a success.
  void add(Status status) {
    if (!status.is_ok() && count < kMax) list[count++] = std::move(status);
  }
};

class Container {
 public:
  // The checks of docs/architecture/artifact_format.md up to the digests, in their order. Takes the source over.
  // Io, NotAnArtifact, Truncated, FormatTooNew, FormatTooOld, AbiMismatch, DigestMismatch, OutOfMemory.
  static Result<Container> open(Source source, VerifyLevel level);
  // The same in place, on a container that holds nothing yet.
  Container() = default;
  Status read(Source&& source, VerifyLevel level);
  // For questions: as read with VerifyLevel::None, but another version, a missing end and sections that nobody here understands are put down as
  // obstacles, and reading goes on. Fails where there is nothing to read on with.
  Status read_past(Source&& source, Obstacles& obstacles);

  const Source& source() const { return source_; }
  // Where the section's bytes are read from.
  const Source& source_of(const Section& section) const { return section.file != nullptr ? *section.file : source_; }
  const tiffin_artifact_header& header() const { return header_; }
  // Where header and table stand.
  const Source& header_source() const { return header_file_ != nullptr ? *header_file_ : source_; }
  uint64_t header_offset() const { return header_offset_; }
  // The only machine that the container is for; 0: any.
  uint16_t machine() const { return elf_.machine(); }
  std::span<const Section> sections() const { return sections_; }
  // The section of that kind and name ("" means any); null when there is none.
  const Section* find(tiffin_section_kind kind, std::string_view name = {}) const;

  // Bytes of the file; of a folder those of header, table and sections.
  uint64_t size() const;
  bool is_bundle() const { return is_bundle_; }
  // A folder has no file digest.
  bool is_folder() const { return source_.is_folder(); }
  // True when a tool rewrote the file around the sections, as strip does.
  bool is_rewritten() const { return !is_folder() && source_.size() != header_.total_length; }
  Digest content_digest() const;  // as recorded
  Digest file_digest() const;     // as recorded

  // An attachment of a bundle is found by its file's name, which the manifest knows; no effect on a shared object. Io, NotAnArtifact.
  Status place_attachment(std::string_view section, std::string_view file_name);

  // The bytes of a bundle's member that is no section, in `arena`; NotAnArtifact when there is none, Io, OutOfMemory.
  Result<std::span<const uint8_t>> read_member(const char* path, Arena& arena) const;

  // Hash what is in the file now; a file digest, which leaves the weights to the digest of their section, only where there is one. Io, Truncated.
  Result<Digest> hash_section(const Section& section) const;
  Result<Digest> hash_file() const;
  // True when the artifact is enclosed in an executable, whose own bytes check_program compares with their digest. DigestMismatch, Io.
  bool is_enclosed() const { return program_.has_value(); }
  Status check_program() const;
  // DigestMismatch naming the section.
  Status check_section(const Section& section) const;
  // Every section that the level asks for, but attachments of a bundle, which have no place yet.
  Status check_sections(VerifyLevel level) const;
  // From now on read_section compares what it copied with the section's digest: the file may have changed since it was checked.
  void check_copies() { checks_copies_ = true; }

  // Header and table as they stand, in `arena`. Io, OutOfMemory.
  Result<std::span<const uint8_t>> read_header_bytes(Arena& arena) const;
  // The section's bytes in `arena`, 64-byte aligned. Io, OutOfMemory; DigestMismatch where copies are checked.
  Result<std::span<const uint8_t>> read_section(const Section& section, Arena& arena) const;

 private:
  static bool is_archive_or_folder(const Source& source);
  // DigestMismatch naming `what` unless they are equal.
  Status compare(const char* what, const Digest& actual, const uint8_t* recorded) const;
  Status find_header();
  // From an executable to the artifact that it encloses.
  Status enter_program();
  Status read_header();
  Status check_completeness() const;
  Status place(Section& section, const tiffin_section& entry, const char* name);
  Status hash_but_weights(uint64_t begin, uint64_t end, Hasher& hasher) const;
  Status place_member(Section& section, std::string_view member_name);
  Status check_format() const;
  Status check_abi() const;
  Status check_kinds() const;
  Status read_table();
  Status check_header_digests(std::span<const tiffin_section> table) const;
  Result<Section> read_entry(const tiffin_section& entry);

  Source source_;
  std::optional<Source> program_;  // the whole executable around an enclosed artifact
  tiffin_enclosure enclosure_{};
  uint64_t enclosure_position_ = 0;
  bool is_bundle_ = false;
  bool checks_copies_ = false;
  ElfImage elf_;     // of a shared object
  Members members_;  // of a bundle
  Arena arena_;
  const Source* header_file_ = nullptr;  // of a folder
  uint64_t header_offset_ = 0;           // in the source, or in that file
  tiffin_artifact_header header_{};
  std::span<Section> sections_;
};

}  // namespace tiffin::runtime
