// SPDX-License-Identifier: Apache-2.0
// `tiffin compile`: from an ONNX model to an artifact, and to a parameter file beside it if one is asked for.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "compiler/driver/check_outputs.h"
#include "tools/commands/interruption.h"
#include "tools/commands/json_output.h"
#include "tools/tiffin/cached_compile.h"
#include "tools/tiffin/compile_options.h"
#include "tools/tiffin/golden_inputs.h"
#include "tools/tiffin/progress.h"
#include "tools/tiffin/subcommands.h"

namespace tiffin::tools {
namespace {

using Clock = std::chrono::steady_clock;

// What would destroy the model, files that it is compiled with, or one of the outputs.
Status check_paths(const CompileWords& words) {
  std::vector<std::string> inputs = driver::files_of_model(words.model);
  inputs.insert(inputs.end(), words.options.libraries.begin(), words.options.libraries.end());
  inputs.insert(inputs.end(), words.options.files.begin(), words.options.files.end());
  const std::vector<std::string> golden = golden_files(words.golden_inputs);
  inputs.insert(inputs.end(), golden.begin(), golden.end());
  return driver::check_outputs({words.output, words.params_out}, inputs);
}

// Told before a long compile, not after it: the writer reports the same again if things change.
Status check_folder(const std::string& output) {
  if (output.empty()) return {};
  const std::filesystem::path folder = std::filesystem::path(output).parent_path();
  std::error_code failed;
  if (folder.empty() || std::filesystem::is_directory(folder, failed)) return {};
  return error(Code::Io, "cannot write '%s': there is no folder '%s'", output.c_str(), folder.c_str());
}

// `cache` says what the cache did; "" without one.
Status print_summary(const CompileWords& words, const driver::CompileFacts& facts, const std::string& cache, double seconds) {
  if (words.json) {
    nlohmann::ordered_json out = {{"path", words.output},
                                  {"targets", facts.targets},
                                  {"code_bytes", facts.code_bytes},
                                  {"weights_bytes", facts.weights_bytes},
                                  {"arena_bytes", facts.arena_bytes},
                                  {"seconds", seconds}};
    if (!words.params_out.empty()) out["params_path"] = words.params_out;
    if (!cache.empty()) out["cache"] = cache;
    fmt::print("{}\n", out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else if (!words.quiet) {
    fmt::print("{}: {}, code {:.1f} kB, weights {:.1f} MB{}, arena {:.1f} MB, {:.2f} s{}{}\n", words.output, fmt::join(facts.targets, " | "),
               static_cast<double>(facts.code_bytes) * 1e-3, static_cast<double>(facts.weights_bytes) * 1e-6,
               words.options.embed_params ? "" : " (external)", static_cast<double>(facts.arena_bytes) * 1e-6, seconds,
               cache.empty() ? "" : ", cache: ", cache);
  }
  return flush_output();
}

Status print_stopped(const CompileWords& words) {
  if (words.json) {
    nlohmann::ordered_json out = {{"path", nullptr}, {"stopped_after", words.options.stop_after}};
    fmt::print("{}\n", out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else if (!words.quiet) {
    fmt::print("stopped after '{}', nothing was written to '{}'\n", words.options.stop_after, words.output);
  }
  return flush_output();
}

Status compile(CompileWords& words) {
  TIFFIN_TRY(check_paths(words));
  TIFFIN_TRY(check_folder(words.output));
  TIFFIN_TRY(check_folder(words.params_out));
  Interruption interruption;
  for (const std::string* output : {&words.output, &words.params_out}) TIFFIN_TRY(interruption.add_output(output->c_str()));
  TIFFIN_TRY(interruption.add_folder(words.cache.c_str()));
  interruption.start(words.json);
  const auto start = Clock::now();
  Progress progress(!words.quiet && !words.json);
  words.options.progress = [&](const char* stage, double fraction) { progress.show(stage, fraction); };
  if (!words.golden_inputs.empty()) {
    words.options.golden_inputs = [&](const graph::Graph& graph) { return read_golden_inputs(words.golden_inputs, graph); };
  }
  if (can_use_cache(words)) {
    TIFFIN_ASSIGN_OR_RETURN(const CachedOutcome outcome, compile_cached(words, [&] { return driver::compile_onnx(words.model, words.options); }));
    progress.show("done", 1.0);
    return print_summary(words, outcome.facts, outcome.cache, std::chrono::duration<double>(Clock::now() - start).count());
  }
  Result<driver::CompiledModule> module = driver::compile_onnx(words.model, words.options);
  if (!module.has_value()) {
    const bool is_stop = module.error().code() == Code::Cancelled && !words.options.stop_after.empty();
    return is_stop ? print_stopped(words) : module.take_error();
  }
  TIFFIN_TRY(module->export_files(words.output, words.params_out));
  progress.show("done", 1.0);
  return print_summary(words, driver::facts_of(*module), "", std::chrono::duration<double>(Clock::now() - start).count());
}

}  // namespace

int compile_command(int count, char** words) {
  ParsedWords parsed = parse_compile_words(count, words);
  if (parsed.is_done) return parsed.exit_status;
  const Status status = compile(parsed.words);
  if (status.is_ok()) return 0;
  report_failure(status, parsed.words.json);
  return 3;
}

}  // namespace tiffin::tools
