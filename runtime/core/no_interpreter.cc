// SPDX-License-Identifier: Apache-2.0
// The small runtime library in place of executor/interpreted_kernels.cc and device/interpreter: it runs code alone.
#include "runtime/executor/interpreted_kernels.h"

namespace tiffin::runtime {

Result<InterpretedKernels> InterpretedKernels::load(const Artifact& artifact, const abi::Variant& variant, Arena&) {
  return error(Code::NoVariant, "'%s' would run as '%s' here, which is data, and this small runtime does not interpret",
               artifact.container().source().name(), variant.target()->c_str())
      .with_remedy("compile the model for this machine, or link the whole runtime");
}

}  // namespace tiffin::runtime
