// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tiffin {

struct Status::Failure {
  Code code;
  const char* message;  // both point behind the struct, or to static text
  const char* remedy;
};

namespace {

// A formatted text in malloc memory; null when memory ran out.
struct Text {
  char* bytes = nullptr;
  size_t length = 0;
  Text(const char* format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    const int needed = vsnprintf(nullptr, 0, format, again);
    va_end(again);
    if (needed < 0) return;
    bytes = static_cast<char*>(malloc(static_cast<size_t>(needed) + 1));
    if (bytes == nullptr) return;
    length = static_cast<size_t>(needed);
    vsnprintf(bytes, length + 1, format, arguments);
  }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  ~Text() { free(bytes); }
};

}  // namespace

Status Status::make(Code code, const char* message, size_t message_bytes, const char* remedy, size_t remedy_bytes) {
  static const Failure kNoMemory{Code::OutOfMemory, "no memory for an error message", nullptr};
  auto* block = static_cast<char*>(malloc(sizeof(Failure) + message_bytes + 1 + remedy_bytes + 1));
  if (block == nullptr || message == nullptr) {
    free(block);
    return Status(const_cast<Failure*>(&kNoMemory));
  }
  char* text = block + sizeof(Failure);
  memcpy(text, message, message_bytes);
  text[message_bytes] = 0;
  char* hint = nullptr;
  if (remedy != nullptr) {
    hint = text + message_bytes + 1;
    memcpy(hint, remedy, remedy_bytes);
    hint[remedy_bytes] = 0;
  }
  return Status(new (block) Failure{code, text, hint});
}

Status::~Status() {
  // The static out-of-memory failure has its message outside the block.
  if (failure_ != nullptr && failure_->message == reinterpret_cast<const char*>(failure_ + 1)) free(failure_);
}

Code Status::code() const { return failure_ == nullptr ? Code::Ok : failure_->code; }

const char* Status::message() const { return failure_ == nullptr ? "" : failure_->message; }

const char* Status::remedy() const {
  if (failure_ == nullptr) return "";
  return failure_->remedy != nullptr ? failure_->remedy : code_row(failure_->code).remedy;
}

Status Status::with_remedy(const char* format, ...) && {
  if (failure_ == nullptr) return {};
  va_list arguments;
  va_start(arguments, format);
  const Text text(format, arguments);
  va_end(arguments);
  if (text.bytes == nullptr) return std::move(*this);
  return make(failure_->code, failure_->message, strlen(failure_->message), text.bytes, text.length);
}

Status Status::with_context(const char* format, ...) && {
  if (failure_ == nullptr) return {};
  va_list arguments;
  va_start(arguments, format);
  const Text text(format, arguments);
  va_end(arguments);
  if (text.bytes == nullptr) return std::move(*this);
  Status joined = tiffin::error(failure_->code, "%s: %s", text.bytes, failure_->message);
  if (failure_->remedy == nullptr) return joined;
  return std::move(joined).with_remedy("%s", failure_->remedy);
}

Status Status::clone() const {
  if (failure_ == nullptr) return {};
  const char* hint = failure_->remedy;
  return make(failure_->code, failure_->message, strlen(failure_->message), hint, hint == nullptr ? 0 : strlen(hint));
}

Status error_v(Code code, const char* format, va_list arguments) {
  const Text text(format, arguments);
  return Status::make(code, text.bytes, text.length, nullptr, 0);
}

Status error(Code code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Status status = error_v(code, format, arguments);
  va_end(arguments);
  return status;
}

}  // namespace tiffin
