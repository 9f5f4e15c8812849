// SPDX-License-Identifier: Apache-2.0
// A container before it is written: the sections, and the runs of bytes around them. The bytes of the weights are not touched here: the writer
// streams them to their place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "abi/artifact.h"

namespace tiffin::artifact {

// A section of the artifact on its way into a container. Weights have no bytes here, only a length.
struct Section {
  tiffin_section entry{};  // offset is filled in by the layout, the digest of weights by the writer
  std::vector<uint8_t> bytes;
  std::string member;  // its path in a bundle
};

// A run of file bytes known before writing.
struct Extent {
  uint64_t offset = 0;
  std::vector<uint8_t> bytes;
};

struct Image {
  std::vector<Extent> extents;  // everything but header, table and weights; ascending, not overlapping
  uint64_t header_offset = 0;   // file offset of the tiffin_artifact_header
  uint64_t weights_offset = 0;  // file offset of the weights section; 0 without one
  uint64_t total_length = 0;
};

}  // namespace tiffin::artifact
