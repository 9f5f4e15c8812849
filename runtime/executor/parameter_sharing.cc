// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/parameter_sharing.h"

#include "runtime/host/mutex_lock.h"

namespace tiffin::runtime {
namespace {

pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
ParameterSet* list_head = nullptr;  // guarded by list_mutex; sets leave it before they are freed

bool is_same_place(const ParameterSet::Sharing& a, const ParameterSet::Sharing& b) { return a.file == b.file && a.position == b.position; }

// One of equal content whose last reference is not gone, with a reference for the caller; or null.
ParameterSet* find_equal(ParameterSet& wanted) {
  const ParameterSet::Sharing& key = wanted.sharing();
  if (key.content == Digest{}) return nullptr;
  for (ParameterSet* set = list_head; set != nullptr; set = set->sharing().next) {
    const bool is_equal =
        set->sharing().content == key.content && is_same_place(set->sharing(), key) && set->has_new_weights() == wanted.has_new_weights();
    if (is_equal && set->try_retain()) return set;
  }
  return nullptr;
}

// True if `set` is the first of the list with its bytes.
bool is_first(ParameterSet& set, bool by_place) {
  ParameterSet::Sharing& own = set.sharing();
  for (ParameterSet* other = list_head; other != &set; other = other->sharing().next) {
    const bool is_equal = by_place ? own.file != FileIdentity{} && is_same_place(own, other->sharing())
                                   : own.content != Digest{} && own.content == other->sharing().content;
    if (is_equal) return false;
  }
  return true;
}

}  // namespace

Ref<ParameterSet> share_content(Ref<ParameterSet> set, const Digest& plan) {
  ParameterSet::Sharing& own = set->sharing();
  const bool is_known = !set->digests().empty() && (set->is_private() || own.file != FileIdentity{});
  if (is_known) {
    Hasher hasher;
    hasher.update(plan.bytes);
    for (const Digest& digest : set->digests()) hasher.update(digest.bytes);
    own.content = hasher.finish();
  }
  const MutexLock lock(list_mutex);
  if (ParameterSet* equal = find_equal(*set)) return Ref<ParameterSet>::adopt(equal);
  own.next = list_head;
  own.is_listed = true;
  if (list_head != nullptr) list_head->sharing().previous = set.get();
  list_head = set.get();
  return set;
}

void forget_content(ParameterSet& set) {
  ParameterSet::Sharing& own = set.sharing();
  if (!own.is_listed) return;
  const MutexLock lock(list_mutex);
  (own.previous == nullptr ? list_head : own.previous->sharing().next) = own.next;
  if (own.next != nullptr) own.next->sharing().previous = own.previous;
}

MemoryUse measure_parameters() {
  MemoryUse use;
  const MutexLock lock(list_mutex);
  for (ParameterSet* set = list_head; set != nullptr; set = set->sharing().next) {
    const uint64_t bytes = set->data().size();
    ++use.set_count;
    if (is_first(*set, false)) use.unique_bytes += bytes;
    if (set->is_private()) {
      use.private_bytes += bytes;
    } else if (is_first(*set, true)) {
      use.shared_bytes += bytes;
    }
  }
  return use;
}

}  // namespace tiffin::runtime
