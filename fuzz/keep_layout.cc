// SPDX-License-Identifier: Apache-2.0
// For formats whose parts refer to each other by position: three mutations in four change bytes in place within a short window, so that the rest
// stays where it was.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (size < 2 || seed % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  uint8_t window[256];
  const size_t length = std::min<size_t>({size, sizeof(window), size_t{1} << (seed / 4 % 9)});
  const size_t at = seed / 64 % (size - length + 1);
  memcpy(window, data + at, length);
  const size_t changed = LLVMFuzzerMutate(window, length, length);
  memcpy(data + at, window, std::min(changed, length));
  return size;
}
