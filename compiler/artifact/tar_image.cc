// SPDX-License-Identifier: Apache-2.0
#include "compiler/artifact/tar_image.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/artifact_layout.h"

namespace tiffin::artifact {
namespace {

constexpr uint64_t kBlock = 512;
constexpr uint64_t kLargestOctal = (uint64_t{1} << 33) - 1;  // of the 11 octal digits of ustar's size field
constexpr unsigned kModified = 315532800;                    // 1980-01-01: old enough for no clock to call it future, and no tar implausible

// The header block of ustar (IEEE Std 1003.1, pax).
struct UstarHeader {
  char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[6], version[2], user[32], group[32], major[8],
      minor[8], prefix[155], pad[12];
};
static_assert(sizeof(UstarHeader) == kBlock);

// "LENGTH key=value\n", where LENGTH counts itself.
std::string pax_record(const std::string& key, const std::string& value) {
  const size_t rest = 1 + key.size() + 1 + value.size() + 1;
  size_t length = rest + 1;
  while (length != rest + std::to_string(length).size()) length = rest + std::to_string(length).size();
  return std::to_string(length) + " " + key + "=" + value + "\n";
}

// Paths above 100 bytes are split at a '/' into prefix and name: where, 0 for a short path, npos for one that has no such place.
size_t split_position(const std::string& path) {
  constexpr size_t kName = sizeof(UstarHeader::name), kPrefix = sizeof(UstarHeader::prefix);
  if (path.size() <= kName) return 0;
  const size_t cut = path.find('/', path.size() - kName - 1);
  return cut == 0 || cut > kPrefix ? std::string::npos : cut;
}

// Records of exactly `bytes`, the last of which is a comment; empty when no comment can fill what is left.
std::string filled_up(std::string records, uint64_t bytes) {
  const size_t shortest = pax_record("comment", "").size();
  if (bytes < records.size() + shortest) return {};
  for (uint64_t blank = bytes - records.size() - shortest;; --blank) {
    std::string comment = pax_record("comment", std::string(static_cast<size_t>(blank), ' '));
    if (records.size() + comment.size() == bytes) return records + comment;
    if (blank == 0) return {};
  }
}

class Builder {
 public:
  Image build(std::vector<Section>& sections, const std::vector<TextMember>& texts) {
    const uint64_t table_bytes = sizeof(tiffin_artifact_header) + sections.size() * sizeof(tiffin_section);
    image_.header_offset = begin_member(kHeaderMember, table_bytes, TIFFIN_PAGE_BYTES);
    flush();
    at_ = image_.header_offset + table_bytes;
    pad();
    for (const TextMember& text : texts) {
      begin_member(text.path, text.text.size(), TIFFIN_PAGE_BYTES);
      append(text.text.data(), text.text.size());
      pad();
    }
    for (Section& section : sections) place(section);
    finish();
    return std::move(image_);
  }

 private:
  void place(Section& section) {
    const bool is_weights = section.entry.kind == TIFFIN_SECTION_WEIGHTS;
    section.entry.offset = begin_member(section.member, section.entry.length, std::max<uint64_t>(section.entry.alignment, TIFFIN_PAGE_BYTES));
    if (is_weights) {
      image_.weights_offset = section.entry.offset;
      flush();
      at_ += section.entry.length;
    } else {
      append(section.bytes.data(), section.bytes.size());
    }
    pad();
  }

  // Appends what comes before a member's bytes, which then begin at the returned multiple of `alignment`.
  uint64_t begin_member(const std::string& path, uint64_t size, uint64_t alignment) {
    std::string records = size > kLargestOctal ? pax_record("size", std::to_string(size)) : std::string();
    if (split_position(path) == std::string::npos) records += pax_record("path", path);
    if (records.empty() && (at_ + kBlock) % alignment == 0) {
      append_header(path, size, '0');
      return at_;
    }
    const uint64_t smallest = at_ + kBlock + align_up(std::max<uint64_t>(records.size(), 1), kBlock) + kBlock;
    uint64_t begin = align_up(smallest, alignment);
    std::string filled;
    for (;; begin += alignment) {
      filled = filled_up(records, begin - kBlock - kBlock - at_);
      if (!filled.empty()) break;
    }
    append_header("pax/" + path, filled.size(), 'x');
    append(filled.data(), filled.size());
    append_header(path, size, '0');
    return at_;
  }

  void append_header(const std::string& path, uint64_t size, char type) {
    UstarHeader header{};
    split_path(path, header);
    const auto octal = [](auto& field, uint64_t value) {
      snprintf(field, sizeof(field), "%0*llo", static_cast<int>(sizeof(field) - 1), static_cast<unsigned long long>(value));
    };
    octal(header.mode, 0644);
    octal(header.uid, 0);
    octal(header.gid, 0);
    octal(header.size, size > kLargestOctal ? 0 : size);
    octal(header.mtime, kModified);
    header.type = type;
    memcpy(header.magic, "ustar", 6);
    memcpy(header.version, "00", 2);
    memset(header.checksum, ' ', sizeof(header.checksum));
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof(header); ++i) sum += reinterpret_cast<const unsigned char*>(&header)[i];
    snprintf(header.checksum, sizeof(header.checksum), "%06o", sum);
    header.checksum[7] = ' ';
    append(&header, sizeof(header));
  }

  static void split_path(const std::string& path, UstarHeader& header) {
    const size_t cut = split_position(path);
    if (cut == 0 || cut == std::string::npos) {
      path.copy(header.name, sizeof(header.name));
      return;
    }
    path.copy(header.prefix, cut);
    path.copy(header.name, sizeof(header.name), cut + 1);
  }

  void append(const void* bytes, size_t count) {
    if (run_.empty()) run_begin_ = at_;
    const auto* first = static_cast<const uint8_t*>(bytes);
    run_.insert(run_.end(), first, first + count);
    at_ += count;
  }

  void pad() {
    const uint64_t end = align_up(at_, kBlock);
    if (run_.empty()) run_begin_ = at_;
    run_.resize(run_.size() + static_cast<size_t>(end - at_));
    at_ = end;
  }

  void flush() {
    if (!run_.empty()) image_.extents.push_back({run_begin_, std::move(run_)});
    run_.clear();
  }

  // Two blocks of zeros end an archive.
  void finish() {
    const std::vector<uint8_t> zeros(2 * kBlock);
    append(zeros.data(), zeros.size());
    flush();
    image_.total_length = at_;
  }

  Image image_;
  std::vector<uint8_t> run_;  // bytes since run_begin_ that are not yet an extent
  uint64_t run_begin_ = 0, at_ = 0;
};

}  // namespace

Image lay_out_tar(std::vector<Section>& sections, const std::vector<TextMember>& texts) { return Builder().build(sections, texts); }

}  // namespace tiffin::artifact
