// SPDX-License-Identifier: Apache-2.0
// tiffin._runtime: what the package needs of the runtime, and nothing of the compiler. The Python files beside it are its only callers.
#include "abi/version.h"
#include "python/bindings/executor.h"
#include "python/bindings/module.h"
#include "python/bindings/params.h"
#include "python/bindings/raise.h"
#include "python/bindings/staged.h"
#include "python/bindings/tensor.h"

NB_MODULE(_runtime, module) {
  using namespace tiffin::python;
  nb::set_leak_warnings(false);
  module.attr("VERSION") = TIFFIN_VERSION;
  define_tensor(module);
  define_params(module);
  define_module(module);
  define_executor(module);
  define_staged(module);
}
