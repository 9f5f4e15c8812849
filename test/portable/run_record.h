// SPDX-License-Identifier: Apache-2.0
// Kernels as data, end to end: written by the compiler, read and interpreted by the runtime.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "compiler/kernel/ir.h"

namespace tiffin::portable {

// Computes [unit_begin, unit_end) of the kernel. `out_status` is run_kernel's; the result tells whether writing and reading went well.
Status run_as_data(const kernel::Kernel& kernel, std::span<void* const> buffers, int64_t unit_begin, int64_t unit_end, int32_t* out_status);

// Reads a record that may be damaged and, if it is sound, computes all its units on buffers of its own, each exactly as long as the record says, in
// a limited number of iterations. OutOfMemory when it asks for more than a test should have.
Status try_record(std::span<const uint8_t> record);

}  // namespace tiffin::portable
