// SPDX-License-Identifier: Apache-2.0
// Packs blocks with known lifetimes into one arena. Greedy by size, best-fit offsets (Pisarchyk & Lee, "Efficient memory management for deep neural
// net inference", arXiv 2001.03288), against the lower bound of the largest sum of live blocks.
#pragma once

#include <cstdint>
#include <vector>

namespace tiffin::plan {

struct Block {
  uint64_t bytes = 0;
  int64_t first_step = 0, last_step = 0;  // inclusive
  uint64_t offset = 0;                    // result: a multiple of 64
};

struct ArenaSize {
  uint64_t bytes = 0, lower_bound = 0;
};

// Sets every block's offset so that blocks alive at the same step do not overlap. Deterministic.
ArenaSize plan_memory(std::vector<Block>& blocks);

}  // namespace tiffin::plan
