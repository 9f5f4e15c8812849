// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/parameter_sets.h"

#include <cinttypes>
#include <cstdlib>

#include "base/text.h"
#include "runtime/host/mutex_lock.h"

namespace tiffin::runtime {

ParameterSets::~ParameterSets() {
  // Executors keep the module alive, so that no run uses anything any more.
  discard(current_.load(std::memory_order_relaxed));
  discard(previous_);
  free_unused();
  pthread_mutex_destroy(&mutex_);
}

void ParameterSets::add_use(GenerationUse& use) {
  const MutexLock lock(mutex_);
  use.next = uses_;
  uses_ = &use;
}

void ParameterSets::remove_use(GenerationUse& use) {
  const MutexLock lock(mutex_);
  GenerationUse** link = &uses_;
  while (*link != nullptr && *link != &use) link = &(*link)->next;
  if (*link != nullptr) *link = use.next;
  free_unused();
}

Ref<ParameterSet> ParameterSets::current_set() const {
  const MutexLock lock(mutex_);
  const Generation* current = current_.load(std::memory_order_relaxed);
  return current == nullptr ? Ref<ParameterSet>() : current->set;
}

uint64_t ParameterSets::current_number() const {
  const MutexLock lock(mutex_);
  const Generation* current = current_.load(std::memory_order_relaxed);
  return current == nullptr ? 0 : current->number;
}

Result<Generation*> ParameterSets::make(Ref<ParameterSet> set) {
  void* memory = malloc(sizeof(Generation));
  if (memory == nullptr) return error(Code::OutOfMemory, "no memory for a generation of parameters");
  auto* generation = new (memory) Generation;
  generation->set = std::move(set);
  generation->number = last_number_.fetch_add(1, std::memory_order_relaxed) + 1;
  return generation;
}

void ParameterSets::discard(Generation* generation) {
  if (generation == nullptr) return;
  generation->~Generation();
  free(generation);
}

void ParameterSets::publish(Generation* generation) {
  const MutexLock lock(mutex_);
  if (previous_ != nullptr) {
    previous_->next = retired_;
    retired_ = previous_;
  }
  previous_ = current_.exchange(generation, std::memory_order_seq_cst);
  free_unused();
}

Status ParameterSets::rollback(uint64_t number) {
  const MutexLock lock(mutex_);
  Generation* const current = current_.load(std::memory_order_relaxed);
  if (current != nullptr && current->number == number) return {};
  if (previous_ == nullptr || previous_->number != number) {
    Text kept;
    for (const Generation* generation : {static_cast<const Generation*>(previous_), static_cast<const Generation*>(current)}) {
      if (generation != nullptr) kept.add_item("%" PRIu64, generation->number);
    }
    return error(Code::StaleGeneration, "generation %" PRIu64 " is not kept, %s", number, kept.empty() ? "none is" : kept.c_str())
        .with_remedy("stage its parameters again: only the current and the previous generation are kept");
  }
  current_.store(previous_, std::memory_order_seq_cst);
  previous_ = current;
  free_unused();
  return {};
}

size_t ParameterSets::alive_count() {
  const MutexLock lock(mutex_);
  free_unused();
  size_t count = 0;
  for (const Generation* generation = retired_; generation != nullptr; generation = generation->next) ++count;
  return count + (previous_ != nullptr ? 1 : 0) + (current_.load(std::memory_order_relaxed) != nullptr ? 1 : 0);
}

bool ParameterSets::is_used(const Generation* generation) const {
  for (const GenerationUse* use = uses_; use != nullptr; use = use->next) {
    if (use->in_use.load(std::memory_order_seq_cst) == generation) return true;
  }
  return false;
}

// A run that shows a generation after this has read it before it was replaced, and then reads again; so what nobody shows now, nobody uses.
void ParameterSets::free_unused() {
  Generation** link = &retired_;
  while (*link != nullptr) {
    Generation* const generation = *link;
    if (is_used(generation)) {
      link = &generation->next;
      continue;
    }
    *link = generation->next;
    discard(generation);
  }
}

}  // namespace tiffin::runtime
