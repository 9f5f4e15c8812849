// SPDX-License-Identifier: Apache-2.0
// Apache TVM's `.params` format, as all its versions write it (docs/architecture/parameters.md).
#pragma once

#include <cstdint>
#include <span>

#include "base/byte_sink.h"
#include "base/params/param_file.h"
#include "base/params/param_source.h"
#include "base/status.h"

namespace tiffin::params {

// True if the bytes begin with the magic number.
bool is_tvm_params(std::span<const uint8_t> bytes);

// Truncated, InvalidParams, UnsupportedType. Memory is bounded by a small multiple of the bytes that are really there.
Result<ParamList> read_tvm_params(std::span<const uint8_t> bytes);

// True if a .params file may spell the type with that code and those bits.
bool is_tvm_spelling(DType dtype, uint8_t code, uint8_t bits);

// Byte for byte what TVM's save_param_dict writes for the same arrays in the same order. bool is written as uint1 unless the entry says how
// its file spelt it.
Status write_tvm_params(const ParamSource& source, const ByteSink& sink);

}  // namespace tiffin::params
