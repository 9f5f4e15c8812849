// SPDX-License-Identifier: Apache-2.0
// The command line of the shared commands: one table of options, one struct of what was typed.
#pragma once

#include <string_view>

#include "base/array.h"
#include "base/status.h"
#include "runtime/executor/module.h"
#include "tools/commands/fill.h"

namespace tiffin::tools {

enum class Command : uint8_t {
  Run,
  Bench,
  Inspect,
  Doctor,
  Verify,
  ParamsList,
  ParamsExtract,
  ParamsConvert,
  ParamsDiff,
  ParamsDelta,
  ParamsApply,
  Errors,
  Devices
};

// NAME=FILE; the name ends at the last '='.
struct NamedFile {
  std::string_view name;
  const char* file = nullptr;
};

// What the texts of options mean; a text that means nothing is wrong usage.
struct Values {
  Fill fill;
  int threads = 0;  // 0: the cores of the affinity mask
  runtime::VerifyLevel verify = runtime::VerifyLevel::Code;
  runtime::Trust trust = runtime::Trust::Native;
  bool as_pb = false;
  int64_t warmup = 3;
  int64_t repeat = 0;  // 0: not given
  double seconds = 0;  // 0: not given
  uint64_t budget = UINT64_MAX;
  int opt_level = 3;
  uint64_t min_release = 0;
};

// Texts are borrowed from argv; null where an option was not given.
struct Arguments {
  Command command{};
  const char *file = nullptr, *second_file = nullptr;
  const char *params = nullptr, *inputs = nullptr, *fill = nullptr, *outputs = nullptr, *format = nullptr, *device = nullptr, *threads = nullptr;
  const char *entry = nullptr, *verify = nullptr, *warmup = nullptr, *repeat = nullptr, *seconds = nullptr, *trace = nullptr;
  const char *budget = nullptr, *baseline = nullptr, *output = nullptr, *features = nullptr, *cpu = nullptr, *opt_level = nullptr;
  const char *trust = nullptr, *min_release = nullptr;
  bool new_weights = false, copy = false, strict = false, json = false, quiet = false, profile = false;
  bool functions = false, tensors = false, sizes = false, program = false, memory = false, help = false;
  Values values;
  Array<NamedFile> input_files;
  size_t input_file_count = 0;
  Array<const char*> dims, input_shapes;  // NAME=N, NAME=1x3x224x224
  Array<const char*> keys;                // files of public keys
};

// Reads argv[0..count), which begins behind the command's own words. `enclosed` stands for a FILE that is left out, where the command reads
// artifacts. InvalidArgument for wrong usage.
Status parse_arguments(Command command, int count, char** words, Arguments* out, const char* enclosed = nullptr);

// True when --json stands among the words: a wrong command line is reported in that form too.
bool asks_for_json(int count, char** words);

// "tiffin run FILE …", one line or a few, as --help and wrong usage print it.
const char* usage_of(Command command);

// InvalidArgument for '-', which means standard output elsewhere: a file of that name would surprise. Null stands for none.
Status check_written_path(const char* option, const char* path);

// Reads the texts of options. InvalidArgument naming the option, its value and what is expected.
Status read_values(const Arguments& arguments, Values* out);

// What "NAME=1x3x224x224" given to --OPTION says: its name, which ends at the last '=', and its extents. InvalidArgument.
struct NamedExtents {
  std::string_view name;
  Array<int64_t> extents;
};
Result<NamedExtents> parse_extents(const char* option, const char* text);
// The same for "NAME=N": one extent.
Result<NamedExtents> parse_dim(const char* option, const char* text);

// A decimal number of [least, most] given to --NAME. InvalidArgument.
Result<int64_t> parse_count(const char* option, const char* text, int64_t least, int64_t most);
// Bytes with an optional unit: kB MB GB (decimal), KiB MiB GiB.
Result<uint64_t> parse_size(const char* option, const char* text);

}  // namespace tiffin::tools
