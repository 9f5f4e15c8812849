// SPDX-License-Identifier: Apache-2.0
// Status and Result<T>: how every fallible function below the C boundary answers. No exceptions, no libstdc++ symbol.
//
//   Result<Graph> load(const char* path);
//   Status run() {
//     TIFFIN_ASSIGN_OR_RETURN(Graph graph, load("m.onnx"));
//     if (graph.empty()) return error(Code::InvalidModel, "graph '%s' has no node", graph.name());
//     return {};
//   }
#pragma once

#include <cstdarg>
#include <cstddef>
#include <new>
#include <string_view>
#include <utility>

#include "base/error_codes.h"

namespace tiffin {

// A success is a null pointer. A failure owns its code and texts in one block; if even that cannot be allocated, it is OutOfMemory.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Status&& other) noexcept : failure_(std::exchange(other.failure_, nullptr)) {}
  Status& operator=(Status&& other) noexcept {
    std::swap(failure_, other.failure_);
    return *this;
  }
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;
  // Inline, so that it vanishes wherever success is known.
  [[gnu::always_inline]] ~Status() {
    if (failure_ != nullptr) release();
  }

  bool is_ok() const { return failure_ == nullptr; }
  Code code() const;
  // What failed, the actual value and the expected one: lower case, no full stop. "" on success. Owned by the Status.
  const char* message() const;
  // What the user can do; the code's usual remedy unless with_remedy gave another. "" on success.
  const char* remedy() const;

  // The same failure with a remedy of its own (printf format). No effect on success.
  Status with_remedy(const char* format, ...) && __attribute__((format(printf, 2, 3)));
  // The same failure with "CONTEXT: " before its message. No effect on success.
  Status with_context(const char* format, ...) && __attribute__((format(printf, 2, 3)));
  // The same failure with a fact that programs read: a key with one value ("input": "data"), or with items of a list ("features": ["fma", …]),
  // each with a NUL behind it. Keys are lower case with '_'; items under a key given again join its list. No effect on success.
  Status with_detail(const char* key, const char* value) &&;
  Status with_details(const char* key, std::string_view items) &&;
  // An independent copy.
  Status clone() const;

  struct Detail {
    const char* key;  // owned by the Status, like the texts above
    const char* value;
    bool is_listed;
  };
  size_t detail_count() const;
  Detail detail(size_t index) const;  // index < detail_count()

 private:
  friend Status error(Code code, const char* format, ...);
  friend Status error_v(Code code, const char* format, va_list arguments);
  struct Failure;
  struct Parts;
  static Status make(const Parts& parts);
  void release();
  Parts parts() const;
  Status with_entries(const char* key, std::string_view values, char mark) &&;
  explicit Status(Failure* failure) : failure_(failure) {}
  Failure* failure_ = nullptr;
};

// A failure with a printf-formatted message of any length.
Status error(Code code, const char* format, ...) __attribute__((format(printf, 2, 3)));
Status error_v(Code code, const char* format, va_list arguments);

// A value or a failure; spelled like std::expected.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : has_value_(true) { new (&storage_.value) T(std::move(value)); }
  Result(Status failure) : has_value_(false) { new (&storage_.failure) Status(std::move(failure)); }
  Result(Result&& other) noexcept : has_value_(other.has_value_) {
    if (has_value_) {
      new (&storage_.value) T(std::move(other.storage_.value));
    } else {
      new (&storage_.failure) Status(std::move(other.storage_.failure));
    }
  }
  Result& operator=(Result&& other) noexcept {
    if (this != &other) {
      this->~Result();
      new (this) Result(std::move(other));
    }
    return *this;
  }
  ~Result() {
    if (has_value_) {
      storage_.value.~T();
    } else {
      storage_.failure.~Status();
    }
  }

  bool has_value() const { return has_value_; }
  explicit operator bool() const { return has_value_; }
  T& value() & { return storage_.value; }
  const T& value() const& { return storage_.value; }
  T&& value() && { return std::move(storage_.value); }
  T& operator*() & { return storage_.value; }
  const T& operator*() const& { return storage_.value; }
  T* operator->() { return &storage_.value; }
  const T* operator->() const { return &storage_.value; }
  const Status& error() const { return storage_.failure; }
  // A success when there is a value.
  Status take_error() { return has_value_ ? Status() : std::move(storage_.failure); }

 private:
  union Storage {
    Storage() {}
    ~Storage() {}
    T value;
    Status failure;
  } storage_;
  bool has_value_;
};

}  // namespace tiffin

#define TIFFIN_TRY(expression)                          \
  do {                                                  \
    ::tiffin::Status tiffin_status_ = (expression);     \
    if (!tiffin_status_.is_ok()) return tiffin_status_; \
  } while (0)

#define TIFFIN_CONCATENATE_INNER(a, b) a##b
#define TIFFIN_CONCATENATE(a, b) TIFFIN_CONCATENATE_INNER(a, b)

// TIFFIN_ASSIGN_OR_RETURN(auto x, make_x()); declares x, or returns the failure.
#define TIFFIN_ASSIGN_OR_RETURN(declaration, expression) \
  TIFFIN_ASSIGN_OR_RETURN_INNER(TIFFIN_CONCATENATE(tiffin_result_, __LINE__), declaration, expression)
#define TIFFIN_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                          \
  if (!result.has_value()) return result.take_error();                 \
  declaration = std::move(result).value()
