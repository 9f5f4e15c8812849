// SPDX-License-Identifier: Apache-2.0
#include "base/ed25519/key_file.h"

#include <gtest/gtest.h>

#include <string>

namespace tiffin {
namespace {

// Written by `openssl pkey` from the secret of RFC 8410, section 10.3.
constexpr const char* kSecret =
    "-----BEGIN PRIVATE KEY-----\n"
    "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n"
    "-----END PRIVATE KEY-----\n";
constexpr const char* kPublic =
    "-----BEGIN PUBLIC KEY-----\n"
    "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n"
    "-----END PUBLIC KEY-----\n";

TEST(KeyFile, ReadsAndWritesWhatOpensslDoes) {
  const auto secret = parse_secret_key(kSecret, "k");
  const auto shown = parse_public_key(kPublic, "k");
  ASSERT_TRUE(secret.has_value() && shown.has_value());
  EXPECT_STREQ(to_text(*secret).text, kSecret);
  EXPECT_STREQ(to_text(*shown).text, kPublic);
  EXPECT_STREQ(to_digits(*shown).text, "19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1");
  const auto derived = public_key_of(*secret);
  EXPECT_TRUE(!derived.has_value() || *derived == *shown);
}

TEST(KeyFile, IgnoresWhatStandsAround) {
  std::string text = std::string("a note\n") + kPublic + "another\n";
  EXPECT_TRUE(parse_public_key(text, "k").has_value());
  for (size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.replace(at, 1, "\r\n");
  EXPECT_TRUE(parse_public_key(text, "k").has_value());
}

TEST(KeyFile, TellsWhatAFileIs) {
  EXPECT_STREQ(parse_public_key(kSecret, "k").error().message(),
               "'k' is a secret key, a public Ed25519 key in PEM (SubjectPublicKeyInfo) is expected");
  EXPECT_STREQ(parse_secret_key(kPublic, "k").error().message(), "'k' is a public key, a secret Ed25519 key in PEM (PKCS #8) is expected");
  EXPECT_EQ(parse_public_key("", "k").error().code(), Code::InvalidArgument);
  EXPECT_EQ(parse_public_key("-----BEGIN PUBLIC KEY-----", "k").error().code(), Code::InvalidArgument);
  EXPECT_EQ(read_public_key("/nowhere").error().code(), Code::Io);
}

// Every cut and every other character of the key's own line is refused, or gives another key.
TEST(KeyFile, RefusesDamagedKeys) {
  const std::string text = kPublic;
  const auto whole = parse_public_key(text, "k");
  for (size_t length = 0; length + 1 < text.size(); ++length) EXPECT_FALSE(parse_public_key(text.substr(0, length), "k").has_value()) << length;
  for (size_t at = 0; at + 1 < text.size(); ++at) {
    for (const char c : {'A', '=', '*', '\0'}) {
      std::string other = text;
      if (other[at] == c) continue;
      other[at] = c;
      const auto key = parse_public_key(other, "k");
      if (key.has_value() && *key == *whole) ADD_FAILURE() << at << " " << c;
    }
  }
}

}  // namespace
}  // namespace tiffin
