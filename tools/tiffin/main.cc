// SPDX-License-Identifier: Apache-2.0
// tiffin: compile, run, measure, inspect and check models and artifacts.
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <system_error>

#include "tools/commands/arguments.h"
#include "tools/commands/json_output.h"
#include "tools/tiffin/subcommands.h"

namespace tiffin::tools {
namespace {

constexpr int kWrongUsage = 2;

constexpr const char* kOwnUsage =
    "usage:\n"
    "  tiffin compile MODEL.onnx -o OUT.so|OUT.tar [--target TARGET]... [--targets portable] [--params embed|external] [--params-out FILE] [--dim "
    "NAME=N]...\n"
    "    [--input-shape NAME=1x3x224x224]... [-O 0|1|2|3] [--threads N] [--name NET] [--entry NAME] [--golden N | --golden-inputs DIR]\n"
    "    [--with-sources] [--with-library F]... [--with-file F]... [--cache DIR [--cache-size SIZE]] [--dump DIR] [--stop-after PASS]\n"
    "    [--skip PASS]... [--strict] [--json] [--quiet]\n"
    "  tiffin bundle -o OUT.tar A.so B.so ...\n"
    "  tiffin export FILE --executable OUT | --system-lib OUT.a --header OUT.h\n"
    "  tiffin keys new NAME\n"
    "  tiffin sign FILE --key NAME.secret [--release N] [--json] [--quiet]\n"
    "  tiffin diff A B [--json]\n"
    "  tiffin targets [--json]\n";

int dispatch(int count, char** words) {
  const char* word = count > 1 ? words[1] : "";
  if (strcmp(word, "compile") == 0) return compile_command(count - 1, words + 1);
  if (strcmp(word, "bundle") == 0) return bundle_command(count - 1, words + 1);
  if (strcmp(word, "export") == 0) return export_command(count - 1, words + 1);
  if (strcmp(word, "keys") == 0) return keys_command(count - 1, words + 1);
  if (strcmp(word, "sign") == 0) return sign_command(count - 1, words + 1);
  if (strcmp(word, "diff") == 0) return diff_command(count - 1, words + 1);
  if (strcmp(word, "targets") == 0) return targets_command(count - 1, words + 1);
  if (is_shared_command(word)) return run_command(count, words, "tiffin", &compiler_extensions());
  const bool is_question = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
  if (is_question) fputs(kOwnUsage, stdout);
  const int status = run_program(count, words, "tiffin", &compiler_extensions());
  if (status == kWrongUsage) fputs(kOwnUsage, stderr);  // below the error, which comes first
  return status;
}

int fail(const Status& status, int count, char** words) {
  report_failure(status, asks_for_json(count, words));
  return 3;
}

// What the system refused where a library throws: an output that takes no more, descriptors or threads that ran out.
Status refusal(const std::system_error& failure) {
  const std::error_code code = failure.code();
  if (code == std::errc::not_enough_memory) return error(Code::OutOfMemory, "%s", failure.what());
  Status status = error(Code::Io, "%s", failure.what());
  if (code == std::errc::too_many_files_open || code == std::errc::too_many_files_open_in_system) {
    return std::move(status).with_remedy("raise the limit of open files (ulimit -n)");
  }
  if (code == std::errc::resource_unavailable_try_again) return std::move(status).with_remedy("raise the limit of threads (ulimit -u)");
  return status;
}

}  // namespace
}  // namespace tiffin::tools

int main(int count, char** words) {
  using namespace tiffin;
  signal(SIGXFSZ, SIG_IGN);  // a file that grows over the limit is a failed write, with a message
  try {
    return tools::dispatch(count, words);
  } catch (const std::bad_alloc&) {
    return tools::fail(error(Code::OutOfMemory, "no memory is left"), count, words);
  } catch (const std::system_error& failure) {
    return tools::fail(tools::refusal(failure), count, words);
  } catch (const std::exception& failure) {
    return tools::fail(error(Code::Internal, "%s", failure.what()), count, words);
  }
}
