// SPDX-License-Identifier: Apache-2.0
#include "base/params/bind.h"

#include <algorithm>

#include "base/params/foreign_files.h"
#include "base/text.h"

namespace tiffin::params {
namespace {

constexpr uintptr_t kTensorAlignment = 64;
constexpr uint32_t kUnfit = UINT32_MAX;
constexpr size_t kShownDigits = 16;  // of a digest

Status no_memory(size_t count) { return error(Code::OutOfMemory, "no memory to check %zu parameters", count); }

// Kinds of fault in the order of precedence.
enum Fault { kMissing, kUnexpected, kType, kShape, kValue, kFrozenValue, kFaultKinds };
constexpr Code kCodes[kFaultKinds] = {Code::MissingParam,       Code::UnknownParam,        Code::ParamTypeMismatch,
                                      Code::ParamShapeMismatch, Code::ParamDigestMismatch, Code::ParamDigestMismatch};
constexpr const char* kKeys[kFaultKinds] = {"missing", "unexpected", "mismatched", "mismatched", "mismatched", "mismatched"};

// One text per kind of fault, every key in it.
class Findings {
 public:
  void add_name(Fault fault, const char* singular, const char* plural, std::string_view name, const Digest* actual = nullptr,
                const Digest* expected = nullptr) {
    Text& text = texts_[fault];
    text.add(counts_[fault]++ == 0 ? std::string_view() : std::string_view(", "));
    text.add_quoted(name);
    if (actual != nullptr) {
      text.add(" (digest ");
      text.add(std::string_view(to_text(*actual).text, kShownDigits));
      text.add("…, expected ");
      text.add(std::string_view(to_text(*expected).text, kShownDigits));
      text.add("…)");
    }
    heads_[fault] = counts_[fault] == 1 ? singular : plural;
    list(fault, name);
  }
  void add_mismatch(Fault fault, const ParamEntry& actual, const ParamEntry& wanted) {
    Text& text = texts_[fault];
    text.add(counts_[fault]++ == 0 ? "parameter " : "; parameter ");
    text.add_quoted(wanted.name);
    text.add(" is ");
    text.add_type(actual.dtype, actual.shape);
    text.add(", the model wants ");
    text.add_type(wanted.dtype, wanted.shape);
    heads_[fault] = "";
    list(fault, wanted.name);
  }
  Status to_status(bool is_nothing_given) {
    Text all;
    Code code = Code::Ok;
    for (int fault = 0; fault < kFaultKinds; ++fault) {
      if (counts_[fault] == 0) continue;
      if (code == Code::Ok) code = kCodes[fault];
      if (!all.empty()) all.add("; ");
      all.add(heads_[fault]);
      all.add(texts_[fault].view());
      if (texts_[fault].has_failed()) all.add(" …");
    }
    if (code == Code::Ok) return {};
    Status status = error(code, "%s", all.c_str());
    for (int fault = 0; fault < kFaultKinds; ++fault) {
      if (counts_[fault] > 0) status = std::move(status).with_details(kKeys[fault], names_[fault].view());
    }
    if (counts_[kFrozenValue] > 0) {
      return std::move(status).with_remedy("compile the model again: frozen parameters shaped its program");
    }
    if (code != Code::MissingParam || is_nothing_given) return status;
    return std::move(status).with_remedy("pass a parameter file of this model with --params, exported under the model's own names");
  }

 private:
  void list(Fault fault, std::string_view name) { names_[fault].add_key(name); }

  Text texts_[kFaultKinds];
  Text names_[kFaultKinds];  // each name with a NUL behind it
  size_t counts_[kFaultKinds] = {};
  const char* heads_[kFaultKinds] = {};
};

// True if they agree.
bool compare_types(const ParamEntry& actual, const ParamEntry& wanted, Findings& findings) {
  const bool has_type = actual.dtype == wanted.dtype;
  const bool has_shape = std::equal(actual.shape.begin(), actual.shape.end(), wanted.shape.begin(), wanted.shape.end());
  if (has_type && has_shape) return true;
  findings.add_mismatch(has_type ? kShape : kType, actual, wanted);
  return false;
}

void report_value(const ParamEntry& wanted, const Digest& actual, const Digest& expected, Findings& findings) {
  if (wanted.is_frozen) {
    findings.add_name(kFrozenValue, "other values in frozen parameter ", "other values in frozen parameters ", wanted.name, &actual, &expected);
  } else {
    findings.add_name(kValue, "other values than the model was compiled with in parameter ",
                      "other values than the model was compiled with in parameters ", wanted.name, &actual, &expected);
  }
}

// Names, dtypes and shapes; `out_indices` gets the source's entry of each parameter of the plan, or kUnfit.
Status compare_signatures(const StoragePlan& plan, const ParamSource& source, Array<uint32_t>& out_indices, Findings& findings) {
  TIFFIN_ASSIGN_OR_RETURN(const NameIndex names, NameIndex::create(source.entries));
  TIFFIN_ASSIGN_OR_RETURN(const NameIndex wanted_names, NameIndex::create(plan.parameters()));
  TIFFIN_TRY(names.check_given_once());
  if (!out_indices.resize(plan.parameter_count())) return no_memory(plan.parameter_count());
  std::fill(out_indices.begin(), out_indices.end(), kUnfit);
  for (size_t i = 0; i < plan.parameter_count(); ++i) {
    const ParamEntry& wanted = plan.parameters()[i];
    const size_t found = names.find(wanted.name);
    if (found == NameIndex::kAbsent) {
      findings.add_name(kMissing, "no value for parameter ", "no value for parameters ", wanted.name);
      continue;
    }
    if (compare_types(source.entries[found], wanted, findings)) out_indices[i] = static_cast<uint32_t>(found);
  }
  for (const ParamEntry& entry : source.entries) {
    if (wanted_names.find(entry.name) == NameIndex::kAbsent) {
      findings.add_name(kUnexpected, "unexpected parameter ", "unexpected parameters ", entry.name);
    }
  }
  return {};
}

Status compare_values(const StoragePlan& plan, std::span<const Digest> digests, const ParamSource& source, std::span<const uint32_t> indices,
                      const BindOptions& options, Findings& findings) {
  Array<uint8_t> scratch;
  Array<Digest>* const out = options.out_digests;
  if (out != nullptr && !out->resize(plan.parameter_count())) return no_memory(plan.parameter_count());
  for (size_t i = 0; i < plan.parameter_count(); ++i) {
    const ParamEntry& wanted = plan.parameters()[i];
    const bool is_compared = wanted.is_frozen || !options.new_weights;
    if (indices[i] == kUnfit || (!is_compared && out == nullptr)) continue;
    TIFFIN_ASSIGN_OR_RETURN(const auto bytes, bytes_of(source, indices[i], scratch));
    const Digest digest = tensor_digest(wanted.dtype, wanted.shape, bytes);
    if (is_compared && digest != digests[i]) report_value(wanted, digest, digests[i], findings);
    if (out != nullptr) (*out)[i] = digest;
  }
  return {};
}

Status check_digest_count(const StoragePlan& plan, std::span<const Digest> digests) {
  if (digests.size() == plan.parameter_count()) return {};
  return error(Code::InvalidParams, "the model has %zu digests for %zu parameters", digests.size(), plan.parameter_count());
}

Status check_against(const StoragePlan& plan, std::span<const Digest> digests, const ParamSource& source, const BindOptions& options,
                     Array<uint32_t>& out_indices) {
  TIFFIN_TRY(check_digest_count(plan, digests));
  Findings findings;
  TIFFIN_TRY(compare_signatures(plan, source, out_indices, findings));
  TIFFIN_TRY(compare_values(plan, digests, source, out_indices.span(), options, findings));
  return findings.to_status(source.entries.empty());
}

// Weights of the same plan as the model's, which agree with it in names, dtypes and shapes by that.
const Weights* weights_of_plan(const StoragePlan& plan, const ParamFile& file) {
  return file.weights() != nullptr && file.weights()->plan().digest() == plan.digest() ? file.weights() : nullptr;
}

// Weights of any plan, where their values must be what they state.
Status check_file_values(const ParamFile& file, const BindOptions& options) {
  if (!options.verify_values || !options.new_weights || file.weights() == nullptr) return {};
  TIFFIN_ASSIGN_OR_RETURN(const Array<Digest> actual, hash_weights(*file.weights()));
  return check_own_values(*file.weights(), actual.span());
}

Status check_weights_of_plan(const StoragePlan& plan, std::span<const Digest> digests, const Weights& weights, const BindOptions& options) {
  TIFFIN_TRY(check_digest_count(plan, digests));
  std::span<const Digest> actual = weights.digests();
  Array<Digest> hashed;
  const bool is_hashed = options.verify_values && !options.new_weights;  // new ones are compared with what the file states already
  if (is_hashed) {
    TIFFIN_ASSIGN_OR_RETURN(hashed, hash_weights(weights));
    actual = hashed.span();
  }
  if (options.out_digests != nullptr) {
    options.out_digests->clear();
    if (!options.out_digests->append(weights.digests())) return no_memory(plan.parameter_count());
  }
  Findings findings;
  for (size_t i = 0; i < plan.parameter_count(); ++i) {
    const ParamEntry& wanted = plan.parameters()[i];
    if (actual[i] != digests[i] && (wanted.is_frozen || !options.new_weights)) report_value(wanted, actual[i], digests[i], findings);
  }
  TIFFIN_TRY(findings.to_status(false));
  return is_hashed ? check_own_values(weights, actual) : Status();
}

}  // namespace

Status check_parameters(const StoragePlan& plan, std::span<const Digest> digests, const ParamSource& source, const BindOptions& options) {
  Array<uint32_t> indices;
  return check_against(plan, digests, source, options, indices);
}

Status check_parameters(const StoragePlan& plan, std::span<const Digest> digests, const ParamFile& file, const BindOptions& options) {
  TIFFIN_TRY(check_file_values(file, options));
  if (const Weights* weights = weights_of_plan(plan, file)) return check_weights_of_plan(plan, digests, *weights, options);
  return check_parameters(plan, digests, file.source(), options);
}

Result<BoundWeights> bind_parameters(const StoragePlan& plan, std::span<const Digest> digests, const ParamFile& file, const BindOptions& options) {
  TIFFIN_TRY(check_file_values(file, options));
  const Weights* weights = weights_of_plan(plan, file);
  if (weights == nullptr) return bind_foreign_file(plan, digests, file, options);
  TIFFIN_TRY(check_weights_of_plan(plan, digests, *weights, options));
  BoundWeights bound;
  bound.data = weights->data();
  const bool is_aligned = reinterpret_cast<uintptr_t>(bound.data.data()) % kTensorAlignment == 0;
  if (is_aligned && !options.copy) return bound;
  TIFFIN_ASSIGN_OR_RETURN(bound.owned, Mapping::create_private(plan.data_bytes()));
  memcpy(bound.owned.writable_bytes().data(), weights->data().data(), weights->data().size());
  bound.data = bound.owned.bytes();
  if (!is_aligned) bound.repacked_bytes = plan.data_bytes();
  return bound;
}

Result<BoundWeights> bind_parameters(const StoragePlan& plan, std::span<const Digest> digests, const ParamSource& source,
                                     const BindOptions& options) {
  SourceReader reader;
  reader.source_ = source;
  TIFFIN_TRY(check_against(plan, digests, source, options, reader.indices_));
  BoundWeights bound;
  TIFFIN_ASSIGN_OR_RETURN(bound.owned, Mapping::create_private(plan.data_bytes()));
  TIFFIN_TRY(plan.fill_data(reader.reader(), bound.owned.writable_bytes()));
  bound.data = bound.owned.bytes();
  bound.repacked_bytes = plan.data_bytes();
  return bound;
}

Result<SourceReader> SourceReader::create(const StoragePlan& plan, const ParamSource& source) {
  SourceReader reader;
  reader.source_ = source;
  Findings findings;
  TIFFIN_TRY(compare_signatures(plan, source, reader.indices_, findings));
  TIFFIN_TRY(findings.to_status(source.entries.empty()));
  return reader;
}

ParameterReader SourceReader::reader() const {
  const auto read = [](void* context, size_t index, Array<uint8_t>& scratch) -> Result<std::span<const uint8_t>> {
    const auto& self = *static_cast<const SourceReader*>(context);
    return bytes_of(self.source_, self.indices_[index], scratch);
  };
  return {const_cast<SourceReader*>(this), read};
}

}  // namespace tiffin::params
