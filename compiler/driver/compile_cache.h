// SPDX-License-Identifier: Apache-2.0
// Compiled libraries by the digest of all that shapes them, in a folder that any number of processes share. An entry is complete or absent; what
// comes out of it is compared with its digest on the way.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/status.h"
#include "compiler/driver/compile.h"

namespace tiffin::driver {

// What a summary says of a compilation.
struct CompileFacts {
  std::vector<std::string> targets;
  uint64_t code_bytes = 0, weights_bytes = 0, arena_bytes = 0;
};
CompileFacts facts_of(const CompiledModule& module);

// Where a compilation's files go.
struct OutputPaths {
  std::string library;
  std::string params;  // "": none
};

class CompileCache {
 public:
  // Makes the folder where it is missing. Io.
  static Result<CompileCache> open(std::string folder, uint64_t limit_bytes);

  // The folder in which unfinished files of that key lie.
  std::string folder_of(const Digest& key) const;

  // Writes the outputs from the entry and marks it as used; each is replaced as a whole, or not at all. Nothing when there is no entry, or a damaged
  // one, which is removed. Io for outputs that cannot be written.
  Result<std::optional<CompileFacts>> fetch(const Digest& key, const OutputPaths& outputs) const;

  // Where the entry's files lie, whose digests held a moment ago; of `outputs` only the suffixes count. They are never changed in place, but another
  // process may remove them at any time. Nothing when there is no entry, or a damaged one, which is removed.
  std::optional<OutputPaths> find(const Digest& key, const OutputPaths& outputs) const;
  // Makes an entry of the module, as store, without writing any output. Io when the cache cannot be written.
  Status keep(const Digest& key, const CompiledModule& module, const OutputPaths& outputs) const;

  // Makes an entry of the module and writes the outputs from it; then removes the entries that were not used for the longest time until the rest fits
  // the limit. Io for a cache or outputs that cannot be written, and for an entry above the limit: no output is changed then.
  Status store(const Digest& key, const CompiledModule& module, const OutputPaths& outputs) const;

 private:
  struct Entry;
  CompileCache(std::string folder, uint64_t limit_bytes) : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}
  std::string path_of(const Digest& key, const std::string& suffix) const;
  std::optional<Entry> read_entry(const Digest& key) const;
  Status write_entry(const Digest& key, const Entry& entry) const;
  OutputPaths paths_of(const Digest& key, const OutputPaths& outputs) const;
  void mark_as_used(const Digest& key) const;
  Status fill(const Digest& key, const CompiledModule& module, const OutputPaths& outputs) const;
  Status make_entry(const Digest& key, const CompiledModule& module, const OutputPaths& outputs) const;
  void remove_entry(const Digest& key, const OutputPaths& outputs) const;

  std::string folder_;
  uint64_t limit_bytes_;
};

// Removes the files of the entries used longest ago until those left have at most `limit_bytes`, and what killed processes left behind.
void shrink_cache(const std::string& folder, uint64_t limit_bytes);

}  // namespace tiffin::driver
