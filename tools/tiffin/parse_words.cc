// SPDX-License-Identifier: Apache-2.0
#include "tools/tiffin/parse_words.h"

#include <CLI/CLI.hpp>
#include <cstdio>

#include "tools/commands/arguments.h"
#include "tools/commands/json_output.h"

namespace tiffin::tools {

std::optional<int> parse_words(CLI::App& app, int count, char** words) {
  try {
    app.parse(count, words);
  } catch (const CLI::CallForHelp&) {
    fputs(app.help().c_str(), stdout);
    return exit_status(flush_output(), false);
  } catch (const CLI::ParseError& failure) {
    return wrong_usage(app, error(Code::InvalidArgument, "%s", failure.what()), asks_for_json(count, words));
  }
  return std::nullopt;
}

int wrong_usage(const CLI::App& app, const Status& status, bool json) {
  report_failure(status, json);
  fprintf(stderr, "'%s --help' lists what can be given\n", app.get_name().c_str());
  return 2;
}

int exit_status(const Status& status, bool json) {
  if (status.is_ok()) return 0;
  report_failure(status, json);
  return 3;
}

}  // namespace tiffin::tools
