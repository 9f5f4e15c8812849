// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/arguments.h"

#include <getopt.h>

#include <cstring>

#include "tools/commands/byte_file.h"

namespace tiffin::tools {
namespace {

constexpr unsigned bit(Command command) { return 1u << static_cast<unsigned>(command); }

constexpr unsigned kRuns = bit(Command::Run) | bit(Command::Bench);
constexpr unsigned kReadsArtifact = kRuns | bit(Command::Inspect) | bit(Command::Doctor) | bit(Command::Verify);
constexpr unsigned kTakesTwo = bit(Command::ParamsDiff) | bit(Command::ParamsDelta) | bit(Command::ParamsApply);
constexpr unsigned kTakesNone = bit(Command::Errors) | bit(Command::Devices);
constexpr unsigned kWrites = bit(Command::ParamsExtract) | bit(Command::ParamsConvert) | bit(Command::ParamsDelta) | bit(Command::ParamsApply);
constexpr unsigned kTakesEnclosed = kReadsArtifact | bit(Command::ParamsList) | bit(Command::ParamsExtract);
constexpr unsigned kAll = ~0u;

// An option with a value has `text`, one without has `flag`, one that repeats has `list`; --input has a form of its own.
struct OptionRow {
  const char* name;
  const char* Arguments::*text;
  bool Arguments::*flag;
  unsigned commands;
  Array<const char*> Arguments::*list = nullptr;
};

constexpr OptionRow kOptions[] = {
    {"params", &Arguments::params, nullptr, kRuns | bit(Command::Doctor) | bit(Command::Verify) | bit(Command::ParamsExtract)},
    {"new-weights", nullptr, &Arguments::new_weights, kRuns | bit(Command::Verify) | bit(Command::ParamsExtract)},
    {"inputs", &Arguments::inputs, nullptr, kRuns},
    {"input", nullptr, nullptr, kRuns},
    {"fill", &Arguments::fill, nullptr, kRuns},
    {"outputs", &Arguments::outputs, nullptr, kRuns},
    {"format", &Arguments::format, nullptr, kRuns},
    {"device", &Arguments::device, nullptr, kRuns},
    {"threads", &Arguments::threads, nullptr, kRuns},
    {"entry", &Arguments::entry, nullptr, kRuns},
    {"verify", &Arguments::verify, nullptr, kRuns},
    {"trust", &Arguments::trust, nullptr, kRuns},
    {"key", nullptr, nullptr, kRuns | bit(Command::Verify), &Arguments::keys},
    {"min-release", &Arguments::min_release, nullptr, kRuns},
    {"opt-level", &Arguments::opt_level, nullptr, kRuns},
    {"dim", nullptr, nullptr, kRuns, &Arguments::dims},
    {"input-shape", nullptr, nullptr, kRuns, &Arguments::input_shapes},
    {"copy", nullptr, &Arguments::copy, kRuns},
    {"strict", nullptr, &Arguments::strict, kRuns},
    {"warmup", &Arguments::warmup, nullptr, bit(Command::Bench)},
    {"repeat", &Arguments::repeat, nullptr, bit(Command::Bench)},
    {"seconds", &Arguments::seconds, nullptr, bit(Command::Bench)},
    {"profile", nullptr, &Arguments::profile, bit(Command::Bench)},
    {"trace", &Arguments::trace, nullptr, bit(Command::Bench)},
    {"functions", nullptr, &Arguments::functions, bit(Command::Inspect)},
    {"tensors", nullptr, &Arguments::tensors, bit(Command::Inspect)},
    {"sizes", nullptr, &Arguments::sizes, bit(Command::Inspect)},
    {"budget", &Arguments::budget, nullptr, bit(Command::Inspect)},
    {"baseline", &Arguments::baseline, nullptr, bit(Command::Inspect)},
    {"program", nullptr, &Arguments::program, bit(Command::Inspect)},
    {"memory", nullptr, &Arguments::memory, bit(Command::Inspect)},
    {"cpu", &Arguments::cpu, nullptr, bit(Command::Doctor)},
    {"features", &Arguments::features, nullptr, bit(Command::Doctor)},
    {"output", &Arguments::output, nullptr, kWrites},
    {"quiet", nullptr, &Arguments::quiet, kAll},
    {"json", nullptr, &Arguments::json, kAll},
    {"help", nullptr, &Arguments::help, kAll},
};
constexpr int kOptionCount = sizeof(kOptions) / sizeof(kOptions[0]);
constexpr int kFirstOption = 256;  // getopt's answers below are characters

// In the order of Command.
constexpr const char* kUsages[] = {
    "run FILE [--params P [--new-weights]] [--inputs DIR | --input NAME=FILE]... [--fill random:SEED|zeros|ones]\n"
    "    [--outputs DIR [--format npy|pb]] [--device cpu] [--threads N] [--entry NAME] [--verify none|code|all] [--copy] [--strict]\n"
    "    [--trust native|data|signed --key NAME.public [--min-release N]] [--quiet] [--json]\n"
    "    for a model: [-O 0|1|2|3] [--dim NAME=N]... [--input-shape NAME=1x3x224x224]...",
    "bench FILE [run's options] [--warmup N] [--repeat N] [--seconds S] [--profile] [--trace OUT.json] [--json]",
    "inspect FILE [--functions] [--tensors] [--sizes [--budget SIZE] [--baseline FILE]] [--program] [--memory] [--json]",
    "doctor FILE [--cpu NAME | --features LIST] [--params P] [--json]",
    "verify FILE [--params P [--new-weights]] [--key NAME.public]... [--json]",
    "params list FILE [--json]",
    "params extract FILE [--params P [--new-weights]] -o OUT.safetensors|OUT.params|OUT.tfw",
    "params convert IN -o OUT.safetensors|OUT.params|OUT.tfw",
    "params diff OLD NEW [--json]",
    "params delta OLD NEW -o DELTA",
    "params apply BASE DELTA -o OUT.safetensors|OUT.params|OUT.tfw",
    "errors [--json]",
    "devices [--json]",
};

void fill_table(Command command, option* table) {
  int count = 0;
  for (int i = 0; i < kOptionCount; ++i) {
    if ((kOptions[i].commands & bit(command)) == 0) continue;
    table[count++] = {kOptions[i].name, kOptions[i].flag == nullptr ? required_argument : no_argument, nullptr, kFirstOption + i};
  }
  table[count] = {};
}

Status add_input(const char* text, Arguments* out) {
  const char* end = strrchr(text, '=');
  if (end == nullptr || end == text || end[1] == 0) return error(Code::InvalidArgument, "--input is '%s', NAME=FILE is expected", text);
  const NamedFile given{{text, static_cast<size_t>(end - text)}, end + 1};
  for (size_t i = 0; i < out->input_file_count; ++i) {
    if (out->input_files[i].name == given.name) {
      return error(Code::InvalidArgument, "--input '%.*s' is given twice", static_cast<int>(given.name.size()), given.name.data());
    }
  }
  out->input_files[out->input_file_count++] = given;
  return {};
}

Status apply(const OptionRow& row, const char* value, Arguments* out) {
  if (row.flag != nullptr) {
    out->*row.flag = true;
    return {};
  }
  if (row.list != nullptr) return (out->*row.list).append(value) ? Status() : out_of_memory();
  if (row.text == nullptr) return add_input(value, out);
  if (out->*row.text != nullptr) return error(Code::InvalidArgument, "--%s is given twice", row.name);
  out->*row.text = value;
  return {};
}

// getopt_long permutes its words and begins behind the first, which stands for the program.
Status parse_options(Command command, int count, char** words, Arguments* out) {
  option table[kOptionCount + 1];
  fill_table(command, table);
  opterr = 0;
  optind = 0;
  const char* short_options = (kWrites & bit(command)) != 0 ? ":o:h" : (kRuns & bit(command)) != 0 ? ":O:h" : ":h";
  while (true) {
    const int at = optind == 0 ? 1 : optind;
    const int answer = getopt_long(count, words, short_options, table, nullptr);
    if (answer == -1) return {};
    if (answer == ':') return error(Code::InvalidArgument, "option '%s' needs a value", words[optind - 1]);
    if (answer == '?') return error(Code::InvalidArgument, "unknown option '%s'", words[optind > at ? optind - 1 : at]);
    if (answer == 'h') {
      out->help = true;
      continue;
    }
    if (answer == 'o' || answer == 'O') {
      const char*& text = answer == 'o' ? out->output : out->opt_level;
      if (text != nullptr) return error(Code::InvalidArgument, "-%c is given twice", answer);
      text = optarg;
      continue;
    }
    TIFFIN_TRY(apply(kOptions[answer - kFirstOption], optarg, out));
  }
}

}  // namespace

Status parse_arguments(Command command, int count, char** words, Arguments* out, const char* enclosed) {
  out->command = command;
  if (!out->input_files.resize(static_cast<size_t>(count))) return out_of_memory();
  Array<char*> shifted;
  if (!shifted.resize(static_cast<size_t>(count) + 2)) return out_of_memory();
  shifted[0] = const_cast<char*>("tiffin");
  for (int i = 0; i < count; ++i) shifted[static_cast<size_t>(i) + 1] = words[i];
  shifted[static_cast<size_t>(count) + 1] = nullptr;
  TIFFIN_TRY(parse_options(command, count + 1, shifted.data(), out));
  if (out->help) return {};
  const int given = count + 1 - optind;
  const int wanted = (kTakesNone & bit(command)) != 0 ? 0 : (kTakesTwo & bit(command)) != 0 ? 2 : 1;
  const bool is_enclosed = enclosed != nullptr && given == 0 && (kTakesEnclosed & bit(command)) != 0;
  if (given < wanted && !is_enclosed) return error(Code::InvalidArgument, given == 0 ? "a file is missing" : "the second file is missing");
  if (given > wanted) return error(Code::InvalidArgument, "unexpected word '%s'", shifted[static_cast<size_t>(optind + wanted)]);
  if (wanted >= 1) out->file = is_enclosed ? enclosed : shifted[static_cast<size_t>(optind)];
  if (wanted == 2) out->second_file = shifted[static_cast<size_t>(optind) + 1];
  if ((kWrites & bit(command)) != 0 && out->output == nullptr) return error(Code::InvalidArgument, "-o OUT is missing");
  if (out->new_weights && out->params == nullptr) return error(Code::InvalidArgument, "--new-weights is given without --params");
  TIFFIN_TRY(check_written_path("-o", out->output));
  TIFFIN_TRY(check_written_path("--outputs", out->outputs));
  TIFFIN_TRY(check_written_path("--trace", out->trace));
  return read_values(*out, &out->values);
}

Status check_written_path(const char* option, const char* path) {
  if (path == nullptr || strcmp(path, "-") != 0) return {};
  return error(Code::InvalidArgument, "%s is '-', a path is expected: nothing is written to standard output", option)
      .with_remedy("give a path; './-' is a file of that name");
}

bool asks_for_json(int count, char** words) {
  for (int i = 0; i < count; ++i) {
    if (strcmp(words[i], "--json") == 0) return true;
    if (strcmp(words[i], "--") == 0) return false;
  }
  return false;
}

const char* usage_of(Command command) { return kUsages[static_cast<size_t>(command)]; }

}  // namespace tiffin::tools
