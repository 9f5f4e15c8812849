// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM while files are written: unfinished ones are removed before the process ends.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace tiffin::tools {

// While it lives, SIGINT, SIGTERM and SIGHUP are taken by a thread of its own, which removes this process's unfinished files (AtomicFile's
// temporaries) from the folders of the outputs, reports Cancelled as any failure is reported and ends the process with 3. Made before other threads
// start, which inherit the blocked signals. One at a time.
class Interruption {
 public:
  Interruption(const std::vector<std::string>& outputs, bool json);
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

 private:
  void wait();
  std::vector<std::string> folders_;
  bool json_;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

}  // namespace tiffin::tools
