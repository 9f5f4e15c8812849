// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/compile.h"

#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "compiler/artifact/write_artifact.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/sha256.h"
#include "compiler/driver/pipeline.h"
#include "compiler/import/onnx/import_onnx.h"
#include "compiler/kernel/printer.h"
#include "compiler/plan/build_plan.h"

namespace tiffin::driver {

struct CompiledModule::State {
  plan::Plan plan;
  codegen::Target target;
  codegen::CodeBlob code;
  graph::ModelFacts facts;
  std::vector<std::pair<std::string, std::string>> manifest_options;
  bool embed_params = true;
};

namespace {

int affinity_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

void report(const CompileOptions& options, const char* stage, double fraction) {
  if (options.progress) options.progress(stage, fraction);
}

// What shaped the file, so that the same options can be given again. Paths and thread counts shape nothing.
std::vector<std::pair<std::string, std::string>> manifest_options(const CompileOptions& options) {
  std::vector<std::pair<std::string, std::string>> out;
  out.emplace_back("opt_level", std::to_string(options.opt_level));
  out.emplace_back("entry", options.entry);
  out.emplace_back("params", options.embed_params ? "embed" : "external");
  for (const auto& [name, size] : options.dims) out.emplace_back("dim." + name, std::to_string(size));
  for (const auto& [name, shape] : options.input_shapes) out.emplace_back("input_shape." + name, graph::to_string(shape));
  for (const std::string& name : options.skip) out.emplace_back("skip", name);
  return out;
}

// SOURCE_DATE_EPOCH (reproducible-builds.org) when it is set; no time otherwise, so that equal inputs always give equal bytes.
std::optional<int64_t> creation_time() {
  const char* text = std::getenv("SOURCE_DATE_EPOCH");
  if (text == nullptr || *text == 0) return std::nullopt;
  char* end = nullptr;
  const long long seconds = std::strtoll(text, &end, 10);
  return *end == 0 ? std::optional<int64_t>(seconds) : std::nullopt;
}

Status dump_plan(const plan::Plan& plan, const std::string& folder) {
  std::ofstream(folder + "/plan.txt") << plan::print(plan);
  std::ofstream kernels(folder + "/kernels.txt");
  for (const auto& kernel : plan.kernels) kernels << kernel::print(*kernel) << '\n';
  if (!kernels) return error(Code::Io, "cannot write '%s/kernels.txt': %m", folder.c_str());
  return {};
}

artifact::Contents contents_of(const CompiledModule::State& state) {
  return {state.plan, state.target, state.code, state.facts, state.manifest_options, state.embed_params};
}

}  // namespace

CompiledModule::CompiledModule(std::unique_ptr<State> state) : state_(std::move(state)) {}
CompiledModule::CompiledModule(CompiledModule&&) noexcept = default;
CompiledModule& CompiledModule::operator=(CompiledModule&&) noexcept = default;
CompiledModule::~CompiledModule() = default;

Status CompiledModule::export_library(const std::string& path) const { return artifact::write_so(contents_of(*state_), {creation_time()}, path); }

Result<std::vector<uint8_t>> CompiledModule::to_bytes() const { return artifact::so_bytes(contents_of(*state_), {creation_time()}); }

Status CompiledModule::export_params(const std::string& path) const { return artifact::write_params(state_->plan.storage, path); }

std::vector<std::pair<std::string, graph::Tensor>> CompiledModule::params() const {
  std::vector<std::pair<std::string, graph::Tensor>> out;
  for (const plan::Parameter& parameter : state_->plan.storage.parameters) out.emplace_back(parameter.name, parameter.tensor);
  return out;
}

std::string CompiledModule::target() const { return state_->target.text; }
uint64_t CompiledModule::code_bytes() const { return state_->code.bytes.size(); }
uint64_t CompiledModule::weights_bytes() const { return state_->plan.storage.data_bytes; }
uint64_t CompiledModule::arena_bytes() const { return state_->plan.entry.arena_bytes; }

Result<CompiledModule> compile_graph(graph::Graph graph, const graph::ModelFacts& facts, const CompileOptions& options) {
  auto state = std::make_unique<CompiledModule::State>();
  TIFFIN_ASSIGN_OR_RETURN(state->target, codegen::parse_target(options.target));
  state->facts = facts;
  if (!options.net_name.empty()) state->facts.name = options.net_name;
  state->manifest_options = manifest_options(options);
  state->embed_params = options.embed_params;
  if (!options.dump_folder.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(options.dump_folder, failed);
    if (failed) return error(Code::Io, "cannot make the folder '%s': %s", options.dump_folder.c_str(), failed.message().c_str());
  }

  report(options, "passes", 0.1);
  passes::PassContext context;
  context.opt_level = options.opt_level;
  context.machine = state->target.machine;
  RunnerOptions runner;
  runner.opt_level = options.opt_level;
  runner.dump_folder = options.dump_folder;
  runner.stop_after = options.stop_after;
  runner.skip = options.skip;
  TIFFIN_TRY(run_pipeline(graph, context, runner, nullptr));

  report(options, "plan", 0.3);
  plan::PlanOptions plan_options;
  plan_options.machine = state->target.machine;
  plan_options.opt_level = options.opt_level;
  plan_options.entry = options.entry;
  TIFFIN_ASSIGN_OR_RETURN(state->plan, plan::build_plan(graph, plan_options));
  if (!options.dump_folder.empty()) TIFFIN_TRY(dump_plan(state->plan, options.dump_folder));

  report(options, "code", 0.4);
  std::vector<const kernel::Kernel*> kernels;
  for (const auto& kernel : state->plan.kernels) kernels.push_back(kernel.get());
  codegen::CodegenOptions codegen_options;
  codegen_options.threads = options.threads > 0 ? options.threads : affinity_cores();
  codegen_options.dump_folder = options.dump_folder;
  TIFFIN_ASSIGN_OR_RETURN(state->code, codegen::compile_kernels(kernels, state->target, codegen_options));
  report(options, "write", 0.9);
  return CompiledModule(std::move(state));
}

Result<CompiledModule> compile_onnx(const std::string& path, const CompileOptions& options) {
  // A wrong target is told before a large model is read.
  TIFFIN_ASSIGN_OR_RETURN(const codegen::Target target, codegen::parse_target(options.target));
  (void)target;
  report(options, "import", 0.0);
  import::ImportOptions import_options;
  import_options.dims = options.dims;
  import_options.input_shapes = options.input_shapes;
  TIFFIN_ASSIGN_OR_RETURN(import::ImportedModel model, import::import_onnx(path, import_options));
  TIFFIN_TRY(import::check_open_dims(model.graph));
  TIFFIN_ASSIGN_OR_RETURN(model.facts.sha256, codegen::sha256_of_file(path));
  model.facts.name = std::filesystem::path(path).stem().string();
  return compile_graph(std::move(model.graph), model.facts, options);
}

}  // namespace tiffin::driver
