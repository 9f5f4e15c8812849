// SPDX-License-Identifier: Apache-2.0
// What every container of an artifact agrees on, for the writer and the reader alike: the digests of header and contents, and the names that
// sections have as members of a bundle. docs/architecture/artifact_format.md defines both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "abi/artifact.h"
#include "base/digest.h"

namespace tiffin {

// The member of a bundle, and the file of its unpacked folder, that holds the header and the section table.
inline constexpr const char* kHeaderMember = "tiffin.header";

// The member with the description as text; beside it lies include/NAME.h (base/description).
inline constexpr const char* kManifestMember = "manifest.json";

// The longest member path, with its NUL.
inline constexpr size_t kMemberPathBytes = 256;

// The least multiple of `alignment` that is not below `value`; the caller sees to it that there is one.
constexpr uint64_t align_up(uint64_t value, uint64_t alignment) { return (value + alignment - 1) / alignment * alignment; }

// True for sections whose digests enter the content digest.
inline bool is_content(uint32_t kind) { return kind != TIFFIN_SECTION_CREATED && kind != TIFFIN_SECTION_SIGNATURE; }

// Files that travel with the model: their members are called by the names in Manifest.attachments.
inline bool is_attachment(uint32_t kind) { return kind == TIFFIN_SECTION_LIBRARY || kind == TIFFIN_SECTION_FILE || kind == TIFFIN_SECTION_SOURCE; }

// Kind, name, length and digest of every content section, in the table's order.
Digest content_digest(std::span<const tiffin_section> table);

// Header and table, with header_digest and file_digest read as zeros.
Digest header_digest(const tiffin_artifact_header& header, std::span<const tiffin_section> table);

// The header of this version's format before that table, whose digests stand: complete but for the file digest, which is zeros.
tiffin_artifact_header make_header(std::span<const tiffin_section> table, uint64_t total_length);

// Writes the path of a section's member, NUL terminated, without ".." and not absolute: by kind and `name`, which is the section's own, or the
// file name of an attachment. False when it does not fit or `name` is no plain file name.
bool member_path(uint32_t kind, std::string_view name, char (&out)[kMemberPathBytes]);

}  // namespace tiffin
