// SPDX-License-Identifier: Apache-2.0
// Signatures of a sound artifact, and keys as text. A signature of the right form is made to fit the artifact; one in sixteen is really signed.
#include <cstring>
#include <optional>
#include <vector>

#include "base/ed25519/key_file.h"
#include "fuzz/frame.h"
#include "fuzz/target.h"
#include "runtime/artifact/signature.h"

namespace tiffin::fuzz {
namespace {

// Some key; its signatures are believed.
const SecretKey& secret_key() {
  static SecretKey key = [] {
    SecretKey made;
    made.bytes.fill(7);
    return made;
  }();
  return key;
}

bool is_key(std::string_view text) {
  const auto key = parse_public_key(text, "text");
  if (key.has_value()) {
    const auto again = parse_public_key(to_text(*key).text, "text");
    require(again.has_value() && *again == *key, "a key that is written reads back the same");
  }
  return parse_secret_key(text, "text").has_value() || key.has_value();
}

Result<runtime::Container> open(std::span<const uint8_t> file) {
  TIFFIN_ASSIGN_OR_RETURN(runtime::Source source, runtime::Source::from_memory(file));
  return runtime::Container::open(std::move(source), runtime::VerifyLevel::Code);
}

// Whether the signature section of the artifact is taken, and by whom.
bool is_signature(std::span<const uint8_t> file, std::span<const PublicKey> keys) {
  const auto container = open(file);
  require(container.has_value(), "a signature does not change whether an artifact can be opened");
  const auto found = runtime::read_signature(*container);
  if (!found.has_value() || !found->has_value()) return false;
  use(runtime::check_signature(*container, **found, keys).is_ok());
  return true;
}

void repair(tiffin_signature& signature, std::span<const uint8_t> file, const PublicKey& key) {
  const auto container = open(file);
  if (!container.has_value()) return;
  memcpy(signature.content_digest, container->header().content_digest, sizeof(signature.content_digest));
  if (signature.public_key[0] % 16 != 0) return;
  memcpy(signature.public_key, key.bytes.data(), key.bytes.size());
  const auto proof = sign(secret_key(), runtime::signed_message(signature));
  if (proof.has_value() && signature.signature[0] % 4 != 0) memcpy(signature.signature, proof->bytes.data(), proof->bytes.size());
}

}  // namespace

bool accepts(std::span<const uint8_t> bytes) {
  static Frame frame(TIFFIN_FUZZ_MODEL, TIFFIN_SECTION_SIGNATURE);
  static const auto key = public_key_of(secret_key());
  if (bytes.size() > 11 && memcmp(bytes.data(), "-----BEGIN ", 11) == 0) return is_key({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  std::vector<uint8_t> section(bytes.begin(), bytes.end());
  if (section.size() == sizeof(tiffin_signature) && key.has_value()) {
    tiffin_signature signature;
    memcpy(&signature, section.data(), sizeof(signature));
    repair(signature, frame.around(section), *key);
    memcpy(section.data(), &signature, sizeof(signature));
  }
  return is_signature(frame.around(section), {key.has_value() ? &*key : nullptr, key.has_value() ? size_t{1} : 0});
}

}  // namespace tiffin::fuzz
