// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/compile.h"

#include <sched.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/atomic_file.h"
#include "base/mapping.h"
#include "compiler/artifact/write_artifact.h"
#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/sha256.h"
#include "compiler/driver/attachments.h"
#include "compiler/driver/check_interface.h"
#include "compiler/driver/check_outputs.h"
#include "compiler/driver/creation_time.h"
#include "compiler/driver/input_files.h"
#include "compiler/driver/pipeline.h"
#include "compiler/driver/read_model.h"
#include "compiler/driver/record_golden.h"
#include "compiler/kernel/printer.h"
#include "compiler/plan/build_plan.h"

namespace tiffin::driver {

struct CompiledModule::State {
  artifact::Contents contents;
  std::vector<std::pair<std::string, graph::Tensor>> params;
  InputFiles inputs;               // files that no output may replace, and whose bytes the tensors are
  std::optional<Mapping> library;  // of a module that was reopened
  artifact::Form library_form = artifact::Form::SharedObject;

  // `path` says by its suffix what is written.
  Status write_library(const std::string& path, AtomicFile& file) const;
  Status write_params(const std::string& path, AtomicFile& file) const;
  // A module that was reopened has bytes of its own.
  Status check_model() const { return library.has_value() ? Status() : inputs.check_unchanged(); }
  Status check(const std::vector<std::string>& outputs) const {
    TIFFIN_TRY(check_outputs(outputs, inputs.paths()));
    return check_model();
  }
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
  if (options.golden_count > 0) out.emplace_back("golden", std::to_string(options.golden_count));
  return out;
}

Status dump_plan(const plan::Plan& plan, const std::string& folder) {
  std::ofstream(folder + "/plan.txt") << plan::print(plan);
  std::ofstream kernels(folder + "/kernels.txt");
  for (const auto& kernel : plan.kernels) kernels << kernel::print(*kernel) << '\n';
  if (!kernels) return error(Code::Io, "cannot write '%s/kernels.txt': %m", folder.c_str());
  return {};
}

}  // namespace

Status CompiledModule::State::write_library(const std::string& path, AtomicFile& file) const {
  const artifact::Form form = artifact::form_of(path);
  if (library.has_value() && library_form == form) return file.write(library->bytes());
  return artifact::write_artifact(contents, {form, creation_time()}, file);
}

Status CompiledModule::State::write_params(const std::string& path, AtomicFile& file) const {
  TIFFIN_ASSIGN_OR_RETURN(const params::Format format, params::format_of_path(path.c_str()));
  return artifact::write_params(contents, format, file);
}

CompiledModule::CompiledModule(std::unique_ptr<State> state) : state_(std::move(state)) {}
CompiledModule::CompiledModule(CompiledModule&&) noexcept = default;
CompiledModule& CompiledModule::operator=(CompiledModule&&) noexcept = default;
CompiledModule::~CompiledModule() = default;

Result<CompiledModule> CompiledModule::reopen(artifact::Contents contents, const std::string& library, const std::string& model) {
  auto state = std::make_unique<State>();
  TIFFIN_ASSIGN_OR_RETURN(state->library, Mapping::open_file(library.c_str()));
  state->library_form = artifact::form_of(library);
  state->contents = std::move(contents);
  state->inputs = InputFiles(model);
  return CompiledModule(std::move(state));
}

Status CompiledModule::export_library(const std::string& path) const {
  TIFFIN_TRY(state_->check({path}));
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path.c_str(), true));
  TIFFIN_TRY(state_->write_library(path, file));
  TIFFIN_TRY(state_->check_model());
  return file.commit();
}

Result<std::vector<uint8_t>> CompiledModule::to_bytes() const {
  if (state_->library.has_value()) return std::vector<uint8_t>(state_->library->bytes().begin(), state_->library->bytes().end());
  TIFFIN_TRY(state_->check_model());
  const auto form = state_->contents.code.size() == 1 ? artifact::Form::SharedObject : artifact::Form::Bundle;
  Result<std::vector<uint8_t>> bytes = artifact::artifact_bytes(state_->contents, {form, creation_time()});
  TIFFIN_TRY(state_->check_model());
  return bytes;
}

Status CompiledModule::export_params(const std::string& path) const {
  TIFFIN_TRY(state_->check({path}));
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path.c_str()));
  TIFFIN_TRY(state_->write_params(path, file));
  TIFFIN_TRY(state_->check_model());
  return file.commit();
}

Status CompiledModule::export_files(const std::string& library, const std::string& params) const {
  if (params.empty()) return export_library(library);
  TIFFIN_TRY(state_->check({library, params}));
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile library_file, AtomicFile::create(library.c_str(), true));
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile params_file, AtomicFile::create(params.c_str()));
  TIFFIN_TRY(state_->write_library(library, library_file));
  TIFFIN_TRY(state_->write_params(params, params_file));
  TIFFIN_TRY(state_->check_model());
  return AtomicFile::commit(params_file, library_file);
}

Result<std::vector<std::pair<std::string, graph::Tensor>>> CompiledModule::params() const {
  TIFFIN_TRY(state_->check_model());
  if (!state_->library.has_value()) return state_->params;
  std::vector<std::pair<std::string, graph::Tensor>> params;
  for (size_t i = 0; i < state_->contents.storage.parameters.size(); ++i) {
    const abi::ParameterT& row = *state_->contents.storage.parameters[i];
    Array<uint8_t> scratch;
    TIFFIN_ASSIGN_OR_RETURN(const auto bytes, state_->contents.read_parameter(i, scratch));
    params.emplace_back(row.name, graph::Tensor(static_cast<DType>(row.dtype), row.shape, std::vector<uint8_t>(bytes.begin(), bytes.end())));
  }
  return params;
}

std::vector<std::string> CompiledModule::targets() const {
  std::vector<std::string> out;
  for (const auto& variant : state_->contents.program.variants) out.push_back(variant->target);
  return out;
}

uint64_t CompiledModule::code_bytes() const {
  uint64_t bytes = 0;
  for (const artifact::VariantCode& code : state_->contents.code) bytes += code.bytes.size();
  return bytes;
}

uint64_t CompiledModule::weights_bytes() const { return state_->contents.storage.data_bytes; }

uint64_t CompiledModule::arena_bytes() const {
  uint64_t bytes = 0;
  for (const auto& variant : state_->contents.program.variants) bytes = std::max(bytes, variant->entries[0]->arena_bytes);
  return bytes;
}

namespace {

Result<std::vector<codegen::Target>> parse_targets(const std::vector<std::string>& words) {
  std::vector<codegen::Target> targets;
  for (const std::string& word : words) {
    TIFFIN_ASSIGN_OR_RETURN(codegen::Target target, codegen::parse_target(word));
    targets.push_back(std::move(target));
  }
  if (targets.empty()) return error(Code::InvalidArgument, "no target is given, at least one is expected");
  return targets;
}

Status make_dump_folder(const std::string& folder) {
  std::error_code failed;
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  if (failed) return error(Code::Io, "cannot make the folder '%s': %s", folder.c_str(), failed.message().c_str());
  return {};
}

// Compiles the graph for one target and adds it to the module; `share` is this target's part of the whole work, from `done` on.
class VariantCompiler {
 public:
  // `declared_dtypes` are those of the model file's outputs, as check_interface wants them.
  // `golden` may be null.
  VariantCompiler(const CompileOptions& options, const graph::ModelFacts& facts, std::vector<DType> declared_dtypes, CompiledModule::State& state,
                  GoldenRecording* golden)
      : options_(options), facts_(facts), declared_dtypes_(std::move(declared_dtypes)), state_(state), golden_(golden) {
    if (!options.net_name.empty()) facts_.name = options.net_name;
  }

  Status add(graph::Graph graph, const codegen::Target& target, double done, double share, const std::string& dump_folder) {
    const auto tell = [&](const char* stage, double fraction) { report(options_, stage, done + fraction * share); };
    TIFFIN_TRY(make_dump_folder(dump_folder));
    tell("passes", 0.1);
    passes::PassContext context;
    context.opt_level = options_.opt_level;
    context.machine = target.machine;
    RunnerOptions runner;
    runner.opt_level = options_.opt_level;
    runner.dump_folder = dump_folder;
    runner.stop_after = options_.stop_after;
    runner.skip = options_.skip;
    runner.stop = options_.stop;
    TIFFIN_TRY(run_pipeline(graph, context, runner, nullptr));
    TIFFIN_TRY(check_interface(graph, declared_dtypes_));

    tell("plan", 0.3);
    plan::PlanOptions plan_options;
    plan_options.machine = target.machine;
    plan_options.opt_level = options_.opt_level;
    plan_options.entry = options_.entry;
    TIFFIN_ASSIGN_OR_RETURN(const plan::Plan plan, plan::build_plan(graph, plan_options));
    if (!dump_folder.empty()) TIFFIN_TRY(dump_plan(plan, dump_folder));
    if (golden_ != nullptr) TIFFIN_TRY(golden_->add_variant(graph, plan, [&](double part) { tell("golden cases", 0.3 + 0.1 * part); }));

    tell("code", 0.4);
    std::vector<const kernel::Kernel*> kernels;
    for (const auto& kernel : plan.kernels) kernels.push_back(kernel.get());
    codegen::CodegenOptions codegen_options;
    codegen_options.threads = options_.threads > 0 ? options_.threads : affinity_cores();
    codegen_options.dump_folder = dump_folder;
    codegen_options.stop = options_.stop;
    TIFFIN_ASSIGN_OR_RETURN(const codegen::CodeBlob code, codegen::compile_kernels(kernels, target, codegen_options));
    tell("write", 0.9);
    artifact::Contents contents = artifact::make_contents(plan, target, code, facts_, manifest_options(options_));
    if (options_.with_sources) contents.attachments.push_back(kernel_sources(plan, state_.contents.code.size()));
    return join(plan, std::move(contents));
  }

 private:
  Status join(const plan::Plan& plan, artifact::Contents contents) {
    contents.embed_params = options_.embed_params;
    if (!state_.contents.code.empty()) return artifact::join(state_.contents, std::move(contents));
    state_.contents = std::move(contents);
    for (const plan::Parameter& parameter : plan.storage.parameters) state_.params.emplace_back(parameter.name, parameter.tensor);
    return {};
  }

  const CompileOptions& options_;
  graph::ModelFacts facts_;
  std::vector<DType> declared_dtypes_;
  CompiledModule::State& state_;
  GoldenRecording* golden_;
};

// Several variants dump into folders of their own: 0, 1, …
std::string dump_folder_of(const CompileOptions& options, size_t index) {
  if (options.dump_folder.empty() || options.targets.size() == 1) return options.dump_folder;
  return options.dump_folder + "/" + std::to_string(index);
}

// What every output needs. Parameters are hashed once, however many files they go into.
Status complete(const CompileOptions& options, artifact::Contents& contents) {
  TIFFIN_TRY(attach_files(options.libraries, options.files, contents));
  TIFFIN_ASSIGN_OR_RETURN(contents.digests, artifact::hash_parameters(contents));
  return {};
}

Status check_options(const CompileOptions& options) {
  if (options.opt_level < 0 || options.opt_level > 3) return error(Code::InvalidArgument, "the level is %d, expected 0 to 3", options.opt_level);
  if (options.threads < 0) return error(Code::InvalidArgument, "%d threads are asked for, expected 0 or more", options.threads);
  const bool is_name = !options.entry.empty() && options.entry.find('\0') == std::string::npos;
  return is_name ? Status() : error(Code::InvalidArgument, "the entry is named '%s', expected a text without zero bytes", options.entry.c_str());
}

}  // namespace

Result<CompiledModule> compile_graph(graph::Graph graph, const graph::ModelFacts& facts, const CompileOptions& options) {
  TIFFIN_TRY(check_options(options));
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<codegen::Target> targets, parse_targets(options.targets));
  if (targets.size() > 1) return error(Code::InvalidArgument, "%zu targets are given for a graph, which is compiled for one", targets.size());
  if (!options.dims.empty() || !options.input_shapes.empty()) {
    return error(Code::InvalidArgument, "sizes of dimensions or shapes of inputs are given for a graph, whose types say them");
  }
  if (options.golden_count > 0 || options.golden_inputs) {
    return error(Code::InvalidArgument, "golden cases are asked for, which are made of a model file, not of a graph");
  }
  auto state = std::make_unique<CompiledModule::State>();
  TIFFIN_TRY(VariantCompiler(options, facts, {}, *state, nullptr).add(std::move(graph), targets[0], 0, 1, options.dump_folder));
  TIFFIN_TRY(complete(options, state->contents));
  return CompiledModule(std::move(state));
}

Result<CompiledModule> compile_onnx(const std::string& path, const CompileOptions& options) {
  TIFFIN_TRY(check_options(options));
  // A wrong target is told before a large model is read.
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<codegen::Target> targets, parse_targets(options.targets));
  report(options, "import", 0.0);
  auto state = std::make_unique<CompiledModule::State>();
  state->inputs = InputFiles(path);
  TIFFIN_TRY(check_dump_folder(options.dump_folder, state->inputs.paths()));
  TIFFIN_ASSIGN_OR_RETURN(const std::string sha256, codegen::sha256_of_file(path));
  import::ImportOptions import_options;
  import_options.dims = options.dims;
  import_options.input_shapes = options.input_shapes;
  GoldenRecording golden(path, import_options, options, options.threads > 0 ? options.threads : affinity_cores());
  const double share = 1.0 / static_cast<double>(targets.size());
  for (size_t i = 0; i < targets.size(); ++i) {
    // The passes change the graph, so every variant begins with one of its own; the weights stay in the mapped file.
    TIFFIN_ASSIGN_OR_RETURN(import::ImportedModel model, read_model(path, import_options));
    model.facts.sha256 = sha256;
    model.facts.name = std::filesystem::path(path).stem().string();
    VariantCompiler compiler(options, model.facts, model.output_dtypes, *state, &golden);
    Status added = compiler.add(std::move(model.graph), targets[i], static_cast<double>(i) * share, share, dump_folder_of(options, i));
    // As where the file is read.
    if (added.code() == Code::UnsupportedOperator) return std::move(added).with_context("'%s'", path.c_str());
    if (!added.is_ok()) return added;
  }
  state->contents.golden = golden.section();
  TIFFIN_TRY(complete(options, state->contents));
  return CompiledModule(std::move(state));
}

}  // namespace tiffin::driver
