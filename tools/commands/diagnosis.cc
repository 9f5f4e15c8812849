// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/diagnosis.h"

#include <cstdio>

#include "tools/commands/inspect.h"

namespace tiffin::tools {
namespace {

using runtime::view;

void write_variants(JsonOutput& out, const Diagnosis& diagnosis) {
  out.begin_array("variants");
  for (const VariantAnswer& answer : diagnosis.variants) write_choice(out, answer.target, answer.reason.c_str());
  out.end_array();
}

void write_problems(JsonOutput& out, const Diagnosis& diagnosis) {
  out.begin_array("problems");
  for (size_t i = 0; i < diagnosis.problem_count; ++i) {
    out.begin_object();
    out.text("code", code_row(diagnosis.problems[i].code()).name);
    out.text("message", diagnosis.problems[i].message());
    out.text("remedy", diagnosis.problems[i].remedy());
    out.end_object();
  }
  out.end_array();
  out.begin_array("fallbacks");
  for (size_t i = 0; i < diagnosis.fallback_count; ++i) out.text(nullptr, diagnosis.fallbacks[i]);
  out.end_array();
}

void write_libraries(JsonOutput& out, const Diagnosis& diagnosis) {
  out.begin_array("libraries");
  for (const Library& library : diagnosis.libraries.list) {
    out.begin_object();
    out.text("name", library.name);
    out.boolean("found", library.path != nullptr);
    if (library.path == nullptr) {
      out.null("path");
    } else {
      out.text("path", library.path);
    }
    if (library.needed_by != nullptr) out.text("needed_by", library.needed_by);
    out.end_object();
  }
  out.end_array();
}

void write_limit(JsonOutput& out, const char* key, uint64_t bytes) {
  if (bytes == UINT64_MAX) {
    out.null(key);
  } else {
    out.number(key, bytes);
  }
}

void write_memory(JsonOutput& out, const MemoryNeed& need) {
  out.begin_object("memory");
  out.number("needed_bytes", need.arena + need.weights);
  out.number("arena_bytes", need.arena);
  out.number("private_weights_bytes", need.weights);
  out.number("mapped_bytes", need.mapped);
  write_limit(out, "available_bytes", need.limits.memory);
  write_limit(out, "address_space_bytes", need.limits.address_space);
  out.end_object();
}

void write_artifact(JsonOutput& out, const Diagnosis& diagnosis, const runtime::Artifact& artifact) {
  const tiffin_artifact_header& header = artifact.container().header();
  char version[32];
  snprintf(version, sizeof version, "%u.%u", header.format_major, header.format_minor);
  out.text("format_version", version);
  out.number("abi_version", header.abi);
  out.begin_array("functions");
  for (const abi::Entry* entry : *artifact.first_variant().entries()) out.text(nullptr, view(entry->name()));
  out.end_array();
  out.begin_array("devices");
  out.text(nullptr, "cpu");
  out.end_array();
  out.begin_object("params");
  out.text("mode", view(artifact.manifest().params_mode()));
  out.number("count", artifact.storage_plan().parameter_count());
  out.end_object();
  write_memory(out, diagnosis.memory);
}

void print_libraries(const Libraries& libraries) {
  for (const Library& library : libraries.list) {
    printf("library   %s => %s", library.name, library.path == nullptr ? "not found" : library.path);
    if (library.needed_by != nullptr) printf(" (for %s)", library.needed_by);
    printf("\n");
  }
}

void print_memory(const MemoryNeed& need) {
  printf("memory    %s", size_text(need.arena + need.weights).text);
  if (need.weights > 0) printf(", %s of it weights", size_text(need.weights).text);
  printf(", and %s mapped", size_text(need.mapped).text);
  if (need.is_judged) printf("; available %s", size_text(need.limits.memory).text);
  printf("\n");
}

void print_artifact(const Diagnosis& diagnosis, const runtime::Artifact& artifact, const Arguments& arguments) {
  const tiffin_artifact_header& header = artifact.container().header();
  printf("format    %u.%u, ABI %u, by %s %s\n", header.format_major, header.format_minor, header.abi, artifact.manifest().producer()->c_str(),
         artifact.manifest().producer_version()->c_str());
  for (size_t i = 0; i < diagnosis.variants.size(); ++i) {
    const VariantAnswer& answer = diagnosis.variants[i];
    printf("%s   %.*s\n", i == diagnosis.chosen ? "chosen " : "variant", static_cast<int>(answer.target.size()), answer.target.data());
    if (!answer.reason.empty()) printf("          not chosen: %s\n", answer.reason.c_str());
  }
  printf("devices   cpu\nfunctions");
  for (const abi::Entry* entry : *artifact.first_variant().entries()) printf(" %s", entry->name()->c_str());
  const bool is_apart = artifact.weights() == nullptr && artifact.storage_plan().parameter_count() > 0;
  printf("\nparams    %zu, %s%s%s\n", artifact.storage_plan().parameter_count(), artifact.manifest().params_mode()->c_str(),
         arguments.params != nullptr ? ", compared with "
         : is_apart                  ? "; --params FILE compares a file with them"
                                     : "",
         arguments.params == nullptr ? "" : arguments.params);
  print_memory(diagnosis.memory);
  print_libraries(diagnosis.libraries);
  for (size_t i = 0; i < diagnosis.fallback_count; ++i) printf("fallback  %s\n", diagnosis.fallbacks[i]);
}

}  // namespace

Status print_diagnosis_json(const Diagnosis& diagnosis, const runtime::Artifact* artifact) {
  JsonOutput out(stdout);
  out.begin_object();
  out.boolean("loads", diagnosis.problem_count == 0);
  if (diagnosis.chosen == SIZE_MAX) {
    out.null("chosen");
  } else {
    out.text("chosen", diagnosis.variants[diagnosis.chosen].target);
  }
  write_variants(out, diagnosis);
  write_problems(out, diagnosis);
  write_libraries(out, diagnosis);
  if (artifact != nullptr) write_artifact(out, diagnosis, *artifact);
  out.end_object();
  return out.finish();
}

Status print_diagnosis_text(const Diagnosis& diagnosis, const runtime::Artifact* artifact, const Arguments& arguments, const char* machine) {
  if (artifact != nullptr) print_artifact(diagnosis, *artifact, arguments);
  printf("%s %s on %s", arguments.file, diagnosis.problem_count == 0 ? "loads" : "does not load", machine);
  if (diagnosis.problem_count > 1) printf(", for %zu reasons", diagnosis.problem_count);
  printf("\n");
  return flush_output();
}

}  // namespace tiffin::tools
