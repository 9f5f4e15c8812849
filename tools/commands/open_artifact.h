// SPDX-License-Identifier: Apache-2.0
// What several commands ask of an artifact: opening by path, its entries, sizes by tier, and where its stored tensors lie.
#pragma once

#include "runtime/artifact/artifact.h"
#include "tools/commands/inputs.h"

namespace tiffin::tools {

Result<runtime::Artifact> open_artifact(const char* path, runtime::VerifyLevel level);

// True for what forbids to run the artifact, but not to tell what is in it: another ABI, or a section of a newer version that loading needs.
bool forbids_running_only(const Status& obstacle, const runtime::Container& container);

// For commands that only tell what is in the file: nothing but the tables is hashed, and what forbids running only is passed over.
Result<runtime::Artifact> open_to_describe(const char* path);

// True when the file begins as an artifact or another ELF file or tar archive does, and for a folder; false as well when it cannot be read.
bool is_artifact_file(const char* path);

// Bytes of the file by tier; all but `total` add up to it.
struct TierSizes {
  uint64_t code = 0, program = 0, weights = 0, manifest = 0, golden = 0, padding = 0, total = 0;
};
TierSizes tier_sizes(const runtime::Container& container);

// The section of the variant's code, or of its kernels as data; null when there is none.
const runtime::Section* code_section(const runtime::Artifact& artifact, const abi::Variant& variant);

// The entry of that name in a variant; null when it has none.
const abi::Entry* find_entry(const abi::Variant& variant, std::string_view name);

std::span<const int64_t> shape_of(const abi::Value& value);

// Bytes from the start of the file that holds the weights to the stored tensors: of the artifact, or of a .tfw when they are external.
Result<uint64_t> stored_data_offset(const runtime::Artifact& artifact);

// The largest arena of the variant's entries.
uint64_t arena_bytes(const abi::Variant& variant);

}  // namespace tiffin::tools
