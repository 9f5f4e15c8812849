// SPDX-License-Identifier: Apache-2.0
// Ed25519 (RFC 8032), computed by libsodium. A build without TIFFIN_SIGNATURES has the same functions, which decline.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/status.h"

namespace tiffin {

struct PublicKey {
  std::array<uint8_t, 32> bytes{};
  bool operator==(const PublicKey&) const = default;
};

// The 32 bytes that RFC 8032 calls the private key. Erased from memory when it goes.
struct SecretKey {
  SecretKey() = default;
  SecretKey(const SecretKey&) = default;
  SecretKey& operator=(const SecretKey&) = default;
  ~SecretKey();
  std::array<uint8_t, 32> bytes{};
};

struct Signature {
  std::array<uint8_t, 64> bytes{};
};

// NotTrusted in a build that has no signatures.
Status require_signatures();

// From the system's random bytes; Io when it gives none.
Result<SecretKey> make_secret_key();
// NotTrusted as above.
Result<PublicKey> public_key_of(const SecretKey& key);
Result<Signature> sign(const SecretKey& key, std::span<const uint8_t> message);

// True when the holder of the key's secret signed the message. False in a build that has no signatures.
bool is_signed_by(const PublicKey& key, std::span<const uint8_t> message, const Signature& signature);

}  // namespace tiffin
