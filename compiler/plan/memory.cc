// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/memory.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "abi/kernel.h"

namespace tiffin::plan {
namespace {

uint64_t round_up(uint64_t bytes) { return (bytes + TIFFIN_BUFFER_ALIGNMENT - 1) / TIFFIN_BUFFER_ALIGNMENT * TIFFIN_BUFFER_ALIGNMENT; }

bool overlap_in_time(const Block& a, const Block& b) { return a.first_step <= b.last_step && b.first_step <= a.last_step; }

// The smallest gap between placed neighbours that holds the block, or the end.
uint64_t best_fit(const Block& block, uint64_t bytes, const std::vector<const Block*>& placed_by_offset) {
  uint64_t best_offset = UINT64_MAX, best_gap = UINT64_MAX, end = 0;
  for (const Block* other : placed_by_offset) {
    if (!overlap_in_time(block, *other)) continue;
    if (other->offset > end && other->offset - end >= bytes && other->offset - end < best_gap) {
      best_gap = other->offset - end;
      best_offset = end;
    }
    end = std::max(end, other->offset + round_up(other->bytes));
  }
  return best_offset != UINT64_MAX ? best_offset : end;
}

uint64_t lower_bound(const std::vector<Block>& blocks) {
  std::map<int64_t, int64_t> change;  // bytes that begin or end to live before a step
  for (const Block& block : blocks) {
    change[block.first_step] += static_cast<int64_t>(round_up(block.bytes));
    change[block.last_step + 1] -= static_cast<int64_t>(round_up(block.bytes));
  }
  int64_t live = 0, most = 0;
  for (const auto& [step, bytes] : change) most = std::max(most, live += bytes);
  return static_cast<uint64_t>(most);
}

}  // namespace

ArenaSize plan_memory(std::vector<Block>& blocks) {
  std::vector<size_t> order(blocks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  ArenaSize size;
  std::vector<const Block*> placed;
  for (const size_t index : order) {
    Block& block = blocks[index];
    const uint64_t bytes = round_up(block.bytes);
    block.offset = best_fit(block, bytes, placed);
    size.bytes = std::max(size.bytes, block.offset + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), &block, [](const Block* a, const Block* b) { return a->offset < b->offset; }),
                  &block);
  }
  size.lower_bound = lower_bound(blocks);
  return size;
}

}  // namespace tiffin::plan
