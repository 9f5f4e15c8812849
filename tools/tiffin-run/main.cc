// SPDX-License-Identifier: Apache-2.0
// tiffin-run: the commands of `tiffin` that need no compiler.
#include "tools/commands/dispatch.h"

int main(int count, char** words) { return tiffin::tools::run_program(count, words, "tiffin-run", nullptr); }
