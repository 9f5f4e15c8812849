// SPDX-License-Identifier: Apache-2.0
#include "tools/tiffin/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace tiffin::tools {

Progress::Progress(bool is_wanted) : is_on_(is_wanted && isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (is_on_) fputs("\r\x1b[K", stderr);
}

void Progress::show(const char* stage, double fraction) {
  if (!is_on_) return;
  constexpr int kWidth = 30;
  const int filled = std::clamp(static_cast<int>(fraction * kWidth), 0, kWidth);
  fputs(fmt::format("\r\x1b[K[{:<{}}] {}", std::string(static_cast<size_t>(filled), '#'), kWidth, stage).c_str(), stderr);
  fflush(stderr);
}

}  // namespace tiffin::tools
