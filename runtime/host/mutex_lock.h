// SPDX-License-Identifier: Apache-2.0
// Holds a mutex for the time of a block.
#pragma once

#include <pthread.h>

namespace tiffin::runtime {

class MutexLock {
 public:
  explicit MutexLock(pthread_mutex_t& mutex) : mutex_(mutex) { pthread_mutex_lock(&mutex_); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() { pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t& mutex_;
};

}  // namespace tiffin::runtime
