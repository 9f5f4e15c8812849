// SPDX-License-Identifier: Apache-2.0
// How far a name is from another, to tell which of a few somebody may have meant.
#pragma once

#include <cstddef>
#include <string_view>

namespace tiffin {

// Fewest insertions, removals and replacements of characters that turn one name into the other (Levenshtein's distance), of the first 64
// characters of each.
size_t name_distance(std::string_view a, std::string_view b);

}  // namespace tiffin
