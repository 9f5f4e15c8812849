// SPDX-License-Identifier: Apache-2.0
// Lays an artifact out as a tar archive (POSIX.1-2001, pax interchange format): every section is a member whose bytes begin on a page, so that it
// is mapped where it lies. The gap before a member is a pax header with a `comment`, which every tar reads and none shows.
#pragma once

#include <string>
#include <vector>

#include "compiler/artifact/image.h"

namespace tiffin::artifact {

// A member that is no section: derived from the sections, for people.
struct TextMember {
  std::string path;
  std::string text;
};

// Fills in the `offset` of every section and returns the image around them. Precondition: weights, if any, are the last section.
Image lay_out_tar(std::vector<Section>& sections, const std::vector<TextMember>& texts);

}  // namespace tiffin::artifact
