// SPDX-License-Identifier: Apache-2.0
// `bench`: how long loading, binding and running take. The timed loop calls run and reads the clock, nothing else.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "runtime/host/clock.h"
#include "tools/commands/byte_file.h"
#include "tools/commands/commands.h"
#include "tools/commands/profile.h"
#include "tools/commands/session.h"

namespace tiffin::tools {
namespace {

constexpr size_t kKeptRuns = 1 << 20;  // of longer benches the last ones give the percentiles
constexpr double kDefaultSeconds = 1;
constexpr int64_t kDefaultRuns = 10;

struct Latencies {
  Array<uint64_t> kept_ns;
  int64_t runs = 0;
  uint64_t total_ns = 0, least_ns = UINT64_MAX, most_ns = 0;

  void add(uint64_t ns) {
    kept_ns[static_cast<size_t>(runs++) % kept_ns.size()] = ns;
    total_ns += ns;
    least_ns = std::min(least_ns, ns);
    most_ns = std::max(most_ns, ns);
  }
};

struct Summary {
  double min, median, mean, p90, p99, max;
};

// The bench ends when it has made the runs and taken the seconds asked for; with neither, ten runs and one second.
struct Goal {
  int64_t runs;
  uint64_t ns;
};

Goal goal_of(const Values& values) {
  if (values.repeat == 0 && values.seconds == 0) return {kDefaultRuns, static_cast<uint64_t>(kDefaultSeconds * 1e9)};
  return {std::max<int64_t>(values.repeat, 1), static_cast<uint64_t>(values.seconds * 1e9)};
}

Status measure(runtime::GraphExecutor& executor, const Values& values, Latencies* out) {
  const Goal goal = goal_of(values);
  // Pages that no run fills are never touched.
  const size_t capacity = goal.ns > 0 ? kKeptRuns : std::min(kKeptRuns, static_cast<size_t>(goal.runs));
  if (!out->kept_ns.resize_uninitialized(capacity)) return out_of_memory();
  for (int64_t i = 0; i < values.warmup; ++i) TIFFIN_TRY(executor.run());
  const uint64_t start = runtime::now_ns();
  uint64_t before = start;
  while (out->runs < goal.runs || before - start < goal.ns) {
    TIFFIN_TRY(executor.run());
    const uint64_t after = runtime::now_ns();
    out->add(after - before);
    before = after;
  }
  return {};
}

// Nearest rank.
double percentile(std::span<const uint64_t> sorted_ns, double part) {
  const auto rank = static_cast<size_t>(std::ceil(part * static_cast<double>(sorted_ns.size())));
  return static_cast<double>(sorted_ns[rank == 0 ? 0 : rank - 1]) * 1e-6;
}

Summary summarize(Latencies& latencies) {
  const auto kept = latencies.kept_ns.span().first(std::min(latencies.kept_ns.size(), static_cast<size_t>(latencies.runs)));
  std::sort(kept.begin(), kept.end());
  const double mean = static_cast<double>(latencies.total_ns) / static_cast<double>(latencies.runs);
  return {static_cast<double>(latencies.least_ns) * 1e-6, percentile(kept, 0.5), mean * 1e-6, percentile(kept, 0.9), percentile(kept, 0.99),
          static_cast<double>(latencies.most_ns) * 1e-6};
}

Status print_json(Session& session, const Summary& summary, int64_t runs, const Arguments& arguments) {
  const runtime::GraphExecutor& executor = session.executor();
  JsonOutput out(stdout);
  out.begin_object();
  out.real("load_ms", session.load_ms());
  out.real("bind_ms", session.bind_ms());
  out.begin_object("latency_ms");
  out.real("min", summary.min);
  out.real("median", summary.median);
  out.real("mean", summary.mean);
  out.real("p90", summary.p90);
  out.real("p99", summary.p99);
  out.real("max", summary.max);
  out.end_object();
  out.integer("runs", runs);
  out.integer("threads", executor.thread_count());
  out.text("device", "cpu");
  write_report(out, executor);
  if (arguments.profile) write_profile(out, executor);
  out.end_object();
  return out.finish();
}

Status print_text(Session& session, const Summary& summary, int64_t runs, const Arguments& arguments) {
  const runtime::GraphExecutor& executor = session.executor();
  printf("target    %s, %d threads\n", executor.module().variant().target()->c_str(), executor.thread_count());
  printf("load      %.3f ms\nbind      %.3f ms\n", session.load_ms(), session.bind_ms());
  printf("latency   min %.4f  median %.4f  mean %.4f  p90 %.4f  p99 %.4f  max %.4f ms, %lld runs\n", summary.min, summary.median, summary.mean,
         summary.p90, summary.p99, summary.max, static_cast<long long>(runs));
  print_fallbacks(executor);
  if (arguments.profile) TIFFIN_TRY(print_profile(executor));
  return flush_output();
}

}  // namespace

Result<int> bench_model(const Arguments& arguments, const Extensions* extensions) {
  Session session;
  TIFFIN_TRY(session.open(arguments, extensions));
  Latencies latencies;
  TIFFIN_TRY(measure(session.executor(), arguments.values, &latencies));
  const Summary summary = summarize(latencies);
  if (arguments.profile || arguments.trace != nullptr) TIFFIN_TRY(take_profile(session.executor()));
  if (arguments.trace != nullptr) TIFFIN_TRY(write_trace(session.executor(), arguments.trace));
  TIFFIN_TRY(write_outputs(session.executor(), arguments, extensions));
  if (arguments.json) TIFFIN_TRY(print_json(session, summary, latencies.runs, arguments));
  if (!arguments.json && !arguments.quiet) TIFFIN_TRY(print_text(session, summary, latencies.runs, arguments));
  return 0;
}

}  // namespace tiffin::tools
