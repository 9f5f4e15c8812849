// SPDX-License-Identifier: Apache-2.0
// One JSON document, written straight to a stream.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string_view>

#include "base/digest.h"
#include "base/status.h"

namespace tiffin {

// Keys and values in the order they are given. Texts that are not UTF-8 get U+FFFD where they are not. Not thread-safe.
class JsonOutput {
 public:
  explicit JsonOutput(FILE* stream);
  JsonOutput(const JsonOutput&) = delete;
  ~JsonOutput();

  // An object or array as the document, an element, or with a key.
  void begin_object(const char* key = nullptr);
  void end_object();
  void begin_array(const char* key = nullptr);
  void end_array();

  void text(const char* key, std::string_view value);
  void number(const char* key, uint64_t value);
  void integer(const char* key, int64_t value);
  void real(const char* key, double value);  // null when it is not finite
  void boolean(const char* key, bool value);
  void null(const char* key);
  void digest(const char* key, const Digest& value);
  void shape(const char* key, std::span<const int64_t> extents);

  // Ends the line. Io when the stream did not take everything.
  Status finish();

 private:
  void write_key(const char* key);
  struct State;
  alignas(16) unsigned char storage_[256];
  char buffer_[4096];
  State& state();
};

}  // namespace tiffin
