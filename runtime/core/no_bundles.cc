// SPDX-License-Identifier: Apache-2.0
// The core library reads shared objects alone: a bundle, packed or unpacked, and an artifact within an executable are declined by name.
#include "runtime/artifact/choose_variant.h"
#include "runtime/artifact/container.h"

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

// Members::read has declined before either is reached.
Status Container::place_member(Section&, std::string_view) { return {}; }
Status Container::place_attachment(std::string_view, std::string_view) { return {}; }

// A shared object has one variant, the one that runs.
bool explain_variants(const Artifact&, const abi::Variant&, const Machine&, Arena&, std::span<const VariantChoice>*) { return true; }

Status Container::enter_program() {
  return error(Code::NotAnArtifact, "'%s' is an executable around an artifact, and the core runtime reads shared objects", source_.name())
      .with_remedy("link libtiffin_runtime, or load the file that was exported");
}

}  // namespace tiffin::runtime
