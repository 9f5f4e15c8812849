// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/verify_params.h"

#include "base/params/bind.h"
#include "base/params/param_file.h"

namespace tiffin::tools {

Status verify_params(const runtime::Artifact& artifact, const char* path, bool new_weights) {
  TIFFIN_ASSIGN_OR_RETURN(const params::ParamFile file, params::ParamFile::open(path));
  const params::BindOptions options{.new_weights = new_weights, .verify_values = true};
  Status status = params::check_parameters(artifact.storage_plan(), artifact.parameter_digests(), file, options);
  return std::move(status).with_context("'%s'", path);
}

}  // namespace tiffin::tools
