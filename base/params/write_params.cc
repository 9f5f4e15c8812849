// SPDX-License-Identifier: Apache-2.0
#include "base/params/write_params.h"

#include "base/params/safetensors.h"
#include "base/params/tvm_params.h"

namespace tiffin::params {

Status write_foreign(Format format, const ParamSource& source, const ByteSink& sink) {
  switch (format) {
    case Format::Safetensors:
      return write_safetensors(source, sink);
    case Format::TvmParams:
      return write_tvm_params(source, sink);
    case Format::Weights:
      break;
  }
  return error(Code::Internal, "a .tfw file needs the storage plan of a model");
}

}  // namespace tiffin::params
