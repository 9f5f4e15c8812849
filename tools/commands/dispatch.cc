// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/dispatch.h"

#include <cstdio>
#include <cstring>

#include "abi/version.h"
#include "tools/commands/arguments.h"
#include "tools/commands/commands.h"
#include "tools/commands/interruption.h"
#include "tools/commands/json_output.h"

namespace tiffin::tools {
namespace {

constexpr int kWrongUsage = 2;
constexpr int kFailed = 3;

struct CommandRow {
  const char* word;
  const char* second_word;  // of `params`
  Command command;
};

constexpr CommandRow kCommands[] = {
    {"run", nullptr, Command::Run},
    {"bench", nullptr, Command::Bench},
    {"inspect", nullptr, Command::Inspect},
    {"doctor", nullptr, Command::Doctor},
    {"verify", nullptr, Command::Verify},
    {"params", "list", Command::ParamsList},
    {"params", "extract", Command::ParamsExtract},
    {"params", "convert", Command::ParamsConvert},
    {"params", "diff", Command::ParamsDiff},
    {"params", "delta", Command::ParamsDelta},
    {"params", "apply", Command::ParamsApply},
    {"errors", nullptr, Command::Errors},
    {"devices", nullptr, Command::Devices},
};

const CommandRow* find_command(int count, char** words) {
  for (const CommandRow& row : kCommands) {
    if (count < 2 || strcmp(words[1], row.word) != 0) continue;
    if (row.second_word == nullptr || (count > 2 && strcmp(words[2], row.second_word) == 0)) return &row;
  }
  return nullptr;
}

Result<int> call(const Arguments& arguments, const Extensions* extensions) {
  switch (arguments.command) {
    case Command::Run:
      return run_model(arguments, extensions);
    case Command::Bench:
      return bench_model(arguments, extensions);
    case Command::Inspect:
      return inspect_artifact(arguments);
    case Command::Doctor:
      return examine_artifact(arguments);
    case Command::Verify:
      return verify_artifact(arguments);
    case Command::ParamsList:
      return list_params(arguments);
    case Command::ParamsExtract:
      return extract_params(arguments);
    case Command::ParamsConvert:
      return convert_params(arguments);
    case Command::ParamsDiff:
      return diff_params(arguments);
    case Command::ParamsDelta:
      return write_params_delta(arguments);
    case Command::ParamsApply:
      return apply_params_delta(arguments);
    case Command::Errors:
      return list_errors(arguments);
    case Command::Devices:
      return list_devices(arguments);
  }
  return error(Code::Internal, "a command has no implementation");
}

Result<int> call_interruptibly(const Arguments& arguments, const Extensions* extensions) {
  Interruption interruption;
  for (const char* path : {arguments.output, arguments.trace}) TIFFIN_TRY(interruption.add_output(path));
  TIFFIN_TRY(interruption.add_folder(arguments.outputs));
  interruption.start(arguments.json);
  return call(arguments, extensions);
}

void print_usage(FILE* to, const char* program, const CommandRow* only) {
  fprintf(to, "usage:\n");
  for (const CommandRow& row : kCommands) {
    const bool is_shown = only == nullptr || only == &row || (row.second_word != nullptr && strcmp(row.word, only->word) == 0);
    if (is_shown) fprintf(to, "  %s %s\n", program, usage_of(row.command));
  }
}

int wrong_usage(const Status& status, bool json, const char* program, const CommandRow* row) {
  report_failure(status, json);
  print_usage(stderr, program, row);
  return kWrongUsage;
}

int print_help(const char* program, const CommandRow* row) {
  print_usage(stdout, program, row);
  const Status flushed = flush_output();
  if (flushed.is_ok()) return 0;
  report_failure(flushed, false);
  return kFailed;
}

int unknown_command(int count, char** words, const char* program) {
  const bool is_params = count >= 2 && strcmp(words[1], "params") == 0;
  Status status = count < 2                ? error(Code::InvalidArgument, "a command is missing")
                  : is_params && count < 3 ? error(Code::InvalidArgument, "'params' needs one of list, extract, convert, diff, delta and apply")
                  : is_params ? error(Code::InvalidArgument, "'params %s' is not known, list, extract, convert, diff, delta and apply are", words[2])
                              : error(Code::InvalidArgument, "command '%s' is not known", words[1]);
  return wrong_usage(status, asks_for_json(count, words), program, nullptr);
}

}  // namespace

bool is_shared_command(const char* word) {
  for (const CommandRow& row : kCommands) {
    if (strcmp(row.word, word) == 0) return true;
  }
  return false;
}

int run_command(int count, char** words, const char* program, const Extensions* extensions, const char* enclosed) {
  const CommandRow* row = find_command(count, words);
  if (row == nullptr && count == 3 && strcmp(words[2], "--help") == 0) return print_help(program, &kCommands[5]);
  if (row == nullptr) return unknown_command(count, words, program);
  const int skipped = row->second_word == nullptr ? 2 : 3;
  Arguments arguments;
  const Status parsed = parse_arguments(row->command, count - skipped, words + skipped, &arguments, enclosed);
  if (!parsed.is_ok()) return wrong_usage(parsed, asks_for_json(count, words), program, row);
  if (arguments.help) return print_help(program, row);
  const Result<int> done = call_interruptibly(arguments, extensions);
  if (done.has_value()) return *done;
  report_failure(done.error(), arguments.json);
  return kFailed;
}

int run_program(int count, char** words, const char* program, const Extensions* extensions, const char* enclosed) {
  const char* word = count > 1 ? words[1] : "";
  if (strcmp(word, "--version") == 0) {
    printf("%s %s\n", program, TIFFIN_VERSION);
  } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
    print_usage(stdout, program, nullptr);
    if (enclosed != nullptr) puts("an artifact is enclosed in this program: it is the FILE of commands that are given none");
  } else {
    return run_command(count, words, program, extensions, enclosed);
  }
  const Status flushed = flush_output();
  if (!flushed.is_ok()) report_failure(flushed, false);
  return flushed.is_ok() ? 0 : kFailed;
}

}  // namespace tiffin::tools
