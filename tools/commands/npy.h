// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy files (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html), versions 1 to 3.
#pragma once

#include "tools/commands/host_tensor.h"

namespace tiffin::tools {

// What a .npy header says.
struct NpyHeader {
  DType dtype = DType::Undefined;  // Undefined: raw elements (|V1, |V2), or of another size
  int item_bytes = 0;
  bool is_big_endian = false;
  bool is_fortran_order = false;
  int rank = 0;
  int64_t shape[kMaxRank] = {};
};

// Parses the dictionary of a header: "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }". InvalidInput for what is no such text and for
// types that no input can have (objects, structures, strings, dates).
Result<NpyHeader> parse_npy_header(const char* text, size_t length);

// Reads a file into row-major little-endian elements; big-endian and Fortran-ordered ones are converted, bools made 0 or 1. Io when it cannot be
// read, InvalidInput when it is no array, ends too early or has more bytes than the array.
Result<HostTensor> read_npy(const char* path);

// Writes a compact row-major tensor; types that numpy lacks become raw |V1 or |V2 elements, 4- and 2-bit ones one to a byte. Io. A failure leaves no
// file behind.
Status write_npy(const char* path, DType dtype, std::span<const int64_t> shape, const uint8_t* bytes);

}  // namespace tiffin::tools
