// SPDX-License-Identifier: Apache-2.0
// Puts a signature into an artifact: the section, its entry in the table, and the digests of header and file change, nothing else.
#pragma once

#include <string>

#include "abi/artifact.h"
#include "base/ed25519/ed25519.h"
#include "base/status.h"

namespace tiffin::tools {

struct Signing {
  int64_t created = 0;  // seconds since 1970
  uint64_t release = 0;
};

// Of a shared object, a bundle or its unpacked folder; a signature that is there already is replaced. All other digests are checked first, so nothing
// damaged is ever signed. The path shows the old artifact or the whole signed one: a file by rename, a folder by exchange with a copy whose other
// files are the same by hard links. Gives the signature. Codes of verify; InvalidArgument for an artifact that cannot be signed; Io.
Result<tiffin_signature> sign_artifact(const std::string& path, const SecretKey& key, const Signing& signing);

}  // namespace tiffin::tools
