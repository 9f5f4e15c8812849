// SPDX-License-Identifier: Apache-2.0
// What every command of `tiffin` does with its words: help on request, wrong usage told the same way, and failures with status 3.
#pragma once

#include <optional>

#include "base/status.h"

namespace CLI {
class App;
}

namespace tiffin::tools {

// Parses the words into what the app's options name. The exit status when there is nothing left to do: 0 after help, 2 after wrong usage.
std::optional<int> parse_words(CLI::App& app, int count, char** words);

// Tells wrong usage and where help is; 2.
int wrong_usage(const CLI::App& app, const Status& status, bool json);

// 0, or 3 after the failure is told.
int exit_status(const Status& status, bool json);

}  // namespace tiffin::tools
