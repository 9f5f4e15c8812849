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
  // In place of what it held. NotAnArtifact (not such an ELF file, or one without our note), Truncated (a segment or the section headers reach
  // beyond the end), Io. After a failure it holds nothing of use.
  Status read(const Source& source);
  // The same of a file that need not have a note: any static position-independent program too.
  Status read_program(const Source& source);

  uint16_t machine() const { return parts_.machine; }
  const tiffin_note& note() const { return parts_.note; }
  // What a program encloses, as its note says; length 0 without one. The place of that note's description in the source; 0 without one.
  const tiffin_enclosure& enclosure() const { return parts_.enclosure; }
  uint64_t enclosure_position() const { return parts_.enclosure_position; }
  // End of the last segment or of the section headers, whichever lies farther: the length of a complete file.
  uint64_t complete_length() const { return parts_.complete_length; }

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

  struct Parts {
    const char* name = "";
    std::span<Segment> segments;
    uint16_t machine = 0;
    uint64_t complete_length = 0;
    bool has_note = false;
    tiffin_note note{};
    tiffin_enclosure enclosure{};
    uint64_t enclosure_position = 0;
  };

  Arena arena_;
  Parts parts_;
};

// "a zip archive", "text", ...: what a file that is no artifact seems to be.
const char* describe_contents(std::span<const uint8_t> first_bytes);

}  // namespace tiffin::runtime
