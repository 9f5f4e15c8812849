// SPDX-License-Identifier: Apache-2.0
// The artifact that the tests of both headers load: y = x * w over four floats, w = {1, 2, 3, 4}, its input is `data`.
#pragma once

#include <cstdint>
#include <vector>

namespace tiffin::runtime::testing {

std::vector<uint8_t> scaling_file();  // in capi_test.cc, beside its kernel

}  // namespace tiffin::runtime::testing
