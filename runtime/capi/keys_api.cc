// SPDX-License-Identifier: Apache-2.0
// tiffin_keys_*. Apart from the rest, because what checks signatures is linked with it.
#include <cstdlib>
#include <new>

#include "runtime/artifact/signature.h"
#include "runtime/capi/boundary.h"

using namespace tiffin;
using namespace tiffin::runtime;

namespace {

Status load_keys(uint32_t abi, const char* const* paths, size_t count, tiffin_keys** out_keys) {
  TIFFIN_TRY(check_abi(abi));
  TIFFIN_TRY(require_pointers(__func__, {paths, out_keys}));
  for (size_t i = 0; i < count; ++i) TIFFIN_TRY(require_pointers(__func__, {paths[i]}));
  TIFFIN_ASSIGN_OR_RETURN(TrustedKeys keys, TrustedKeys::load({paths, count}));
  void* memory = malloc(sizeof(TrustedKeys));
  if (memory == nullptr) return error(Code::OutOfMemory, "no memory for %zu keys", count);
  *out_keys = handle_of(new (memory) TrustedKeys(std::move(keys)));
  return {};
}

}  // namespace

tiffin_status* tiffin_keys_load(uint32_t abi_version, const char* const* paths, size_t count, tiffin_keys** out_keys) noexcept {
  return to_c(load_keys(abi_version, paths, count, out_keys));
}

void tiffin_keys_free(tiffin_keys* keys) noexcept {
  if (keys == nullptr) return;
  auto* object = reinterpret_cast<TrustedKeys*>(keys);
  object->~TrustedKeys();
  free(object);
}
