// SPDX-License-Identifier: Apache-2.0
// What libFuzzer calls. Commands print; that goes nowhere.
#include "fuzz/target.h"

bool tiffin::fuzz::is_replay() { return false; }

extern "C" int LLVMFuzzerInitialize(int*, char***) { return freopen("/dev/null", "w", stdout) != nullptr ? 0 : 1; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tiffin::fuzz::use(tiffin::fuzz::accepts({data, size}));
  return 0;
}
