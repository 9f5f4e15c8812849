// SPDX-License-Identifier: Apache-2.0
// Each parameter is hashed by one thread: a digest is one chain of blocks.
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "compiler/artifact/contents.h"

namespace tiffin::artifact {
namespace {

// Fewer bytes are hashed before a thread has started.
constexpr uint64_t kBytesPerThread = uint64_t{4} << 20;

size_t thread_count(const Contents& contents) {
  uint64_t bytes = 0;
  for (const auto& row : contents.storage.parameters) bytes += row->bytes;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  const int count = sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : 1;
  return static_cast<size_t>(std::clamp<uint64_t>(bytes / kBytesPerThread, 1, static_cast<uint64_t>(count)));
}

}  // namespace

Result<std::vector<Digest>> hash_parameters(const Contents& contents) {
  const auto& rows = contents.storage.parameters;
  std::vector<Digest> digests(rows.size());
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  Status failure;
  const auto work = [&] {
    Array<uint8_t> scratch;
    for (size_t i = next++; i < rows.size(); i = next++) {
      const auto bytes = contents.read_parameter(i, scratch);
      if (bytes.has_value()) {
        digests[i] = tensor_digest(static_cast<DType>(rows[i]->dtype), rows[i]->shape, *bytes);
        continue;
      }
      const std::lock_guard lock(mutex);
      failure = error(bytes.error().code(), "%s", bytes.error().message());
      next = rows.size();
    }
  };
  std::vector<std::thread> threads(thread_count(contents) - 1);
  for (std::thread& thread : threads) thread = std::thread(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (!failure.is_ok()) return failure;
  return digests;
}

}  // namespace tiffin::artifact
