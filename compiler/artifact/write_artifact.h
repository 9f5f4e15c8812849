// SPDX-License-Identifier: Apache-2.0
// Writes an artifact: sections, weights, header and digests into an ELF shared object. Deterministic: the same contents give the same bytes, on
// any path. Weights stream from the model to the file, one stored tensor at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/artifact/serialize.h"

namespace tiffin::artifact {

struct WriteOptions {
  std::optional<int64_t> created;  // seconds since 1970, into the section `created`; absent: no such section
};

// Atomic: the old file stays until the new one is complete. Io, OutOfMemory.
Status write_so(const Contents& contents, const WriteOptions& options, const std::string& path);

// The bytes that write_so writes.
Result<std::vector<uint8_t>> so_bytes(const Contents& contents, const WriteOptions& options);

// The parameters for external use; the suffix of `path` decides: .safetensors, .params or .tfw. Atomic. InvalidArgument for another suffix.
Status write_params(const plan::StoragePlan& storage, const std::string& path);

}  // namespace tiffin::artifact
