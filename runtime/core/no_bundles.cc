// SPDX-License-Identifier: Apache-2.0
// The core library reads shared objects alone: a bundle, packed or unpacked, is declined by name.
#include "runtime/artifact/members.h"

namespace tiffin::runtime {

Members::Members(Members&&) noexcept {}
Members& Members::operator=(Members&&) noexcept { return *this; }
Members::~Members() = default;

Result<Members> Members::read(const Source& source) {
  return error(source.is_folder() ? Code::Io : Code::NotAnArtifact, "'%s' is %s, and the core runtime reads shared objects", source.name(),
               source.is_folder() ? "a directory, not a file" : "a tar bundle")
      .with_remedy("link libtiffin_runtime, which reads bundles, or compile a .so");
}

Result<Members::Place> Members::find(const Source& source, const char*) { return error(Code::NotAnArtifact, "'%s' has no members", source.name()); }

}  // namespace tiffin::runtime
