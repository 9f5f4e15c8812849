// SPDX-License-Identifier: Apache-2.0
// `doctor`: would the artifact load here, or on another machine? Every reason at once, each with a remedy. Executes nothing of the file, and
// reads headers, tables and the code that would be mapped, never weights.
#include <algorithm>
#include <cinttypes>
#include <cstring>

#include "base/params/bind.h"
#include "base/params/param_file.h"
#include "runtime/host/cpu.h"
#include "tools/commands/byte_file.h"
#include "tools/commands/commands.h"
#include "tools/commands/cpu_models.h"
#include "tools/commands/diagnosis.h"
#include "tools/commands/inspect.h"

namespace tiffin::tools {
namespace {

using runtime::view;

Result<AskedMachine> asked_machine(const Arguments& arguments) {
  if (arguments.cpu != nullptr) return AskedMachine::of_cpu(arguments.cpu);
  if (arguments.features != nullptr) return AskedMachine::of_features(arguments.features);
  return AskedMachine();
}

const abi::Variant& variant_at(const runtime::Artifact& artifact, size_t index) {
  return *artifact.program().variants()->Get(static_cast<uint32_t>(index));
}

Status examine_variants(const runtime::Artifact& artifact, const runtime::Machine& machine, const Arguments& arguments, Diagnosis& diagnosis) {
  TIFFIN_TRY(diagnosis.variants.create(artifact.program().variants()->size()));
  diagnosis.chosen = find_best_variant(artifact, machine);
  for (size_t i = 0; i < diagnosis.variants.size(); ++i) {
    diagnosis.variants[i].target = view(variant_at(artifact, i).target());
    explain_variant(artifact, i, diagnosis.chosen, machine, diagnosis.variants[i].reason);
  }
  if (diagnosis.chosen != SIZE_MAX) {
    if (variant_at(artifact, diagnosis.chosen).machine() == 0) diagnosis.add_fallback("interpreter: the kernels of the chosen variant are data");
    return {};
  }
  Status problem = choose_variant(artifact, machine).take_error();
  const bool has_name = arguments.cpu != nullptr && problem.code() == Code::MissingCpuFeature;
  diagnosis.add_problem(has_name ? std::move(problem).with_remedy("compile the model for that CPU as well: --target \"llvm -mcpu=%s\"", arguments.cpu)
                                 : std::move(problem));
  return {};
}

// What loading hashes of the parts that are read here: the tables, and the code of the chosen variant.
void examine_digests(const runtime::Artifact& artifact, Diagnosis& diagnosis) {
  const std::string_view code = diagnosis.chosen == SIZE_MAX ? std::string_view() : view(variant_at(artifact, diagnosis.chosen).code_section());
  for (const runtime::Section& section : artifact.container().sections()) {
    const bool is_table =
        section.kind == TIFFIN_SECTION_MANIFEST || section.kind == TIFFIN_SECTION_PROGRAM || section.kind == TIFFIN_SECTION_STORAGE_PLAN;
    const bool is_code = (section.kind == TIFFIN_SECTION_CODE || section.kind == TIFFIN_SECTION_KERNEL_IR) && section.name == code;
    if (is_table || is_code) diagnosis.add_problem(artifact.container().check_section(section));
  }
}

void examine_functions(const runtime::Artifact& artifact, Diagnosis& diagnosis) {
  if (diagnosis.chosen == SIZE_MAX) return;
  const abi::Variant& chosen = variant_at(artifact, diagnosis.chosen);
  if (chosen.entries()->size() == 0) {
    diagnosis.add_problem(error(Code::MissingFunction, "variant '%s' has no function", chosen.target()->c_str()));
  }
  for (const abi::Variant* variant : *artifact.program().variants()) {
    for (const abi::Entry* entry : *variant->entries()) {
      if (find_entry(chosen, view(entry->name())) != nullptr) continue;
      diagnosis.add_problem(error(Code::MissingFunction, "variant '%s' lacks function '%s', which '%s' has", chosen.target()->c_str(),
                                  entry->name()->c_str(), variant->target()->c_str())
                                .with_remedy("compile all variants from the same model"));
    }
  }
}

// The usual remedy names an option that doctor lacks; that of frozen parameters is another.
Status judge_params(Status faults) {
  if (faults.code() != Code::ParamDigestMismatch || strcmp(faults.remedy(), code_row(faults.code()).remedy) != 0) return faults;
  return std::move(faults).with_remedy(
      "pass the model's own parameters; where other values are wanted, 'run' and 'verify' take them with --new-weights");
}

void examine_params(const runtime::Artifact& artifact, const char* path, Diagnosis& diagnosis) {
  const uint64_t stored_bytes = artifact.storage_plan().data_bytes();
  if (path == nullptr) {  // embedded, or external in a form that is not known yet
    diagnosis.memory.mapped += stored_bytes;
    return;
  }
  const Result<params::ParamFile> file = params::ParamFile::open(path);
  if (!file.has_value()) {
    diagnosis.add_problem(file.error().clone());
    return;
  }
  diagnosis.add_problem(judge_params(params::check_parameters(artifact.storage_plan(), artifact.parameter_digests(), *file, {})));
  const bool is_in_place = file->weights() != nullptr && file->weights()->plan().digest() == artifact.storage_plan().digest();
  (is_in_place ? diagnosis.memory.mapped : diagnosis.memory.weights) += stored_bytes;
  if (!is_in_place && stored_bytes > 0) diagnosis.add_fallback("the weights are repacked: they do not follow the storage plan");
}

void examine_memory(const runtime::Artifact& artifact, bool is_here, Diagnosis& diagnosis) {
  const abi::Variant& variant = variant_at(artifact, diagnosis.chosen == SIZE_MAX ? 0 : diagnosis.chosen);
  MemoryNeed& need = diagnosis.memory;
  for (const abi::Entry* entry : *variant.entries()) {
    const uint64_t scratch = entry->scratch_bytes() * static_cast<uint64_t>(is_here ? runtime::usable_core_count() : 1);
    need.arena = std::max(need.arena, entry->arena_bytes() + scratch);
  }
  const runtime::Section* code = code_section(artifact, variant);
  need.mapped += code == nullptr ? 0 : code->length;
  if (!is_here) return;
  need.is_judged = true;
  need.limits = memory_limits();
  const uint64_t own = need.arena + need.weights, all = own + need.mapped;
  if (own > need.limits.memory) {
    diagnosis.add_problem(error(Code::OutOfMemory, "the buffers of '%s' need %" PRIu64 " bytes of memory, this machine has %" PRIu64 " available",
                                variant.target()->c_str(), own, need.limits.memory));
  }
  if (all > need.limits.address_space) {
    diagnosis.add_problem(error(Code::OutOfMemory, "'%s' needs %" PRIu64 " bytes of address space, the limit leaves %" PRIu64,
                                variant.target()->c_str(), all, need.limits.address_space)
                              .with_remedy("raise the limit (ulimit -v), or use a smaller model"));
  }
}

Status examine_libraries(const runtime::Artifact& artifact, const runtime::Machine& machine, bool is_here, Diagnosis& diagnosis) {
  TIFFIN_TRY(find_libraries(artifact, machine.elf_machine, is_here, diagnosis.libraries));
  for (const Library& library : diagnosis.libraries.list) {
    if (library.fault != nullptr) {
      diagnosis.add_problem(error(Code::MissingLibrary, "library '%s' travels with the model, but %s", library.name, library.fault)
                                .with_remedy("pack a library for that machine with --with-library"));
    } else if (library.path == nullptr && is_here) {
      diagnosis.add_problem(error(Code::MissingLibrary, "library '%s', which '%s' needs, was not found", library.name, library.needed_by));
    }
  }
  return {};
}

Status examine(const runtime::Artifact& artifact, const AskedMachine& asked, const Arguments& arguments, Diagnosis& diagnosis) {
  const runtime::Machine machine = asked.machine();
  TIFFIN_TRY(examine_variants(artifact, machine, arguments, diagnosis));
  examine_digests(artifact, diagnosis);
  examine_functions(artifact, diagnosis);
  TIFFIN_TRY(examine_libraries(artifact, machine, asked.is_this(), diagnosis));
  examine_params(artifact, arguments.params, diagnosis);
  examine_memory(artifact, asked.is_this(), diagnosis);
  return {};
}

// False when the file's tables cannot be read; then and otherwise the diagnosis holds what keeps it from loading so far. Io, OutOfMemory.
Result<bool> read_artifact(const Arguments& arguments, Diagnosis& diagnosis, runtime::Artifact& out) {
  TIFFIN_ASSIGN_OR_RETURN(runtime::Source source, runtime::Source::open(arguments.file));
  runtime::Obstacles obstacles;
  Status failure = out.read_past(std::move(source), obstacles);
  for (size_t i = 0; i < obstacles.count; ++i) diagnosis.add_problem(std::move(obstacles.list[i]));
  if (failure.is_ok()) return true;
  if (failure.code() == Code::Io || failure.code() == Code::OutOfMemory) return failure;
  if (diagnosis.problem_count == 0) diagnosis.add_problem(std::move(failure));  // else it may come of the obstacles: another version has other tables
  return false;
}

// What can be said without the file's tables.
void examine_around(const runtime::Container& container, const runtime::Machine& machine, const Arguments& arguments, Diagnosis& diagnosis) {
  if (container.machine() != 0 && container.machine() != machine.elf_machine) {
    diagnosis.add_problem(error(Code::NoVariant, "'%s' is for %s, %s is %s", arguments.file, runtime::machine_name(container.machine()), machine.name,
                                runtime::machine_name(machine.elf_machine)));
  }
  if (arguments.params == nullptr) return;
  const Result<params::ParamFile> file = params::ParamFile::open(arguments.params);
  if (!file.has_value()) diagnosis.add_problem(file.error().clone());
}

}  // namespace

Result<int> examine_artifact(const Arguments& arguments) {
  TIFFIN_ASSIGN_OR_RETURN(const AskedMachine asked, asked_machine(arguments));
  Diagnosis diagnosis;
  runtime::Artifact opened;
  TIFFIN_ASSIGN_OR_RETURN(const bool is_readable, read_artifact(arguments, diagnosis, opened));
  const runtime::Artifact* artifact = is_readable ? &opened : nullptr;
  if (artifact != nullptr) {
    TIFFIN_TRY(examine(*artifact, asked, arguments, diagnosis));
  } else {
    examine_around(opened.container(), asked.machine(), arguments, diagnosis);
  }
  TIFFIN_TRY(arguments.json ? print_diagnosis_json(diagnosis, artifact) : print_diagnosis_text(diagnosis, artifact, arguments, asked.machine().name));
  for (size_t i = 0; i < diagnosis.problem_count; ++i) {
    const Status& problem = diagnosis.problems[i];
    report_reason(problem.code(), problem.message(), problem.remedy());
  }
  return diagnosis.problem_count == 0 ? 0 : 1;
}

}  // namespace tiffin::tools
