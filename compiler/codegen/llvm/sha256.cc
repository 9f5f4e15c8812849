// SPDX-License-Identifier: Apache-2.0
#include "compiler/codegen/llvm/sha256.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SHA256.h>

namespace tiffin::codegen {

Result<std::string> sha256_of_file(const std::string& path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file) return error(Code::Io, "'%s' could not be read: %s", path.c_str(), file.getError().message().c_str());
  const std::array<uint8_t, 32> digest = llvm::SHA256::hash(llvm::arrayRefFromStringRef((*file)->getBuffer()));
  return llvm::toHex(digest, /*LowerCase=*/true);
}

}  // namespace tiffin::codegen
