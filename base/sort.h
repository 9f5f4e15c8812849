// SPDX-License-Identifier: Apache-2.0
// Sorting without a copy of the algorithm per element type, which is what std::sort costs.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

namespace tiffin {

// True if the element at `a` goes before the one at `b`.
using IsBefore = bool (*)(const void* context, const void* a, const void* b);

// Heapsort (Williams 1964) in place: no memory, never quadratic, not stable. Elements have `bytes` bytes, at most kMaxSortedBytes.
inline constexpr size_t kMaxSortedBytes = 64;
void sort_elements(void* elements, size_t count, size_t bytes, IsBefore is_before, const void* context);

// Sorts by is_before(const T&, const T&), a strict weak order.
template <class T, class Order>
void sort(std::span<T> elements, const Order& is_before) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kMaxSortedBytes);
  const IsBefore compare = [](const void* context, const void* a, const void* b) {
    return static_cast<bool>((*static_cast<const Order*>(context))(*static_cast<const T*>(a), *static_cast<const T*>(b)));
  };
  sort_elements(elements.data(), elements.size(), sizeof(T), compare, &is_before);
}

}  // namespace tiffin
