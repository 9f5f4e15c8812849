// SPDX-License-Identifier: Apache-2.0
// What the texts of options mean.
#include <cerrno>
#include <cmath>
#include <cstring>

#include "base/params/param_file.h"
#include "runtime/executor/graph_executor.h"
#include "tools/commands/arguments.h"
#include "tools/commands/byte_file.h"

namespace tiffin::tools {
namespace {

Status wrong_value(const char* option, const char* text, const char* expected) {
  return error(Code::InvalidArgument, "--%s is '%s', %s is expected", option, text, expected);
}

Result<double> parse_seconds(const char* text) {
  char* end = nullptr;
  const double value = strtod(text, &end);
  if (end == text || *end != 0 || !(value > 0) || value > 1e6) return wrong_value("seconds", text, "a positive number");
  return value;
}

Result<runtime::VerifyLevel> parse_verify(const char* text) {
  if (strcmp(text, "none") == 0) return runtime::VerifyLevel::None;
  if (strcmp(text, "code") == 0) return runtime::VerifyLevel::Code;
  if (strcmp(text, "all") == 0) return runtime::VerifyLevel::All;
  return wrong_value("verify", text, "none, code or all");
}

Result<runtime::Trust> parse_trust(const char* text) {
  if (strcmp(text, "native") == 0) return runtime::Trust::Native;
  if (strcmp(text, "data") == 0) return runtime::Trust::Data;
  if (strcmp(text, "signed") == 0) return runtime::Trust::Signed;
  return wrong_value("trust", text, "native, data or signed");
}

// Keys that nobody asks for would look like a check that is none.
Status read_trust(const Arguments& arguments, Values* out) {
  if (arguments.trust != nullptr) {
    TIFFIN_ASSIGN_OR_RETURN(out->trust, parse_trust(arguments.trust));
  }
  const bool is_run = arguments.command == Command::Run || arguments.command == Command::Bench;
  if (is_run && out->trust != runtime::Trust::Signed && (!arguments.keys.empty() || arguments.min_release != nullptr)) {
    return error(Code::InvalidArgument, "--key and --min-release are for --trust signed");
  }
  if (arguments.min_release == nullptr) return {};
  TIFFIN_ASSIGN_OR_RETURN(const int64_t release, parse_count("min-release", arguments.min_release, 0, INT64_MAX));
  out->min_release = static_cast<uint64_t>(release);
  return {};
}

// Devices that exist by name but not here are an error of their own, told when the module is loaded.
Status check_device(const char* text) {
  constexpr std::string_view kKinds[] = {"cpu", "opencl", "cuda"};
  std::string_view kind = text;
  const size_t colon = kind.find(':');
  const bool has_index = colon == std::string_view::npos || (colon + 1 < kind.size() && kind.find_first_not_of("0123456789", colon + 1) == kind.npos);
  if (colon != std::string_view::npos) kind.remove_suffix(kind.size() - colon);
  for (const std::string_view known : kKinds) {
    if (kind == known && has_index) return {};
  }
  return wrong_value("device", text, "cpu, opencl or cuda with an optional index");
}

// What a model is compiled with, before it runs.
Status read_compile_values(const Arguments& arguments, Values* out) {
  if (arguments.opt_level != nullptr) {
    TIFFIN_ASSIGN_OR_RETURN(const int64_t level, parse_count("opt-level", arguments.opt_level, 0, 3));
    out->opt_level = static_cast<int>(level);
  }
  for (const char* text : arguments.dims) {
    TIFFIN_ASSIGN_OR_RETURN(const NamedExtents dim, parse_dim("dim", text));
    (void)dim;
  }
  for (const char* text : arguments.input_shapes) {
    TIFFIN_ASSIGN_OR_RETURN(const NamedExtents shape, parse_extents("input-shape", text));
    (void)shape;
  }
  return {};
}

Status read_run_values(const Arguments& arguments, Values* out) {
  if (arguments.fill != nullptr) {
    TIFFIN_ASSIGN_OR_RETURN(out->fill, parse_fill(arguments.fill));
  }
  if (arguments.threads != nullptr) {
    TIFFIN_ASSIGN_OR_RETURN(const int64_t threads, parse_count("threads", arguments.threads, 1, runtime::GraphExecutor::kMaxThreads));
    out->threads = static_cast<int>(threads);
  }
  if (arguments.verify != nullptr) {
    TIFFIN_ASSIGN_OR_RETURN(out->verify, parse_verify(arguments.verify));
  }
  TIFFIN_TRY(read_trust(arguments, out));
  if (arguments.device != nullptr) TIFFIN_TRY(check_device(arguments.device));
  if (arguments.format == nullptr || strcmp(arguments.format, "npy") == 0) return {};
  if (strcmp(arguments.format, "pb") != 0) return wrong_value("format", arguments.format, "npy or pb");
  out->as_pb = true;
  return {};
}

Status read_bench_values(const Arguments& arguments, Values* out) {
  constexpr int64_t kMostRuns = 1000000000;
  if (arguments.warmup != nullptr) {
    TIFFIN_ASSIGN_OR_RETURN(out->warmup, parse_count("warmup", arguments.warmup, 0, kMostRuns));
  }
  if (arguments.repeat != nullptr) {
    TIFFIN_ASSIGN_OR_RETURN(out->repeat, parse_count("repeat", arguments.repeat, 1, kMostRuns));
  }
  if (arguments.seconds != nullptr) {
    TIFFIN_ASSIGN_OR_RETURN(out->seconds, parse_seconds(arguments.seconds));
  }
  return {};
}

}  // namespace

Status read_values(const Arguments& arguments, Values* out) {
  TIFFIN_TRY(read_run_values(arguments, out));
  TIFFIN_TRY(read_compile_values(arguments, out));
  TIFFIN_TRY(read_bench_values(arguments, out));
  if (arguments.cpu != nullptr && arguments.features != nullptr) return error(Code::InvalidArgument, "--cpu and --features exclude each other");
  if (arguments.budget != nullptr) {
    TIFFIN_ASSIGN_OR_RETURN(out->budget, parse_size("budget", arguments.budget));
  }
  if (arguments.output == nullptr || arguments.command == Command::ParamsDelta) return {};
  Result<params::Format> format = params::format_of_path(arguments.output);
  return format.has_value() ? Status() : format.take_error();
}

Result<NamedExtents> parse_extents(const char* option, const char* text) {
  NamedExtents out;
  const char* equals = strrchr(text, '=');
  if (equals == nullptr || equals == text) return wrong_value(option, text, "NAME=1x3x224x224");
  out.name = {text, static_cast<size_t>(equals - text)};
  const char* rest = equals + 1;
  while (*rest != 0) {
    char* end = nullptr;
    errno = 0;
    const bool is_digit = *rest >= '0' && *rest <= '9';  // strtoll takes spaces and signs as well
    const long long extent = strtoll(rest, &end, 10);
    const bool is_last = *end == 0;
    if (!is_digit || errno != 0 || (!is_last && (*end != 'x' || end[1] == 0))) return wrong_value(option, text, "NAME=1x3x224x224");
    if (!out.extents.append(static_cast<int64_t>(extent))) return out_of_memory();
    rest = is_last ? end : end + 1;
  }
  return out;
}

Result<NamedExtents> parse_dim(const char* option, const char* text) {
  Result<NamedExtents> out = parse_extents(option, text);
  if (out.has_value() && out->extents.size() == 1) return out;
  return wrong_value(option, text, "NAME=N with a size of at least 0");
}

Result<int64_t> parse_count(const char* option, const char* text, int64_t least, int64_t most) {
  char* end = nullptr;
  errno = 0;
  const long long value = strtoll(text, &end, 10);
  if (end != text && *end == 0 && errno == 0 && value >= least && value <= most) return static_cast<int64_t>(value);
  return error(Code::InvalidArgument, "--%s is '%s', a number from %lld to %lld is expected", option, text, static_cast<long long>(least),
               static_cast<long long>(most));
}

Result<uint64_t> parse_size(const char* option, const char* text) {
  struct Unit {
    const char* name;
    double bytes;
  };
  constexpr Unit kUnits[] = {{"", 1},     {"B", 1},      {"kB", 1e3},      {"KB", 1e3},        {"MB", 1e6},
                             {"GB", 1e9}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}};
  char* end = nullptr;
  const double value = strtod(text, &end);
  if (end == text || !std::isfinite(value) || value < 0) return wrong_value(option, text, "a size such as 400kB or 2MiB");
  while (*end == ' ') ++end;
  for (const Unit& unit : kUnits) {
    if (strcmp(end, unit.name) == 0 && value * unit.bytes < 9e18) return static_cast<uint64_t>(value * unit.bytes);
  }
  return wrong_value(option, text, "a size such as 400kB or 2MiB");
}

}  // namespace tiffin::tools
