// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/worker_pool.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "base/start_thread.h"

namespace tiffin::runtime {

// A worker's own cache lines: the caller writes work and raises `posted`, the worker writes status and raises `done` to the same number.
struct alignas(128) WorkerPool::Worker {
  Signal posted;
  Work work;
  int64_t begin = 0;
  int64_t end = 0;
  void* scratch = nullptr;
  bool must_end = false;
  alignas(64) Signal done;
  int32_t status = 0;
  uint32_t sequence = 0;  // the caller's
  pthread_t thread{};
};

void WorkerPool::configure(int thread_count, uint8_t* scratch, uint64_t scratch_bytes) {
  stop();
  thread_count_ = std::max(thread_count, 1);
  scratch_ = scratch;
  scratch_bytes_ = scratch_bytes;
}

void* WorkerPool::main_of(void* argument) {
  auto* worker = static_cast<Worker*>(argument);
  uint32_t seen = 0;
  for (;;) {
    seen = worker->posted.await_change(seen);
    if (worker->must_end) return nullptr;
    worker->status = worker->work.call(worker->scratch, worker->begin, worker->end);
    worker->done.raise(seen);
  }
}

void WorkerPool::start() {
  is_started_ = true;
  const auto wanted = static_cast<size_t>(thread_count_ - 1);
  auto* memory = aligned_alloc(alignof(Worker), wanted * sizeof(Worker));
  if (memory == nullptr) {
    thread_count_ = 1;
    return;
  }
  workers_ = static_cast<Worker*>(memory);
  for (size_t i = 0; i < wanted; ++i) {
    auto* worker = new (&workers_[i]) Worker;
    worker->scratch = scratch_ + (i + 1) * scratch_bytes_;
    if (start_thread(&worker->thread, main_of, worker) != 0) break;
    ++worker_count_;
  }
  thread_count_ = worker_count_ + 1;
}

void WorkerPool::stop() {
  for (int i = 0; i < worker_count_; ++i) {
    workers_[i].must_end = true;
    workers_[i].posted.raise(++workers_[i].sequence);
    pthread_join(workers_[i].thread, nullptr);
  }
  free(workers_);
  workers_ = nullptr;
  worker_count_ = 0;
  is_started_ = false;
}

int32_t WorkerPool::run(const Work& work) {
  if (work.units <= 0) return TIFFIN_KERNEL_OK;
  int64_t parts = std::min<int64_t>(thread_count_, work.units / std::max<int64_t>(work.grain, 1));
  if (parts > 1 && !is_started_) {
    start();
    parts = std::min<int64_t>(parts, thread_count_);
  }
  if (parts <= 1) return work.call(scratch_, 0, work.units);
  // Units are shared out evenly, the first `extra` parts having one more.
  const int64_t each = work.units / parts, extra = work.units % parts;
  int64_t begin = each + (extra > 0 ? 1 : 0);
  const int64_t own_end = begin;
  for (int64_t part = 1; part < parts; ++part) {
    Worker& worker = workers_[part - 1];
    worker.work = work;
    worker.begin = begin;
    begin += each + (part < extra ? 1 : 0);
    worker.end = begin;
    worker.posted.raise(++worker.sequence);
  }
  int32_t status = work.call(scratch_, 0, own_end);
  for (int64_t part = 1; part < parts; ++part) {
    Worker& worker = workers_[part - 1];
    worker.done.await_change(worker.sequence - 1);
    if (status == TIFFIN_KERNEL_OK) status = worker.status;
  }
  return status;
}

}  // namespace tiffin::runtime
