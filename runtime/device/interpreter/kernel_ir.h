// SPDX-License-Identifier: Apache-2.0
// Kernels as data: one record of a KERNEL_IR section, checked once and turned into instructions, then run without any native code of its own.
// docs/architecture/portable_ir.md is the reference of the record.
#pragma once

#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "base/status.h"
#include "runtime/host/arena.h"

namespace tiffin::runtime {

// What run_kernel answers beside the kernel's own failures (abi/kernel.h), which are positive.
inline constexpr int32_t kAccessOutsideBuffer = -1;
inline constexpr int32_t kTooManyIterations = -2;

// A buffer as a record declares it.
struct KernelBuffer {
  enum class Kind : uint8_t { Input, Output, Scratch, Local };
  Kind kind;
  DType dtype;
  uint8_t element_shift;  // log2 of the bytes of an element
  uint64_t size;          // elements
  uint64_t offset;        // Scratch, Local: bytes from the start of the scratch that run_kernel gets
};

struct Instruction;

// A checked record. Made by read_kernel_ir alone, which is what makes running it safe; immutable, shared by threads.
struct KernelIr {
  int64_t units = 0;
  bool is_fused = false;       // Fma rounds once
  uint64_t scratch_bytes = 0;  // that run_kernel needs, per thread: the kernel's own, its local buffers and the frame of registers
  std::span<const KernelBuffer> buffers;
  uint32_t parameter_count = 0;  // the first of `buffers`: what run_kernel takes
  uint64_t local_bytes = 0, bases_offset = 0, frame_offset = 0, frame_bytes = 0;
  struct Constant {
    uint64_t bits;
    uint16_t target;
    uint16_t lanes;
    uint8_t element_shift;
  };
  std::span<const Constant> constants;
  uint16_t unit_begin = 0, unit_end = 0;  // registers
  std::span<const Instruction> code;

  uint64_t parameter_bytes(uint32_t index) const { return buffers[index].size << buffers[index].element_shift; }
  bool is_output(uint32_t index) const { return buffers[index].kind == KernelBuffer::Kind::Output; }
};

// Checks a record and everything in it that can be checked without running it; what it returns lies in `arena`. The record is not needed
// afterwards. NotAnArtifact saying what is wrong and where, OutOfMemory.
Result<const KernelIr*> read_kernel_ir(std::span<const uint8_t> record, Arena& arena);

// As tiffin_kernel_function, for any part of the units. `buffers`: one per parameter, as long as parameter_bytes says; `scratch` is aligned to
// 64 bytes and has scratch_bytes. Touches no other memory, whatever the record says; allocates nothing. Loops end: their bounds are fixed when
// they begin. `max_iterations` bounds those of all loops together.
int32_t run_kernel(const KernelIr& kernel, void* const* buffers, void* scratch, int64_t unit_begin, int64_t unit_end,
                   int64_t max_iterations = INT64_MAX);

}  // namespace tiffin::runtime
