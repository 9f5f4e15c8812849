// SPDX-License-Identifier: Apache-2.0
// A bar on a terminal; nothing on a pipe.
#pragma once

#include <string>

namespace tiffin::tools {

class Progress {
 public:
  explicit Progress(bool is_wanted);
  ~Progress();
  void show(const char* stage, double fraction);

 private:
  bool is_on_;
};

}  // namespace tiffin::tools
