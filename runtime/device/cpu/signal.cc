// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/signal.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/host/clock.h"

namespace tiffin::runtime {
namespace {

// Longer than the gap between two steps of a network, shorter than anyone notices as load of an idle process.
constexpr uint64_t kSpinNs = 100'000;
constexpr int kPausesPerClockReading = 64;

void pause_core() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

uint32_t* word_of(std::atomic<uint32_t>& value) {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
  return reinterpret_cast<uint32_t*>(&value);
}

}  // namespace

void Signal::raise(uint32_t value) {
  // Sequential consistency on both words: either this thread sees the sleeper, or the sleeper sees the new value.
  value_.store(value);
  if (is_asleep_.load() != 0) syscall(SYS_futex, word_of(value_), FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

uint32_t Signal::await_change(uint32_t old) {
  const uint64_t start = now_ns();
  do {
    for (int i = 0; i < kPausesPerClockReading; ++i) {
      const uint32_t now = value_.load(std::memory_order_acquire);
      if (now != old) return now;
      pause_core();
    }
  } while (now_ns() - start < kSpinNs);
  is_asleep_.store(1);
  uint32_t now = value_.load();
  while (now == old) {
    syscall(SYS_futex, word_of(value_), FUTEX_WAIT_PRIVATE, old, nullptr, nullptr, 0);
    now = value_.load();
  }
  is_asleep_.store(0);
  return now;
}

}  // namespace tiffin::runtime
