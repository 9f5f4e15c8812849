// SPDX-License-Identifier: Apache-2.0
#include "base/params/write_params.h"

#include "base/atomic_file.h"
#include "base/params/safetensors.h"
#include "base/params/tvm_params.h"

namespace tiffin::params {

Status write_params_file(const char* path, Format format, const ParamSource& source) {
  if (format == Format::Weights) return error(Code::InvalidArgument, "cannot write '%s': .tfw needs the storage plan of a model", path);
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  TIFFIN_TRY(format == Format::TvmParams ? write_tvm_params(source, file.sink()) : write_safetensors(source, file.sink()));
  return file.commit();
}

Status write_weights_file(const char* path, const StoragePlan& plan, std::span<const Digest> digests, const ParameterReader& reader) {
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  TIFFIN_TRY(write_weights(plan, digests, reader, file.sink()));
  return file.commit();
}

}  // namespace tiffin::params
