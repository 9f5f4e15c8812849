// SPDX-License-Identifier: Apache-2.0
// The monotonic clock.
#pragma once

#include <cstdint>
#include <ctime>

namespace tiffin::runtime {

// Nanoseconds since an arbitrary start; no system call where the kernel offers a vdso.
inline uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000u + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace tiffin::runtime
