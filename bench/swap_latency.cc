// SPDX-License-Identifier: Apache-2.0
// How long a run waits to obtain its generation of the parameters while they are swapped as fast as the system can:
// swap_latency MODEL.so ONE.tfw TWO.tfw [SECONDS]. Exit status 1 when the 99th percentile is above 10 us.
#include <algorithm>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "runtime/executor/module.h"
#include "runtime/executor/staged_parameters.h"
#include "runtime/host/clock.h"

namespace {

using namespace tiffin;
using namespace tiffin::runtime;

constexpr uint64_t kLimitNs = 10'000;
constexpr size_t kMostSamples = size_t{1} << 24;

Status swap_once(const Ref<Module>& module, const char* path) {
  TIFFIN_ASSIGN_OR_RETURN(params::ParamFile file, params::ParamFile::open(path));
  TIFFIN_ASSIGN_OR_RETURN(StagedParameters * staged, StagedParameters::from_file(module, std::move(file)));
  Status status = staged->commit();
  StagedParameters::destroy(staged);
  return status;
}

// Waits of one reader, in ns.
std::vector<uint32_t> read_until(const Module& module, const std::atomic<bool>& is_over) {
  std::vector<uint32_t> waits;
  waits.reserve(kMostSamples);
  ParameterSets& sets = module.parameter_sets();
  GenerationUse use;
  sets.add_use(use);
  while (!is_over.load(std::memory_order_relaxed) && waits.size() < kMostSamples) {
    const uint64_t start = now_ns();
    const Generation* generation = sets.begin_run(use);
    const uint64_t end = now_ns();
    if (generation == nullptr) abort();
    ParameterSets::end_run(use);
    waits.push_back(static_cast<uint32_t>(std::min<uint64_t>(end - start, UINT32_MAX)));
  }
  sets.remove_use(use);
  return waits;
}

Status measure(const char* const* words, double seconds, std::vector<uint32_t>* out_waits, size_t* out_swaps) {
  TIFFIN_ASSIGN_OR_RETURN(Ref<Module> module, Module::load(words[0], {}));
  TIFFIN_TRY(swap_once(module, words[1]));
  std::atomic<bool> is_over = false;
  std::thread reader([&] { *out_waits = read_until(*module, is_over); });
  Status status;
  const uint64_t end = now_ns() + static_cast<uint64_t>(seconds * 1e9);
  for (*out_swaps = 0; now_ns() < end && status.is_ok(); ++*out_swaps) status = swap_once(module, words[1 + *out_swaps % 2]);
  is_over = true;
  reader.join();
  return status;
}

}  // namespace

int main(int count, char** words) {
  if (count != 4 && count != 5) {
    fprintf(stderr, "usage: swap_latency MODEL.so ONE.tfw TWO.tfw [SECONDS]\n");
    return 2;
  }
  std::vector<uint32_t> waits;
  size_t swaps = 0;
  const tiffin::Status status = measure(words + 1, count == 5 ? atof(words[4]) : 2, &waits, &swaps);
  if (!status.is_ok() || waits.empty()) {
    fprintf(stderr, "swap_latency: %s\n", status.is_ok() ? "nothing was read" : status.message());
    return 3;
  }
  std::sort(waits.begin(), waits.end());
  const auto percentile = [&](double part) { return waits[static_cast<size_t>(part * static_cast<double>(waits.size() - 1))]; };
  printf("%zu swaps, %zu reads; wait: median %u ns, p99 %u ns, p99.9 %u ns, max %u ns (the clock's own two calls included)\n", swaps, waits.size(),
         percentile(0.5), percentile(0.99), percentile(0.999), waits.back());
  return percentile(0.99) <= kLimitNs ? 0 : 1;
}
