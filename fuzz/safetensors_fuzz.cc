// SPDX-License-Identifier: Apache-2.0
#include "base/params/safetensors.h"
#include "fuzz/parameter_lists.h"
#include "fuzz/target.h"

bool tiffin::fuzz::accepts(std::span<const uint8_t> bytes) {
  const auto list = params::read_safetensors(bytes);
  use(params::is_safetensors(bytes));
  if (!list.has_value()) return false;
  check_list(*list, bytes, params::write_safetensors, params::read_safetensors);
  return true;
}
