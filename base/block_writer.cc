// SPDX-License-Identifier: Apache-2.0
#include "base/block_writer.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "base/start_thread.h"

namespace tiffin {
namespace {

bool set_direct(int descriptor, bool is_direct) {
  const int flags = fcntl(descriptor, F_GETFL);
  return flags >= 0 && fcntl(descriptor, F_SETFL, is_direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

}  // namespace

int write_fully(int descriptor, std::span<const uint8_t> bytes, uint64_t offset) {
  constexpr size_t kMost = 1 << 30;  // the kernel takes less than 2 GiB a call
  while (!bytes.empty()) {
    const ssize_t written = pwrite(descriptor, bytes.data(), bytes.size() < kMost ? bytes.size() : kMost, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EINVAL && (fcntl(descriptor, F_GETFL) & O_DIRECT) != 0 && set_direct(descriptor, false)) continue;
    if (written <= 0) return written < 0 ? errno : ENOSPC;
    offset += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return 0;
}

BlockWriter::BlockWriter(int descriptor, uint64_t offset, uint8_t* memory) : descriptor_(descriptor), memory_(memory), offset_(offset) {}

BlockWriter* BlockWriter::start(int descriptor, uint64_t offset) {
  void* memory = mmap(nullptr, kBlocks * kBlockBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  void* place = malloc(sizeof(BlockWriter));
  if (memory != MAP_FAILED && place != nullptr && set_direct(descriptor, true)) {
    auto* writer = new (place) BlockWriter(descriptor, offset, static_cast<uint8_t*>(memory));
    writer->is_running_ = start_thread(&writer->thread_, &work, writer) == 0;
    if (writer->is_running_) return writer;
    set_direct(descriptor, false);
  }
  if (memory != MAP_FAILED) munmap(memory, kBlocks * kBlockBytes);
  free(place);
  return nullptr;
}

void BlockWriter::join() {
  if (!is_running_) return;
  pthread_mutex_lock(&mutex_);
  is_over_ = true;
  pthread_cond_signal(&changed_);
  pthread_mutex_unlock(&mutex_);
  pthread_join(thread_, nullptr);
  is_running_ = false;
  set_direct(descriptor_, false);
}

void BlockWriter::stop(BlockWriter* writer) {
  if (writer == nullptr) return;
  writer->join();
  munmap(writer->memory_, kBlocks * kBlockBytes);
  free(writer);
}

void* BlockWriter::work(void* self) {
  static_cast<BlockWriter*>(self)->write_blocks();
  return nullptr;
}

void BlockWriter::write_blocks() {
  pthread_mutex_lock(&mutex_);
  for (;;) {
    while (written_ == filled_ && !is_over_) pthread_cond_wait(&changed_, &mutex_);
    if (is_over_ || failure_ != 0) break;
    const uint8_t* bytes = block(written_);
    pthread_mutex_unlock(&mutex_);
    const int failure = write_fully(descriptor_, {bytes, kBlockBytes}, offset_);
    pthread_mutex_lock(&mutex_);
    offset_ += kBlockBytes;
    ++written_;
    failure_ = failure;
    pthread_cond_signal(&changed_);
  }
  pthread_mutex_unlock(&mutex_);
}

// Gives the full block to the thread and waits for another that is free.
int BlockWriter::hand_over() {
  pthread_mutex_lock(&mutex_);
  ++filled_;
  pthread_cond_signal(&changed_);
  while (filled_ - written_ == kBlocks && failure_ == 0) pthread_cond_wait(&changed_, &mutex_);
  const int failure = failure_;
  pthread_mutex_unlock(&mutex_);
  used_ = 0;
  return failure;
}

int BlockWriter::write(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const size_t now = bytes.size() < kBlockBytes - used_ ? bytes.size() : kBlockBytes - used_;
    memcpy(block(filled_) + used_, bytes.data(), now);
    used_ += now;
    bytes = bytes.subspan(now);
    if (used_ < kBlockBytes) return 0;
    if (const int failure = hand_over(); failure != 0) return failure;
  }
  return 0;
}

// The last block is rarely whole: it goes through the page cache.
int BlockWriter::finish() {
  pthread_mutex_lock(&mutex_);
  while (filled_ != written_ && failure_ == 0) pthread_cond_wait(&changed_, &mutex_);
  const int failure = failure_;
  pthread_mutex_unlock(&mutex_);
  join();
  if (failure != 0) return failure;
  return write_fully(descriptor_, {block(filled_), used_}, offset_);
}

}  // namespace tiffin
