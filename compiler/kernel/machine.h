// SPDX-License-Identifier: Apache-2.0
// What kernel families need to know of a target CPU: vector width, registers, the instructions that change the choice of tiles. Made by codegen
// from a Target; plain data, so that plan and kernel stay free of LLVM.
#pragma once

#include <cstdint>

namespace tiffin::kernel {

struct Machine {
  int vector_bytes = 16;  // of one native vector register: 16, 32 or 64
  int vector_registers = 16;
  bool has_fma = false;
  bool has_masks = false;     // masked loads and stores cost nothing (AVX-512)
  bool has_f16c = false;      // hardware float16 conversion
  bool has_dot_u8s8 = false;  // vpdpbusd or the like
  int64_t l1_bytes = 32 * 1024;
  int64_t l2_bytes = 512 * 1024;

  int lanes(int element_bytes) const { return vector_bytes / element_bytes; }
  int channel_block() const { return vector_bytes == 64 ? 16 : 8; }  // activations [N, C/b, H, W, b]
};

}  // namespace tiffin::kernel
