// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/creation_time.h"

#include <cstdlib>

namespace tiffin::driver {

std::optional<int64_t> creation_time() {
  const char* text = std::getenv("SOURCE_DATE_EPOCH");
  if (text == nullptr || *text == 0) return std::nullopt;
  char* end = nullptr;
  const long long seconds = std::strtoll(text, &end, 10);
  return *end == 0 ? std::optional<int64_t>(seconds) : std::nullopt;
}

}  // namespace tiffin::driver
