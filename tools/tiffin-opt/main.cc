// SPDX-License-Identifier: Apache-2.0
// tiffin-opt: runs passes on a graph written as text and prints the graph that comes out.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "compiler/codegen/target.h"
#include "compiler/driver/pipeline.h"
#include "compiler/graph/parser.h"
#include "compiler/graph/printer.h"
#include "compiler/graph/verifier.h"
#include "compiler/ops/infer.h"

namespace tiffin::tools {
namespace {

struct Words {
  std::string file = "-";
  std::string target = "llvm -mcpu=x86-64-v3";  // the same on every machine, so that tests are
  std::vector<std::string> passes;
  int opt_level = 3;
  bool is_list = false, verify_only = false, whole_pipeline = false;
};

Result<std::string> read_text(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), {});
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) return error(Code::Io, "cannot read '%s'", path.c_str());
  return text.str();
}

// Whether everything arrived is known once it is flushed.
Status print(const std::string& text) {
  const bool is_written = fwrite(text.data(), 1, text.size(), stdout) == text.size() && fflush(stdout) == 0;
  return is_written ? Status() : error(Code::Io, "cannot write to standard output: %s", strerror(errno));
}

Status list_passes() {
  std::string list;
  for (const driver::PassRow& row : driver::pipeline()) list += fmt::format("{:<28} -O{}  {}\n", row.name, row.min_opt_level, row.why_here);
  return print(list);
}

Status transform(const Words& words) {
  TIFFIN_ASSIGN_OR_RETURN(const std::string text, read_text(words.file));
  TIFFIN_ASSIGN_OR_RETURN(graph::Graph graph, graph::parse_graph(text));
  TIFFIN_TRY(graph::verify_graph(graph));
  TIFFIN_TRY(ops::infer_declared_types(graph));
  if (words.verify_only) return {};
  if (words.whole_pipeline || !words.passes.empty()) {
    TIFFIN_ASSIGN_OR_RETURN(const codegen::Target target, codegen::parse_target(words.target));
    passes::PassContext context;
    context.opt_level = words.opt_level;
    context.machine = target.machine;
    driver::RunnerOptions options;
    options.opt_level = words.opt_level;
    options.only = words.passes;
    TIFFIN_TRY(driver::run_pipeline(graph, context, options, nullptr));
  }
  return print(graph::print_graph(graph));
}

int exit_status(const Status& status) {
  if (status.is_ok()) return 0;
  fmt::print(stderr, "tiffin-opt: error[{}]: {}\n  remedy: {}\n", code_row(status.code()).name, status.message(), status.remedy());
  return 3;
}

void define_options(CLI::App& app, Words& words) {
  app.add_option("FILE", words.file, "a graph as text; '-' reads standard input");
  app.add_option("--passes", words.passes, "passes to run, in this order, separated by commas")->delimiter(',')->allow_extra_args(false);
  app.add_flag("--pipeline", words.whole_pipeline, "run the whole pipeline of the level");
  app.add_option("-O,--opt-level", words.opt_level, "0 to 3")->check(CLI::Range(0, 3));
  app.add_option("--target", words.target, "the target that layouts are chosen for");
  app.add_flag("--list", words.is_list, "list the passes in the pipeline's order");
  app.add_flag("--verify", words.verify_only, "check the graph and print nothing");
}

int run(int count, char** arguments) {
  Words words;
  CLI::App app("Runs passes on a graph written as text.", "tiffin-opt");
  define_options(app, words);
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& failure) {
    if (failure.get_exit_code() == 0) return exit_status(print(app.help()));
    fmt::print(stderr, "tiffin-opt: error[InvalidArgument]: {}\n{}", failure.what(), app.help());
    return 2;
  }
  return exit_status(words.is_list ? list_passes() : transform(words));
}

}  // namespace
}  // namespace tiffin::tools

int main(int count, char** arguments) {
  try {
    return tiffin::tools::run(count, arguments);
  } catch (const std::exception& failure) {
    std::cerr << "tiffin-opt: error[Internal]: " << failure.what() << '\n';
    return 3;
  }
}
