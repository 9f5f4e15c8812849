// SPDX-License-Identifier: Apache-2.0
// Runs one entry of a module: its own arena, inputs, outputs and threads. For one thread at a time; executors of one module are independent.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "abi/tensor.h"
#include "base/dtype.h"
#include "base/status.h"
#include "base/text.h"
#include "runtime/device/cpu/worker_pool.h"
#include "runtime/executor/module.h"
#include "runtime/executor/tensor_view.h"
#include "runtime/host/arena.h"
#include "runtime/host/pages.h"

namespace tiffin::runtime {

// Hears of each step of a run once it is done, with the addresses of its buffers; false ends the run there.
struct StepObserver {
  bool (*see)(void* context, size_t step, void* const* buffers);
  void* context;
};

struct ExecutorOptions {
  int threads = 1;  // that compute, the caller included; 0: as many as cores may be used
};

// Time spent in one step since profiling was switched on.
struct StepProfile {
  const char* label;  // the graph nodes it computes
  const char* kernel;
  uint64_t ns;
};

class GraphExecutor {
 public:
  static constexpr int kMaxThreads = 1024;

  // Allocates all memory that running takes. MissingFunction, OpenShape, InvalidArgument, OutOfMemory. Free it with destroy.
  static Result<GraphExecutor*> create(Ref<Module> module, std::string_view entry_name, const ExecutorOptions& options);
  static void destroy(GraphExecutor* executor);

  const Module& module() const { return *module_; }
  const abi::Entry& entry() const { return *entry_; }
  size_t input_count() const { return inputs_.size(); }
  size_t output_count() const { return outputs_.size(); }
  TensorSpec input_spec(size_t index) const { return spec_of("input", *inputs_[index].value); }
  TensorSpec output_spec(size_t index) const { return spec_of("output", *outputs_[index].value); }
  uint64_t input_bytes(size_t index) const { return inputs_[index].bytes; }
  uint64_t output_bytes(size_t index) const { return outputs_[index].bytes; }

  // UnknownInput with the nearest name and all there are.
  Result<size_t> find_input(std::string_view name) const;
  // InvalidArgument.
  Result<size_t> find_output(std::string_view name) const;

  // Copies the tensor, whatever its strides. TypeMismatch, ShapeMismatch and the rest of check_tensor.
  Status set_input(size_t index, const DLTensor& tensor);
  // The executor's own buffer of an input, for the caller to fill with its compact elements; the input counts as set.
  std::span<uint8_t> fill_input(size_t index);
  // Uses the caller's memory from the next run on, until another call for this input. It must be compact and 64-byte aligned, and apart from all
  // outputs; InvalidArgument.
  Status bind_input(size_t index, const DLTensor& tensor);
  // Writes this output to the caller's memory, under the same conditions.
  Status bind_output(size_t index, const DLTensor& tensor);

  // Parameters of this executor alone, until others are given. Without them each run uses the module's current generation, to its end.
  void set_parameters(Ref<ParameterSet> parameters);
  // Its own set, or the module's current one; null while a weightless module has none.
  Ref<ParameterSet> parameters() const { return own_parameters_ ? own_parameters_ : module_->parameters(); }
  // Checks and binds a parameter file or a dictionary; a dictionary may be a subset once there is a current set.
  Status load_parameters(params::ParamFile&& file, const params::BindOptions& options);
  Status set_parameters(const params::ParamSource& source, const params::BindOptions& options);

  // MissingParam, UnsetInput, IndexOutOfRange. Takes no lock and allocates nothing; with one thread it makes no system call.
  Status run();
  // The same with an observer. When that ends the run, the outputs are not all computed.
  Status run_observed(const StepObserver& observer);

  // An output of the last run, valid until the next one; InvalidArgument before the first.
  Result<DLTensor> output(size_t index) const;

  // Starts measuring from zero, or stops. Off at first.
  void set_profiling(bool is_on);
  uint64_t profiled_runs() const { return profiled_runs_; }
  size_t step_count() const { return steps_.size(); }
  StepProfile step_profile(size_t index) const;

  // The module's report with what binding parameters here added.
  const LoadReport& report() const { return report_; }
  int thread_count() const { return workers_.thread_count(); }
  uint64_t arena_bytes() const { return entry_->arena_bytes(); }

 private:
  // An input or output.
  struct Slot {
    const abi::Value* value;
    uint64_t bytes;
    uint8_t* own;    // the executor's buffer
    uint8_t* bound;  // the caller's, or null
    bool is_set;
    uint8_t* data() const { return bound != nullptr ? bound : own; }
  };
  struct Step {
    Work work;
    void** buffers;
    const abi::Step* table;
    uint64_t ns;
  };

  GraphExecutor(Ref<Module> module, const abi::Entry& entry) : module_(std::move(module)), entry_(&entry) { module_->parameter_sets().add_use(use_); }
  ~GraphExecutor() { module_->parameter_sets().remove_use(use_); }
  static TensorSpec spec_of(const char* role, const abi::Value& value);
  Status prepare(const ExecutorOptions& options);
  Status make_slots(const flatbuffers::Vector<flatbuffers::Offset<abi::Value>>& values, std::span<Slot>* out_slots);
  Status allocate_memory(int threads);
  Status make_steps();
  Result<size_t> find(std::span<const Slot> slots, const char* role, Code code, std::string_view name) const;
  Status check_apart(const Slot& slot, const TensorSpec& spec, const uint8_t* data, bool is_output) const;
  Status bind(Slot& slot, const TensorSpec& spec, const DLTensor& tensor, bool is_output);
  Status check_ready(const ParameterSet* parameters) const;
  void resolve_buffers(const ParameterSet& parameters);
  uint8_t* address_of(const abi::Buffer& buffer, const ParameterSet& parameters) const;
  Status run_on(const ParameterSet* parameters, uint64_t generation);
  Status run_profiled();
  Status run_observed_steps();
  Status kernel_failed(const Step& step, int32_t status) const;

  Ref<Module> module_;
  const abi::Entry* entry_;
  Arena tables_;
  Pages memory_;  // arena, inputs, outputs, scratch of each thread
  std::span<Slot> inputs_, outputs_;
  std::span<Step> steps_;
  std::span<void*> addresses_;  // per buffer of the entry
  WorkerPool workers_;
  Ref<ParameterSet> own_parameters_;
  GenerationUse use_;  // of the module's parameters
  LoadReport report_;
  bool is_resolved_ = false;
  uint64_t resolved_generation_ = 0;  // whose addresses the steps hold
  bool has_run_ = false;
  bool is_profiling_ = false;
  const StepObserver* observer_ = nullptr;
  uint64_t profiled_runs_ = 0;
};

}  // namespace tiffin::runtime
