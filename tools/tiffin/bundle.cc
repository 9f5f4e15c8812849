// SPDX-License-Identifier: Apache-2.0
// `tiffin bundle`: joins artifacts of one model, compiled for different targets, into one bundle.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "compiler/artifact/write_artifact.h"
#include "compiler/driver/check_outputs.h"
#include "compiler/driver/creation_time.h"
#include "tools/commands/interruption.h"
#include "tools/commands/json_output.h"
#include "tools/tiffin/parse_words.h"
#include "tools/tiffin/read_contents.h"
#include "tools/tiffin/subcommands.h"

namespace tiffin::tools {
namespace {

struct BundleWords {
  std::string output;
  std::vector<std::string> inputs;
  bool json = false, quiet = false;
};

Status bundle(const BundleWords& words) {
  if (!words.output.ends_with(".tar")) {
    return error(Code::InvalidArgument, "the bundle '%s' is no .tar", words.output.c_str()).with_remedy("name the output .tar");
  }
  TIFFIN_TRY(driver::check_outputs({words.output}, words.inputs));
  Interruption interruption;
  TIFFIN_TRY(interruption.add_output(words.output.c_str()));
  interruption.start(words.json);
  TIFFIN_ASSIGN_OR_RETURN(artifact::Contents contents, read_contents(words.inputs.front()));
  for (size_t i = 1; i < words.inputs.size(); ++i) {
    TIFFIN_ASSIGN_OR_RETURN(artifact::Contents other, read_contents(words.inputs[i]));
    Status joined = artifact::join(contents, std::move(other));
    if (!joined.is_ok()) return std::move(joined).with_context("'%s' does not join '%s'", words.inputs[i].c_str(), words.inputs.front().c_str());
  }
  TIFFIN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(words.output.c_str(), true));
  TIFFIN_TRY(artifact::write_artifact(contents, {artifact::Form::Bundle, driver::creation_time()}, file));
  TIFFIN_TRY(file.commit());
  std::vector<std::string> targets;
  for (const auto& variant : contents.program.variants) targets.push_back(variant->target);
  if (words.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"path", words.output}, {"targets", targets}}.dump());
  } else if (!words.quiet) {
    fmt::print("{}: {} variants\n", words.output, targets.size());
  }
  return flush_output();
}

}  // namespace

int bundle_command(int count, char** words) {
  BundleWords parsed;
  CLI::App app("Joins artifacts of one model, compiled for different targets, into one bundle.", "tiffin bundle");
  app.set_help_flag("-h,--help", "show this text");
  app.add_option("-o,--output", parsed.output, "the .tar to write")->required();
  app.add_option("ARTIFACT", parsed.inputs, "artifacts: .so, .tar or folders")->required();
  app.add_flag("--json", parsed.json, "print one JSON object");
  app.add_flag("--quiet", parsed.quiet, "print nothing");
  if (const std::optional<int> done = parse_words(app, count, words)) return *done;
  return exit_status(bundle(parsed), parsed.json);
}

}  // namespace tiffin::tools
