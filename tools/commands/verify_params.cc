// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/verify_params.h"

#include "base/params/bind.h"
#include "base/params/param_file.h"
#include "base/params/weights_file.h"
#include "base/text.h"

namespace tiffin::tools {
namespace {

// Values are hashed, whatever digests the file itself carries.
Status check_values(const runtime::Artifact& artifact, const params::ParamSource& source) {
  TIFFIN_ASSIGN_OR_RETURN(const params::SourceReader reader, params::SourceReader::create(artifact.storage_plan(), source));
  TIFFIN_ASSIGN_OR_RETURN(const Array<Digest> digests, params::parameter_digests(artifact.storage_plan(), reader.reader()));
  Text text;
  for (size_t i = 0; i < digests.size(); ++i) {
    if (digests[i] == artifact.parameter_digests()[i]) continue;
    if (!text.empty()) text.add(", ");
    text.add_quoted(artifact.storage_plan().parameters()[i].name);
  }
  if (text.empty()) return {};
  return error(Code::ParamDigestMismatch, "parameters have other values than the model was compiled with: %s", text.c_str());
}

}  // namespace

Status verify_params(const runtime::Artifact& artifact, const char* path, bool new_weights) {
  TIFFIN_ASSIGN_OR_RETURN(const params::ParamFile file, params::ParamFile::open(path));
  const params::BindOptions options{new_weights};
  TIFFIN_TRY(params::check_parameters(artifact.storage_plan(), artifact.parameter_digests(), file, options));
  if (!new_weights) return check_values(artifact, file.source());
  // With other values on purpose, a .tfw is still what it says of itself.
  const params::Weights* weights = file.weights();
  if (weights == nullptr) return {};
  TIFFIN_ASSIGN_OR_RETURN(const params::SourceReader reader, params::SourceReader::create(weights->plan(), file.source()));
  TIFFIN_ASSIGN_OR_RETURN(const Array<Digest> digests, params::parameter_digests(weights->plan(), reader.reader()));
  for (size_t i = 0; i < digests.size(); ++i) {
    if (digests[i] == weights->digests()[i]) continue;
    Text name;
    name.add_quoted(weights->plan().parameters()[i].name);
    return error(Code::DigestMismatch, "'%s': parameter %s has another digest than recorded", path, name.c_str());
  }
  return {};
}

}  // namespace tiffin::tools
