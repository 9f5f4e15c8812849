// SPDX-License-Identifier: Apache-2.0
// Writing the outputs of a run, and the parts of the JSON object that `run` and `bench` share.
#include <cstdio>

#include "base/memory_stream.h"
#include "tools/commands/byte_file.h"
#include "tools/commands/check_output.h"
#include "tools/commands/inspect.h"
#include "tools/commands/npy.h"
#include "tools/commands/session.h"

namespace tiffin::tools {
namespace {

constexpr const char* kListing = "outputs.json";

Result<Array<char>> output_path(const Arguments& arguments, size_t index) {
  char name[48];
  snprintf(name, sizeof name, "output_%zu.%s", index, arguments.values.as_pb ? "pb" : "npy");
  return joined_path(arguments.outputs, name);
}

Status write_output(const runtime::GraphExecutor& executor, size_t index, const Arguments& arguments, const Extensions* extensions) {
  TIFFIN_ASSIGN_OR_RETURN(const Array<char> path, output_path(arguments, index));
  const runtime::TensorSpec spec = executor.output_spec(index);
  TIFFIN_ASSIGN_OR_RETURN(const DLTensor tensor, executor.output(index));
  const uint8_t* bytes = runtime::first_byte(tensor);
  if (arguments.values.as_pb) return extensions->write_pb(path.data(), spec.name, spec.dtype, spec.shape, bytes);
  return write_npy(path.data(), spec.dtype, spec.shape, bytes);
}

Status write_listing(const runtime::GraphExecutor& executor, const char* folder) {
  TIFFIN_ASSIGN_OR_RETURN(const Array<char> path, joined_path(folder, kListing));
  MemoryStream memory;
  if (memory.stream == nullptr) return out_of_memory();
  {
    JsonOutput out(memory.stream);
    out.begin_object();
    write_output_list(out, executor);
    out.end_object();
    TIFFIN_TRY(out.finish());
  }
  return memory.write_file(path.data());
}

struct ReadFiles {
  const Arguments& arguments;
  const Extensions* extensions;
  const runtime::Container& artifact;
  std::span<const char* const> others;
};

Status check_path(const char* path, const ReadFiles& read) {
  TIFFIN_TRY(check_output(path, read.arguments.file));
  TIFFIN_TRY(check_output(path, read.artifact));
  for (const char* other : read.others) TIFFIN_TRY(check_output(path, other));
  return read.extensions == nullptr ? Status() : read.extensions->check_output(read.arguments.file, path);
}

// Of a file of --outputs, which the trace is not to be either.
Status check_listed(const char* path, const ReadFiles& read) {
  if (read.arguments.trace != nullptr) TIFFIN_TRY(check_distinct(read.arguments.trace, path));
  return check_path(path, read);
}

}  // namespace

Status check_outputs(const runtime::GraphExecutor& executor, const Arguments& arguments, const Extensions* extensions,
                     std::span<const char* const> inputs) {
  const ReadFiles read{arguments, extensions, executor.module().artifact().container(), inputs};
  if (arguments.trace != nullptr) TIFFIN_TRY(check_path(arguments.trace, read));
  if (arguments.outputs == nullptr) return {};
  for (size_t i = 0; i < executor.output_count(); ++i) {
    TIFFIN_ASSIGN_OR_RETURN(const Array<char> path, output_path(arguments, i));
    TIFFIN_TRY(check_listed(path.data(), read));
  }
  TIFFIN_ASSIGN_OR_RETURN(const Array<char> listing, joined_path(arguments.outputs, kListing));
  return check_listed(listing.data(), read);
}

Status write_outputs(const runtime::GraphExecutor& executor, const Arguments& arguments, const Extensions* extensions) {
  if (arguments.outputs == nullptr) return {};
  TIFFIN_TRY(make_folders(arguments.outputs));
  for (size_t i = 0; i < executor.output_count(); ++i) TIFFIN_TRY(write_output(executor, i, arguments, extensions));
  return write_listing(executor, arguments.outputs);
}

void write_output_list(JsonOutput& out, const runtime::GraphExecutor& executor) {
  out.begin_array("outputs");
  for (size_t i = 0; i < executor.output_count(); ++i) {
    const runtime::TensorSpec spec = executor.output_spec(i);
    out.begin_object();
    out.text("name", spec.name);
    out.text("dtype", dtype_name(spec.dtype));
    out.shape("shape", spec.shape);
    out.end_object();
  }
  out.end_array();
}

void write_report(JsonOutput& out, const runtime::GraphExecutor& executor) {
  const runtime::LoadReport& report = executor.report();
  out.begin_object("report");
  out.text("variant", runtime::view(executor.module().variant().target()));
  out.begin_array("variants");
  for (const runtime::VariantChoice& variant : report.variants) write_choice(out, variant.target, variant.reason);
  out.end_array();
  out.begin_array("fallbacks");
  for (const char* fallback : report.fallbacks()) out.text(nullptr, fallback);
  out.end_array();
  out.number("mapped_bytes", report.mapped_bytes);
  out.number("copied_bytes", report.copied_bytes);
  out.number("repacked_bytes", report.repacked_bytes);
  out.begin_object("phases_ms");
  for (const runtime::LoadPhase& phase : report.phases()) out.real(phase.name, static_cast<double>(phase.ns) * 1e-6);
  out.end_object();
  out.end_object();
}

void print_fallbacks(const runtime::GraphExecutor& executor) {
  for (const char* fallback : executor.report().fallbacks()) printf("fallback  %s\n", fallback);
}

}  // namespace tiffin::tools
