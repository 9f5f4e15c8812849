// SPDX-License-Identifier: Apache-2.0
// The second check of a program, after FlatBuffers' own: every index, offset and size lies inside what it refers to, so that the executor
// can follow them blindly.
#pragma once

#include "abi/artifact_generated.h"
#include "base/status.h"
#include "runtime/artifact/container.h"

namespace tiffin::runtime {

// NotAnArtifact naming the place.
Status check_program(const abi::Program& program, const abi::StoragePlan& plan, const Container& container);

// True for a variant of no machine: its kernels are data, which is interpreted.
inline bool is_data(const abi::Variant& variant) { return variant.machine() == 0; }

// Bytes of a value's compact tensor; false when its shape is open, or type or size are not possible.
bool value_bytes(const abi::Value& value, uint64_t* out_bytes);

}  // namespace tiffin::runtime
