// SPDX-License-Identifier: Apache-2.0
// Writes a long run of bytes past the page cache: whole blocks with O_DIRECT by a thread of its own, while its user makes the next block.
// docs/decisions/0006-large-files-past-the-page-cache.md says why.
#pragma once

#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace tiffin {

// Offsets, lengths and addresses of direct writes are multiples of this: the largest that file systems ask for.
inline constexpr size_t kDirectAlignment = 4096;

// Not thread-safe. While it lives nobody else writes to the descriptor; afterwards the descriptor writes through the page cache as before.
class BlockWriter {
 public:
  // From `offset` on, a multiple of kDirectAlignment. Null where the file system knows no direct writes, or memory or threads ran out: that is no
  // failure, ordinary writes do the same. The descriptor outlives the writer.
  static BlockWriter* start(int descriptor, uint64_t offset);
  // Stops the thread. What is not finished may be lost.
  static void stop(BlockWriter* writer);

  // Both give 0 or an errno; after a failure nothing more is written.
  int write(std::span<const uint8_t> bytes);
  // Everything is with the file system when this returns; nothing is written afterwards.
  int finish();

 private:
  static constexpr size_t kBlocks = 2;
  static constexpr size_t kBlockBytes = size_t{4} << 20;

  BlockWriter(int descriptor, uint64_t offset, uint8_t* memory);
  ~BlockWriter() = default;
  static void* work(void* self);
  void write_blocks();
  int hand_over();
  void join();
  uint8_t* block(size_t index) const { return memory_ + index % kBlocks * kBlockBytes; }

  const int descriptor_;
  uint8_t* const memory_;
  uint64_t offset_;  // of the next block that the thread writes
  size_t used_ = 0;  // of the block that is being filled
  pthread_t thread_{};
  bool is_running_ = false;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
  // Guarded by the mutex.
  size_t filled_ = 0, written_ = 0;  // blocks
  bool is_over_ = false;
  int failure_ = 0;
};

// Writes everything at `offset`, whatever pieces the system takes it in; 0 or an errno. A direct write that the file system refuses is done
// through the page cache, as are all after it.
int write_fully(int descriptor, std::span<const uint8_t> bytes, uint64_t offset);

}  // namespace tiffin
