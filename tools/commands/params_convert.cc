// SPDX-License-Identifier: Apache-2.0
// `params extract` and `params convert`: the model's own tensors into a file of the format that the suffix names.
#include "base/params/bind.h"
#include "tools/commands/check_output.h"
#include "tools/commands/commands.h"
#include "tools/commands/json_output.h"
#include "tools/commands/named_set.h"
#include "tools/commands/open_artifact.h"

namespace tiffin::tools {
namespace {

Status extract_from_artifact(const Arguments& arguments) {
  TIFFIN_ASSIGN_OR_RETURN(const runtime::Artifact artifact, open_artifact(arguments.file, runtime::VerifyLevel::All));
  TIFFIN_TRY(check_output(arguments.output, artifact.container()));
  auto found = parameter_set(artifact, arguments.params, arguments.new_weights);
  if (!found.has_value() && arguments.command == Command::ParamsConvert) return suggest_file(found.take_error(), arguments.file);
  TIFFIN_ASSIGN_OR_RETURN(const auto set, std::move(found));
  TIFFIN_ASSIGN_OR_RETURN(const auto stored, params::StoredParameters::create(artifact.storage_plan(), set->data()));
  const auto digests = arguments.new_weights ? std::span<const Digest>() : artifact.parameter_digests();
  TIFFIN_TRY(write_set(arguments.output, stored.source(), &artifact.storage_plan(), digests, arguments.file));
  return print_written(arguments.output, artifact.storage_plan().parameter_count(), arguments);
}

Status convert_file(const Arguments& arguments) {
  TIFFIN_ASSIGN_OR_RETURN(const params::ParamFile file, params::ParamFile::open(arguments.file));
  const params::ParamSource source = file.source();
  const params::Weights* weights = file.weights();
  if (weights != nullptr) {
    // Values that were damaged on the way are told, not handed on under digests that are not theirs.
    Status checked = params::check_parameters(weights->plan(), weights->digests(), file, {.new_weights = true, .verify_values = true});
    if (!checked.is_ok()) return std::move(checked).with_context("'%s'", arguments.file);
  }
  TIFFIN_TRY(write_set(arguments.output, source, weights == nullptr ? nullptr : &weights->plan(),
                       weights == nullptr ? std::span<const Digest>() : weights->digests(), arguments.file));
  return print_written(arguments.output, source.entries.size(), arguments);
}

}  // namespace

Status print_written(const char* path, size_t count, const Arguments& arguments) {
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

Result<int> extract_params(const Arguments& arguments) {
  if (is_artifact_file(arguments.file)) {
    TIFFIN_TRY(extract_from_artifact(arguments));
  } else if (arguments.params != nullptr) {
    TIFFIN_TRY(runtime::Source::open(arguments.file).take_error());  // what is not there is no other kind of file
    return error(Code::NotAnArtifact, "'%s' is not an artifact, which --params needs", arguments.file);
  } else {
    TIFFIN_TRY(convert_file(arguments));
  }
  return 0;
}

Result<int> convert_params(const Arguments& arguments) { return extract_params(arguments); }

}  // namespace tiffin::tools
