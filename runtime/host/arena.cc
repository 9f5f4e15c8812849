// SPDX-License-Identifier: Apache-2.0
#include "runtime/host/arena.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tiffin::runtime {
namespace {

constexpr size_t kBlockBytes = 8192;

size_t align_up(size_t value, size_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }

}  // namespace

Arena::~Arena() {
  while (last_ != nullptr) free(std::exchange(last_, last_->previous));
}

void* Arena::allocate_bytes(size_t bytes, size_t alignment) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  if (last_ != nullptr) {
    const auto start = reinterpret_cast<uintptr_t>(last_);
    const size_t from = align_up(start + last_->used, alignment) - start;
    if (from <= last_->capacity && bytes <= last_->capacity - from) {
      last_->used = from + bytes;
      return reinterpret_cast<char*>(last_) + from;
    }
  }
  const size_t needed = sizeof(Block) + bytes + alignment;
  const size_t capacity = needed > kBlockBytes ? needed : kBlockBytes;
  auto* block = static_cast<Block*>(calloc(1, capacity));
  if (block == nullptr) return nullptr;
  *block = {last_, capacity, sizeof(Block)};
  last_ = block;
  const auto start = reinterpret_cast<uintptr_t>(block);
  const size_t from = align_up(start + block->used, alignment) - start;
  block->used = from + bytes;
  return reinterpret_cast<char*>(block) + from;
}

const char* Arena::copy_text(std::string_view text) {
  auto* copy = static_cast<char*>(allocate_bytes(text.size() + 1, 1));
  if (copy == nullptr) return nullptr;
  memcpy(copy, text.data(), text.size());
  copy[text.size()] = 0;
  return copy;
}

}  // namespace tiffin::runtime
