// SPDX-License-Identifier: Apache-2.0
// `run`: one run of an artifact on the inputs given.
#include <cstdio>

#include "tools/commands/commands.h"
#include "tools/commands/session.h"

namespace tiffin::tools {
namespace {

Status print_json(const runtime::GraphExecutor& executor) {
  JsonOutput out(stdout);
  out.begin_object();
  write_output_list(out, executor);
  write_report(out, executor);
  out.end_object();
  return out.finish();
}

Status print_text(const runtime::GraphExecutor& executor) {
  for (size_t i = 0; i < executor.output_count(); ++i) {
    const runtime::TensorSpec spec = executor.output_spec(i);
    printf("output    %s  %s\n", spec.name, type_text(spec.dtype, spec.shape).text);
  }
  print_fallbacks(executor);
  return flush_output();
}

}  // namespace

Result<int> run_model(const Arguments& arguments, const Extensions* extensions) {
  Session session;
  TIFFIN_TRY(session.open(arguments, extensions));
  TIFFIN_TRY(session.executor().run());
  TIFFIN_TRY(write_outputs(session.executor(), arguments, extensions));
  if (arguments.json) TIFFIN_TRY(print_json(session.executor()));
  if (!arguments.json && !arguments.quiet) TIFFIN_TRY(print_text(session.executor()));
  return 0;
}

}  // namespace tiffin::tools
