// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM while files are written: unfinished ones are removed before the process ends.
#pragma once

#include <pthread.h>

#include <atomic>

#include "base/array.h"
#include "base/status.h"

namespace tiffin::tools {

// From start on, SIGINT, SIGTERM and SIGHUP are taken by a thread of its own, which removes this process's unfinished files (AtomicFile's
// temporaries, and folders of such names) from the folders of the outputs, reports Cancelled as any failure is reported and ends the process with 3.
// Started before other threads, which inherit the blocked signals. One at a time.
class Interruption {
 public:
  Interruption() = default;
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;
  ~Interruption();

  // A file that will be written; null and "" stand for none. OutOfMemory.
  Status add_output(const char* path);
  // A folder that files will be written to, which need not be there yet. OutOfMemory.
  Status add_folder(const char* path);
  // Without outputs, or where no thread can be made, signals end the process as they do otherwise.
  void start(bool json);

 private:
  static void* wait(void* self);
  void remove_unfinished() const;
  Array<char> folders_;  // each with a NUL behind it
  bool json_ = false, is_on_ = false;
  std::atomic<bool> is_over_ = false;
  pthread_t thread_{};
};

}  // namespace tiffin::tools
