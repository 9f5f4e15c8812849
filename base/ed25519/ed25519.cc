// SPDX-License-Identifier: Apache-2.0
#include "base/ed25519/ed25519.h"

#include <sys/random.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#ifdef TIFFIN_SIGNATURES
#include <sodium/crypto_sign_ed25519.h>
#endif

namespace tiffin {
namespace {

// False, with errno, when the system has none.
bool fill_randomly(uint8_t* out, size_t count) {
  while (count > 0) {
    const ssize_t got = getrandom(out, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out += got;
    count -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

SecretKey::~SecretKey() { explicit_bzero(bytes.data(), bytes.size()); }

Result<SecretKey> make_secret_key() {
  SecretKey key;
  if (!fill_randomly(key.bytes.data(), key.bytes.size())) return error(Code::Io, "the system gives no random bytes for a key: %s", strerror(errno));
  return key;
}

#ifdef TIFFIN_SIGNATURES

namespace {

// libsodium's form of a secret key: the 32 bytes, then the public key.
struct KeyPair {
  unsigned char secret[crypto_sign_ed25519_SECRETKEYBYTES];
  PublicKey shown;

  explicit KeyPair(const SecretKey& key) { crypto_sign_ed25519_seed_keypair(shown.bytes.data(), secret, key.bytes.data()); }
  ~KeyPair() { explicit_bzero(secret, sizeof(secret)); }
};

static_assert(sizeof(PublicKey) == crypto_sign_ed25519_PUBLICKEYBYTES && sizeof(SecretKey) == crypto_sign_ed25519_SEEDBYTES &&
              sizeof(Signature) == crypto_sign_ed25519_BYTES);

}  // namespace

// Where libsodium takes random bytes from (cmake/sodium.cmake). It has no way to fail.
extern "C" void tiffin_random_bytes(void* out, size_t count) {
  if (!fill_randomly(static_cast<uint8_t*>(out), count)) abort();
}

Status require_signatures() { return {}; }

Result<PublicKey> public_key_of(const SecretKey& key) { return KeyPair(key).shown; }

Result<Signature> sign(const SecretKey& key, std::span<const uint8_t> message) {
  const KeyPair pair(key);
  Signature signature;
  if (crypto_sign_ed25519_detached(signature.bytes.data(), nullptr, message.data(), message.size(), pair.secret) != 0) {
    return error(Code::Internal, "Ed25519 did not sign");
  }
  return signature;
}

bool is_signed_by(const PublicKey& key, std::span<const uint8_t> message, const Signature& signature) {
  return crypto_sign_ed25519_verify_detached(signature.bytes.data(), message.data(), message.size(), key.bytes.data()) == 0;
}

#else

Status require_signatures() {
  return error(Code::NotTrusted, "this build of tiffin makes and checks no signatures").with_remedy("use a build with TIFFIN_SIGNATURES=ON");
}

Result<PublicKey> public_key_of(const SecretKey&) { return require_signatures(); }

Result<Signature> sign(const SecretKey&, std::span<const uint8_t>) { return require_signatures(); }

bool is_signed_by(const PublicKey&, std::span<const uint8_t>, const Signature&) { return false; }

#endif

}  // namespace tiffin
