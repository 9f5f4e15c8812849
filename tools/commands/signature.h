// SPDX-License-Identifier: Apache-2.0
// What `verify` and `inspect` say of an artifact's signature.
#pragma once

#include <optional>

#include "runtime/artifact/signature.h"
#include "tools/commands/json_output.h"

namespace tiffin::tools {

struct SignatureReport {
  std::optional<tiffin_signature> signature;  // none where it is not signed
  bool was_checked = false;                   // against keys
  bool is_valid = false;
};

// Looks the signature up, and checks it where keys are given: SignatureInvalid, also for an artifact that is not signed. NotTrusted in a build
// without signatures, Io.
Status examine_signature(const runtime::Container& container, std::span<const char* const> key_files, SignatureReport* out);

// "signature": an object with `public_key`, `release` and `created`, and with `with_verdict` also `valid`, which is null where it was not checked;
// null where the artifact is not signed.
void write_signature(JsonOutput& out, const SignatureReport& report, bool with_verdict);

// "release 3, by the key 19bf…, 2026-01-31T12:00:00Z".
struct SignatureText {
  char text[160] = "";
};
SignatureText signature_text(const tiffin_signature& signature);

// ISO 8601 in UTC; empty for a time that has no such form.
struct TimeText {
  char text[64] = "";
};
TimeText time_text(int64_t seconds);

}  // namespace tiffin::tools
