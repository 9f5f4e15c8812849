// SPDX-License-Identifier: Apache-2.0
// The storage plan's bytes, then the plan run forwards and backwards over small data.
#include <cstring>
#include <vector>

#include "base/params/storage_plan.h"
#include "fuzz/parameter_lists.h"
#include "fuzz/target.h"

namespace tiffin::fuzz {
namespace {

constexpr uint64_t kMostBytes = 1 << 16;

bool is_small(const params::StoragePlan& plan) {
  uint64_t bytes = plan.data_bytes();
  for (const params::ParamEntry& entry : plan.parameters())
    bytes = bytes > kMostBytes || entry.bytes > kMostBytes ? kMostBytes + 1 : bytes + entry.bytes;
  return bytes <= kMostBytes;
}

struct Values {
  std::vector<std::vector<uint8_t>> bytes;
  explicit Values(const params::StoragePlan& plan) {
    for (const params::ParamEntry& entry : plan.parameters()) {
      bytes.emplace_back(entry.bytes);
      for (size_t i = 0; i < entry.bytes; ++i) bytes.back()[i] = static_cast<uint8_t>(i * 37 + bytes.size());
    }
  }
  params::ParameterReader reader() {
    return {this, [](void* context, size_t index, Array<uint8_t>&) -> Result<std::span<const uint8_t>> {
              return std::span<const uint8_t>(static_cast<Values*>(context)->bytes[index]);
            }};
  }
};

void run_plan(const params::StoragePlan& plan) {
  Values values(plan);
  std::vector<uint8_t> data(plan.data_bytes());
  if (!plan.fill_data(values.reader(), data).is_ok()) return;
  std::vector<uint8_t> out;
  for (size_t i = 0; i < plan.parameter_count(); ++i) {
    out.assign(plan.parameters()[i].bytes, 0);
    const bool is_restored = plan.restore_parameter(i, data, out).is_ok();
    const uint8_t* place = plan.find_in_place(i, data);
    if (is_restored && place != nullptr) require(out.empty() || memcmp(place, out.data(), out.size()) == 0, "a value in place is the restored one");
  }
  const auto stored = params::StoredParameters::create(plan, data);
  if (stored.has_value()) walk_source(stored->source());
}

}  // namespace

bool accepts(std::span<const uint8_t> bytes) {
  const auto plan = params::StoragePlan::read(bytes);
  if (!plan.has_value()) return false;
  if (is_small(*plan)) run_plan(*plan);
  return true;
}

}  // namespace tiffin::fuzz
