// SPDX-License-Identifier: Apache-2.0
// `params extract` and `params convert`: the model's own tensors into a file of the format that the suffix names.
#include "base/params/bind.h"
#include "base/params/param_file.h"
#include "base/params/write_params.h"
#include "runtime/executor/parameter_set.h"
#include "tools/commands/byte_file.h"
#include "tools/commands/commands.h"
#include "tools/commands/json_output.h"
#include "tools/commands/open_artifact.h"

namespace tiffin::tools {
namespace {

Status print_result(const char* path, size_t count, const Arguments& arguments) {
  if (arguments.json) {
    JsonOutput out(stdout);
    out.begin_object();
    out.text("path", path);
    out.number("count", count);
    out.end_object();
    return out.finish();
  }
  if (!arguments.quiet) printf("%s: %zu tensors\n", path, count);
  return flush_output();
}

// Writes parameters that follow a storage plan: as a .tfw of that plan, or by their names.
Status write_planned(const params::StoragePlan& plan, std::span<const Digest> digests, const params::ParamSource& source, const char* path) {
  TIFFIN_ASSIGN_OR_RETURN(const params::Format format, params::format_of_path(path));
  if (format != params::Format::Weights) return params::write_params_file(path, format, source);
  TIFFIN_ASSIGN_OR_RETURN(const params::SourceReader reader, params::SourceReader::create(plan, source));
  return params::write_weights_file(path, plan, digests, reader.reader());
}

Result<runtime::Ref<runtime::ParameterSet>> parameter_set(const runtime::Artifact& artifact, const char* params_path) {
  runtime::LoadReport report;
  if (params_path != nullptr) {
    TIFFIN_ASSIGN_OR_RETURN(params::ParamFile file, params::ParamFile::open(params_path));
    return runtime::ParameterSet::from_file(artifact, std::move(file), {}, report);
  }
  if (artifact.weights() != nullptr || artifact.storage_plan().parameter_count() == 0) {
    return runtime::ParameterSet::from_artifact(artifact, true, report);
  }
  return runtime::ParameterSet::from_source(artifact, {}, nullptr, {}, report);  // MissingParam with all names
}

Status extract_from_artifact(const Arguments& arguments) {
  TIFFIN_ASSIGN_OR_RETURN(const runtime::Artifact artifact, open_artifact(arguments.file, runtime::VerifyLevel::Code));
  TIFFIN_ASSIGN_OR_RETURN(const auto set, parameter_set(artifact, arguments.params));
  TIFFIN_ASSIGN_OR_RETURN(const auto stored, params::StoredParameters::create(artifact.storage_plan(), set->data()));
  TIFFIN_TRY(write_planned(artifact.storage_plan(), artifact.parameter_digests(), stored.source(), arguments.output));
  return print_result(arguments.output, artifact.storage_plan().parameter_count(), arguments);
}

Status convert_file(const Arguments& arguments) {
  TIFFIN_ASSIGN_OR_RETURN(const params::ParamFile file, params::ParamFile::open(arguments.file));
  const params::ParamSource source = file.source();
  if (const params::Weights* weights = file.weights()) {
    TIFFIN_TRY(write_planned(weights->plan(), weights->digests(), source, arguments.output));
  } else {
    TIFFIN_ASSIGN_OR_RETURN(const params::Format format, params::format_of_path(arguments.output));
    if (format == params::Format::Weights) {
      return error(Code::InvalidArgument, "'%s' has no storage plan, which a .tfw file needs", arguments.file)
          .with_remedy("write the .tfw from the artifact: tiffin params extract MODEL.so --params '%s' -o '%s'", arguments.file, arguments.output);
    }
    TIFFIN_TRY(params::write_params_file(arguments.output, format, source));
  }
  return print_result(arguments.output, source.entries.size(), arguments);
}

}  // namespace

Result<int> extract_params(const Arguments& arguments) {
  if (is_artifact_file(arguments.file)) {
    TIFFIN_TRY(extract_from_artifact(arguments));
  } else if (arguments.params != nullptr) {
    return error(Code::NotAnArtifact, "'%s' is not an artifact, which --params needs", arguments.file);
  } else {
    TIFFIN_TRY(convert_file(arguments));
  }
  return 0;
}

Result<int> convert_params(const Arguments& arguments) { return extract_params(arguments); }

}  // namespace tiffin::tools
