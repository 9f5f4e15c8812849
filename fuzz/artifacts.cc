// SPDX-License-Identifier: Apache-2.0
#include "fuzz/artifacts.h"

#include <elf.h>

#include <cstring>

#include "fuzz/memory_file.h"
#include "fuzz/parameter_lists.h"
#include "fuzz/target.h"
#include "runtime/artifact/artifact.h"
#include "runtime/artifact/check_program.h"
#include "runtime/artifact/choose_variant.h"
#include "runtime/executor/graph_executor.h"
#include "runtime/executor/module.h"
#include "runtime/executor/parameter_view.h"
#include "tools/commands/commands.h"

namespace tiffin::fuzz {
namespace {

using runtime::Artifact;
using runtime::Module;
using runtime::Ref;

constexpr uint64_t kMostBytes = 1 << 20;

void ask_machines(const Artifact& artifact) {
  constexpr auto has_all = [](const void*, std::string_view) { return true; };
  constexpr auto has_none = [](const void*, std::string_view) { return false; };
  const runtime::Machine machines[] = {runtime::this_machine(),
                                       {"x86-64", EM_X86_64, has_all, nullptr, true},
                                       {"aarch64", EM_AARCH64, has_none, nullptr, true},
                                       {"data", EM_X86_64, has_all, nullptr, false}};
  for (const runtime::Machine& machine : machines) {
    const size_t best = find_best_variant(artifact, machine);
    const uint32_t count = artifact.program().variants()->size();
    require(best == SIZE_MAX || best < count, "the best variant is one of them");
    Text text;
    for (uint32_t i = 0; i < count && i < 16; ++i) explain_variant(artifact, i, best, machine, text);
    require(choose_variant(artifact, machine).has_value() == (best != SIZE_MAX), "a variant is chosen when there is one");
  }
}

// A few bytes of a program may ask for any amount of memory, which is then really taken.
bool asks_for_little(const Artifact& artifact) {
  uint64_t bytes = 0;
  const auto add = [&bytes](uint64_t more) { bytes = more > kMostBytes || bytes > kMostBytes ? kMostBytes + 1 : bytes + more; };
  for (const abi::Constant* constant : *artifact.program().constants()) add(constant->uniform() ? constant->bytes() : 0);
  for (const abi::Variant* variant : *artifact.program().variants()) {
    for (const abi::Entry* entry : *variant->entries()) {
      add(entry->arena_bytes());
      add(entry->scratch_bytes());
      for (const auto* values : {entry->inputs(), entry->outputs()}) {
        for (const abi::Value* value : *values) {
          uint64_t length = 0;
          if (runtime::value_bytes(*value, &length)) add(length);
        }
      }
    }
  }
  return bytes <= kMostBytes;
}

void read_parameters(const Ref<Module>& module) {
  Ref<runtime::ParameterSet> set = module->parameters();
  if (!set) return;
  auto view = runtime::ParameterView::of_set(module, std::move(set));
  if (!view.has_value()) return;
  for (size_t i = 0; i < (*view)->entries().size(); ++i) use((*view)->bytes(i).has_value());
  runtime::ParameterView::destroy(*view);
}

void make_executor(const Ref<Module>& module, std::string_view entry, bool may_run) {
  auto made = runtime::GraphExecutor::create(module, entry, {.threads = 1});
  if (!made.has_value()) return;
  runtime::GraphExecutor& executor = **made;
  for (size_t i = 0; i < executor.input_count(); ++i) {
    const auto bytes = executor.fill_input(i);
    if (!bytes.empty()) memset(bytes.data(), static_cast<int>(i) + 1, bytes.size());
  }
  use(executor.find_input("no such input").has_value());
  if (may_run && executor.run().is_ok()) {
    for (size_t i = 0; i < executor.output_count(); ++i) use(executor.output(i).has_value());
  }
  runtime::GraphExecutor::destroy(&executor);
}

void load(std::span<const uint8_t> file, bool may_run) {
  auto source = runtime::Source::from_memory(file);
  if (!source.has_value()) return;
  runtime::LoadOptions options;
  options.verify = runtime::VerifyLevel::None;
  options.trust = runtime::Trust::Data;
  const auto module = Module::load(std::move(source).value(), options);
  if (!module.has_value()) return;
  for (const abi::Entry* entry : *(*module)->variant().entries()) make_executor(*module, runtime::view(entry->name()), may_run);
  read_parameters(*module);
}

// One artifact in eight, by its bytes: the commands open files and print, which takes most of the time.
bool is_sampled(std::span<const uint8_t> file) {
  uint32_t sum = 0;
  for (const uint8_t byte : file) sum = sum * 31 + byte;
  return (sum >> 16 & 7) == 0;
}

void ask_commands(std::span<const uint8_t> bytes) {
  tools::Arguments arguments;
  arguments.file = path_of_memory(bytes);
  for (const bool is_json : {false, true}) {
    arguments.json = is_json;
    arguments.functions = arguments.tensors = arguments.sizes = arguments.program = arguments.memory = !is_json;
    use(tools::inspect_artifact(arguments).has_value());
    use(tools::examine_artifact(arguments).has_value());
    arguments.cpu = "neoverse-n1";
  }
}

}  // namespace

bool walk_artifact(std::span<const uint8_t> file, bool may_run) {
  auto source = runtime::Source::from_memory(file);
  if (!source.has_value()) return false;
  auto opened = Artifact::open(std::move(source).value(), runtime::VerifyLevel::Code);
  if (!opened.has_value()) return false;
  const Artifact& artifact = *opened;
  ask_machines(artifact);
  for (const runtime::Section& section : artifact.container().sections()) use(artifact.container().check_section(section).is_ok());
  use(artifact.container().hash_file().has_value());
  use(artifact.container().check_program().is_ok());
  if (asks_for_little(artifact)) load(file, may_run);
  if (is_replay() || is_sampled(file)) ask_commands(file);
  return true;
}

}  // namespace tiffin::fuzz
