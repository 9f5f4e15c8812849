// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/named_set.h"

#include "base/atomic_file.h"
#include "base/params/bind.h"
#include "base/params/write_params.h"
#include "tools/commands/open_artifact.h"

namespace tiffin::tools {

Result<runtime::Ref<runtime::ParameterSet>> parameter_set(const runtime::Artifact& artifact, const char* params_path, bool new_weights) {
  runtime::LoadReport report;
  if (params_path != nullptr) {
    TIFFIN_ASSIGN_OR_RETURN(params::ParamFile file, params::ParamFile::open(params_path));
    return runtime::ParameterSet::from_file(artifact, std::move(file), {.new_weights = new_weights, .verify_values = true}, report);
  }
  if (artifact.weights() != nullptr || artifact.storage_plan().parameter_count() == 0) {
    return runtime::ParameterSet::from_artifact(artifact, true, report);
  }
  return runtime::ParameterSet::from_source(artifact, {}, nullptr, {}, report);
}

Status suggest_file(Status failure, const char* artifact_path) {
  if (failure.code() != Code::MissingParam) return failure;
  return std::move(failure).with_remedy("give the model's parameter file in place of '%s', which holds no weights", artifact_path);
}

namespace {

Status open_artifact_set(const char* path, NamedSet* out) {
  TIFFIN_ASSIGN_OR_RETURN(out->artifact, open_artifact(path, runtime::VerifyLevel::All));
  auto found = parameter_set(*out->artifact, nullptr);
  if (!found.has_value()) return suggest_file(found.take_error(), path);
  out->set = std::move(*found);
  out->plan = &out->artifact->storage_plan();
  TIFFIN_ASSIGN_OR_RETURN(out->stored, params::StoredParameters::create(*out->plan, out->set->data()));
  out->source = out->stored->source();
  return {};
}

}  // namespace

Status open_set(const char* path, NamedSet* out) {
  if (is_artifact_file(path)) return open_artifact_set(path, out);
  TIFFIN_ASSIGN_OR_RETURN(out->file, params::ParamFile::open(path));
  out->source = out->file->source();
  if (out->file->weights() != nullptr) out->plan = &out->file->weights()->plan();
  return {};
}

Status open_sound_set(const char* path, NamedSet* out) {
  TIFFIN_TRY(open_set(path, out));
  const params::Weights* weights = out->file.has_value() ? out->file->weights() : nullptr;
  if (weights == nullptr) return {};
  Status checked = params::check_parameters(weights->plan(), weights->digests(), *out->file, {.new_weights = true, .verify_values = true});
  return checked.is_ok() ? Status() : std::move(checked).with_context("'%s'", path);
}

namespace {

Status write_weights(const params::ParamSource& source, const params::StoragePlan& plan, std::span<const Digest> digests, const ByteSink& sink) {
  TIFFIN_ASSIGN_OR_RETURN(const params::SourceReader reader, params::SourceReader::create(plan, source));
  if (!digests.empty()) return params::write_weights(plan, digests, reader.reader(), sink);
  TIFFIN_ASSIGN_OR_RETURN(const Array<Digest> fresh, params::parameter_digests(plan, reader.reader()));
  return params::write_weights(plan, fresh.span(), reader.reader(), sink);
}

}  // namespace

Status write_set(const char* path, const params::ParamSource& source, const params::StoragePlan* plan, std::span<const Digest> digests,
                 const char* origin) {
  TIFFIN_ASSIGN_OR_RETURN(const params::Format format, params::format_of_path(path));
  if (format == params::Format::Weights && plan == nullptr) {
    return error(Code::InvalidArgument, "'%s' has no storage plan, which a .tfw file needs", origin)
        .with_remedy("write the .tfw from the artifact: tiffin params extract MODEL.so --params '%s' -o '%s'", origin, path);
  }
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  TIFFIN_TRY(format == params::Format::Weights ? write_weights(source, *plan, digests, file.sink())
                                               : params::write_foreign(format, source, file.sink()));
  return file.commit();
}

}  // namespace tiffin::tools
