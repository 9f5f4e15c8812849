// SPDX-License-Identifier: Apache-2.0
// The one JSON object that --json prints, written straight to a stream; and how failures are told.
#pragma once

#include <cassert>
#include <cstdio>
#include <string_view>

#include "base/digest.h"
#include "base/status.h"
#include "tools/commands/host_tensor.h"

namespace tiffin::tools {

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

// Tells a failure: "tiffin: error[Code]: message" and its remedy on standard error; with `json` the error object on standard output as well.
void report_failure(const Status& status, bool json);

// A reason for exit status 1, on standard error alone.
void report_reason(Code code, const char* message, const char* remedy);

// Flushes standard output. Io when it did not take everything.
Status flush_output();

}  // namespace tiffin::tools
