// SPDX-License-Identifier: Apache-2.0
#include "runtime/artifact/signature.h"

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "base/ed25519/key_file.h"

namespace tiffin::runtime {
namespace {

static_assert(sizeof(tiffin_signature) == 192);

bool is_zero(std::span<const uint8_t> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](uint8_t byte) { return byte == 0; });
}

Status malformed(const Container& container, const char* what) { return error(Code::SignatureInvalid, "'%s': %s", container.source().name(), what); }

PublicKey key_of(const tiffin_signature& signature) {
  PublicKey key;
  memcpy(key.bytes.data(), signature.public_key, key.bytes.size());
  return key;
}

}  // namespace

SignedMessage signed_message(const tiffin_signature& signature) {
  SignedMessage message;
  uint8_t* next = message.data();
  const auto add = [&next](const void* bytes, size_t count) {
    memcpy(next, bytes, count);
    next += count;
  };
  add(TIFFIN_SIGNATURE_CONTEXT, sizeof(TIFFIN_SIGNATURE_CONTEXT));
  add(signature.content_digest, sizeof(signature.content_digest));
  add(&signature.created, sizeof(signature.created));
  add(&signature.release, sizeof(signature.release));
  return message;
}

Result<std::optional<tiffin_signature>> read_signature(const Container& container) {
  using Found = std::optional<tiffin_signature>;
  const Section* section = container.find(TIFFIN_SECTION_SIGNATURE);
  if (section == nullptr) return Found();
  tiffin_signature signature;
  if (section->length != sizeof(signature)) return malformed(container, "its signature has another size than this version knows");
  const std::span<uint8_t> bytes(reinterpret_cast<uint8_t*>(&signature), sizeof(signature));
  TIFFIN_TRY(container.source_of(*section).read(section->offset, bytes));
  if (is_zero(bytes)) return Found();
  if (signature.algorithm != TIFFIN_SIGNATURE_ED25519) {
    return error(Code::SignatureInvalid, "'%s': its signature is of algorithm %u, this version knows %u (Ed25519)", container.source().name(),
                 signature.algorithm, TIFFIN_SIGNATURE_ED25519);
  }
  if (signature.reserved != 0 || !is_zero(signature.unused)) return malformed(container, "its signature has bytes where none belong");
  return Found(signature);
}

Status check_signature(const Container& container, const tiffin_signature& signature, std::span<const PublicKey> keys) {
  TIFFIN_TRY(require_signatures());
  const PublicKey signer = key_of(signature);
  if (std::find(keys.begin(), keys.end(), signer) == keys.end()) {
    return error(Code::SignatureInvalid, "'%s' is signed by the key %.16s…, which is not %s", container.source().name(), to_digits(signer).text,
                 keys.size() == 1 ? "the one given" : "one of those given");
  }
  if (memcmp(signature.content_digest, container.header().content_digest, sizeof(signature.content_digest)) != 0) {
    return malformed(container, "its signature is for other contents than it holds");
  }
  Signature proof;
  memcpy(proof.bytes.data(), signature.signature, proof.bytes.size());
  if (!is_signed_by(signer, signed_message(signature), proof)) return malformed(container, "its signature does not fit its contents and the key");
  return {};
}

Result<TrustedKeys> TrustedKeys::load(std::span<const char* const> paths) {
  TIFFIN_TRY(require_signatures());
  TrustedKeys out;
  for (const char* path : paths) {
    TIFFIN_ASSIGN_OR_RETURN(const PublicKey key, read_public_key(path));
    if (!out.keys_.append(key)) return error(Code::OutOfMemory, "no memory for %zu keys", paths.size());
  }
  out.demand_ = &demand_signature;
  return out;
}

Status TrustedKeys::demand_signature(const TrustedKeys& self, const Container& container, uint64_t min_release) {
  const char* name = container.source().name();
  TIFFIN_ASSIGN_OR_RETURN(const auto signature, read_signature(container));
  if (!signature.has_value()) {
    return error(Code::NotTrusted, "'%s' is not signed, and only signed artifacts may run", name)
        .with_remedy("sign it with 'tiffin sign', or get the signed file from its publisher");
  }
  TIFFIN_TRY(check_signature(container, *signature, self.keys()));
  if (signature->release >= min_release) return {};
  return error(Code::NotTrusted, "'%s' is release %" PRIu64 ", at least %" PRIu64 " is asked for", name, signature->release, min_release)
      .with_remedy("get a newer release from its publisher");
}

}  // namespace tiffin::runtime
