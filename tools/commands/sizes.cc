// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/sizes.h"

#include <cstdio>
#include <cstring>

#include "base/sort.h"
#include "tools/commands/byte_file.h"
#include "tools/commands/inspect.h"

namespace tiffin::tools {
namespace {

using runtime::view;

constexpr size_t kShownParts = 20;

bool add_part(SizeParts& parts, const char* kind, std::string_view name, uint64_t bytes) {
  return bytes == 0 || parts.list.append({kind, name, bytes});
}

// Kernels, and what the code section holds beside them: constants and gaps. With several variants the target stands behind the name.
Status add_kernels(SizeParts& parts, const runtime::Artifact& artifact, const abi::Variant& variant) {
  const runtime::Section* section = code_section(artifact, variant);
  if (section == nullptr) return {};
  const bool is_only = artifact.program().variants()->size() == 1;
  uint64_t rest = section->length;
  for (const abi::Kernel* kernel : *variant.kernels()) {
    std::string_view name = view(kernel->name());
    if (!is_only) {
      Text text;
      text.add_format("%s (%s)", kernel->name()->c_str(), variant.target()->c_str());
      const char* copy = parts.arena.copy_text(text.view());
      if (copy == nullptr) return out_of_memory();
      name = copy;
    }
    if (!add_part(parts, "kernel", name, kernel->code_bytes())) return out_of_memory();
    rest -= kernel->code_bytes() < rest ? kernel->code_bytes() : rest;
  }
  return add_part(parts, "section", section->name, rest) ? Status() : out_of_memory();
}

// Stored tensors, and what the weights hold beside them: header, plan, digests, gaps.
Status add_tensors(SizeParts& parts, const runtime::Artifact& artifact) {
  if (artifact.weights() == nullptr) return {};
  uint64_t rest = artifact.weights()->length;
  for (const abi::Stored* stored : *artifact.storage_plan().table().stored()) {
    if (!add_part(parts, "tensor", view(stored->name()), stored->bytes())) return out_of_memory();
    rest -= stored->bytes() < rest ? stored->bytes() : rest;
  }
  return add_part(parts, "section", artifact.weights()->name, rest) ? Status() : out_of_memory();
}

void add_growth_text(Text& text, const char* kind, std::string_view name, uint64_t before, uint64_t after) {
  if (!text.empty()) text.add(", ");
  text.add(kind);
  if (!name.empty()) {
    text.add(" ");
    text.add_quoted(name);
  }
  text.add(before == 0 ? " is new with " : " +");
  text.add_number(static_cast<int64_t>(after - before));
}

// Tiers, then the parts that grew most.
void describe_growth(const TierSizes& now, const TierSizes& before, const Array<Growth>& grown, Text& text) {
  const struct {
    const char* name;
    uint64_t now, before;
  } kTiers[] = {{"code", now.code, before.code},          {"program", now.program, before.program},
                {"weights", now.weights, before.weights}, {"manifest", now.manifest, before.manifest},
                {"golden", now.golden, before.golden},    {"padding", now.padding, before.padding}};
  for (const auto& tier : kTiers) {
    if (tier.now > tier.before) add_growth_text(text, tier.name, {}, tier.before, tier.now);
  }
  for (size_t i = 0; i < grown.size() && i < 8; ++i) {
    if (strcmp(grown[i].part.kind, "padding") != 0)
      add_growth_text(text, grown[i].part.kind, grown[i].part.name, grown[i].before, grown[i].part.bytes);
  }
}

Status find_growth(const SizeParts& now, const SizeParts& before, Array<Growth>& out) {
  for (const SizePart& part : now.list) {
    uint64_t old_bytes = 0;
    for (const SizePart& other : before.list) {
      if (strcmp(other.kind, part.kind) == 0 && other.name == part.name) old_bytes = other.bytes;
    }
    if (part.bytes > old_bytes && !out.append({part, old_bytes})) return out_of_memory();
  }
  sort(out.span(), [](const Growth& a, const Growth& b) { return a.part.bytes - a.before > b.part.bytes - b.before; });
  return {};
}

Status judge_budget(const runtime::Artifact& artifact, const Arguments& arguments, SizeVerdict& verdict) {
  const uint64_t budget = arguments.values.budget, total = tier_sizes(artifact.container()).total;
  if (arguments.budget == nullptr || total <= budget) return {};
  Text text;
  for (size_t i = 0; i < verdict.parts.list.size() && i < 5; ++i) {
    const SizePart& part = verdict.parts.list[i];
    text.add(i == 0 ? "" : ", ");
    text.add(part.kind);
    text.add(" ");
    text.add_quoted(part.name);
    text.add(" ");
    text.add_number(static_cast<int64_t>(part.bytes));
  }
  verdict.over_budget = error(Code::SizeBudget, "'%s' has %llu bytes, the budget is %llu: %llu too many; largest: %s", arguments.file,
                              static_cast<unsigned long long>(total), static_cast<unsigned long long>(budget),
                              static_cast<unsigned long long>(total - budget), text.c_str());
  return {};
}

// Apart, because GCC 12 takes the inlined optional of an artifact for uninitialised.
[[gnu::noinline]] Status judge_growth(const runtime::Artifact& artifact, const runtime::Artifact& baseline, const Arguments& arguments,
                                      SizeVerdict& verdict) {
  const TierSizes now = tier_sizes(artifact.container()), before = tier_sizes(baseline.container());
  verdict.baseline_total = before.total;
  if (now.total <= before.total) return {};
  TIFFIN_ASSIGN_OR_RETURN(const SizeParts old_parts, size_parts(baseline));
  TIFFIN_TRY(find_growth(verdict.parts, old_parts, verdict.grown));
  Text text;
  describe_growth(now, before, verdict.grown, text);
  verdict.over_baseline = error(Code::SizeBudget, "'%s' has %llu bytes, the baseline '%s' has %llu: %llu more; grown: %s", arguments.file,
                                static_cast<unsigned long long>(now.total), arguments.baseline, static_cast<unsigned long long>(before.total),
                                static_cast<unsigned long long>(now.total - before.total), text.c_str());
  return {};
}

void write_part(JsonOutput& out, const SizePart& part) {
  out.text("kind", part.kind);
  out.text("name", part.name);
}

}  // namespace

Result<SizeParts> size_parts(const runtime::Artifact& artifact) {
  SizeParts parts;
  for (const runtime::Section& section : artifact.container().sections()) {
    const bool is_split = section.kind == TIFFIN_SECTION_WEIGHTS || section.kind == TIFFIN_SECTION_CODE || section.kind == TIFFIN_SECTION_KERNEL_IR;
    if (!is_split && !add_part(parts, "section", section.name, section.length)) return out_of_memory();
  }
  for (const abi::Variant* variant : *artifact.program().variants()) TIFFIN_TRY(add_kernels(parts, artifact, *variant));
  TIFFIN_TRY(add_tensors(parts, artifact));
  if (!add_part(parts, "padding", "padding", tier_sizes(artifact.container()).padding)) return out_of_memory();
  sort(parts.list.span(), [](const SizePart& a, const SizePart& b) { return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name; });
  return parts;
}

Result<Duplicates> find_duplicates(const runtime::Artifact& artifact) {
  struct Named {
    const Digest* digest;
    std::string_view name;
    uint64_t bytes;
  };
  Array<Named> all;
  const auto parameters = artifact.storage_plan().parameters();
  for (size_t i = 0; i < parameters.size() && artifact.weights() != nullptr; ++i) {
    if (parameters[i].bytes > 0 && !all.append({&artifact.parameter_digests()[i], parameters[i].name, parameters[i].bytes})) return out_of_memory();
  }
  for (const runtime::Section& section : artifact.container().sections()) {
    if (section.length > 0 && !all.append({&section.digest, section.name, section.length})) return out_of_memory();
  }
  sort(all.span(), [](const Named& a, const Named& b) {
    const int order = memcmp(a.digest, b.digest, sizeof(Digest));
    return order != 0 ? order < 0 : a.name < b.name;
  });
  Duplicates out;
  for (size_t first = 0, end = 0; first < all.size(); first = end) {
    while (end < all.size() && *all[end].digest == *all[first].digest) ++end;
    if (end - first < 2) continue;
    if (!out.groups.append({all[first].bytes, static_cast<uint32_t>(out.names.size()), static_cast<uint32_t>(end - first)})) return out_of_memory();
    for (size_t i = first; i < end; ++i) {
      if (!out.names.append(all[i].name)) return out_of_memory();
    }
  }
  sort(out.groups.span(), [](const Duplicate& a, const Duplicate& b) { return a.bytes * (a.count - 1) > b.bytes * (b.count - 1); });
  return out;
}

Status print_sizes(const runtime::Artifact& artifact) {
  const TierSizes sizes = tier_sizes(artifact.container());
  SizePart tiers[] = {{"", "code", sizes.code},         {"", "program", sizes.program}, {"", "weights", sizes.weights},
                      {"", "manifest", sizes.manifest}, {"", "golden", sizes.golden},   {"", "padding", sizes.padding}};
  sort(std::span<SizePart>(tiers), [](const SizePart& a, const SizePart& b) { return a.bytes > b.bytes; });
  printf("sizes     %s\n", size_text(sizes.total).text);
  for (const SizePart& tier : tiers) printf("    %-9s %s\n", tier.name.data(), size_text(tier.bytes).text);
  TIFFIN_ASSIGN_OR_RETURN(const SizeParts parts, size_parts(artifact));
  printf("largest\n");
  for (size_t i = 0; i < parts.list.size() && i < kShownParts; ++i) {
    const SizePart& part = parts.list[i];
    printf("    %-8s %-40.*s %s\n", part.kind, static_cast<int>(part.name.size()), part.name.data(), size_text(part.bytes).text);
  }
  if (parts.list.size() > kShownParts) printf("    and %zu smaller ones; --json lists all\n", parts.list.size() - kShownParts);
  TIFFIN_ASSIGN_OR_RETURN(const Duplicates duplicates, find_duplicates(artifact));
  if (!duplicates.groups.empty()) printf("duplicates\n");
  for (size_t i = 0; i < duplicates.groups.size() && i < kShownParts; ++i) {
    const Duplicate& group = duplicates.groups[i];
    printf("    %u times %s:", group.count, size_text(group.bytes).text);
    for (uint32_t k = 0; k < group.count; ++k) {
      const std::string_view name = duplicates.names[group.first + k];
      printf(" %.*s", static_cast<int>(name.size()), name.data());
    }
    printf("\n");
  }
  return {};
}

Status write_size_parts(JsonOutput& out, const runtime::Artifact& artifact) {
  TIFFIN_ASSIGN_OR_RETURN(const SizeParts parts, size_parts(artifact));
  out.begin_array("largest");
  for (const SizePart& part : parts.list) {
    out.begin_object();
    write_part(out, part);
    out.number("bytes", part.bytes);
    out.end_object();
  }
  out.end_array();
  TIFFIN_ASSIGN_OR_RETURN(const Duplicates duplicates, find_duplicates(artifact));
  out.begin_array("duplicates");
  for (const Duplicate& group : duplicates.groups) {
    out.begin_object();
    out.number("bytes", group.bytes);
    out.begin_array("names");
    for (uint32_t k = 0; k < group.count; ++k) out.text(nullptr, duplicates.names[group.first + k]);
    out.end_array();
    out.end_object();
  }
  out.end_array();
  return {};
}

Result<SizeVerdict> judge_sizes(const runtime::Artifact& artifact, const Arguments& arguments) {
  SizeVerdict verdict;
  if (arguments.budget == nullptr && arguments.baseline == nullptr) return verdict;
  TIFFIN_ASSIGN_OR_RETURN(verdict.parts, size_parts(artifact));
  TIFFIN_TRY(judge_budget(artifact, arguments, verdict));
  if (arguments.baseline == nullptr) return verdict;
  TIFFIN_ASSIGN_OR_RETURN(const runtime::Artifact baseline, open_to_describe(arguments.baseline));
  TIFFIN_TRY(judge_growth(artifact, baseline, arguments, verdict));
  return verdict;
}

void write_size_verdict(JsonOutput& out, const Arguments& arguments, const SizeVerdict& verdict) {
  if (arguments.budget != nullptr) {
    out.begin_object("budget");
    out.number("bytes", arguments.values.budget);
    out.boolean("kept", verdict.over_budget.is_ok());
    out.end_object();
  }
  if (arguments.baseline == nullptr) return;
  out.begin_object("baseline");
  out.number("bytes", verdict.baseline_total);
  out.boolean("kept", verdict.over_baseline.is_ok());
  out.begin_array("grown");
  for (const Growth& growth : verdict.grown) {
    out.begin_object();
    write_part(out, growth.part);
    out.number("before", growth.before);
    out.number("after", growth.part.bytes);
    out.end_object();
  }
  out.end_array();
  out.end_object();
}

}  // namespace tiffin::tools
