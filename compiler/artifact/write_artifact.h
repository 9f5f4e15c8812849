// SPDX-License-Identifier: Apache-2.0
// Writes an artifact: sections, weights, header and digests into an ELF shared object or a tar bundle. Deterministic: the same contents give the
// same bytes, on any path. Weights stream from the model to the file, one stored tensor at a time.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/params/param_file.h"
#include "base/status.h"
#include "compiler/artifact/contents.h"

namespace tiffin::artifact {

enum class Form : uint8_t { SharedObject, Bundle };

// A bundle where the path ends in .tar, a shared object otherwise.
Form form_of(const std::string& path);

struct WriteOptions {
  Form form = Form::SharedObject;
  std::optional<int64_t> created;  // seconds since 1970, into the section `created`; absent: no such section
};

// The caller commits the file. InvalidArgument for several variants in a shared object. Io, OutOfMemory.
Status write_artifact(const Contents& contents, const WriteOptions& options, AtomicFile& file);

// The bytes that write_artifact writes.
Result<std::vector<uint8_t>> artifact_bytes(const Contents& contents, const WriteOptions& options);

// The parameters for external use. The caller commits the file. Io, OutOfMemory.
Status write_params(const Contents& contents, params::Format format, AtomicFile& file);

}  // namespace tiffin::artifact
