// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/container.h"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "abi/version.h"
#include "base/artifact_layout.h"

namespace tiffin::runtime {
namespace {

constexpr uint8_t kMagic[] = TIFFIN_MAGIC_BYTES;
constexpr uint64_t kMaxAlignment = uint64_t{1} << 21;
static_assert(sizeof(tiffin_artifact_header) == 160 && sizeof(tiffin_section) == 112 && sizeof(tiffin_weights_header) == 128);

Digest to_digest(const uint8_t (&bytes)[TIFFIN_DIGEST_BYTES]) {
  Digest digest;
  memcpy(digest.bytes.data(), bytes, sizeof(bytes));
  return digest;
}

// The name up to its padding; empty when it is not terminated or holds something that would garble a message.
std::string_view section_name(const tiffin_section& entry) {
  const size_t length = strnlen(entry.name, sizeof(entry.name));
  if (length == sizeof(entry.name)) return {};
  const std::string_view name(entry.name, length);
  return std::all_of(name.begin(), name.end(), [](char c) { return c > ' ' && c < 0x7F; }) ? name : std::string_view{};
}

bool is_bulk(uint32_t kind) { return kind == TIFFIN_SECTION_WEIGHTS || kind == TIFFIN_SECTION_GOLDEN || is_attachment(kind); }

}  // namespace

bool Container::is_archive_or_folder(const Source& source) {
  constexpr uint64_t kMarkOffset = 257;  // of "ustar" in a tar archive
  uint8_t mark[5];
  if (source.is_folder()) return true;
  return source.size() >= kMarkOffset + sizeof(mark) && source.read(kMarkOffset, mark).is_ok() && memcmp(mark, "ustar", sizeof(mark)) == 0;
}

Status Container::compare(const char* what, const Digest& actual, const uint8_t* recorded) const {
  Digest expected;
  memcpy(expected.bytes.data(), recorded, TIFFIN_DIGEST_BYTES);
  if (actual == expected) return {};
  return error(Code::DigestMismatch, "'%s': the digest of %s is %.16s…, recorded is %.16s…", source_.name(), what, to_text(actual).text,
               to_text(expected).text);
}

// Finds header_offset_ and checks that the header lies in the file.
Status Container::find_header() {
  is_bundle_ = is_archive_or_folder(source_);
  if (!is_bundle_) {
    TIFFIN_TRY(elf_.read(source_));
    if (elf_.enclosure().length > 0) TIFFIN_TRY(enter_program());
  }
  if (!is_bundle_) {
    TIFFIN_ASSIGN_OR_RETURN(header_offset_, elf_.translate("the header", elf_.note().header_address, sizeof(header_)));
    return {};
  }
  TIFFIN_ASSIGN_OR_RETURN(members_, Members::read(source_));
  Result<Members::Place> place = members_.find(source_, kHeaderMember);
  if (!place.has_value()) {
    if (!is_folder() || place.error().code() != Code::Io) return place.take_error();
    return error(Code::Io, "'%s' is a directory, not a file, and no unpacked bundle: %s", source_.name(), place.error().message());
  }
  header_file_ = place->source;
  header_offset_ = place->offset;
  return {};
}

Status Container::read_header() {
  TIFFIN_TRY(find_header());
  const Source& file = header_file_ != nullptr ? *header_file_ : source_;
  TIFFIN_TRY(file.read(header_offset_, {reinterpret_cast<uint8_t*>(&header_), sizeof(header_)}));
  if (memcmp(header_.magic, kMagic, sizeof(kMagic)) != 0) {
    return error(Code::NotAnArtifact, "'%s' has no Tiffin header where it should stand", source_.name());
  }
  return {};
}

// A tool that rewrites containers may leave a shorter one, but always a complete one: an ELF file ends with its last part, an archive with its mark.
Status Container::check_completeness() const {
  const uint64_t size = source_.size(), total = header_.total_length;
  if (is_bundle_ || size >= total || size == elf_.complete_length()) return {};
  return error(Code::Truncated, "'%s' has %" PRIu64 " bytes, its header says %" PRIu64, source_.name(), size, total);
}

Status Container::check_format() const {
  if (header_.format_major == TIFFIN_FORMAT_MAJOR) return {};
  const Code code = header_.format_major > TIFFIN_FORMAT_MAJOR ? Code::FormatTooNew : Code::FormatTooOld;
  return error(code, "'%s' has format %u.%u, this runtime reads format %u", source_.name(), header_.format_major, header_.format_minor,
               TIFFIN_FORMAT_MAJOR)
      .with_detail("file", source_.name());
}

Status Container::check_abi() const {
  if (header_.abi == TIFFIN_ABI_VERSION) return {};
  return error(Code::AbiMismatch, "'%s' has ABI %u, this runtime has ABI %u", source_.name(), header_.abi, TIFFIN_ABI_VERSION)
      .with_detail("file", source_.name());
}

Status Container::check_header_digests(std::span<const tiffin_section> table) const {
  TIFFIN_TRY(compare("the header", header_digest(header_, table), header_.header_digest));
  return compare("the contents", tiffin::content_digest(table), header_.content_digest);
}

// Where the section lies. Attachments of a bundle stay without a place until the manifest is read.
Status Container::place(Section& section, const tiffin_section& entry, const char* name) {
  if (is_bundle_) return is_attachment(section.kind) ? Status() : place_member(section, section.name);
  if (section.kind != TIFFIN_SECTION_CODE) {
    TIFFIN_ASSIGN_OR_RETURN(section.offset, elf_.translate(name, entry.offset, entry.length));
    return {};
  }
  TIFFIN_ASSIGN_OR_RETURN(section.offset, elf_.translate(name, entry.offset, entry.detail));
  TIFFIN_ASSIGN_OR_RETURN(section.code_offset, elf_.translate(name, entry.offset + entry.detail, entry.length - entry.detail));
  return {};
}

Result<Section> Container::read_entry(const tiffin_section& entry) {
  Section section;
  section.name = section_name(entry);
  if (section.name.empty()) return error(Code::NotAnArtifact, "'%s' is damaged: a section of kind %u has no proper name", source_.name(), entry.kind);
  const char* name = arena_.copy_text(section.name);
  if (name == nullptr) return error(Code::OutOfMemory, "no memory for the sections of '%s'", source_.name());
  section.name = name;
  section.kind = entry.kind;
  section.version = entry.version;
  section.is_required = (entry.flags & TIFFIN_SECTION_REQUIRED) != 0;
  section.length = entry.length;
  section.alignment = entry.alignment;
  section.digest = to_digest(entry.digest);
  const bool is_power = entry.alignment != 0 && (entry.alignment & (entry.alignment - 1)) == 0 && entry.alignment <= kMaxAlignment;
  if (!is_power || entry.length > UINT64_MAX - entry.offset) {
    return error(Code::NotAnArtifact, "'%s' is damaged: section '%s' has alignment %" PRIu64 " and length %" PRIu64, source_.name(), name,
                 entry.alignment, entry.length);
  }
  if (entry.kind == TIFFIN_SECTION_CODE && entry.detail > entry.length) {
    return error(Code::NotAnArtifact, "'%s' is damaged: instructions of section '%s' start at %" PRIu64 " of %" PRIu64 " bytes", source_.name(), name,
                 entry.detail, entry.length);
  }
  section.code_start = entry.kind == TIFFIN_SECTION_CODE ? entry.detail : 0;
  TIFFIN_TRY(place(section, entry, name));
  return section;
}

Status Container::read_table() {
  if (header_.section_count > TIFFIN_MAX_SECTIONS) {
    return error(Code::NotAnArtifact, "'%s' is damaged: it has %u sections, at most %u are allowed", source_.name(), header_.section_count,
                 TIFFIN_MAX_SECTIONS);
  }
  const size_t count = header_.section_count;
  auto* table = arena_.allocate<tiffin_section>(count);
  auto* sections = arena_.allocate<Section>(count);
  if (table == nullptr || sections == nullptr) return error(Code::OutOfMemory, "no memory for the sections of '%s'", source_.name());
  const size_t table_bytes = count * sizeof(tiffin_section);
  if (!is_bundle_) {
    Result<uint64_t> whole = elf_.translate("the section table", elf_.note().header_address, sizeof(header_) + table_bytes);
    if (!whole.has_value()) return whole.take_error();
  }
  const Source& file = header_file_ != nullptr ? *header_file_ : source_;
  TIFFIN_TRY(file.read(header_offset_ + sizeof(header_), {reinterpret_cast<uint8_t*>(table), table_bytes}));
  TIFFIN_TRY(check_header_digests({table, count}));
  for (size_t i = 0; i < count; ++i) {
    TIFFIN_ASSIGN_OR_RETURN(sections[i], read_entry(table[i]));
    for (size_t j = 0; j < i; ++j) {
      if (sections[j].kind != sections[i].kind || sections[j].name != sections[i].name) continue;
      return error(Code::NotAnArtifact, "'%s' is damaged: section '%s' occurs twice", source_.name(), sections[i].name.data());
    }
  }
  sections_ = {sections, count};
  return {};
}

Status Container::check_sections(VerifyLevel level) const {
  for (const Section& section : sections_) {
    const bool is_due = level == VerifyLevel::All ? !(is_bundle_ && is_attachment(section.kind)) : !is_bulk(section.kind);
    if (level != VerifyLevel::None && is_due) TIFFIN_TRY(check_section(section));
  }
  return {};
}

// Unknown sections are passed over, unless the file cannot be understood without them.
Status Container::check_kinds() const {
  for (const Section& section : sections_) {
    const bool is_known = section.kind >= TIFFIN_SECTION_MANIFEST && section.kind <= TIFFIN_SECTION_SOURCE;
    if (is_known || !section.is_required) continue;
    return error(Code::FormatTooNew, "'%s' needs its section '%s' of kind %u to be understood, this runtime (format %u.%u) does not know it",
                 source_.name(), section.name.data(), section.kind, TIFFIN_FORMAT_MAJOR, TIFFIN_FORMAT_MINOR);
  }
  return {};
}

Status Container::read(Source&& source, VerifyLevel level) {
  source_ = std::move(source);
  TIFFIN_TRY(read_header());
  TIFFIN_TRY(check_format());
  TIFFIN_TRY(check_abi());
  TIFFIN_TRY(check_completeness());
  TIFFIN_TRY(read_table());
  TIFFIN_TRY(check_sections(level));
  return check_kinds();
}

Result<Container> Container::open(Source source, VerifyLevel level) {
  Container container;
  TIFFIN_TRY(container.read(std::move(source), level));
  return container;
}

uint64_t Container::size() const {
  if (!is_folder()) return source_.size();
  uint64_t bytes = sizeof(header_) + sections_.size() * sizeof(tiffin_section);
  for (const Section& section : sections_) bytes += section.length;
  return bytes;
}

const Section* Container::find(tiffin_section_kind kind, std::string_view name) const {
  for (const Section& section : sections_) {
    if (section.kind == kind && (name.empty() || section.name == name)) return &section;
  }
  return nullptr;
}

Digest Container::content_digest() const { return to_digest(header_.content_digest); }

Digest Container::file_digest() const { return to_digest(header_.file_digest); }

Result<Digest> Container::hash_section(const Section& section) const {
  Hasher hasher;
  const Source& file = source_of(section);
  if (section.kind == TIFFIN_SECTION_CODE) {
    TIFFIN_TRY(file.hash(section.offset, section.code_start, hasher));
    TIFFIN_TRY(file.hash(section.code_offset, section.length - section.code_start, hasher));
  } else {
    TIFFIN_TRY(file.hash(section.offset, section.length, hasher));
  }
  return hasher.finish();
}

// What lies in [begin, end) of the source, without the weights.
Status Container::hash_but_weights(uint64_t begin, uint64_t end, Hasher& hasher) const {
  const Section* weights = find(TIFFIN_SECTION_WEIGHTS);
  const uint64_t gap = weights == nullptr ? end : std::clamp(weights->offset, begin, end);
  const uint64_t behind = weights == nullptr ? end : std::clamp(weights->offset + weights->length, gap, end);
  TIFFIN_TRY(source_.hash(begin, gap - begin, hasher));
  return source_.hash(behind, end - behind, hasher);
}

Result<Digest> Container::hash_file() const {
  if (is_folder()) return error(Code::InvalidArgument, "'%s' is a folder, which has no digest of its own", source_.name());
  Hasher hasher;
  constexpr uint8_t kZeros[TIFFIN_DIGEST_BYTES] = {};
  const uint64_t field = header_offset_ + offsetof(tiffin_artifact_header, file_digest);
  const uint64_t after = field + sizeof(kZeros);
  TIFFIN_TRY(hash_but_weights(0, field, hasher));
  hasher.update(kZeros);
  TIFFIN_TRY(hash_but_weights(after, source_.size(), hasher));
  return hasher.finish();
}

Status Container::check_section(const Section& section) const {
  TIFFIN_ASSIGN_OR_RETURN(const Digest actual, hash_section(section));
  char what[64];
  snprintf(what, sizeof(what), "section '%s'", section.name.data());
  return compare(what, actual, section.digest.bytes.data());
}

Result<std::span<const uint8_t>> Container::read_header_bytes(Arena& arena) const {
  const size_t length = sizeof(header_) + sections_.size() * sizeof(tiffin_section);
  auto* bytes = static_cast<uint8_t*>(arena.allocate_bytes(length));
  if (bytes == nullptr) return error(Code::OutOfMemory, "no memory for the header of '%s'", source_.name());
  const Source& file = header_file_ != nullptr ? *header_file_ : source_;
  TIFFIN_TRY(file.read(header_offset_, {bytes, length}));
  return std::span<const uint8_t>{bytes, length};
}

Result<std::span<const uint8_t>> Container::read_section(const Section& section, Arena& arena) const {
  auto* bytes = static_cast<uint8_t*>(arena.allocate_bytes(static_cast<size_t>(section.length), 64));
  if (bytes == nullptr) return error(Code::OutOfMemory, "no memory for the %" PRIu64 " bytes of section '%s'", section.length, section.name.data());
  const std::span<uint8_t> copy(bytes, static_cast<size_t>(section.length));
  TIFFIN_TRY(source_of(section).read(section.offset, copy));
  if (checks_copies_ && digest_of(copy) != section.digest) {
    return error(Code::DigestMismatch, "'%s' changed while it was loaded: section '%s'", source_.name(), section.name.data());
  }
  return std::span<const uint8_t>(copy);
}

}  // namespace tiffin::runtime
