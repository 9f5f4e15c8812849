// SPDX-License-Identifier: Apache-2.0
// `inspect`: what an artifact says of itself, for people; and whether it keeps to a size.
#include "tools/commands/inspect.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "tools/commands/byte_file.h"
#include "tools/commands/commands.h"

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
}

void print_variants(const runtime::Artifact& artifact) {
  for (const abi::Variant* variant : *artifact.program().variants()) {
    const runtime::Section* code = artifact.container().find(TIFFIN_SECTION_CODE, view(variant->code_section()));
    printf("target    %s, code %s\n          needs", variant->target()->c_str(), size_text(code == nullptr ? 0 : code->length).text);
    for (const flatbuffers::String* feature : *variant->features()) printf(" %s", feature->c_str());
    printf("\n");
  }
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

struct Part {
  const char* kind;
  const char* name;
  uint64_t bytes;
};

// Sections but for weights, and the stored tensors, largest first.
Result<Array<Part>> largest_parts(const runtime::Artifact& artifact) {
  Array<Part> parts;
  bool has_memory = true;
  for (const runtime::Section& section : artifact.container().sections()) {
    if (section.kind != TIFFIN_SECTION_WEIGHTS) has_memory = parts.append({"section", section.name.data(), section.length}) && has_memory;
  }
  if (artifact.weights() != nullptr) {
    for (const abi::Stored* stored : *artifact.storage_plan().table().stored()) {
      has_memory = parts.append({"tensor", stored->name()->c_str(), stored->bytes()}) && has_memory;
    }
  }
  if (!has_memory) return out_of_memory();
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.bytes > b.bytes; });
  return parts;
}

Status print_sizes(const runtime::Artifact& artifact) {
  const TierSizes sizes = tier_sizes(artifact.container());
  const Part kTiers[] = {{"", "code", sizes.code},         {"", "program", sizes.program}, {"", "weights", sizes.weights},
                         {"", "manifest", sizes.manifest}, {"", "golden", sizes.golden},   {"", "padding", sizes.padding}};
  printf("sizes     %s\n", size_text(sizes.total).text);
  for (const Part& tier : kTiers) printf("    %-9s %s\n", tier.name, size_text(tier.bytes).text);
  TIFFIN_ASSIGN_OR_RETURN(const Array<Part> parts, largest_parts(artifact));
  printf("largest\n");
  for (size_t i = 0; i < parts.size() && i < 20; ++i) printf("    %-8s %-40s %s\n", parts[i].kind, parts[i].name, size_text(parts[i].bytes).text);
  return {};
}

Status print_all(const runtime::Artifact& artifact, const Arguments& arguments) {
  const bool is_partial = arguments.functions || arguments.tensors || arguments.sizes || arguments.program || arguments.memory;
  const abi::Variant& variant = artifact.first_variant();
  if (!is_partial) {
    print_origin(artifact);
    print_variants(artifact);
  }
  if (!is_partial || arguments.functions) print_functions(variant);
  if (!is_partial || arguments.tensors) print_params(artifact, arguments.tensors);
  if (!is_partial || arguments.memory) print_memory(variant);
  if (arguments.program) print_program(variant);
  if (arguments.sizes) TIFFIN_TRY(print_sizes(artifact));
  if (!is_partial) printf("size      %s\n", size_text(tier_sizes(artifact.container()).total).text);
  return flush_output();
}

// What grew against the baseline, or what is largest, for the reason's text.
Status list_growth(const TierSizes& now, const TierSizes& before, Text* out) {
  const struct {
    const char* name;
    uint64_t now, before;
  } kTiers[] = {{"code", now.code, before.code},          {"program", now.program, before.program},
                {"weights", now.weights, before.weights}, {"manifest", now.manifest, before.manifest},
                {"golden", now.golden, before.golden},    {"padding", now.padding, before.padding}};
  for (const auto& tier : kTiers) {
    if (tier.now <= tier.before) continue;
    if (!out->empty()) out->add(", ");
    out->add(tier.name);
    out->add(" +");
    out->add_number(static_cast<int64_t>(tier.now - tier.before));
  }
  return out->has_failed() ? out_of_memory() : Status();
}

Result<bool> keeps_budget(const runtime::Artifact& artifact, const Arguments& arguments) {
  if (arguments.budget == nullptr) return true;
  const uint64_t budget = arguments.values.budget;
  const uint64_t total = tier_sizes(artifact.container()).total;
  if (total <= budget) return true;
  Text text;
  TIFFIN_ASSIGN_OR_RETURN(const Array<Part> parts, largest_parts(artifact));
  for (size_t i = 0; i < parts.size() && i < 5; ++i) {
    text.add(i == 0 ? "" : ", ");
    text.add(parts[i].name);
    text.add(" ");
    text.add_number(static_cast<int64_t>(parts[i].bytes));
  }
  const Status reason =
      error(Code::SizeBudget, "'%s' has %" PRIu64 " bytes, the budget is %" PRIu64 "; largest: %s", arguments.file, total, budget, text.c_str());
  report_reason(reason.code(), reason.message(), reason.remedy());
  return false;
}

Result<bool> keeps_baseline(const runtime::Artifact& artifact, const Arguments& arguments) {
  if (arguments.baseline == nullptr) return true;
  TIFFIN_ASSIGN_OR_RETURN(const runtime::Artifact baseline, open_artifact(arguments.baseline, runtime::VerifyLevel::None));
  const TierSizes now = tier_sizes(artifact.container()), before = tier_sizes(baseline.container());
  if (now.total <= before.total) return true;
  Text text;
  TIFFIN_TRY(list_growth(now, before, &text));
  const Status reason = error(Code::SizeBudget, "'%s' has %" PRIu64 " bytes, the baseline '%s' has %" PRIu64 "; grown: %s", arguments.file, now.total,
                              arguments.baseline, before.total, text.c_str());
  report_reason(reason.code(), reason.message(), reason.remedy());
  return false;
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
  TIFFIN_ASSIGN_OR_RETURN(const runtime::Artifact artifact, open_artifact(arguments.file, runtime::VerifyLevel::None));
  TIFFIN_TRY(arguments.json ? print_inspection(artifact, arguments) : print_all(artifact, arguments));
  TIFFIN_ASSIGN_OR_RETURN(const bool in_budget, keeps_budget(artifact, arguments));
  TIFFIN_ASSIGN_OR_RETURN(const bool in_baseline, keeps_baseline(artifact, arguments));
  return in_budget && in_baseline ? 0 : 1;
}

}  // namespace tiffin::tools
