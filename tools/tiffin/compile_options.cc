// SPDX-License-Identifier: Apache-2.0
#include "tools/tiffin/compile_options.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/params/param_file.h"
#include "tools/commands/arguments.h"
#include "tools/tiffin/parse_words.h"

namespace tiffin::tools {
namespace {

// Texts that are read after CLI11 is done, because their errors are ours.
struct RawWords {
  std::vector<std::string> targets, dims, input_shapes;
  std::string params, cache_size;
  bool portable = false;
};

// What --targets portable stands for.
constexpr const char* kPortableTargets[] = {"llvm -mcpu=x86-64-v2", "llvm -mcpu=x86-64-v3", "llvm -mcpu=x86-64-v4",
                                            "llvm -mtriple=aarch64-linux-gnu"};

void define_options(CLI::App& app, CompileWords& words, RawWords& raw) {
  app.set_help_flag("-h,--help", "show this text");
  app.add_option("MODEL", words.model, "an ONNX file, or a graph as text")->required();
  app.add_option("-o,--output", words.output, "the artifact to write")->required();
  app.add_option("--target", raw.targets, "what to compile for, \"llvm -mcpu=native\" if not given; in a .tar several, one variant each")
      ->allow_extra_args(false);
  app.add_option_function<std::string>(
         "--targets", [&raw](const std::string&) { raw.portable = true; }, "portable: x86-64-v2, -v3, -v4 and aarch64, in a .tar")
      ->check(CLI::IsMember({"portable"}));
  app.add_option("--params", raw.params, "embed or external")->check(CLI::IsMember({"embed", "external"}));
  app.add_option("--params-out", words.params_out, "external weights: FILE.safetensors, FILE.params or FILE.tfw");
  app.add_option("--dim", raw.dims, "NAME=N: fix a symbolic dimension")->allow_extra_args(false);
  app.add_option("--input-shape", raw.input_shapes, "NAME=1x3x224x224: fix an input's shape")->allow_extra_args(false);
  app.add_option("-O,--opt-level", words.options.opt_level, "0 to 3")->check(CLI::Range(0, 3));
  app.add_option("--threads", words.options.threads, "threads that the compiler uses")->check(CLI::Range(1, 1024));
  app.add_option("--name", words.options.net_name, "name of the model in the artifact");
  app.add_option("--entry", words.options.entry, "name of the module's function");
  CLI::Option* count = app.add_option("--golden", words.options.golden_count,
                                      "cases of random inputs, with outputs by the reference evaluator, that 'verify' runs where the file is used")
                           ->check(CLI::Range(1, 1000));
  app.add_option("--golden-inputs", words.golden_inputs, "the same with inputs of a folder: input_K.npy or NAME.npy, or a sub-folder for each case")
      ->excludes(count);
  app.add_flag("--with-sources", words.options.with_sources, "the kernels as text travel in the artifact");
  app.add_option("--with-library", words.options.libraries, "a shared library that travels in the artifact")->allow_extra_args(false);
  app.add_option("--with-file", words.options.files, "any other file that travels in the artifact")->allow_extra_args(false);
  app.add_option("--cache", words.cache, "folder of compiled libraries: what is there is not compiled again");
  app.add_option("--cache-size", raw.cache_size, "what that folder may grow to, 10GB if not given; least recently used entries go first");
  app.add_option("--dump", words.options.dump_folder, "folder that gets graphs, plan and kernels as text");
  app.add_option("--stop-after", words.options.stop_after, "end after this pass");
  app.add_option("--skip", words.options.skip, "leave this pass out")->allow_extra_args(false);
  app.add_flag("--strict", words.is_strict, "a fallback is an error");
  app.add_flag("--json", words.json, "print one JSON object");
  app.add_flag("--quiet", words.quiet, "print nothing");
}

// An empty word, as of a variable that is not set, would silently mean that the option was not given.
Status check_empty_words(const CLI::App& app) {
  for (const char* name : {"--output", "--params-out", "--golden-inputs", "--cache", "--cache-size", "--dump", "--stop-after", "--name", "--entry"}) {
    const CLI::Option* option = app.get_option(name);
    if (option->count() > 0 && option->results().back().empty()) return error(Code::InvalidArgument, "%s is empty, a value is expected", name);
  }
  return {};
}

Status read_raw_words(const RawWords& raw, CompileWords* words) {
  if (!raw.targets.empty()) words->options.targets = raw.targets;
  if (raw.portable) {
    if (raw.targets.empty()) words->options.targets.clear();
    words->options.targets.insert(words->options.targets.end(), std::begin(kPortableTargets), std::end(kPortableTargets));
  }
  TIFFIN_TRY(check_written_path("-o", words->output.c_str()));
  TIFFIN_TRY(check_written_path("--params-out", words->params_out.c_str()));
  if (raw.params == "embed" && !words->params_out.empty()) {
    return error(Code::InvalidArgument, "--params embed and --params-out '%s' contradict each other", words->params_out.c_str())
        .with_remedy("leave one of them out: --params-out puts the weights beside the artifact instead of into it");
  }
  words->options.embed_params = raw.params != "external" && words->params_out.empty();
  for (const std::string& word : raw.dims) TIFFIN_TRY(add_dim(word, &words->options));
  for (const std::string& word : raw.input_shapes) TIFFIN_TRY(add_input_shape(word, &words->options));
  if (words->options.targets.size() > 1 && !words->output.ends_with(".tar")) {
    return error(Code::InvalidArgument, "%zu targets are given, one fits into '%s'", words->options.targets.size(), words->output.c_str())
        .with_remedy("name the output .tar: a bundle holds any number");
  }
  if (!words->params_out.empty()) {
    if (auto format = params::format_of_path(words->params_out.c_str()); !format.has_value()) return format.take_error().with_context("--params-out");
  }
  if (!raw.cache_size.empty()) {
    if (words->cache.empty()) return error(Code::InvalidArgument, "--cache-size is given without --cache");
    TIFFIN_ASSIGN_OR_RETURN(words->cache_bytes, parse_size("cache-size", raw.cache_size.c_str()));
  }
  return {};
}

}  // namespace

Status add_dim(const std::string& word, driver::CompileOptions* options) {
  TIFFIN_ASSIGN_OR_RETURN(const NamedExtents dim, parse_dim("dim", word.c_str()));
  if (options->dims.emplace(dim.name, dim.extents[0]).second) return {};
  return error(Code::InvalidArgument, "--dim '%s' is given twice", std::string(dim.name).c_str());
}

Status add_input_shape(const std::string& word, driver::CompileOptions* options) {
  TIFFIN_ASSIGN_OR_RETURN(const NamedExtents shape, parse_extents("input-shape", word.c_str()));
  const std::vector<int64_t> extents(shape.extents.begin(), shape.extents.end());
  if (options->input_shapes.emplace(shape.name, extents).second) return {};
  return error(Code::InvalidArgument, "--input-shape '%s' is given twice", std::string(shape.name).c_str());
}

ParsedWords parse_compile_words(int count, char** words) {
  ParsedWords parsed;
  RawWords raw;
  CLI::App app("Compiles an ONNX model into one file.", "tiffin compile");
  define_options(app, parsed.words, raw);
  if (const std::optional<int> done = parse_words(app, count, words)) {
    parsed.is_done = true;
    parsed.exit_status = *done;
    return parsed;
  }
  Status status = check_empty_words(app);
  if (status.is_ok()) status = read_raw_words(raw, &parsed.words);
  if (status.is_ok()) return parsed;
  parsed.is_done = true;
  parsed.exit_status = wrong_usage(app, status, parsed.words.json);
  return parsed;
}

}  // namespace tiffin::tools
