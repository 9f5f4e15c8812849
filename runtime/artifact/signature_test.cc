// SPDX-License-Identifier: Apache-2.0
// Artifacts that are signed, and every way in which they are not.
#include "runtime/artifact/signature.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/ed25519/key_file.h"
#include "runtime/artifact/artifact.h"
#include "runtime/artifact/testing_artifact.h"

namespace tiffin::runtime {
namespace {

using testing::Builder;
using testing::Spec;

SecretKey secret_of(uint8_t seed) {
  SecretKey key;
  key.bytes.fill(seed);
  return key;
}

Result<Artifact> open(const std::vector<uint8_t>& file, const SignatureDemand* demand = nullptr) {
  auto source = Source::from_memory(file);
  return Artifact::open(std::move(source).value(), VerifyLevel::None, demand);
}

class Signatures : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!require_signatures().is_ok()) GTEST_SKIP() << "a build without signatures";
    Spec spec;
    spec.has_signature = true;
    unsigned_ = testing::build(spec);
    const auto artifact = open(unsigned_);
    ASSERT_TRUE(artifact.has_value()) << artifact.error().message();
    place_ = artifact->container().find(TIFFIN_SECTION_SIGNATURE)->offset;
    memcpy(content_, artifact->container().header().content_digest, sizeof(content_));
    keys_.emplace(load_keys(1));
    demand_ = {&*keys_, 0};
  }

  static TrustedKeys load_keys(uint8_t seed) {
    char path[] = "/tmp/tiffin-key-XXXXXX";
    const int descriptor = mkstemp(path);
    const KeyText text = to_text(*public_key_of(secret_of(seed)));
    EXPECT_EQ(write(descriptor, text.text, strlen(text.text)), static_cast<ssize_t>(strlen(text.text)));
    close(descriptor);
    const char* paths[] = {path};
    auto keys = TrustedKeys::load(paths);
    unlink(path);
    return std::move(keys).value();
  }

  std::vector<uint8_t> signed_by(uint8_t seed, uint64_t release = 0) const {
    tiffin_signature signature{};
    signature.algorithm = TIFFIN_SIGNATURE_ED25519;
    signature.created = 1'700'000'000;
    signature.release = release;
    memcpy(signature.content_digest, content_, sizeof(content_));
    memcpy(signature.public_key, public_key_of(secret_of(seed))->bytes.data(), sizeof(signature.public_key));
    memcpy(signature.signature, sign(secret_of(seed), signed_message(signature))->bytes.data(), sizeof(signature.signature));
    return with(&signature, sizeof(signature), 0);
  }

  // The file with other bytes in its signature, and all digests true.
  std::vector<uint8_t> with(const void* bytes, size_t count, size_t at) const {
    std::vector<uint8_t> file = unsigned_;
    memcpy(file.data() + place_ + at, bytes, count);
    Builder::seal(file);
    return file;
  }

  std::string verdict(const std::vector<uint8_t>& file) const {
    const auto artifact = open(file, &demand_);
    return artifact.has_value() ? "Ok" : code_row(artifact.error().code()).name;
  }

  std::vector<uint8_t> unsigned_;
  uint64_t place_ = 0;
  uint8_t content_[TIFFIN_DIGEST_BYTES] = {};
  std::optional<TrustedKeys> keys_;
  SignatureDemand demand_;
};

TEST_F(Signatures, OpenWhatTheKeySigned) {
  EXPECT_EQ(verdict(signed_by(1)), "Ok");
  EXPECT_EQ(verdict(signed_by(2)), "SignatureInvalid");
  EXPECT_EQ(verdict(unsigned_), "NotTrusted");
  EXPECT_EQ(verdict(testing::build({})), "NotTrusted");  // without a place for a signature
}

TEST_F(Signatures, TrustNothingWithoutKeys) {
  demand_.keys = nullptr;
  EXPECT_EQ(verdict(signed_by(1)), "NotTrusted");
}

TEST_F(Signatures, RefuseOlderReleases) {
  demand_.min_release = 7;
  EXPECT_EQ(verdict(signed_by(1, 6)), "NotTrusted");
  EXPECT_EQ(verdict(signed_by(1, 7)), "Ok");
  EXPECT_EQ(verdict(signed_by(1, UINT64_MAX)), "Ok");
}

TEST_F(Signatures, RefuseEveryOtherBit) {
  const std::vector<uint8_t> good = signed_by(1);
  for (size_t bit = 0; bit < 8 * sizeof(tiffin_signature); ++bit) {
    std::vector<uint8_t> file = good;
    file[place_ + bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_NE(verdict(file), "Ok") << bit;
    Builder::seal(file);
    EXPECT_EQ(verdict(file), "SignatureInvalid") << bit;
  }
}

// The weights of another model with digests that are true, under the signature of the first.
TEST_F(Signatures, RefuseOtherContents) {
  Spec spec;
  spec.has_signature = true;
  spec.weights[0] = 9;
  std::vector<uint8_t> other = testing::build(spec);
  const std::vector<uint8_t> good = signed_by(1);
  memcpy(other.data() + place_, good.data() + place_, sizeof(tiffin_signature));
  Builder::seal(other);
  EXPECT_EQ(verdict(other), "SignatureInvalid");
}

// Whatever bit of the whole file changes: no digest is left out when a signature is asked for, although none was asked to be verified.
TEST_F(Signatures, RefuseDamageAnywhere) {
  const std::vector<uint8_t> good = signed_by(1);
  const auto artifact = open(good);
  for (const Section& section : artifact->container().sections()) {
    if (section.length == 0) continue;
    std::vector<uint8_t> file = good;
    file[section.offset + section.length / 2] ^= 0x10;
    EXPECT_NE(verdict(file), "Ok") << section.name;
  }
}

}  // namespace
}  // namespace tiffin::runtime
