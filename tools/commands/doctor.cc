// SPDX-License-Identifier: Apache-2.0
// `doctor`: would the artifact load here? Every reason at once, each with a remedy. Executes nothing of the file.
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

#include "base/params/bind.h"
#include "base/params/param_file.h"
#include "runtime/host/cpu.h"
#include "tools/commands/byte_file.h"
#include "tools/commands/commands.h"
#include "tools/commands/json_output.h"
#include "tools/commands/open_artifact.h"

namespace tiffin::tools {
namespace {

using runtime::view;

struct VariantAnswer {
  std::string_view target;
  Status reason;  // ok: it can run
};

struct Diagnosis {
  static constexpr size_t kMaxProblems = 32;
  FixedList<VariantAnswer> variants;
  size_t chosen = SIZE_MAX;
  Status problems[kMaxProblems];
  size_t problem_count = 0;
};

void add_problem(Diagnosis& diagnosis, Status problem) {
  if (diagnosis.problem_count < Diagnosis::kMaxProblems) diagnosis.problems[diagnosis.problem_count++] = std::move(problem);
}

// True when `feature` stands in a comma separated list, with or without a plus sign.
bool lists_feature(std::string_view list, std::string_view feature) {
  while (!list.empty()) {
    const size_t end = list.find(',');
    std::string_view word(list.data(), end == std::string_view::npos ? list.size() : end);
    if (!word.empty() && word[0] == '+') word.remove_prefix(1);
    if (word == feature) return true;
    if (end == std::string_view::npos) return false;
    list.remove_prefix(end + 1);
  }
  return false;
}

// Why a variant cannot run on this machine, or on one with the features of --features; ok when it can.
Status examine_variant(const abi::Variant& variant, const Arguments& arguments) {
  const bool is_here = arguments.features == nullptr;
  if (is_here && variant.machine() != runtime::host_machine()) {
    return error(Code::NoVariant, "'%s' is code for %s, this machine is %s", variant.target()->c_str(), runtime::machine_name(variant.machine()),
                 runtime::machine_name(runtime::host_machine()));
  }
  Text missing;
  for (const flatbuffers::String* feature : *variant.features()) {
    if (is_here ? runtime::cpu_has_feature(view(feature)) : lists_feature(arguments.features, view(feature))) continue;
    if (!missing.empty()) missing.add(", ");
    missing.add(view(feature));
  }
  if (missing.empty()) return {};
  return error(Code::MissingCpuFeature, "'%s' needs CPU features that %s lacks: %s", variant.target()->c_str(),
               is_here ? "this machine" : "that machine", missing.c_str());
}

Status examine_variants(const runtime::Artifact& artifact, const Arguments& arguments, Diagnosis& diagnosis) {
  const auto& variants = *artifact.program().variants();
  TIFFIN_TRY(diagnosis.variants.create(variants.size()));
  for (uint32_t i = 0; i < variants.size(); ++i) {
    diagnosis.variants[i] = {view(variants.Get(i)->target()), examine_variant(*variants.Get(i), arguments)};
    if (diagnosis.variants[i].reason.is_ok() && diagnosis.chosen == SIZE_MAX) diagnosis.chosen = i;
  }
  if (diagnosis.chosen != SIZE_MAX) return {};
  for (const VariantAnswer& answer : diagnosis.variants) add_problem(diagnosis, answer.reason.clone());
  return {};
}

// A program whose buffers are larger than the memory of this machine will not run, however much of it is free.
Status examine_memory(const abi::Variant& variant) {
  const uint64_t memory = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t needed = arena_bytes(variant);
  if (needed <= memory) return {};
  return error(Code::OutOfMemory, "the buffers of '%s' need %" PRIu64 " bytes, this machine has %" PRIu64, variant.target()->c_str(), needed, memory);
}

Status examine_params(const runtime::Artifact& artifact, const char* path) {
  TIFFIN_ASSIGN_OR_RETURN(const params::ParamFile file, params::ParamFile::open(path));
  return params::check_parameters(artifact.storage_plan(), artifact.parameter_digests(), file, {});
}

void write_problem(JsonOutput& out, const Status& problem) {
  out.begin_object();
  out.text("code", code_row(problem.code()).name);
  out.text("message", problem.message());
  out.text("remedy", problem.remedy());
  out.end_object();
}

Status print_json(const Diagnosis& diagnosis) {
  JsonOutput out(stdout);
  out.begin_object();
  out.boolean("loads", diagnosis.problem_count == 0);
  if (diagnosis.chosen == SIZE_MAX) {
    out.null("chosen");
  } else {
    out.text("chosen", diagnosis.variants[diagnosis.chosen].target);
  }
  out.begin_array("variants");
  for (size_t i = 0; i < diagnosis.variants.size(); ++i) {
    const VariantAnswer& answer = diagnosis.variants[i];
    out.begin_object();
    out.text("target", answer.target);
    out.boolean("chosen", i == diagnosis.chosen);
    out.begin_array("reasons");
    if (!answer.reason.is_ok()) out.text(nullptr, answer.reason.message());
    out.end_array();
    out.end_object();
  }
  out.end_array();
  out.begin_array("problems");
  for (size_t i = 0; i < diagnosis.problem_count; ++i) write_problem(out, diagnosis.problems[i]);
  out.end_array();
  out.begin_array("fallbacks");
  out.end_array();
  out.begin_array("libraries");
  out.end_array();
  out.end_object();
  return out.finish();
}

Status print_text(const Diagnosis& diagnosis, const char* path) {
  for (size_t i = 0; i < diagnosis.variants.size(); ++i) {
    const VariantAnswer& answer = diagnosis.variants[i];
    printf("%s  %.*s%s%s\n", i == diagnosis.chosen ? "chosen " : "variant", static_cast<int>(answer.target.size()), answer.target.data(),
           answer.reason.is_ok() ? "" : ": ", answer.reason.message());
  }
  printf("%s %s\n", path, diagnosis.problem_count == 0 ? "loads" : "does not load");
  return flush_output();
}

// Files that can be judged: everything but what cannot be read at all.
Status examine(const Arguments& arguments, const Result<runtime::Artifact>& artifact, Diagnosis& diagnosis) {
  if (!artifact.has_value()) {
    add_problem(diagnosis, artifact.error().clone());
    return {};
  }
  TIFFIN_TRY(examine_variants(*artifact, arguments, diagnosis));
  if (diagnosis.chosen != SIZE_MAX && arguments.features == nullptr) {
    Status memory = examine_memory(*artifact->program().variants()->Get(static_cast<uint32_t>(diagnosis.chosen)));
    if (!memory.is_ok()) add_problem(diagnosis, std::move(memory));
  }
  if (arguments.params == nullptr) return {};
  Status params = examine_params(*artifact, arguments.params);
  if (!params.is_ok()) add_problem(diagnosis, std::move(params));
  return {};
}

}  // namespace

Result<int> examine_artifact(const Arguments& arguments) {
  const Result<runtime::Artifact> artifact = open_artifact(arguments.file, runtime::VerifyLevel::Code);
  if (!artifact.has_value() && (artifact.error().code() == Code::Io || artifact.error().code() == Code::OutOfMemory)) return artifact.error().clone();
  Diagnosis diagnosis;
  TIFFIN_TRY(examine(arguments, artifact, diagnosis));
  TIFFIN_TRY(arguments.json ? print_json(diagnosis) : print_text(diagnosis, arguments.file));
  for (size_t i = 0; i < diagnosis.problem_count; ++i) {
    const Status& problem = diagnosis.problems[i];
    report_reason(problem.code(), problem.message(), problem.remedy());
  }
  return diagnosis.problem_count == 0 ? 0 : 1;
}

}  // namespace tiffin::tools
