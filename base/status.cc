// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tiffin {

struct Status::Failure {
  Code code;
  const char* message;  // all three point behind the struct, or to static text
  const char* remedy;   // null: the code's usual one
  const char* details;  // null, or entries of mark, key, NUL, value, NUL, ended by a NUL in the mark's place
};

// What a failure is made of; the lengths exclude the final NUL.
struct Status::Parts {
  Code code;
  const char* message;
  size_t message_bytes;
  const char* remedy;
  size_t remedy_bytes;
  const char* details;
  size_t details_bytes;
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

constexpr char kSingle = '.', kListed = '+';

const char* behind(const char* text) { return text + strlen(text) + 1; }

// The entry after this one: mark, key, value.
const char* next_entry(const char* entry) { return behind(behind(entry + 1)); }

size_t entries_bytes(const char* details) {
  const char* end = details;
  while (end != nullptr && *end != 0) end = next_entry(end);
  return static_cast<size_t>(end - details);
}

// Copies bytes and a final NUL to `at`, and moves it behind them.
const char* append(char*& at, const char* text, size_t bytes) {
  char* begin = at;
  if (bytes != 0) memcpy(begin, text, bytes);
  begin[bytes] = 0;
  at = begin + bytes + 1;
  return begin;
}

}  // namespace

Status Status::make(const Parts& parts) {
  static const Failure kNoMemory{Code::OutOfMemory, "no memory for an error message", nullptr, nullptr};
  auto* block = static_cast<char*>(malloc(sizeof(Failure) + parts.message_bytes + parts.remedy_bytes + parts.details_bytes + 3));
  if (block == nullptr || parts.message == nullptr) {
    free(block);
    return Status(const_cast<Failure*>(&kNoMemory));
  }
  char* at = block + sizeof(Failure);
  const char* message = append(at, parts.message, parts.message_bytes);
  const char* remedy = parts.remedy == nullptr ? nullptr : append(at, parts.remedy, parts.remedy_bytes);
  const char* details = parts.details == nullptr ? nullptr : append(at, parts.details, parts.details_bytes);
  return Status(new (block) Failure{parts.code, message, remedy, details});
}

Status::Parts Status::parts() const {
  const Failure& failure = *failure_;
  return {failure.code,
          failure.message,
          strlen(failure.message),
          failure.remedy,
          failure.remedy == nullptr ? 0 : strlen(failure.remedy),
          failure.details,
          entries_bytes(failure.details)};
}

void Status::release() {
  // The static out-of-memory failure has its message outside the block.
  if (failure_->message == reinterpret_cast<const char*>(failure_ + 1)) free(failure_);
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
  Parts changed = parts();
  changed.remedy = text.bytes;
  changed.remedy_bytes = text.length;
  return make(changed);
}

Status Status::with_context(const char* format, ...) && {
  if (failure_ == nullptr) return {};
  va_list arguments;
  va_start(arguments, format);
  const Text text(format, arguments);
  va_end(arguments);
  if (text.bytes == nullptr) return std::move(*this);
  const Status joined = tiffin::error(failure_->code, "%s: %s", text.bytes, failure_->message);
  Parts changed = parts();
  changed.message = joined.message();
  changed.message_bytes = strlen(changed.message);
  return make(changed);
}

Status Status::with_entries(const char* key, std::string_view values, char mark) && {
  if (failure_ == nullptr || values.empty()) return std::move(*this);
  const size_t key_bytes = strlen(key), head = 1 + key_bytes + 1;
  const auto count = static_cast<size_t>(std::count(values.begin(), values.end(), '\0'));
  Parts changed = parts();
  const size_t bytes = changed.details_bytes + count * head + values.size();
  auto* entries = static_cast<char*>(malloc(bytes));
  if (entries == nullptr) return std::move(*this);
  if (changed.details_bytes != 0) memcpy(entries, changed.details, changed.details_bytes);
  char* at = entries + changed.details_bytes;
  for (size_t begin = 0; begin < values.size();) {
    const size_t length = strlen(values.data() + begin);
    *at++ = mark;
    append(at, key, key_bytes);
    append(at, values.data() + begin, length);
    begin += length + 1;
  }
  changed.details = entries;
  changed.details_bytes = bytes;
  Status status = make(changed);
  free(entries);
  return status;
}

Status Status::with_detail(const char* key, const char* value) && { return std::move(*this).with_entries(key, {value, strlen(value) + 1}, kSingle); }

Status Status::with_details(const char* key, std::string_view items) && { return std::move(*this).with_entries(key, items, kListed); }

size_t Status::detail_count() const {
  size_t count = 0;
  if (failure_ == nullptr || failure_->details == nullptr) return 0;
  for (const char* entry = failure_->details; *entry != 0; entry = next_entry(entry)) ++count;
  return count;
}

Status::Detail Status::detail(size_t index) const {
  const char* entry = failure_->details;
  for (; index != 0; --index) entry = next_entry(entry);
  return {entry + 1, behind(entry + 1), *entry == kListed};
}

Status Status::clone() const {
  if (failure_ == nullptr) return {};
  return make(parts());
}

Status error_v(Code code, const char* format, va_list arguments) {
  const Text text(format, arguments);
  return Status::make({code, text.bytes, text.length, nullptr, 0, nullptr, 0});
}

Status error(Code code, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Status status = error_v(code, format, arguments);
  va_end(arguments);
  return status;
}

}  // namespace tiffin
