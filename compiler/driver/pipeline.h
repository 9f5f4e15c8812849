// SPDX-License-Identifier: Apache-2.0
// THE list of passes and the one runner around them: times, verifies, dumps, skips and stops by name.
#pragma once

#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "compiler/passes/pass.h"

namespace tiffin::driver {

struct PassRow {
  Status (*run)(graph::Graph&, passes::PassContext&);
  const char* name;
  int min_opt_level;  // runs at this level and above
  const char* why_here;
};

// In order of execution.
std::span<const PassRow> pipeline();

struct PassTime {
  const char* name;
  double milliseconds;
};

struct RunnerOptions {
  int opt_level = 3;
  std::string dump_folder;        // "" or an existing folder: NN_name.graph after each pass that changed the graph
  std::string stop_after;         // "" or a pass name
  std::vector<std::string> skip;  // pass names
  std::vector<std::string> only;  // if not empty: run just these, in this order (tiffin-opt)
  std::stop_token stop;           // a request ends the run before the next pass, with Cancelled
};

// Runs the pipeline over the graph and verifies it after every pass. InvalidArgument for an unknown pass name; Cancelled after stop_after or a stop.
Status run_pipeline(graph::Graph& graph, passes::PassContext& context, const RunnerOptions& options, std::vector<PassTime>* out_times);

}  // namespace tiffin::driver
