// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/profile.h"

#include <algorithm>

#include "base/memory_stream.h"
#include "runtime/host/clock.h"
#include "tools/commands/byte_file.h"

namespace tiffin::tools {
namespace {

constexpr int kMostRuns = 100;
constexpr uint64_t kEnoughNs = 500000000;

double average_ns(const runtime::GraphExecutor& executor, size_t step) {
  return static_cast<double>(executor.step_profile(step).ns) / static_cast<double>(std::max<uint64_t>(executor.profiled_runs(), 1));
}

double total_ns(const runtime::GraphExecutor& executor) {
  double total = 0;
  for (size_t i = 0; i < executor.step_count(); ++i) total += average_ns(executor, i);
  return total > 0 ? total : 1;
}

void write_events(JsonOutput& out, const runtime::GraphExecutor& executor) {
  out.begin_object();
  out.begin_array("traceEvents");
  double start_us = 0;
  for (size_t i = 0; i < executor.step_count(); ++i) {
    const runtime::StepProfile step = executor.step_profile(i);
    const double duration_us = average_ns(executor, i) * 1e-3;
    out.begin_object();
    out.text("name", step.label);
    out.text("cat", "kernel");
    out.text("ph", "X");
    out.real("ts", start_us);
    out.real("dur", duration_us);
    out.integer("pid", 1);
    out.integer("tid", 1);
    out.begin_object("args");
    out.text("kernel", step.kernel);
    out.end_object();
    out.end_object();
    start_us += duration_us;
  }
  out.end_array();
  out.text("displayTimeUnit", "ms");
  out.end_object();
}

}  // namespace

Status take_profile(runtime::GraphExecutor& executor) {
  executor.set_profiling(true);
  const uint64_t start = runtime::now_ns();
  for (int i = 0; i < kMostRuns && (i == 0 || runtime::now_ns() - start < kEnoughNs); ++i) TIFFIN_TRY(executor.run());
  return {};
}

void write_profile(JsonOutput& out, const runtime::GraphExecutor& executor) {
  const double total = total_ns(executor);
  out.begin_array("profile");
  for (size_t i = 0; i < executor.step_count(); ++i) {
    const runtime::StepProfile step = executor.step_profile(i);
    out.begin_object();
    out.text("nodes", step.label);
    out.text("kernel", step.kernel);
    out.real("ms", average_ns(executor, i) * 1e-6);
    out.real("share", average_ns(executor, i) / total);
    out.end_object();
  }
  out.end_array();
}

Status print_profile(const runtime::GraphExecutor& executor) {
  Array<size_t> order;
  for (size_t i = 0; i < executor.step_count(); ++i) {
    if (!order.append(i)) return out_of_memory();
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return executor.step_profile(a).ns > executor.step_profile(b).ns; });
  const double total = total_ns(executor);
  for (const size_t i : order) {
    const runtime::StepProfile step = executor.step_profile(i);
    printf("%10.4f ms %5.1f %%  %-32s %s\n", average_ns(executor, i) * 1e-6, 100 * average_ns(executor, i) / total, step.kernel, step.label);
  }
  return {};
}

Status write_trace(const runtime::GraphExecutor& executor, const char* path) {
  MemoryStream memory;
  if (memory.stream == nullptr) return out_of_memory();
  {
    JsonOutput out(memory.stream);
    write_events(out, executor);
    TIFFIN_TRY(out.finish());
  }
  return memory.write_file(path);
}

}  // namespace tiffin::tools
