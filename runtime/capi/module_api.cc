// SPDX-License-Identifier: Apache-2.0
// tiffin_module_*, but for what params_api.cc and system_lib_api.cc have.
#include "runtime/capi/boundary.h"

using namespace tiffin;
using namespace tiffin::runtime;

namespace {

Result<LoadOptions> load_options(const tiffin_load_options* given) {
  const tiffin_load_options options = options_or_default<tiffin_load_options>(given, {});
  LoadOptions result;
  switch (options.verify) {
    case TIFFIN_VERIFY_CODE:
      result.verify = VerifyLevel::Code;
      break;
    case TIFFIN_VERIFY_NONE:
      result.verify = VerifyLevel::None;
      break;
    case TIFFIN_VERIFY_ALL:
      result.verify = VerifyLevel::All;
      break;
    default:
      return error(Code::InvalidArgument, "verify is %d, expected is 0, 1 or 2", options.verify);
  }
  result.copy = options.copy != 0;
  result.strict = options.strict != 0;
  if (options.trust < TIFFIN_TRUST_NATIVE || options.trust > TIFFIN_TRUST_SIGNED) {
    return error(Code::InvalidArgument, "trust is %d, expected is 0, 1 or 2", options.trust);
  }
  if (options.trust != TIFFIN_TRUST_SIGNED && (options.keys != nullptr || options.min_release != 0)) {
    return error(Code::InvalidArgument, "keys or a release are given, but trust is %d: they are for TIFFIN_TRUST_SIGNED", options.trust);
  }
  static_assert(static_cast<int>(Trust::Data) == TIFFIN_TRUST_DATA && static_cast<int>(Trust::Signed) == TIFFIN_TRUST_SIGNED);
  result.trust = static_cast<Trust>(options.trust);
  result.signature = {object_of(options.keys), options.min_release};
  return result;
}

}  // namespace

Status tiffin::runtime::load_module(Result<Source>&& source, const tiffin_load_options* given, tiffin_module** out_module) {
  if (!source.has_value()) return source.take_error();
  TIFFIN_ASSIGN_OR_RETURN(const LoadOptions options, load_options(given));
  TIFFIN_ASSIGN_OR_RETURN(Ref<Module> module, Module::load(std::move(source).value(), options));
  *out_module = handle_of(module.detach());
  return {};
}

namespace {

std::span<const uint8_t> as_bytes(const void* bytes, size_t length) { return {static_cast<const uint8_t*>(bytes), length}; }

Status load_module_file(uint32_t abi, const char* path, const tiffin_load_options* options, tiffin_module** out_module) {
  TIFFIN_TRY(check_abi(abi));
  TIFFIN_TRY(require_pointers(__func__, {path, out_module}));
  return load_module(Source::open(path), options, out_module);
}

Status load_module_descriptor(uint32_t abi, int descriptor, uint64_t offset, uint64_t length, const tiffin_load_options* options,
                              tiffin_module** out_module) {
  TIFFIN_TRY(check_abi(abi));
  TIFFIN_TRY(require_pointers(__func__, {out_module}));
  return load_module(Source::from_descriptor(descriptor, offset, length), options, out_module);
}

Status load_module_memory(uint32_t abi, const void* bytes, size_t length, const tiffin_load_options* options, tiffin_module** out_module) {
  TIFFIN_TRY(check_abi(abi));
  TIFFIN_TRY(require_pointers(__func__, {bytes, out_module}));
  return load_module(Source::from_memory(as_bytes(bytes, length)), options, out_module);
}

Status find_function(const tiffin_module* module, const char* name, size_t* out_index) {
  TIFFIN_TRY(require_pointers(__func__, {module, name, out_index}));
  TIFFIN_ASSIGN_OR_RETURN(const abi::Entry* wanted, object_of(module)->find_entry(name));
  const auto& entries = *object_of(module)->variant().entries();
  for (uint32_t i = 0; i < entries.size(); ++i) {
    if (entries.Get(i) == wanted) *out_index = i;
  }
  return {};
}

}  // namespace

tiffin_status* tiffin_module_load_file(uint32_t abi_version, const char* path, const tiffin_load_options* options,
                                       tiffin_module** out_module) noexcept {
  return to_c(load_module_file(abi_version, path, options, out_module));
}

tiffin_status* tiffin_module_load_descriptor(uint32_t abi_version, int descriptor, uint64_t offset, uint64_t length,
                                             const tiffin_load_options* options, tiffin_module** out_module) noexcept {
  return to_c(load_module_descriptor(abi_version, descriptor, offset, length, options, out_module));
}

tiffin_status* tiffin_module_load_memory(uint32_t abi_version, const void* bytes, size_t length, const tiffin_load_options* options,
                                         tiffin_module** out_module) noexcept {
  return to_c(load_module_memory(abi_version, bytes, length, options, out_module));
}

void tiffin_module_free(tiffin_module* module) noexcept { Ref<Module>::adopt(object_of(module)); }

size_t tiffin_module_function_count(const tiffin_module* module) noexcept {
  return module == nullptr ? 0 : object_of(module)->variant().entries()->size();
}

const char* tiffin_module_function_name(const tiffin_module* module, size_t index) noexcept {
  if (index >= tiffin_module_function_count(module)) return nullptr;
  return object_of(module)->variant().entries()->Get(static_cast<uint32_t>(index))->name()->c_str();
}

tiffin_status* tiffin_module_find_function(const tiffin_module* module, const char* name, size_t* out_index) noexcept {
  return to_c(find_function(module, name, out_index));
}

tiffin_status* tiffin_module_get_report(const tiffin_module* module, tiffin_report* out_report) noexcept {
  Status status = require_pointers(__func__, {module, out_report});
  if (status.is_ok()) write_report(*object_of(module), object_of(module)->report(), out_report);
  return to_c(std::move(status));
}
