// SPDX-License-Identifier: Apache-2.0
// What `run` and `bench` share: a module loaded, its parameters bound, its inputs set, and its outputs written.
#pragma once

#include "runtime/executor/graph_executor.h"
#include "tools/commands/arguments.h"
#include "tools/commands/dispatch.h"
#include "tools/commands/inputs.h"
#include "tools/commands/json_output.h"

namespace tiffin::tools {

class Session {
 public:
  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Loads the artifact (or compiles the model), binds parameters and sets every input. After this, running fails on data alone.
  Status open(const Arguments& arguments, const Extensions* extensions);

  runtime::GraphExecutor& executor() { return *executor_; }
  double load_ms() const { return load_ms_; }
  double bind_ms() const { return bind_ms_; }

 private:
  Status load(const Arguments& arguments, const Extensions* extensions);
  Status bind(const Arguments& arguments);
  Status set_inputs(const Arguments& arguments, const Extensions* extensions);
  Status check_files(const Arguments& arguments, const Extensions* extensions, std::span<const WantedInput> wanted) const;

  FixedList<GivenFile> given_;
  HostTensor compiled_;  // a model's artifact, which the module reads in place
  runtime::Ref<runtime::Module> module_;
  runtime::GraphExecutor* executor_ = nullptr;
  double load_ms_ = 0, bind_ms_ = 0;
};

// InvalidArgument where --outputs or --trace would replace a file that is read: the artifact or model, what the model names, `inputs`.
Status check_outputs(const runtime::GraphExecutor& executor, const Arguments& arguments, const Extensions* extensions,
                     std::span<const char* const> inputs);

// output_0.npy (or .pb), …, and outputs.json into the folder of --outputs, if one was asked for.
Status write_outputs(const runtime::GraphExecutor& executor, const Arguments& arguments, const Extensions* extensions);

// The keys that `run` and `bench` have in common.
void write_output_list(JsonOutput& out, const runtime::GraphExecutor& executor);
void write_report(JsonOutput& out, const runtime::GraphExecutor& executor);

// "report": what people see of it.
void print_fallbacks(const runtime::GraphExecutor& executor);

}  // namespace tiffin::tools
