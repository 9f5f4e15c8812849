// SPDX-License-Identifier: Apache-2.0
// One set of a model's stored tensors, immutable once made: the artifact's own, a parameter file's, or a dictionary's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/mapping.h"
#include "base/params/bind.h"
#include "runtime/artifact/artifact.h"
#include "runtime/executor/load_report.h"
#include "runtime/host/pages.h"
#include "runtime/host/ref.h"

namespace tiffin::runtime {

class ParameterSet : public Counted {
 public:
  // All three give a set that exists already where share_content finds one of equal content.
  // The weights inside the artifact, used where they lie unless `allow_mapping` is false or they are not 64-byte aligned there.
  // A model without parameters has an empty set. Precondition: one of the two.
  static Result<Ref<ParameterSet>> from_artifact(const Artifact& artifact, bool allow_mapping, LoadReport& report);
  // Takes the file over; its pages stay mapped while the set uses them. The codes of base/params/bind.h.
  static Result<Ref<ParameterSet>> from_file(const Artifact& artifact, params::ParamFile&& file, const params::BindOptions& options,
                                             LoadReport& report);
  // `source` is read during the call only. With `base` a subset may be given, the others come from it; nullptr means that all are wanted.
  static Result<Ref<ParameterSet>> from_source(const Artifact& artifact, const params::ParamSource& source, const ParameterSet* base,
                                               const params::BindOptions& options, LoadReport& report);
  static void destroy(ParameterSet* set);

  // The storage plan's data_bytes(), 64-byte aligned.
  std::span<const uint8_t> data() const { return data_; }
  // Of the parameters, in the plan's order: hashed when the set was made, or what its file states. Empty where nobody asked for them.
  std::span<const Digest> digests() const { return digests_.span(); }
  // In private memory of this process, not in a file's pages or the caller's memory.
  bool is_private() const { return !owned_.bytes().empty(); }

  // How sets are told apart and counted by parameter_sharing.cc.
  struct Sharing {
    Digest content;         // of plan and parameters; zeros if unknown
    FileIdentity file;      // whose pages hold the data, or zeros
    uint64_t position = 0;  // of the data in that file
    ParameterSet* previous = nullptr;
    ParameterSet* next = nullptr;
    bool is_listed = false;
  };
  Sharing& sharing() { return sharing_; }
  bool has_new_weights() const { return has_new_weights_; }

 private:
  ParameterSet() = default;
  static Result<Ref<ParameterSet>> create();
  static Ref<ParameterSet> finish(Ref<ParameterSet> set, const params::StoragePlan& plan);
  void adopt(params::BoundWeights bound, LoadReport& report);

  std::span<const uint8_t> data_;
  Pages window_;                           // of the artifact
  Mapping owned_;                          // private memory
  std::optional<params::ParamFile> file_;  // whose pages hold the data
  bool has_new_weights_ = false;           // not compared with the model's digests
  Array<Digest> digests_;
  Sharing sharing_;
};

}  // namespace tiffin::runtime
