// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/parameter_set.h"

#include <sys/stat.h>

#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "abi/kernel.h"
#include "base/params/compare_sets.h"
#include "runtime/executor/parameter_sharing.h"

namespace tiffin::runtime {
namespace {

Status no_memory() { return error(Code::OutOfMemory, "no memory for a parameter set"); }

bool is_aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % TIFFIN_BUFFER_ALIGNMENT == 0; }

}  // namespace

Result<Ref<ParameterSet>> ParameterSet::create() {
  void* memory = malloc(sizeof(ParameterSet));
  if (memory == nullptr) return no_memory();
  return Ref<ParameterSet>::adopt(new (memory) ParameterSet);
}

void ParameterSet::destroy(ParameterSet* set) {
  forget_content(*set);
  set->~ParameterSet();
  free(set);
}

void ParameterSet::adopt(params::BoundWeights bound, LoadReport& report) {
  data_ = bound.data;
  if (bound.repacked_bytes > 0 && report.repacked_bytes == 0) report.add_fallback("the weights are repacked: they do not follow the storage plan");
  report.repacked_bytes += bound.repacked_bytes;
  if (bound.repacked_bytes == 0 && !bound.data.empty())
    (bound.owned.bytes().empty() ? report.mapped_bytes : report.copied_bytes) += bound.data.size();
  owned_ = std::move(bound.owned);
}

Result<Ref<ParameterSet>> ParameterSet::from_artifact(const Artifact& artifact, bool allow_mapping, LoadReport& report) {
  const Section* section = artifact.weights();
  TIFFIN_ASSIGN_OR_RETURN(Ref<ParameterSet> set, create());
  if (section == nullptr) {
    if (artifact.storage_plan().data_bytes() == 0) return set;
    return error(Code::NotAnArtifact, "'%s' is damaged: it stores tensors of no parameter", artifact.container().source().name());
  }
  const Source& source = artifact.container().source_of(*section);
  const auto length = static_cast<size_t>(section->length);
  std::span<const uint8_t> bytes;
  if (source.is_file()) {
    TIFFIN_ASSIGN_OR_RETURN(set->window_, source.map(section->offset, length));
    bytes = {set->window_.data(), length};
  } else {
    bytes = source.memory().subspan(static_cast<size_t>(section->offset), length);
  }
  params::Weights weights;
  TIFFIN_TRY(weights.parse(bytes));
  if (weights.plan().digest() != artifact.storage_plan().digest() ||
      !std::ranges::equal(weights.digests(), artifact.parameter_digests(), {}, &Digest::bytes, &Digest::bytes)) {
    return error(Code::DigestMismatch, "'%s': its weights are not those that its manifest describes", source.name());
  }
  set->data_ = weights.data();
  if (!set->digests_.append(weights.digests())) return no_memory();
  if (allow_mapping && is_aligned(set->data_.data())) {
    report.mapped_bytes += set->data_.size();
    struct stat facts {};
    if (source.is_file() && fstat(source.descriptor(), &facts) == 0) {
      set->sharing_.file = {facts.st_dev, facts.st_ino};
      set->sharing_.position = source.file_offset() + section->offset + static_cast<uint64_t>(weights.data().data() - bytes.data());
    }
    return share_content(std::move(set), artifact.storage_plan().digest());
  }
  // A copy that was asked for is no fallback.
  if (allow_mapping) report.add_fallback("the weights are copied: they do not lie at multiples of 64 bytes");
  report.copied_bytes += set->data_.size();
  TIFFIN_ASSIGN_OR_RETURN(set->owned_, Mapping::create_private(set->data_.size()));
  if (!set->data_.empty()) memcpy(set->owned_.writable_bytes().data(), set->data_.data(), set->data_.size());
  set->data_ = set->owned_.bytes();
  set->window_ = Pages();
  set->digests_.clear();  // nobody hashed what was copied
  return share_content(std::move(set), artifact.storage_plan().digest());
}

Result<Ref<ParameterSet>> ParameterSet::from_file(const Artifact& artifact, params::ParamFile&& file, const params::BindOptions& options,
                                                  LoadReport& report) {
  TIFFIN_ASSIGN_OR_RETURN(Ref<ParameterSet> set, create());
  const params::StoragePlan& plan = artifact.storage_plan();
  set->has_new_weights_ = options.new_weights;
  set->file_.emplace(std::move(file));
  params::BindOptions hashing = options;
  hashing.out_digests = &set->digests_;
  TIFFIN_ASSIGN_OR_RETURN(params::BoundWeights bound, params::bind_parameters(plan, artifact.parameter_digests(), *set->file_, hashing));
  set->adopt(std::move(bound), report);
  if (set->is_private()) {
    // Of weights that were only copied, nobody hashed the values.
    if (set->file_->weights() != nullptr && set->file_->weights()->plan().digest() == plan.digest()) set->digests_.clear();
    set->file_.reset();
  } else if (set->file_->weights() != nullptr) {
    set->sharing_.file = set->file_->identity();
    set->sharing_.position = params::weights_layout(set->file_->weights()->plan()).data_offset;
  }
  return share_content(std::move(set), plan.digest());
}

// The digests that a set must have in which `given` replaces values of `stored`: the model's where values are given, those of what stays elsewhere,
// which may have been taken as new weights.
static Result<Array<Digest>> expected_digests(const Artifact& artifact, const params::ParamSource& stored, const params::ParamSource& given) {
  TIFFIN_ASSIGN_OR_RETURN(Array<Digest> expected, params::hash_entries(stored));
  TIFFIN_ASSIGN_OR_RETURN(const params::NameIndex names, params::NameIndex::create(given.entries));
  for (size_t i = 0; i < expected.size(); ++i) {
    if (names.find(stored.entries[i].name) != params::NameIndex::kAbsent) expected[i] = artifact.parameter_digests()[i];
  }
  return expected;
}

Result<Ref<ParameterSet>> ParameterSet::from_source(const Artifact& artifact, const params::ParamSource& source, const ParameterSet* base,
                                                    const params::BindOptions& options, LoadReport& report) {
  TIFFIN_ASSIGN_OR_RETURN(Ref<ParameterSet> set, create());
  const params::StoragePlan& plan = artifact.storage_plan();
  params::BindOptions joined = options;
  if (base == nullptr) {
    set->has_new_weights_ = options.new_weights;
    joined.out_digests = &set->digests_;
    TIFFIN_ASSIGN_OR_RETURN(params::BoundWeights bound, params::bind_parameters(plan, artifact.parameter_digests(), source, joined));
    set->adopt(std::move(bound), report);
    return share_content(std::move(set), plan.digest());
  }
  set->has_new_weights_ = options.new_weights || base->has_new_weights_;
  TIFFIN_ASSIGN_OR_RETURN(const params::StoredParameters stored, params::StoredParameters::create(plan, base->data()));
  TIFFIN_ASSIGN_OR_RETURN(const params::Overlay overlay, params::Overlay::create(stored.source(), source));
  std::span<const Digest> digests = artifact.parameter_digests();
  Array<Digest> expected;
  if (base->has_new_weights_ && !options.new_weights) {
    TIFFIN_ASSIGN_OR_RETURN(expected, expected_digests(artifact, stored.source(), source));
    digests = expected.span();
  }
  TIFFIN_ASSIGN_OR_RETURN(params::BoundWeights bound, params::bind_parameters(plan, digests, overlay.source(), joined));
  set->adopt(std::move(bound), report);
  return share_content(std::move(set), plan.digest());
}

}  // namespace tiffin::runtime
