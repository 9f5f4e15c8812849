// SPDX-License-Identifier: Apache-2.0
// Writes a file so that its name shows either the old content or the whole new one: temporary in the same folder, fsync, rename.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/array.h"
#include "base/block_writer.h"
#include "base/byte_sink.h"
#include "base/status.h"

namespace tiffin {

// Not thread-safe. A file that was not committed is removed by the destructor; a signal handler may unlink temporary_path().
// All errors are Io with the path and the system's reason.
class AtomicFile {
 public:
  // Creates the temporary beside `path`, which may be a file, a link to one, or absent; a folder or a special file is refused. A file that
  // is replaced keeps its permissions; `is_executable` asks for the execute bits of a new one.
  static Result<AtomicFile> create(const char* path, bool is_executable = false);

  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  // Large files go past the page cache, in which they are not found afterwards, and are written by a thread while the next bytes are made. A file
  // turns out to be large as it grows, or is so from the start when at least `total_bytes` are announced before the first are written.
  void announce(uint64_t total_bytes) { announced_bytes_ = total_bytes; }
  // Appends; handles short writes and interruption. A failure may show with a later write, or with commit.
  Status write(std::span<const uint8_t> bytes);
  // Replaces bytes that were written before; for headers that hold totals or digests.
  Status write_at(uint64_t offset, std::span<const uint8_t> bytes);
  // Reads back bytes that were written before.
  Status read_at(uint64_t offset, std::span<uint8_t> out);
  // Makes the new content durable and visible under the path. The file is closed afterwards.
  Status commit();
  // For files that belong together: both are durable before the first is visible, and then it takes a rename each, of `first` and of `second`.
  static Status commit(AtomicFile& first, AtomicFile& second);

  uint64_t written_bytes() const { return written_bytes_; }
  const char* temporary_path() const { return temporary_.data(); }
  // A sink that appends to this file, which must not move meanwhile.
  ByteSink sink();

 private:
  AtomicFile() = default;
  Status flush();
  Status flush_pending();
  Status make_durable();
  Status replace();
  bool is_large(uint64_t more) const;
  Status begin_blocks(std::span<const uint8_t>& bytes);
  Status checked(const char* what, int failure) const;
  Array<char> path_, temporary_;
  Array<uint8_t> pending_;         // small writes are gathered here
  BlockWriter* blocks_ = nullptr;  // takes all writes while there is one
  bool has_no_blocks_ = false;     // there can be none
  int descriptor_ = -1;
  uint64_t written_bytes_ = 0, announced_bytes_ = 0;
};

// True for the name (without folder) of a temporary that the process of that id made; for tools that clean up when they are interrupted.
bool is_temporary_of_process(std::string_view name, int process_id);

}  // namespace tiffin
