// SPDX-License-Identifier: Apache-2.0
// Deltas whose digests are true, applied to one small set.
#include <cstring>
#include <vector>

#include "abi/delta.h"
#include "base/params/compare_sets.h"
#include "base/params/delta.h"
#include "fuzz/parameter_lists.h"
#include "fuzz/target.h"

namespace tiffin::fuzz {
namespace {

// The set that the corpus's deltas start from: zeros "a" float32[4], "b" int8[3], "c" float16[2,2].
struct Base {
  static constexpr uint8_t kZeros[16] = {};
  static constexpr int64_t kShapes[] = {4, 3, 2, 2};
  const params::ParamEntry entries[3] = {{"a", DType::Float32, {kShapes, 1}, 16, kZeros},
                                         {"b", DType::Int8, {kShapes + 1, 1}, 3, kZeros},
                                         {"c", DType::Float16, {kShapes + 2, 2}, 8, kZeros}};
  params::ParamSource source() const { return {entries}; }
};

Digest digest_of_source(const params::ParamSource& source) {
  const auto digests = params::hash_entries(source);
  if (!digests.has_value()) return {};
  const auto whole = params::digest_of_set(source.entries, digests->span());
  return whole.has_value() ? *whole : Digest{};
}

void repair(std::span<uint8_t> file, const Digest& base, const Digest& result) {
  tiffin_delta_header header;
  memcpy(&header, file.data(), sizeof(header));
  header.total_length = file.size();
  memcpy(header.base_digest, base.bytes.data(), sizeof(header.base_digest));
  memcpy(header.result_digest, result.bytes.data(), sizeof(header.result_digest));
  memset(header.delta_digest, 0, sizeof(header.delta_digest));
  memcpy(file.data(), &header, sizeof(header));
  memcpy(header.delta_digest, digest_of(file).bytes.data(), sizeof(header.delta_digest));
  memcpy(file.data(), &header, sizeof(header));
}

}  // namespace

bool accepts(std::span<const uint8_t> bytes) {
  const Base base;
  static const Digest base_digest = digest_of_source(base.source());
  std::vector<uint8_t> file(bytes.begin(), bytes.end());
  const bool is_repaired = file.size() >= sizeof(tiffin_delta_header) && !is_left_unrepaired(bytes);
  if (is_repaired) repair(file, base_digest, {});
  const auto delta = params::Delta::read(file);
  if (!delta.has_value()) return false;
  const auto refused = params::PatchedSet::create(base.source(), *delta);
  if (!is_repaired || refused.has_value() || refused.error().code() != Code::DigestMismatch) return false;
  // Its records are sound: now with the digest of what it really leads to.
  const auto overlay = params::Overlay::create(base.source(), params::ParamSource{delta->values()}, delta->removed());
  if (!overlay.has_value()) return false;
  repair(file, base_digest, digest_of_source(overlay->source()));
  const auto again = params::Delta::read(file);
  require(again.has_value(), "a sound delta stays sound under other digests");
  const auto patched = params::PatchedSet::create(base.source(), *again);
  require(patched.has_value(), "a sound delta applies");
  walk_source(patched->source());
  return true;
}

}  // namespace tiffin::fuzz
