// SPDX-License-Identifier: Apache-2.0
// The part of Container that reads artifacts out of executables.
#include <cinttypes>
#include <cstddef>

#include "runtime/artifact/container.h"

namespace tiffin::runtime {

// The artifact may be of either form but is no such executable itself.
Status Container::enter_program() {
  enclosure_ = elf_.enclosure();
  enclosure_position_ = elf_.enclosure_position();
  Result<Source> inner = source_.part(enclosure_.offset, enclosure_.length);
  if (!inner.has_value() && inner.error().code() == Code::Truncated) {
    return error(Code::Truncated, "'%s' has %" PRIu64 " bytes, and lacks the artifact that it encloses: %" PRIu64 " bytes at %" PRIu64,
                 source_.name(), source_.size(), enclosure_.length, enclosure_.offset)
        .with_remedy("export it again; 'strip' and tools like it cut off what lies behind a program's own bytes");
  }
  if (!inner.has_value()) return inner.take_error();
  program_.emplace(std::exchange(source_, std::move(inner).value()));
  is_bundle_ = is_archive_or_folder(source_);
  if (is_bundle_) {
    elf_ = ElfImage();
    return {};
  }
  TIFFIN_TRY(elf_.read(source_));
  if (elf_.enclosure().length > 0) return error(Code::NotAnArtifact, "'%s' encloses an executable, not an artifact", source_.name());
  return {};
}

Status Container::check_program() const {
  if (!is_enclosed()) return {};
  Hasher hasher;
  constexpr uint8_t kZeros[TIFFIN_DIGEST_BYTES] = {};
  const uint64_t field = enclosure_position_ + offsetof(tiffin_enclosure, program_digest), after = field + sizeof(kZeros);
  if (after > enclosure_.offset) {
    return error(Code::NotAnArtifact, "'%s' is damaged: its enclosed artifact begins within the program", source_.name());
  }
  TIFFIN_TRY(program_->hash(0, field, hasher));
  hasher.update(kZeros);
  TIFFIN_TRY(program_->hash(after, enclosure_.offset - after, hasher));
  return compare("the program around the artifact", hasher.finish(), enclosure_.program_digest);
}

}  // namespace tiffin::runtime
