// SPDX-License-Identifier: Apache-2.0
// A sound artifact around one section that comes from the fuzzer, for the sections that only make sense beside others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "abi/artifact.h"

namespace tiffin::fuzz {

class Frame {
 public:
  // All sections of the artifact at `path` but the first one of that kind, which `around` puts in.
  Frame(const char* path, tiffin_section_kind kind);
  // The artifact with that section; valid until the next call.
  std::span<const uint8_t> around(std::span<const uint8_t> section);

 private:
  void write_front();

  std::vector<uint8_t> file_;
  std::vector<tiffin_section> table_;
  size_t fixed_bytes_ = 0;  // of file_, before the section
};

}  // namespace tiffin::fuzz
