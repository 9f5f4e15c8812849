// SPDX-License-Identifier: Apache-2.0
// tiffin-run: the commands of `tiffin` that need no compiler.
#include <csignal>

#include "tools/commands/dispatch.h"

int main(int count, char** words) {
  signal(SIGXFSZ, SIG_IGN);  // a file that grows over the limit is a failed write, with a message
  return tiffin::tools::run_program(count, words, "tiffin-run", nullptr);
}
