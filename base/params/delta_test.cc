// SPDX-License-Identifier: Apache-2.0
#include "base/params/delta.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "abi/delta.h"
#include "base/params/compare_sets.h"
#include "base/params/write_delta.h"

namespace tiffin::params {
namespace {

// Named float32 vectors.
class Vectors {
 public:
  Vectors(std::initializer_list<std::pair<const char*, std::vector<float>>> vectors) : vectors_(vectors) {
    for (const auto& [name, values] : vectors_) shapes_.push_back(static_cast<int64_t>(values.size()));
    for (size_t i = 0; i < vectors_.size(); ++i) {
      const auto& values = vectors_[i].second;
      entries_.push_back({vectors_[i].first, DType::Float32, {&shapes_[i], 1}, values.size() * 4, reinterpret_cast<const uint8_t*>(values.data())});
    }
  }
  ParamSource source() const { return {entries_}; }

 private:
  std::vector<std::pair<const char*, std::vector<float>>> vectors_;
  std::vector<int64_t> shapes_;
  std::vector<ParamEntry> entries_;
};

const Vectors kOld = {{"b", {1, 2}}, {"a", {3, 4, 5}}, {"gone", {6}}, {"shape", {1, 2, 3}}};
const Vectors kNew = {{"a", {3, 4, 7}}, {"shape", {1, 2}}, {"b", {1, 2}}, {"new", {8, 9, 10, 11, 12}}};

std::vector<uint8_t> delta_bytes(const ParamSource& before, const ParamSource& after) {
  char path[] = "/tmp/tiffin_delta_XXXXXX";
  close(mkstemp(path));
  const auto changes = compare_sets(before, after);
  EXPECT_TRUE(changes.has_value());
  const Status written = write_delta_file(path, before, after, changes->span());
  EXPECT_TRUE(written.is_ok()) << written.message();
  std::ifstream file(path, std::ios::binary);
  std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)), {});
  unlink(path);
  return bytes;
}

Code code_of(std::span<const uint8_t> bytes) {
  const auto delta = Delta::read(bytes);
  return delta.has_value() ? Code::Ok : delta.error().code();
}

// Makes the digest of an altered delta true again.
void seal(std::vector<uint8_t>& bytes) {
  memset(bytes.data() + offsetof(tiffin_delta_header, delta_digest), 0, 32);
  const Digest digest = digest_of(bytes);
  memcpy(bytes.data() + offsetof(tiffin_delta_header, delta_digest), digest.bytes.data(), 32);
}

TEST(CompareSets, NamesEveryChange) {
  const auto changes = compare_sets(kOld.source(), kNew.source());
  ASSERT_TRUE(changes.has_value());
  ASSERT_EQ(changes->size(), 5u);
  const std::vector<std::pair<std::string, Change>> expected = {
      {"b", Change::Equal}, {"a", Change::Changed}, {"gone", Change::Removed}, {"shape", Change::Changed}, {"new", Change::Added}};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ((*changes)[i].name, expected[i].first);
    EXPECT_EQ((*changes)[i].change, expected[i].second);
  }
  EXPECT_EQ((*changes)[0].max_difference, 0);
  EXPECT_EQ((*changes)[1].max_difference, 2);
  EXPECT_TRUE(std::isnan((*changes)[2].max_difference));
  EXPECT_TRUE(std::isnan((*changes)[3].max_difference));
}

TEST(CompareSets, MeasuresNanAndNegativeZero) {
  const Vectors before = {{"a", {NAN, 0, 1}}, {"b", {0}}}, after = {{"a", {1, 0, 1}}, {"b", {-0.0f}}};
  const auto changes = compare_sets(before.source(), after.source());
  EXPECT_TRUE(std::isinf((*changes)[0].max_difference));
  EXPECT_EQ((*changes)[1].change, Change::Changed);  // other bits
  EXPECT_EQ((*changes)[1].max_difference, 0);
}

TEST(CompareSets, IdentifiesASetWhateverItsOrder) {
  const Vectors one = {{"a", {1}}, {"b", {2}}}, other = {{"b", {2}}, {"a", {1}}}, swapped = {{"a", {2}}, {"b", {1}}};
  const auto digest = [](const Vectors& set) { return *digest_of_set(set.source().entries, hash_entries(set.source())->span()); };
  EXPECT_EQ(digest(one), digest(other));
  EXPECT_NE(digest(one), digest(swapped));
}

TEST(Delta, LeadsFromTheBaseToTheResult) {
  const std::vector<uint8_t> bytes = delta_bytes(kOld.source(), kNew.source());
  const auto delta = Delta::read(bytes);
  ASSERT_TRUE(delta.has_value()) << delta.error().message();
  EXPECT_EQ(delta->values().size(), 3u);
  EXPECT_EQ(delta->removed().size(), 1u);
  const auto patched = PatchedSet::create(kOld.source(), *delta);
  ASSERT_TRUE(patched.has_value()) << patched.error().message();
  const auto changes = compare_sets(patched->source(), kNew.source());
  for (const TensorChange& change : changes->span()) EXPECT_EQ(change.change, Change::Equal) << change.name;
  EXPECT_EQ(PatchedSet::create(kNew.source(), *delta).error().code(), Code::StaleGeneration);
}

TEST(Delta, OfEqualSetsIsEmpty) {
  const std::vector<uint8_t> bytes = delta_bytes(kOld.source(), kOld.source());
  EXPECT_EQ(bytes.size(), sizeof(tiffin_delta_header));
  EXPECT_TRUE(PatchedSet::create(kOld.source(), *Delta::read(bytes)).has_value());
}

TEST(Delta, FindsEveryTruncationAndFlip) {
  const std::vector<uint8_t> bytes = delta_bytes(kOld.source(), kNew.source());
  for (size_t length = 0; length < bytes.size(); ++length) EXPECT_EQ(code_of({bytes.data(), length}), Code::Truncated) << length;
  std::vector<uint8_t> longer = bytes;
  longer.push_back(0);
  EXPECT_EQ(code_of(longer), Code::InvalidParams);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::vector<uint8_t> altered = bytes;
    altered[bit / 8] ^= static_cast<uint8_t>(1u << bit % 8);
    EXPECT_NE(code_of(altered), Code::Ok) << bit;
  }
}

// Behind a true digest, every altered structure is refused or harmless.
TEST(Delta, RefusesUnsoundRecords) {
  const std::vector<uint8_t> bytes = delta_bytes(kOld.source(), kNew.source());
  for (size_t at = 16; at < bytes.size(); ++at) {
    for (const uint8_t value : {uint8_t{0}, uint8_t{1}, uint8_t{0x7F}, uint8_t{0xFF}}) {
      std::vector<uint8_t> altered = bytes;
      altered[at] = value;
      seal(altered);
      const auto delta = Delta::read(altered);
      if (!delta.has_value()) {
        const Code code = delta.error().code();
        EXPECT_TRUE(code == Code::InvalidParams || code == Code::Truncated || code == Code::DigestMismatch) << at;
        continue;
      }
      if (altered == bytes) continue;
      EXPECT_FALSE(PatchedSet::create(kOld.source(), *delta).has_value()) << at;
    }
  }
}

TEST(Delta, NamesWhatIsNone) {
  const std::string text = "not a delta of anything, but long enough to hold a header of one hundred and twenty-eight bytes, were it one; it is none";
  EXPECT_EQ(code_of({reinterpret_cast<const uint8_t*>(text.data()), text.size()}), Code::InvalidParams);
  std::vector<uint8_t> newer = delta_bytes(kOld.source(), kNew.source());
  newer[8] = 200;
  EXPECT_EQ(code_of(newer), Code::FormatTooNew);
}

}  // namespace
}  // namespace tiffin::params
