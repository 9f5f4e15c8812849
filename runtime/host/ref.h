// SPDX-License-Identifier: Apache-2.0
// Shared ownership by an intrusive count, for the two things that outlive a call from outside: modules and parameter sets.
#pragma once

#include <atomic>
#include <utility>

namespace tiffin::runtime {

// Base of a counted type; `new` gives a count of one, which Ref::adopt takes over.
class Counted {
 public:
  Counted() = default;
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  void retain() { count_.fetch_add(1, std::memory_order_relaxed); }
  // False when the last reference is gone already: for those who find an object without having one.
  bool try_retain() {
    int count = count_.load(std::memory_order_relaxed);
    while (count > 0 && !count_.compare_exchange_weak(count, count + 1, std::memory_order_acquire, std::memory_order_relaxed)) {
    }
    return count > 0;
  }
  // True when that was the last reference.
  bool release() { return count_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

 private:
  std::atomic<int> count_{1};
};

// T has a static void destroy(T*).
template <class T>
class Ref {
 public:
  Ref() = default;
  static Ref adopt(T* object) {
    Ref ref;
    ref.object_ = object;
    return ref;
  }
  static Ref share(T* object) {
    if (object != nullptr) object->retain();
    return adopt(object);
  }
  Ref(const Ref& other) : object_(other.object_) {
    if (object_ != nullptr) object_->retain();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr && object_->release()) T::destroy(object_);
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  T* detach() { return std::exchange(object_, nullptr); }

 private:
  T* object_ = nullptr;
};

}  // namespace tiffin::runtime
