// SPDX-License-Identifier: Apache-2.0
// Keys as files, in the form that OpenSSL writes and reads: PEM (RFC 7468) with a SubjectPublicKeyInfo or a PKCS #8 PrivateKeyInfo of Ed25519 (RFC
// 8410).
#pragma once

#include <string_view>

#include "base/ed25519/ed25519.h"

namespace tiffin {

// Io; InvalidArgument for a file that is no such key, with what it is as far as it can be told. Text before and behind the key is ignored.
Result<PublicKey> read_public_key(const char* path);
Result<SecretKey> read_secret_key(const char* path);
// The same of a file's text; `name` is for messages.
Result<PublicKey> parse_public_key(std::string_view text, const char* name);
Result<SecretKey> parse_secret_key(std::string_view text, const char* name);

// A whole PEM file, NUL terminated. Erased from memory when it goes.
struct KeyText {
  char text[160] = "";
  ~KeyText();
};
KeyText to_text(const PublicKey& key);
KeyText to_text(const SecretKey& key);

// The bytes in lower-case hexadecimal, NUL terminated.
struct KeyDigits {
  char text[65];
};
KeyDigits to_digits(const PublicKey& key);

}  // namespace tiffin
