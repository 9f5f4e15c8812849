// SPDX-License-Identifier: Apache-2.0
#include "fuzz/repair.h"

#include <cstddef>
#include <cstdio>
#include <cstring>
#include <optional>

#include "abi/artifact.h"
#include "base/artifact_layout.h"
#include "base/digest.h"
#include "runtime/artifact/elf_image.h"
#include "runtime/artifact/members.h"
#include "runtime/host/source.h"

namespace tiffin::fuzz {
namespace {

using Bytes = std::span<uint8_t>;

constexpr size_t kBlock = 512;

bool is_archive(std::span<const uint8_t> file) { return file.size() >= kBlock && memcmp(file.data() + 257, "ustar", 5) == 0; }

void put_digest(uint8_t (&field)[TIFFIN_DIGEST_BYTES], const Digest& digest) { memcpy(field, digest.bytes.data(), sizeof(field)); }

// Where things lie in the container; nothing where they do not.
class Places {
 public:
  static std::optional<Places> find(Bytes file);
  std::optional<Bytes> header(uint64_t length);
  std::optional<Bytes> section(tiffin_section& entry);
  std::optional<Bytes> instructions(const tiffin_section& entry);

 private:
  Places(Bytes file, runtime::Source source) : file_(file), source_(std::move(source)) {}
  std::optional<Bytes> at(const Result<uint64_t>& offset, uint64_t length) {
    if (!offset.has_value() || *offset > file_.size() || length > file_.size() - *offset) return std::nullopt;
    return file_.subspan(*offset, length);
  }

  Bytes file_;
  runtime::Source source_;
  bool is_bundle_ = false;
  runtime::ElfImage elf_;
  runtime::Members members_;
};

std::optional<Places> Places::find(Bytes file) {
  auto source = runtime::Source::from_memory(file);
  if (!source.has_value()) return std::nullopt;
  std::optional<Places> places(Places(file, std::move(source).value()));
  places->is_bundle_ = is_archive(file);
  if (places->is_bundle_) {
    auto members = runtime::Members::read(places->source_);
    if (!members.has_value()) return std::nullopt;
    places->members_ = std::move(members).value();
  } else {
    if (!places->elf_.read(places->source_).is_ok()) return std::nullopt;
  }
  return places;
}

std::optional<Bytes> Places::header(uint64_t length) {
  if (!is_bundle_) return at(elf_.translate("header", elf_.note().header_address, length), length);
  const auto place = members_.find(source_, kHeaderMember);
  return place.has_value() ? at(place->offset, length) : std::nullopt;
}

// The section; of code in a shared object what stands before the instructions. A member's length becomes the section's.
std::optional<Bytes> Places::section(tiffin_section& entry) {
  if (!is_bundle_) {
    const uint64_t length = entry.kind == TIFFIN_SECTION_CODE ? entry.detail : entry.length;
    return at(elf_.translate("section", entry.offset, length), length);
  }
  char path[kMemberPathBytes];
  const std::string_view name(entry.name, strnlen(entry.name, sizeof(entry.name)));
  if (is_attachment(entry.kind) || !member_path(entry.kind, name, path)) return std::nullopt;
  const auto place = members_.find(source_, path);
  if (!place.has_value()) return std::nullopt;
  entry.length = place->bytes;
  return at(place->offset, place->bytes);
}

std::optional<Bytes> Places::instructions(const tiffin_section& entry) {
  if (is_bundle_ || entry.kind != TIFFIN_SECTION_CODE || entry.detail > entry.length) return file_.first(0);
  const uint64_t length = entry.length - entry.detail;
  return at(elf_.translate("code", entry.offset + entry.detail, length), length);
}

// Steps from member to member by the sizes in their headers and writes true checksums.
void repair_checksums(Bytes file) {
  for (size_t at = 0; at + kBlock <= file.size();) {
    uint8_t* const block = file.data() + at;
    uint64_t size = 0, sum = 0;
    for (size_t i = 124; i < 135 && block[i] >= '0' && block[i] <= '7'; ++i) size = size * 8 + (block[i] - '0');
    bool is_zero = true;
    for (size_t i = 0; i < kBlock; ++i) {
      is_zero = is_zero && block[i] == 0;
      sum += i >= 148 && i < 156 ? ' ' : block[i];
    }
    if (!is_zero) snprintf(reinterpret_cast<char*>(block + 148), 8, "%06o", static_cast<unsigned>(sum));
    if (!is_zero) block[155] = ' ';
    if (size > file.size()) return;
    at += kBlock + (size + kBlock - 1) / kBlock * kBlock;
  }
}

void repair_weights(Bytes weights, const Digest& plan) {
  if (weights.size() < sizeof(tiffin_weights_header)) return;
  memcpy(weights.data() + offsetof(tiffin_weights_header, plan_digest), plan.bytes.data(), sizeof(Digest));
}

}  // namespace

void repair_artifact(std::vector<uint8_t>& file) {
  if (is_archive(file)) repair_checksums(file);
  std::optional<Places> places = Places::find(file);
  if (!places.has_value()) return;
  tiffin_artifact_header header;
  std::optional<Bytes> head = places->header(sizeof(header));
  if (!head.has_value()) return;
  memcpy(&header, head->data(), sizeof(header));
  if (header.section_count > TIFFIN_MAX_SECTIONS) return;
  head = places->header(sizeof(header) + header.section_count * sizeof(tiffin_section));
  if (!head.has_value()) return;
  std::vector<tiffin_section> table(header.section_count);
  if (!table.empty()) memcpy(table.data(), head->data() + sizeof(header), table.size() * sizeof(tiffin_section));
  Digest plan;
  for (tiffin_section& entry : table) {
    const auto bytes = places->section(entry);
    if (entry.kind == TIFFIN_SECTION_STORAGE_PLAN && bytes.has_value()) plan = digest_of(*bytes);
  }
  for (tiffin_section& entry : table) {
    const auto bytes = places->section(entry), rest = places->instructions(entry);
    if (!bytes.has_value() || !rest.has_value()) continue;
    if (entry.kind == TIFFIN_SECTION_WEIGHTS) repair_weights(*bytes, plan);
    Hasher hasher;
    hasher.update(*bytes);
    hasher.update(*rest);
    put_digest(entry.digest, hasher.finish());
  }
  put_digest(header.content_digest, content_digest(table));
  put_digest(header.header_digest, header_digest(header, table));
  memcpy(head->data(), &header, sizeof(header));
  if (!table.empty()) memcpy(head->data() + sizeof(header), table.data(), table.size() * sizeof(tiffin_section));
}

}  // namespace tiffin::fuzz
