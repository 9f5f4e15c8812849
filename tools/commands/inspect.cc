// SPDX-License-Identifier: Apache-2.0
// `inspect`: what an artifact says of itself, for people; and whether it keeps to a size.
#include "tools/commands/inspect.h"

#include <cinttypes>
#include <cstdio>

#include "runtime/executor/golden.h"
#include "tools/commands/byte_file.h"
#include "tools/commands/commands.h"
#include "tools/commands/own_tensors.h"
#include "tools/commands/signature.h"
#include "tools/commands/sizes.h"

namespace tiffin::tools {
namespace {

using runtime::view;

int length_of(std::string_view text) { return static_cast<int>(text.size()); }

void print_values(const char* what, const flatbuffers::Vector<flatbuffers::Offset<abi::Value>>& values) {
  for (const abi::Value* value : values) {
    printf("    %-7s %s  %s\n", what, value->name()->c_str(), type_text(static_cast<DType>(value->dtype()), shape_of(*value)).text);
  }
}

void print_functions(const abi::Variant& variant) {
  for (const abi::Entry* entry : *variant.entries()) {
    printf("function  %s (%s executor, %u steps)\n", entry->name()->c_str(), entry->executor()->c_str(), entry->steps()->size());
    print_values("input", *entry->inputs());
    print_values("output", *entry->outputs());
  }
}

void print_origin(const runtime::Artifact& artifact) {
  const abi::Manifest& manifest = artifact.manifest();
  const tiffin_artifact_header& header = artifact.container().header();
  printf("model     %s (opset %" PRId64 "%s%s)\n", manifest.model_name()->c_str(), manifest.model_opset(),
         manifest.model_producer()->size() == 0 ? "" : ", by ", manifest.model_producer()->c_str());
  printf("sha256    %s\n", manifest.model_sha256()->c_str());
  printf("producer  %s %s, format %u.%u, ABI %u\n", manifest.producer()->c_str(), manifest.producer_version()->c_str(), header.format_major,
         header.format_minor, header.abi);
  printf("content   %s\n", to_text(artifact.container().content_digest()).text);
  SignatureReport report;
  if (examine_signature(artifact.container(), {}, &report).is_ok() && report.signature.has_value()) {
    printf("signed    %s (not checked here: 'verify --key' does)\n", signature_text(*report.signature).text);
  }
}

Status print_variants(const runtime::Artifact& artifact) {
  TIFFIN_ASSIGN_OR_RETURN(const FixedList<OwnTensors> own, find_own_tensors(artifact));
  for (size_t i = 0; i < own.size(); ++i) {
    const abi::Variant& variant = *artifact.program().variants()->Get(static_cast<uint32_t>(i));
    const runtime::Section* code = code_section(artifact, variant);
    printf("target    %s, code %s", variant.target()->c_str(), size_text(code == nullptr ? 0 : code->length).text);
    if (own[i].count > 0) printf(", %zu stored tensors of its own with %s", own[i].count, size_text(own[i].bytes).text);
    printf("\n          needs");
    for (const flatbuffers::String* feature : *variant.features()) printf(" %s", feature->c_str());
    printf("%s\n", variant.features()->size() == 0 ? " nothing of a CPU" : "");
  }
  return {};
}

void print_params(const runtime::Artifact& artifact, bool with_tensors) {
  const auto parameters = artifact.storage_plan().parameters();
  uint64_t bytes = 0;
  for (const params::ParamEntry& entry : parameters) bytes += entry.bytes;
  printf("params    %zu, %s, %s\n", parameters.size(), artifact.manifest().params_mode()->c_str(), size_text(bytes).text);
  for (size_t i = 0; with_tensors && i < parameters.size(); ++i) {
    const params::ParamEntry& entry = parameters[i];
    printf("    %.*s  %s  %.16s%s\n", length_of(entry.name), entry.name.data(), type_text(entry.dtype, entry.shape).text,
           to_text(artifact.parameter_digests()[i]).text, entry.is_frozen ? "  frozen" : "");
  }
}

void print_memory(const abi::Variant& variant) {
  for (const abi::Entry* entry : *variant.entries()) {
    printf("memory    %s: arena %s (lower bound %s), scratch %s per thread\n", entry->name()->c_str(), size_text(entry->arena_bytes()).text,
           size_text(entry->arena_lower_bound()).text, size_text(entry->scratch_bytes()).text);
  }
}

void print_program(const abi::Variant& variant) {
  for (const abi::Entry* entry : *variant.entries()) {
    printf("program   %s\n", entry->name()->c_str());
    uint32_t index = 0;
    for (const abi::Step* step : *entry->steps()) {
      printf("  %4u  %-32s units %-6" PRId64 " %s\n", index++, variant.kernels()->Get(step->kernel())->name()->c_str(), step->units(),
             step->label()->c_str());
    }
  }
}

Status print_golden(const runtime::Artifact& artifact) {
  TIFFIN_ASSIGN_OR_RETURN(const uint64_t cases, runtime::golden_case_count(artifact.container()));
  if (cases > 0) printf("golden    %" PRIu64 " cases, which 'verify' runs\n", cases);
  return {};
}

Status print_all(const runtime::Artifact& artifact, const Arguments& arguments) {
  const bool is_partial = arguments.functions || arguments.tensors || arguments.sizes || arguments.program || arguments.memory;
  const abi::Variant& variant = artifact.first_variant();
  if (!is_partial) {
    print_origin(artifact);
    TIFFIN_TRY(print_variants(artifact));
  }
  if (!is_partial || arguments.functions) print_functions(variant);
  if (!is_partial || arguments.tensors) print_params(artifact, arguments.tensors);
  if (!is_partial || arguments.memory) print_memory(variant);
  if (arguments.program) print_program(variant);
  if (arguments.sizes) TIFFIN_TRY(print_sizes(artifact));
  if (!is_partial) TIFFIN_TRY(print_golden(artifact));
  if (!is_partial) printf("size      %s\n", size_text(tier_sizes(artifact.container()).total).text);
  return flush_output();
}

}  // namespace

SizeText size_text(uint64_t bytes) {
  SizeText out;
  const double value = static_cast<double>(bytes);
  if (bytes < 1000) {
    snprintf(out.text, sizeof out.text, "%" PRIu64 " bytes", bytes);
  } else {
    const char* unit = bytes < 1000000 ? "kB" : bytes < 1000000000 ? "MB" : "GB";
    snprintf(out.text, sizeof out.text, "%.1f %s (%" PRIu64 " bytes)", value / (bytes < 1000000 ? 1e3 : bytes < 1000000000 ? 1e6 : 1e9), unit, bytes);
  }
  return out;
}

Result<int> inspect_artifact(const Arguments& arguments) {
  TIFFIN_ASSIGN_OR_RETURN(const runtime::Artifact artifact, open_to_describe(arguments.file));
  TIFFIN_ASSIGN_OR_RETURN(const SizeVerdict verdict, judge_sizes(artifact, arguments));
  TIFFIN_TRY(arguments.json ? print_inspection(artifact, arguments, verdict) : print_all(artifact, arguments));
  for (const Status* reason : {&verdict.over_budget, &verdict.over_baseline}) {
    if (!reason->is_ok()) report_reason(reason->code(), reason->message(), reason->remedy());
  }
  return verdict.over_budget.is_ok() && verdict.over_baseline.is_ok() ? 0 : 1;
}

}  // namespace tiffin::tools
