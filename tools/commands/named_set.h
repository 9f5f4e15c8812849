// SPDX-License-Identifier: Apache-2.0
// A set of parameters that a command was given by a path: a parameter file, or an artifact with its weights inside.
#pragma once

#include <optional>

#include "base/params/param_file.h"
#include "base/params/storage_plan.h"
#include "runtime/artifact/artifact.h"
#include "runtime/executor/parameter_set.h"

namespace tiffin::tools {

// Filled by open_set; not moved while its source is used.
struct NamedSet {
  std::optional<params::ParamFile> file;
  std::optional<runtime::Artifact> artifact;
  runtime::Ref<runtime::ParameterSet> set;  // of the artifact
  std::optional<params::StoredParameters> stored;
  params::ParamSource source;
  const params::StoragePlan* plan = nullptr;  // null for formats that have none
};

// The codes of opening and binding; MissingParam for an artifact without weights. The values of an artifact are hashed, those of a file are not.
Status open_set(const char* path, NamedSet* out);
// The same, and DigestMismatch where values of a .tfw are not those that it states: for what is handed on.
Status open_sound_set(const char* path, NamedSet* out);

// The artifact's own set, or that of a parameter file bound to it; MissingParam with all names when there is neither.
// With `new_weights` the file may hold other values than the model was compiled with.
Result<runtime::Ref<runtime::ParameterSet>> parameter_set(const runtime::Artifact& artifact, const char* params_path, bool new_weights = false);

// What to do about MissingParam in commands that have no --params; other failures stay as they are.
Status suggest_file(Status failure, const char* artifact_path);

// Writes parameters under their names, in the format of the path's suffix; a .tfw needs the plan, whose digests are taken from the values when
// `digests` is empty. InvalidArgument without one, with `origin` in the message.
Status write_set(const char* path, const params::ParamSource& source, const params::StoragePlan* plan, std::span<const Digest> digests,
                 const char* origin);

}  // namespace tiffin::tools
