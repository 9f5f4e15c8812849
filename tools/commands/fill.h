// SPDX-License-Identifier: Apache-2.0
// Values for inputs that nobody gave: --fill random:SEED|zeros|ones.
#pragma once

#include "tools/commands/host_tensor.h"

namespace tiffin::tools {

enum class FillKind : uint8_t { None, Zeros, Ones, Random };

struct Fill {
  FillKind kind = FillKind::None;
  uint64_t seed = 0;
};

// "zeros", "ones", "random" (seed 0) or "random:SEED"; InvalidArgument for anything else.
Result<Fill> parse_fill(const char* text);

// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014): the state grows by 0x9E3779B97F4A7C15, the output is the
// state after two rounds of xor-shift and multiply. One stream serves all inputs, in the model's order.
struct RandomStream {
  uint64_t state = 0;
  double spare = 0;
  bool has_spare = false;

  uint64_t next();
  double next_normal();  // Box and Muller, two uniforms of 53 bits for two values
};

// Fills a tensor: floats with standard normal values, integers with 0 to 9 (to 7 and 1 in 4 and 2 bits signed, 3 in 2 unsigned), bools with 0 or 1,
// each from one output of the stream. Zeros and ones are those of the type. UnsupportedType for strings.
Status fill_tensor(const Fill& fill, RandomStream& stream, HostTensor& tensor);

}  // namespace tiffin::tools
