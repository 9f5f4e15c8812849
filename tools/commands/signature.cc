// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/signature.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "base/ed25519/key_file.h"

namespace tiffin::tools {
namespace {

KeyDigits digits_of(const tiffin_signature& signature) {
  PublicKey key;
  memcpy(key.bytes.data(), signature.public_key, key.bytes.size());
  return to_digits(key);
}

}  // namespace

Status examine_signature(const runtime::Container& container, std::span<const char* const> key_files, SignatureReport* out) {
  if (key_files.empty()) {
    auto found = runtime::read_signature(container);  // what is malformed is told where it was asked for
    if (found.has_value()) out->signature = *found;
    return {};
  }
  TIFFIN_ASSIGN_OR_RETURN(const runtime::TrustedKeys keys, runtime::TrustedKeys::load(key_files));
  out->was_checked = true;
  TIFFIN_ASSIGN_OR_RETURN(out->signature, runtime::read_signature(container));
  if (!out->signature.has_value()) {
    return error(Code::SignatureInvalid, "'%s' is not signed", container.source().name())
        .with_remedy("sign it with 'tiffin sign', or get the signed file from its publisher");
  }
  TIFFIN_TRY(runtime::check_signature(container, *out->signature, keys.keys()));
  out->is_valid = true;
  return {};
}

void write_signature(JsonOutput& out, const SignatureReport& report, bool with_verdict) {
  if (!report.signature.has_value()) return out.null("signature");
  out.begin_object("signature");
  if (with_verdict && report.was_checked) out.boolean("valid", report.is_valid);
  if (with_verdict && !report.was_checked) out.null("valid");
  out.text("public_key", digits_of(*report.signature).text);
  out.number("release", report.signature->release);
  out.text("created", time_text(report.signature->created).text);
  out.end_object();
}

SignatureText signature_text(const tiffin_signature& signature) {
  SignatureText out;
  snprintf(out.text, sizeof out.text, "release %" PRIu64 ", by the key %.16s…, %s", signature.release, digits_of(signature).text,
           time_text(signature.created).text);
  return out;
}

TimeText time_text(int64_t seconds) {
  const time_t time = seconds;
  TimeText out;
  tm parts{};
  if (gmtime_r(&time, &parts) == nullptr || strftime(out.text, sizeof out.text, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) out.text[0] = 0;
  return out;
}

}  // namespace tiffin::tools
