// SPDX-License-Identifier: Apache-2.0
#include "base/params/tvm_params.h"
#include "fuzz/parameter_lists.h"
#include "fuzz/target.h"

bool tiffin::fuzz::accepts(std::span<const uint8_t> bytes) {
  const auto list = params::read_tvm_params(bytes);
  if (!list.has_value()) return false;
  check_list(*list, bytes, params::write_tvm_params, params::read_tvm_params);
  return true;
}
