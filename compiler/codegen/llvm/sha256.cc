// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/llvm/sha256.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>

#include "base/mapping.h"

namespace tiffin::codegen {

Result<std::string> sha256_of_file(const std::string& path) {
  TIFFIN_ASSIGN_OR_RETURN(const Mapping file, Mapping::open_file(path.c_str()));
  const std::array<uint8_t, 32> digest = llvm::SHA256::hash({file.bytes().data(), file.bytes().size()});
  return llvm::toHex(digest, /*LowerCase=*/true);
}

}  // namespace tiffin::codegen
