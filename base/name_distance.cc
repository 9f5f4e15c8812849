// SPDX-License-Identifier: Apache-2.0
#include "base/name_distance.h"

#include <algorithm>
#include <utility>

namespace tiffin {

size_t name_distance(std::string_view a, std::string_view b) {
  constexpr size_t kMaxLength = 64;
  a = {a.data(), std::min(a.size(), kMaxLength)};  // substr would take a symbol of libstdc++
  b = {b.data(), std::min(b.size(), kMaxLength)};
  // One row of the table of distances between prefixes at a time.
  size_t row[kMaxLength + 1];
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({replaced, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row[b.size()];
}

}  // namespace tiffin
