// SPDX-License-Identifier: Apache-2.0
// Threads that compute partition units of a step together with the calling thread. The split is static: which thread computes a unit
// depends on the counts alone, and the bits of the result on neither.
#pragma once

#include <pthread.h>

#include <cstdint>

#include "abi/kernel.h"
#include "base/status.h"
#include "runtime/device/cpu/signal.h"

namespace tiffin::runtime {

// One step's work.
struct Work {
  tiffin_kernel_function function = nullptr;
  void* const* buffers = nullptr;
  int64_t units = 0;
  int64_t grain = 1;  // fewest units worth a thread of their own
  // Of a kernel that is data: called in place of `function`, with it.
  int32_t (*interpret)(const void* kernel, void* const* buffers, void* scratch, int64_t unit_begin, int64_t unit_end) = nullptr;
  const void* kernel = nullptr;

  int32_t call(void* scratch, int64_t unit_begin, int64_t unit_end) const {
    if (interpret != nullptr) return interpret(kernel, buffers, scratch, unit_begin, unit_end);
    return function(buffers, scratch, unit_begin, unit_end);
  }
};

// Used by one thread at a time.
class WorkerPool {
 public:
  WorkerPool() = default;
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool() { stop(); }

  // `scratch` has `thread_count` pieces of `scratch_bytes`; the caller's is the first. Threads start at the first call of run that needs
  // them; where the system refuses one, fewer compute.
  void configure(int thread_count, uint8_t* scratch, uint64_t scratch_bytes);

  // Computes all units; the kernel's status, of the lowest units that failed. Takes no lock, allocates nothing once the threads run.
  int32_t run(const Work& work);

  // Threads that compute, the caller included.
  int thread_count() const { return thread_count_; }

  // Ends the threads.
  void stop();

 private:
  struct Worker;
  static void* main_of(void* worker);
  void start();

  int thread_count_ = 1;
  uint8_t* scratch_ = nullptr;
  uint64_t scratch_bytes_ = 0;
  Worker* workers_ = nullptr;
  int worker_count_ = 0;
  bool is_started_ = false;
};

}  // namespace tiffin::runtime
