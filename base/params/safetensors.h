// SPDX-License-Identifier: Apache-2.0
// The safetensors format (https://github.com/huggingface/safetensors). Types it has no name for are kept as U8 tensors of the packed bytes,
// with "tiffin.dtype.NAME": "int4[3,5]" in its metadata.
#pragma once

#include <cstdint>
#include <span>

#include "base/byte_sink.h"
#include "base/params/param_file.h"
#include "base/params/param_source.h"
#include "base/status.h"

namespace tiffin::params {

// True if the bytes can be the start of such a file: a header length and then '{'.
bool is_safetensors(std::span<const uint8_t> bytes);

// Truncated; InvalidParams for duplicate keys, ranges that overlap, leave gaps or do not fit the type and shape, and trailing data.
Result<ParamList> read_safetensors(std::span<const uint8_t> bytes);

// Names in the source's order, values ordered by falling element size, so that each is aligned. The same source gives the same bytes.
Status write_safetensors(const ParamSource& source, const ByteSink& sink);

}  // namespace tiffin::params
