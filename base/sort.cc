// SPDX-License-Identifier: Apache-2.0
#include "base/sort.h"

#include <cstring>

namespace tiffin {
namespace {

struct Heap {
  char* elements;
  size_t bytes;
  IsBefore is_before;
  const void* context;

  char* at(size_t index) const { return elements + index * bytes; }
  bool precedes(size_t a, size_t b) const { return is_before(context, at(a), at(b)); }
  void swap(size_t a, size_t b) const {
    char held[kMaxSortedBytes];
    memcpy(held, at(a), bytes);
    memcpy(at(a), at(b), bytes);
    memcpy(at(b), held, bytes);
  }
  // Moves the element at `root` down until neither of its children in [0, count) goes after it.
  void sift_down(size_t root, size_t count) const {
    for (size_t child = 2 * root + 1; child < count; child = 2 * root + 1) {
      if (child + 1 < count && precedes(child, child + 1)) ++child;
      if (!precedes(root, child)) return;
      swap(root, child);
      root = child;
    }
  }
};

}  // namespace

void sort_elements(void* elements, size_t count, size_t bytes, IsBefore is_before, const void* context) {
  const Heap heap{static_cast<char*>(elements), bytes, is_before, context};
  for (size_t root = count / 2; root-- > 0;) heap.sift_down(root, count);
  for (size_t last = count; last-- > 1;) {
    heap.swap(0, last);
    heap.sift_down(0, last);
  }
}

}  // namespace tiffin
