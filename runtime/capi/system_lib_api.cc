// SPDX-License-Identifier: Apache-2.0
// tiffin_module_load_system_lib: models that are linked into the program.
#include "runtime/capi/boundary.h"

using namespace tiffin;
using namespace tiffin::runtime;

namespace {

Status load_module_system_lib(uint32_t abi, const tiffin_system_lib* library, const tiffin_load_options* options, tiffin_module** out_module) {
  TIFFIN_TRY(check_abi(abi));
  TIFFIN_TRY(require_pointers(__func__, {library, out_module}));
  return load_module(Source::from_system_lib(*library), options, out_module);
}

}  // namespace

tiffin_status* tiffin_module_load_system_lib(uint32_t abi_version, const tiffin_system_lib* library, const tiffin_load_options* options,
                                             tiffin_module** out_module) noexcept {
  return to_c(load_module_system_lib(abi_version, library, options, out_module));
}
