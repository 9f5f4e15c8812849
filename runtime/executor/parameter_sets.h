// SPDX-License-Identifier: Apache-2.0
// The generations of a module's parameters: one atomic pointer that runs read without a lock, and what keeps a set alive while a run uses it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "base/status.h"
#include "runtime/executor/parameter_set.h"
#include "runtime/host/ref.h"

namespace tiffin::runtime {

// A set and the number it has in one module. Immutable while published.
struct Generation {
  Ref<ParameterSet> set;
  uint64_t number = 0;
  Generation* next = nullptr;  // of those that wait for their last run
};

// Where one executor shows which generation its run uses. Linked into the module's list while the executor lives.
struct GenerationUse {
  std::atomic<const Generation*> in_use{nullptr};
  GenerationUse* next = nullptr;
};

// Reading is lock-free by hazard pointers (M. Michael, "Hazard Pointers: Safe Memory Reclamation for Lock-Free Objects", 2004): a run publishes the
// pointer it read and reads again; whoever exchanges the pointer frees an old generation only when no executor shows it. Everything but begin_run
// and end_run takes a mutex for a short time, and frees what has become free.
class ParameterSets {
 public:
  ParameterSets() = default;
  ParameterSets(const ParameterSets&) = delete;
  ~ParameterSets();

  // The current generation, alive until end_run; null when there is none. Allocates nothing and never waits; it repeats only when a commit comes
  // between two instructions.
  const Generation* begin_run(GenerationUse& use) const {
    const Generation* seen = current_.load(std::memory_order_acquire);
    while (true) {
      use.in_use.store(seen, std::memory_order_seq_cst);
      const Generation* again = current_.load(std::memory_order_seq_cst);
      if (again == seen) return seen;
      seen = again;
    }
  }
  static void end_run(GenerationUse& use) { use.in_use.store(nullptr, std::memory_order_release); }

  void add_use(GenerationUse& use);
  void remove_use(GenerationUse& use);

  // Null when there is none.
  Ref<ParameterSet> current_set() const;
  // 0 when there is none.
  uint64_t current_number() const;

  // An unpublished generation with the next number; `set` may be null, then only its number is of use. OutOfMemory. Freed by discard or publish's
  // owner.
  Result<Generation*> make(Ref<ParameterSet> set);
  static void discard(Generation* generation);
  // Takes over a generation with a set and makes it the current one; the one that was current becomes the previous one.
  void publish(Generation* generation);
  // Exchanges current and previous if the previous has that number; nothing to do if the current has it. StaleGeneration for others.
  Status rollback(uint64_t number);
  // Generations that are kept, and those that a run still used when they were replaced.
  size_t alive_count();

 private:
  void free_unused();
  bool is_used(const Generation* generation) const;

  std::atomic<Generation*> current_{nullptr};
  std::atomic<uint64_t> last_number_{0};
  mutable pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;  // guards what follows, and writing current_
  Generation* previous_ = nullptr;
  Generation* retired_ = nullptr;
  GenerationUse* uses_ = nullptr;
};

}  // namespace tiffin::runtime
