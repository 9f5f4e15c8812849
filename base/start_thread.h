// SPDX-License-Identifier: Apache-2.0
// Threads of the library's own, beside those of the program that it is part of.
#pragma once

#include <pthread.h>

namespace tiffin {

// As pthread_create, whose errno it gives, but the thread takes no signals: they are for the threads of the program.
int start_thread(pthread_t* thread, void* (*work)(void*), void* argument);

}  // namespace tiffin
