// SPDX-License-Identifier: Apache-2.0
// The signature that an artifact carries (tiffin_signature in abi/artifact.h), and the keys whose signatures somebody believes.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "base/array.h"
#include "base/ed25519/ed25519.h"
#include "runtime/artifact/container.h"

namespace tiffin::runtime {

// What the signature is over: the context with its NUL, content digest, time and release.
using SignedMessage = std::array<uint8_t, sizeof(TIFFIN_SIGNATURE_CONTEXT) + TIFFIN_DIGEST_BYTES + 2 * sizeof(uint64_t)>;
SignedMessage signed_message(const tiffin_signature& signature);

// The section as it stands in the file; nothing where the artifact is not signed. Of another algorithm, or with bytes where none belong:
// SignatureInvalid. Nothing is checked beyond that form. Io, Truncated.
Result<std::optional<tiffin_signature>> read_signature(const Container& container);

// The signature is for these contents and by one of the keys: SignatureInvalid, and NotTrusted in a build without signatures. The container's
// content digest is that of its table, but whether the sections still have their digests is not looked at.
Status check_signature(const Container& container, const tiffin_signature& signature, std::span<const PublicKey> keys);

// Immutable once loaded; safe to share between threads.
class TrustedKeys {
 public:
  // Public keys by file. Io, InvalidArgument; NotTrusted in a build without signatures.
  static Result<TrustedKeys> load(std::span<const char* const> paths);

  std::span<const PublicKey> keys() const { return keys_.span(); }

  // NotTrusted for an artifact that is not signed, or whose release is below `min_release`; else as check_signature.
  Status demand(const Container& container, uint64_t min_release) const { return demand_(*this, container, min_release); }

 private:
  TrustedKeys() = default;
  static Status demand_signature(const TrustedKeys& self, const Container& container, uint64_t min_release);

  Array<PublicKey> keys_;
  // A pointer that loading sets, so that a program which loads no keys does not link what checks signatures.
  Status (*demand_)(const TrustedKeys& self, const Container& container, uint64_t min_release) = nullptr;
};

}  // namespace tiffin::runtime
