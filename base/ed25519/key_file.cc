// SPDX-License-Identifier: Apache-2.0
#include "base/ed25519/key_file.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/mapping.h"

namespace tiffin {
namespace {

constexpr std::string_view kPublicLabel = "PUBLIC KEY", kSecretLabel = "PRIVATE KEY";
constexpr size_t kKeyBytes = 32;

// The DER bytes before the key: SEQUENCE { SEQUENCE { OID 1.3.101.112 }, BIT STRING key } and SEQUENCE { 0, SEQUENCE { OID 1.3.101.112 }, OCTET
// STRING { OCTET STRING key } }. Every Ed25519 key has exactly these.
constexpr uint8_t kPublicPrefix[] = {0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00};
constexpr uint8_t kSecretPrefix[] = {0x30, 0x2E, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20};
constexpr size_t kMaxDer = sizeof(kSecretPrefix) + kKeyBytes;

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

struct Der {
  uint8_t bytes[kMaxDer] = {};
  size_t size = 0;
  bool is_proper = true;  // false: too long, or no base64
  ~Der() { explicit_bzero(bytes, sizeof(bytes)); }

  void add(uint8_t byte) {
    if (size < sizeof(bytes)) {
      bytes[size++] = byte;
    } else {
      is_proper = false;
    }
  }
};

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Base64 (RFC 4648, section 4) with white space between its digits.
void decode_base64(std::string_view text, Der& out) {
  uint32_t bits = 0;
  int bit_count = 0;
  size_t digits = 0, padding = 0;
  for (const char c : text) {
    if (is_space(c)) continue;
    const auto* digit = c == 0 ? nullptr : static_cast<const char*>(memchr(kDigits, c, 64));
    if (c == '=') {
      ++padding;
      continue;
    }
    if (digit == nullptr || padding > 0) {
      out.is_proper = false;
      return;
    }
    ++digits;
    bits = bits << 6 | static_cast<uint32_t>(digit - kDigits);
    bit_count += 6;
    if (bit_count >= 8) {
      bit_count -= 8;
      out.add(static_cast<uint8_t>(bits >> bit_count));
    }
    bits &= (1u << bit_count) - 1;
  }
  if ((digits + padding) % 4 != 0 || padding > 2 || bits != 0) out.is_proper = false;
}

size_t encode_base64(const uint8_t* bytes, size_t size, char* out) {
  size_t at = 0;
  for (size_t i = 0; i < size; i += 3) {
    const size_t left = std::min<size_t>(3, size - i);
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j) bits = bits << 8 | (j < left ? bytes[i + j] : 0u);
    for (size_t j = 0; j < 4; ++j) out[at++] = j <= left ? kDigits[bits >> (18 - 6 * j) & 63] : '=';
  }
  return at;
}

// What stands between the marks of the first PEM block, and its label; false when there is none.
bool find_block(std::string_view text, std::string_view* out_label, std::string_view* out_body) {
  constexpr std::string_view kBegin = "-----BEGIN ", kEnd = "-----END ", kDashes = "-----";
  const size_t begin = text.find(kBegin);
  if (begin == text.npos) return false;
  text.remove_prefix(begin + kBegin.size());
  const size_t label_end = text.find(kDashes);
  if (label_end == text.npos || label_end > 64) return false;
  *out_label = {text.data(), label_end};
  text.remove_prefix(label_end + kDashes.size());
  const size_t end = text.find(kEnd);
  if (end == text.npos) return false;
  *out_body = {text.data(), end};
  text.remove_prefix(end + kEnd.size());
  return text.starts_with(*out_label) && text.size() >= out_label->size() + kDashes.size() &&
         memcmp(text.data() + out_label->size(), kDashes.data(), kDashes.size()) == 0;
}

Status no_key(const char* name, const char* what, const char* expected) {
  return error(Code::InvalidArgument, "'%s' is %s, %s is expected", name, what, expected)
      .with_remedy("'tiffin keys new NAME' makes NAME.secret and NAME.public; openssl's Ed25519 keys in PEM are read too");
}

const char* describe_label(std::string_view label, bool is_secret_wanted) {
  if (label == kSecretLabel && !is_secret_wanted) return "a secret key";
  if (label == kPublicLabel && is_secret_wanted) return "a public key";
  if (label == "ENCRYPTED PRIVATE KEY") return "a key under a password";
  return "a PEM file of another kind";
}

Status parse(std::string_view text, const char* name, bool is_secret, std::array<uint8_t, kKeyBytes>* out) {
  const char* expected = is_secret ? "a secret Ed25519 key in PEM (PKCS #8)" : "a public Ed25519 key in PEM (SubjectPublicKeyInfo)";
  const std::span<const uint8_t> prefix = is_secret ? std::span<const uint8_t>(kSecretPrefix) : std::span<const uint8_t>(kPublicPrefix);
  std::string_view label, body;
  if (!find_block(text, &label, &body)) return no_key(name, "no PEM file", expected);
  if (label != (is_secret ? kSecretLabel : kPublicLabel)) return no_key(name, describe_label(label, is_secret), expected);
  Der der;
  decode_base64(body, der);
  if (!der.is_proper || der.size != prefix.size() + kKeyBytes || memcmp(der.bytes, prefix.data(), prefix.size()) != 0) {
    return no_key(name, "a damaged key, or one of another algorithm", expected);
  }
  memcpy(out->data(), der.bytes + prefix.size(), kKeyBytes);
  return {};
}

Result<Mapping> open_key(const char* path) {
  constexpr size_t kMost = 65536;
  TIFFIN_ASSIGN_OR_RETURN(Mapping file, Mapping::open_file(path));
  if (file.bytes().size() > kMost) return no_key(path, "too long for a key", "a PEM file");
  return file;
}

std::string_view text_of(const Mapping& file) { return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()}; }

KeyText make_text(std::string_view label, std::span<const uint8_t> prefix, const std::array<uint8_t, kKeyBytes>& key) {
  Der der;
  for (const uint8_t byte : prefix) der.add(byte);
  for (const uint8_t byte : key) der.add(byte);
  KeyText out;
  char body[96];
  const size_t length = encode_base64(der.bytes, der.size, body);
  snprintf(out.text, sizeof(out.text), "-----BEGIN %s-----\n%.*s\n-----END %s-----\n", label.data(), static_cast<int>(length), body, label.data());
  explicit_bzero(body, sizeof(body));
  return out;
}

}  // namespace

KeyText::~KeyText() { explicit_bzero(text, sizeof(text)); }

Result<PublicKey> parse_public_key(std::string_view text, const char* name) {
  PublicKey key;
  TIFFIN_TRY(parse(text, name, false, &key.bytes));
  return key;
}

Result<SecretKey> parse_secret_key(std::string_view text, const char* name) {
  SecretKey key;
  TIFFIN_TRY(parse(text, name, true, &key.bytes));
  return key;
}

Result<PublicKey> read_public_key(const char* path) {
  TIFFIN_ASSIGN_OR_RETURN(const Mapping file, open_key(path));
  return parse_public_key(text_of(file), path);
}

Result<SecretKey> read_secret_key(const char* path) {
  TIFFIN_ASSIGN_OR_RETURN(const Mapping file, open_key(path));
  return parse_secret_key(text_of(file), path);
}

KeyText to_text(const PublicKey& key) { return make_text(kPublicLabel, kPublicPrefix, key.bytes); }

KeyText to_text(const SecretKey& key) { return make_text(kSecretLabel, kSecretPrefix, key.bytes); }

KeyDigits to_digits(const PublicKey& key) {
  KeyDigits out{};
  for (size_t i = 0; i < key.bytes.size(); ++i) snprintf(out.text + 2 * i, 3, "%02x", static_cast<unsigned>(key.bytes[i]));
  return out;
}

}  // namespace tiffin
