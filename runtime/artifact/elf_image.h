// SPDX-License-Identifier: Apache-2.0
// The program headers of a 64-bit little-endian ELF file, read into private memory: where virtual addresses lie in the file, and where the
// Tiffin note points. Section headers are never followed, so a stripped file reads the same.
#pragma once

#include <cstdint>
#include <span>

#include "abi/artifact.h"
#include "abi/enclosure.h"
#include "base/status.h"
#include "runtime/host/arena.h"
#include "runtime/host/source.h"

namespace tiffin::runtime {

class ElfImage {
 public:
  ElfImage() = default;
  // NotAnArtifact (not such an ELF file, or one without our note), Truncated (a segment or the section headers reach beyond the end), Io.
  static Result<ElfImage> read(const Source& source);
  // The same of a file that need not have a note: any static position-independent program too.
  static Result<ElfImage> read_program(const Source& source);

  uint16_t machine() const { return machine_; }
  const tiffin_note& note() const { return note_; }
  // What a program encloses, as its note says; length 0 without one. The place of that note's description in the source; 0 without one.
  const tiffin_enclosure& enclosure() const { return enclosure_; }
  uint64_t enclosure_position() const { return enclosure_position_; }
  // End of the last segment or of the section headers, whichever lies farther: the length of a complete file.
  uint64_t complete_length() const { return complete_length_; }

  // Position in the source of [address, address + length), which must lie in the file's part of one segment; NotAnArtifact otherwise.
  Result<uint64_t> translate(const char* what, uint64_t address, uint64_t length) const;

 private:
  struct Segment {
    uint64_t address;
    uint64_t offset;
    uint64_t bytes;
  };
  Status read_program_headers(const Source& source);
  Status find_note(const Source& source, uint64_t offset, uint64_t length);

  Arena arena_;
  const char* name_ = "";
  std::span<Segment> segments_;
  uint16_t machine_ = 0;
  uint64_t complete_length_ = 0;
  bool has_note_ = false;
  tiffin_note note_{};
  tiffin_enclosure enclosure_{};
  uint64_t enclosure_position_ = 0;
};

// "a zip archive", "text", ...: what a file that is no artifact seems to be.
const char* describe_contents(std::span<const uint8_t> first_bytes);

}  // namespace tiffin::runtime
