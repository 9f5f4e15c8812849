// SPDX-License-Identifier: Apache-2.0
// Which of a few names somebody may have meant.
#pragma once

#include <cstddef>
#include <string_view>

namespace tiffin::runtime {

// Fewest insertions, removals and replacements of characters that turn one name into the other (Levenshtein's distance), of the first 64
// characters of each.
size_t name_distance(std::string_view a, std::string_view b);

}  // namespace tiffin::runtime
