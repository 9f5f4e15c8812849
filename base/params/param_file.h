// SPDX-License-Identifier: Apache-2.0
// A parameter file of any format that Tiffin reads; the contents decide which, not the name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/array.h"
#include "base/mapping.h"
#include "base/params/param_source.h"
#include "base/params/weights_file.h"
#include "base/status.h"

namespace tiffin::params {

enum class Format : uint8_t { Safetensors, TvmParams, Weights };

// "safetensors", "params" or "tfw".
const char* format_name(Format format);
// By a path's suffix (.safetensors, .params, .tfw); InvalidArgument for others.
Result<Format> format_of_path(const char* path);

// What a reader found: entries with their names, shapes and values in memory that outlives or belongs to this.
struct ParamList {
  Array<ParamEntry> entries;
  Array<int64_t> shapes;    // of all entries
  Array<char> header;       // names, where they do not lie in the file itself
  Array<uint8_t> unpacked;  // values that the file holds in another form
};

// An open parameter file. Immutable; safe to share between threads. Moving it invalidates sources taken from it.
class ParamFile {
 public:
  // Io, Truncated, InvalidParams, UnsupportedType, FormatTooNew, OutOfMemory; messages begin with the path.
  static Result<ParamFile> open(const char* path);
  // The same of bytes that outlive the file.
  static Result<ParamFile> from_memory(std::span<const uint8_t> bytes);

  Format format() const { return format_; }
  ParamSource source() const;
  // The weights behind a Format::Weights file, else null.
  const Weights* weights() const { return weights_.has_value() ? &*weights_ : nullptr; }
  uint64_t file_bytes() const { return file_bytes_; }
  // Zeros unless it was opened by path.
  const FileIdentity& identity() const { return mapping_.identity(); }

 private:
  ParamFile() = default;
  Status parse(std::span<const uint8_t> bytes);
  Format format_ = Format::Safetensors;
  Mapping mapping_;
  uint64_t file_bytes_ = 0;
  ParamList list_;
  std::optional<Weights> weights_;
};

}  // namespace tiffin::params
