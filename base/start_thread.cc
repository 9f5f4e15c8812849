// SPDX-License-Identifier: Apache-2.0
#include "base/start_thread.h"

#include <signal.h>

namespace tiffin {

int start_thread(pthread_t* thread, void* (*work)(void*), void* argument) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failure = pthread_create(thread, nullptr, work, argument);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return failure;
}

}  // namespace tiffin
