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

TextBuilder::~TextBuilder() { free(bytes_); }

void TextBuilder::append(const char* bytes, size_t count) {
  if (length_ + count + 1 > capacity_) {
    const size_t capacity = 2 * (length_ + count) + 64;
    auto* grown = static_cast<char*>(realloc(bytes_, capacity));
    if (grown == nullptr) return;
    bytes_ = grown;
    capacity_ = capacity;
  }
  memcpy(bytes_ + length_, bytes, count);
  length_ += count;
  bytes_[length_] = 0;
}

void TextBuilder::add(const char* format, ...) {
  char piece[1024];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(piece, sizeof(piece), format, arguments);
  va_end(arguments);
  if (length > 0) append(piece, static_cast<size_t>(length) < sizeof(piece) ? static_cast<size_t>(length) : sizeof(piece) - 1);
}

void TextBuilder::add_item(const char* format, ...) {
  if (length_ != 0) append(", ", 2);
  char piece[1024];
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(piece, sizeof(piece), format, arguments);
  va_end(arguments);
  if (length > 0) append(piece, static_cast<size_t>(length) < sizeof(piece) ? static_cast<size_t>(length) : sizeof(piece) - 1);
}

void TextBuilder::add_key(std::string_view key) {
  append(key.data(), key.size());
  append("", 1);
}

}  // namespace tiffin::runtime
