// SPDX-License-Identifier: Apache-2.0
// An executor as Python holds it. It lives in one thread at a time; a call while another thread is inside is refused by name.
#pragma once

#include <nanobind/nanobind.h>
#include <sys/types.h>

#include <atomic>
#include <string>
#include <vector>

#include "python/bindings/module.h"
#include "python/bindings/tensor.h"
#include "runtime/executor/graph_executor.h"

namespace tiffin::python {

class Executor {
 public:
  Executor(runtime::GraphExecutor* executor, nb::object module_memory);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  size_t find_input(const std::string& name) const;
  size_t find_output(const std::string& name) const;
  // [(name, dtype, shape)] in the model's order.
  nb::list input_specs() const;
  nb::list output_specs() const;

  // Checks all inputs and all parameters before any of them takes effect. `inputs` is [(index, Tensor)].
  void set(const nb::list& inputs, const nb::dict& parameters, bool new_weights);
  void bind_input(size_t index, const nb::object& tensor);
  void bind_output(size_t index, const nb::object& tensor);
  void load_params_file(const nb::bytes& path, bool new_weights);
  void load_params_memory(const nb::object& bytes, bool new_weights);
  nb::dict get_params();

  void run();
  // A view that keeps `self` alive, and shows the values of the last run.
  Tensor get_output(const nb::object& self, size_t index);

  void set_profiling(bool is_on);
  // [(label, kernel, ns)], of all profiled runs together.
  nb::list profile_steps();
  nb::dict report();

 private:
  void load_params(params::ParamFile file, bool new_weights, nb::object memory);
  // True in a child process whose parent has run this executor with several threads: they do not exist here.
  bool has_lost_threads() const;

  nb::object module_memory_, params_memory_;
  runtime::GraphExecutor* executor_;
  std::vector<nb::object> bound_inputs_, bound_outputs_;
  std::atomic<bool> is_busy_ = false;
  pid_t threads_process_ = 0;  // where the threads that compute were started; 0 before that
};

nb::object create_executor(const LoadedModule& module, const std::string& name, int threads);

// tiffin._runtime.Executor.
void define_executor(nb::module_& module);

}  // namespace tiffin::python
