// SPDX-License-Identifier: Apache-2.0
// The test vectors of RFC 8032, section 7.1, and signatures and keys that must be refused.
#include "base/ed25519/ed25519.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace tiffin {
namespace {

std::vector<uint8_t> bytes_of(std::string_view digits) {
  std::vector<uint8_t> out;
  for (size_t i = 0; i + 1 < digits.size(); i += 2) out.push_back(static_cast<uint8_t>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16)));
  return out;
}

template <class T>
T value_of(std::string_view digits) {
  T out;
  const std::vector<uint8_t> bytes = bytes_of(digits);
  EXPECT_EQ(bytes.size(), out.bytes.size());
  std::copy(bytes.begin(), bytes.end(), out.bytes.begin());
  return out;
}

struct Vector {
  const char *secret, *shown, *message, *signature;
};

constexpr Vector kVectors[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb", "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
    {"c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7", "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
     "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"},
    {"833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42", "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
     "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
     "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704"},
};

class Ed25519 : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!require_signatures().is_ok()) GTEST_SKIP() << "a build without signatures";
  }
};

TEST_F(Ed25519, GivesTheVectorsOfTheRfc) {
  for (const Vector& vector : kVectors) {
    const auto secret = value_of<SecretKey>(vector.secret);
    const auto shown = public_key_of(secret);
    ASSERT_TRUE(shown.has_value());
    EXPECT_EQ(*shown, value_of<PublicKey>(vector.shown));
    const std::vector<uint8_t> message = bytes_of(vector.message);
    const auto signature = sign(secret, message);
    ASSERT_TRUE(signature.has_value());
    EXPECT_EQ(signature->bytes, value_of<Signature>(vector.signature).bytes);
    EXPECT_TRUE(is_signed_by(*shown, message, *signature));
  }
}

TEST_F(Ed25519, RefusesEveryOtherBit) {
  const auto shown = value_of<PublicKey>(kVectors[2].shown);
  const auto signature = value_of<Signature>(kVectors[2].signature);
  const std::vector<uint8_t> message = bytes_of(kVectors[2].message);
  for (size_t bit = 0; bit < 8 * signature.bytes.size(); ++bit) {
    Signature other = signature;
    other.bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_FALSE(is_signed_by(shown, message, other)) << bit;
  }
  for (size_t bit = 0; bit < 8 * shown.bytes.size(); ++bit) {
    PublicKey other = shown;
    other.bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    EXPECT_FALSE(is_signed_by(other, message, signature)) << bit;
  }
  EXPECT_FALSE(is_signed_by(shown, bytes_of("af83"), signature));
}

// The neutral element as a key would let the zero scalar sign every message.
TEST_F(Ed25519, RefusesKeysOfSmallOrder) {
  PublicKey neutral;
  neutral.bytes[0] = 1;
  Signature signature;
  signature.bytes[0] = 1;
  EXPECT_FALSE(is_signed_by(neutral, {}, signature));
  EXPECT_FALSE(is_signed_by(PublicKey{}, {}, Signature{}));
}

TEST_F(Ed25519, MakesOtherKeysEachTime) {
  const auto one = make_secret_key(), two = make_secret_key();
  ASSERT_TRUE(one.has_value() && two.has_value());
  EXPECT_NE(one->bytes, two->bytes);
}

}  // namespace
}  // namespace tiffin
