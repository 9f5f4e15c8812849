// SPDX-License-Identifier: Apache-2.0
// The digest of a whole file, computed beside what the caller does meanwhile.
#pragma once

#include <pthread.h>

#include <optional>

#include "runtime/artifact/container.h"

namespace tiffin::tools {

// Hashes in a thread of its own; in the caller's, when asked for the digest, where no thread can be had.
class BackgroundHash {
 public:
  // The container outlives this and does not move. Nothing is hashed of a folder.
  explicit BackgroundHash(const runtime::Container& container);
  BackgroundHash(const BackgroundHash&) = delete;
  BackgroundHash& operator=(const BackgroundHash&) = delete;
  ~BackgroundHash();

  // Waits. Called once. The codes of Container::hash_file.
  Result<Digest> take();

 private:
  static void* work(void* self);
  void join();

  const runtime::Container& container_;
  std::optional<Result<Digest>> digest_;
  pthread_t thread_{};
  bool is_running_ = false;
};

}  // namespace tiffin::tools
