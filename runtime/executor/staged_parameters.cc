// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/staged_parameters.h"

#include <cinttypes>
#include <cstdlib>
#include <cstring>

#include "base/params/foreign_files.h"
#include "base/text.h"
#include "runtime/executor/golden.h"

namespace tiffin::runtime {
namespace {

constexpr const char* kKeys[] = {"missing", "unexpected", "mismatched"};  // of base/params/bind.cc's details

// Codes that speak of single parameters.
bool is_comparison(Code code) {
  return code == Code::MissingParam || code == Code::UnknownParam || code == Code::ParamTypeMismatch || code == Code::ParamShapeMismatch ||
         code == Code::ParamDigestMismatch;
}

}  // namespace

Result<StagedParameters*> StagedParameters::create(Ref<Module> module) {
  void* memory = malloc(sizeof(StagedParameters));
  if (memory == nullptr) return error(Code::OutOfMemory, "no memory to stage parameters");
  return new (memory) StagedParameters(std::move(module));
}

void StagedParameters::destroy(StagedParameters* staged) {
  if (staged == nullptr) return;
  staged->abort();
  staged->~StagedParameters();
  free(staged);
}

Status StagedParameters::take(Result<Ref<ParameterSet>> set) {
  TIFFIN_TRY(module_->check_report(report_, 0));
  if (set.has_value()) {
    set_ = std::move(set).value();
    if (!set_->is_private()) TIFFIN_TRY(populate_pages(set_->data()));
  } else {
    faults_ = set.take_error();
    if (!is_comparison(faults_.code())) return std::move(faults_);
  }
  TIFFIN_ASSIGN_OR_RETURN(generation_, module_->parameter_sets().make(set_));
  number_ = generation_->number;
  return {};
}

Result<StagedParameters*> StagedParameters::from_file(Ref<Module> module, params::ParamFile&& file) {
  TIFFIN_ASSIGN_OR_RETURN(StagedParameters * staged, create(std::move(module)));
  params::BindOptions options = staged->module_->bind_options();
  options.new_weights = true;
  Status status = staged->take(ParameterSet::from_file(staged->module_->artifact(), std::move(file), options, staged->report_));
  if (status.is_ok()) return staged;
  destroy(staged);
  return status;
}

Result<StagedParameters*> StagedParameters::from_source(Ref<Module> module, const params::ParamSource& source) {
  TIFFIN_ASSIGN_OR_RETURN(StagedParameters * staged, create(std::move(module)));
  params::BindOptions options = staged->module_->bind_options();
  options.new_weights = true;
  Status status = staged->take(ParameterSet::from_source(staged->module_->artifact(), source, nullptr, options, staged->report_));
  if (status.is_ok()) return staged;
  destroy(staged);
  return status;
}

size_t StagedParameters::fault_count(Fault kind) const {
  size_t count = 0;
  while (fault_name(kind, count) != nullptr) ++count;
  return count;
}

const char* StagedParameters::fault_name(Fault kind, size_t index) const {
  for (size_t i = 0; i < faults_.detail_count(); ++i) {
    const Status::Detail detail = faults_.detail(i);
    if (strcmp(detail.key, kKeys[static_cast<size_t>(kind)]) == 0 && index-- == 0) return detail.value;
  }
  return nullptr;
}

Status StagedParameters::check_open() const {
  if (!faults_.is_ok()) return faults_.clone();
  if (generation_ != nullptr) return {};
  return error(Code::InvalidArgument, "the staged set %" PRIu64 " was %s already", number_, is_committed_ ? "committed" : "aborted")
      .with_remedy("stage the parameters again, or roll back to a kept generation");
}

Status StagedParameters::verify() const {
  if (!is_committed_) TIFFIN_TRY(check_open());
  const params::StoragePlan& plan = module_->artifact().storage_plan();
  if (set_->digests().size() != plan.parameter_count()) return check_golden_cases();  // made without hashing, of memory that this process holds
  TIFFIN_ASSIGN_OR_RETURN(const params::StoredParameters stored, params::StoredParameters::create(plan, set_->data()));
  const params::ParamSource source = stored.source();
  Array<uint8_t> scratch;
  Text names, keys;
  for (size_t i = 0; i < plan.parameter_count(); ++i) {
    const params::ParamEntry& entry = source.entries[i];
    TIFFIN_ASSIGN_OR_RETURN(const auto bytes, params::bytes_of(source, i, scratch));
    if (tensor_digest(entry.dtype, entry.shape, bytes) == set_->digests()[i]) continue;
    names.add_item("'%.*s'", static_cast<int>(entry.name.size()), entry.name.data());
    keys.add_key(entry.name);
  }
  if (names.empty()) {
    TIFFIN_TRY(params::check_stored_tensors(plan, set_->data()));
    return check_golden_cases();
  }
  return error(Code::DigestMismatch, "parameters of the staged set %" PRIu64 " have other values than their digests say: %s", number_, names.c_str())
      .with_details("mismatched", keys.view());
}

Status StagedParameters::check_golden_cases() const {
  TIFFIN_ASSIGN_OR_RETURN(GoldenVerdict verdict, run_golden_cases(module_, Ref<ParameterSet>::share(set_.get()), {}));
  return std::move(verdict.failure);
}

Status StagedParameters::commit() {
  TIFFIN_TRY(check_open());
  module_->parameter_sets().publish(std::exchange(generation_, nullptr));
  is_committed_ = true;
  return {};
}

void StagedParameters::abort() {
  if (generation_ == nullptr) return;
  ParameterSets::discard(std::exchange(generation_, nullptr));
  set_ = Ref<ParameterSet>();
}

}  // namespace tiffin::runtime
