// SPDX-License-Identifier: Apache-2.0
// Records of kernels: what the reader takes is run for a while, with buffers of exactly the bytes that the record declares.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "fuzz/target.h"
#include "runtime/device/interpreter/kernel_ir.h"

namespace tiffin::fuzz {
namespace {

constexpr uint64_t kMostBufferBytes = 1 << 14, kMostScratchBytes = 1 << 17;
constexpr int64_t kMostIterations = 256;

struct Free {
  void operator()(uint8_t* bytes) const { free(bytes); }
};
using Block = std::unique_ptr<uint8_t, Free>;

// Exactly so many bytes, so that a sanitizer sees the first one too many.
Block make_block(uint64_t bytes) {
  void* block = nullptr;
  require(posix_memalign(&block, 64, std::max<uint64_t>(bytes, 1)) == 0, "memory for a buffer");
  for (uint64_t i = 0; i < bytes; ++i) static_cast<uint8_t*>(block)[i] = static_cast<uint8_t>(i * 29 + 1);
  return Block(static_cast<uint8_t*>(block));
}

bool is_small(const runtime::KernelIr& kernel) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < kernel.parameter_count && bytes <= kMostBufferBytes; ++i) bytes += kernel.parameter_bytes(i);
  return bytes <= kMostBufferBytes && kernel.scratch_bytes <= kMostScratchBytes;
}

void run(const runtime::KernelIr& kernel) {
  std::vector<Block> blocks;
  std::vector<void*> buffers;
  for (uint32_t i = 0; i < kernel.parameter_count; ++i) {
    blocks.push_back(make_block(kernel.parameter_bytes(i)));
    buffers.push_back(blocks.back().get());
  }
  const Block scratch = make_block(kernel.scratch_bytes);
  const int64_t last = std::min<int64_t>(kernel.units, 3);
  use(runtime::run_kernel(kernel, buffers.data(), scratch.get(), 0, last, kMostIterations));
  for (uint32_t i = 0; i < kernel.parameter_count; ++i) {
    if (kernel.is_output(i)) continue;
    const Block before = make_block(kernel.parameter_bytes(i));
    require(memcmp(before.get(), blocks[i].get(), kernel.parameter_bytes(i)) == 0, "a kernel does not write to its inputs");
  }
}

}  // namespace

bool accepts(std::span<const uint8_t> bytes) {
  runtime::Arena arena;
  const auto kernel = runtime::read_kernel_ir(bytes, arena);
  if (!kernel.has_value()) return false;
  if (is_small(**kernel)) run(**kernel);
  return true;
}

}  // namespace tiffin::fuzz
