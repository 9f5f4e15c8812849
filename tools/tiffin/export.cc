// SPDX-License-Identifier: Apache-2.0
// `tiffin export`: an artifact in another form, for machines where it is not to be a file of its own.
#include "tools/tiffin/export.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "compiler/driver/check_outputs.h"
#include "tools/commands/arguments.h"
#include "tools/commands/check_output.h"
#include "tools/commands/interruption.h"
#include "tools/commands/json_output.h"
#include "tools/tiffin/parse_words.h"
#include "tools/tiffin/subcommands.h"

namespace tiffin::tools {
namespace {

struct ExportWords {
  std::string file, executable, system_lib, header, name;
  bool json = false, quiet = false;
};

Status check_words(const ExportWords& words) {
  TIFFIN_TRY(check_written_path("--executable", words.executable.c_str()));
  TIFFIN_TRY(check_written_path("--system-lib", words.system_lib.c_str()));
  TIFFIN_TRY(check_written_path("--header", words.header.c_str()));
  if (words.executable.empty() == words.system_lib.empty()) {
    return error(Code::InvalidArgument, "%s given, one of --executable and --system-lib is expected",
                 words.executable.empty() ? "nothing is" : "both are");
  }
  if (words.system_lib.empty() != words.header.empty()) {
    return error(Code::InvalidArgument, "--system-lib OUT.a and --header OUT.h go together, only one of them is given");
  }
  if (!words.name.empty() && words.system_lib.empty()) return error(Code::InvalidArgument, "--name is for --system-lib");
  return {};
}

// Beside this program, or where distributions put programs that people do not start.
std::vector<std::string> program_folders() {
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  return {folder, folder / "../libexec/tiffin"};
}

Status run_export(const ExportWords& words) {
  TIFFIN_TRY(driver::check_outputs({words.executable, words.system_lib, words.header}, {words.file}));
  Interruption interruption;
  for (const std::string* output : {&words.executable, &words.system_lib, &words.header}) TIFFIN_TRY(interruption.add_output(output->c_str()));
  interruption.start(words.json);
  TIFFIN_ASSIGN_OR_RETURN(runtime::Source source, runtime::Source::open(words.file.c_str()));
  TIFFIN_ASSIGN_OR_RETURN(const runtime::Artifact artifact, runtime::Artifact::open(std::move(source), runtime::VerifyLevel::All));
  for (const std::string* output : {&words.executable, &words.system_lib, &words.header}) {
    if (!output->empty()) TIFFIN_TRY(check_output(output->c_str(), artifact.container()));
  }
  const bool is_program = !words.executable.empty();
  TIFFIN_TRY(is_program ? export_executable(artifact, words.executable, program_folders())
                        : export_system_lib(artifact, {words.system_lib, words.header, words.name}));
  const std::string& path = is_program ? words.executable : words.system_lib;
  std::error_code failed;
  const uintmax_t bytes = std::filesystem::file_size(path, failed);
  if (words.json) {
    nlohmann::ordered_json out = {{"path", path}, {"bytes", failed ? 0 : bytes}, {"machine", machine_name(export_machine(artifact))}};
    if (!is_program) out["header"] = words.header;
    fmt::print("{}\n", out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else if (!words.quiet) {
    fmt::print("{}: {:.1f} MB for {}\n", path, static_cast<double>(failed ? 0 : bytes) * 1e-6, machine_name(export_machine(artifact)));
  }
  return flush_output();
}

}  // namespace

int export_command(int count, char** words) {
  ExportWords parsed;
  CLI::App app("Writes an artifact in another form.", "tiffin export");
  app.set_help_flag("-h,--help", "show this text");
  app.add_option("FILE", parsed.file, "an artifact: .so, .tar or folder")->required();
  app.add_option("--executable", parsed.executable, "one static program that runs, describes and verifies the model in it");
  app.add_option("--system-lib", parsed.system_lib, "a static library to link into a program, with --header");
  app.add_option("--header", parsed.header, "the C header that declares what the library defines");
  app.add_option("--name", parsed.name, "call it NAME_tiffin in C, instead of by the network's name");
  app.add_flag("--json", parsed.json, "print one JSON object");
  app.add_flag("--quiet", parsed.quiet, "print nothing");
  if (const std::optional<int> done = parse_words(app, count, words)) return *done;
  const Status usage = check_words(parsed);
  if (!usage.is_ok()) return wrong_usage(app, usage, parsed.json);
  return exit_status(run_export(parsed), parsed.json);
}

}  // namespace tiffin::tools
