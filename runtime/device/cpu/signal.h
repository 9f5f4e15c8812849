// SPDX-License-Identifier: Apache-2.0
// A number that one thread raises and another awaits: it spins for a while and then sleeps in the system.
#pragma once

#include <atomic>
#include <cstdint>

namespace tiffin::runtime {

class Signal {
 public:
  // Publishes all writes before it to the thread that awaits the number. A system call only when that thread sleeps.
  void raise(uint32_t value);

  // Returns when the number is no longer `old`, with the new one.
  uint32_t await_change(uint32_t old);

 private:
  std::atomic<uint32_t> value_{0};
  std::atomic<uint32_t> is_asleep_{0};
};

}  // namespace tiffin::runtime
