// SPDX-License-Identifier: Apache-2.0
#include "python/bindings/executor.h"

#include <nanobind/stl/string.h>
#include <unistd.h>

#include <utility>

#include "python/bindings/params.h"
#include "python/bindings/raise.h"
#include "runtime/executor/tensor_view.h"

namespace tiffin::python {
namespace {

// Marks the executor as in use for the time of a call.
class Turn {
 public:
  explicit Turn(std::atomic<bool>& is_busy) : is_busy_(is_busy) {
    if (!is_busy_.exchange(true, std::memory_order_acquire)) return;
    raise(error(Code::InvalidArgument, "the executor is at work in another thread").with_remedy("make one executor for each thread"));
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { is_busy_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool>& is_busy_;
};

void check_index(const char* what, size_t index, size_t count) {
  if (index >= count) raise(error(Code::InvalidArgument, "there is no %s %zu, their count is %zu", what, index, count));
}

nb::tuple to_tuple(const char* what, const runtime::TensorSpec& spec) {
  nb::list shape;
  for (const int64_t extent : spec.shape) shape.append(extent);
  return nb::make_tuple(to_name(spec.name, what, Code::InvalidModel), dtype_name(spec.dtype).data(), nb::tuple(shape));
}

}  // namespace

Executor::Executor(runtime::GraphExecutor* executor, nb::object module_memory)
    : module_memory_(std::move(module_memory)),
      executor_(executor),
      bound_inputs_(executor->input_count()),
      bound_outputs_(executor->output_count()) {}

Executor::~Executor() {
  if (has_lost_threads()) return;  // nobody would answer when they are asked to end; the process gives the memory back
  runtime::GraphExecutor::destroy(executor_);
}

bool Executor::has_lost_threads() const { return threads_process_ != 0 && threads_process_ != getpid(); }

size_t Executor::find_input(const std::string& name) const { return take(executor_->find_input(name)); }
size_t Executor::find_output(const std::string& name) const { return take(executor_->find_output(name)); }

nb::list Executor::input_specs() const {
  nb::list specs;
  for (size_t i = 0; i < executor_->input_count(); ++i) specs.append(to_tuple("input", executor_->input_spec(i)));
  return specs;
}

nb::list Executor::output_specs() const {
  nb::list specs;
  for (size_t i = 0; i < executor_->output_count(); ++i) specs.append(to_tuple("output", executor_->output_spec(i)));
  return specs;
}

void Executor::set(const nb::list& inputs, const nb::dict& parameters, bool new_weights) {
  const Turn turn(is_busy_);
  std::vector<std::pair<size_t, DLTensor>> given;
  for (const nb::handle item : inputs) {
    const auto index = nb::cast<size_t>(item[0]);
    check_index("input", index, executor_->input_count());
    given.emplace_back(index, nb::cast<const Tensor&>(item[1]).view());
    check(runtime::check_tensor(given.back().second, executor_->input_spec(index)));
  }
  const DictSource source(parameters);
  Status status;
  {
    const nb::gil_scoped_release unlocked;
    if (source.size() > 0) status = executor_->set_parameters(source.source(), {new_weights});
    for (size_t i = 0; i < given.size() && status.is_ok(); ++i) status = executor_->set_input(given[i].first, given[i].second);
  }
  check(status);
  for (const auto& [index, tensor] : given) bound_inputs_[index].reset();
}

void Executor::bind_input(size_t index, const nb::object& tensor) {
  const Turn turn(is_busy_);
  check_index("input", index, executor_->input_count());
  check(executor_->bind_input(index, nb::cast<const Tensor&>(tensor).view()));
  bound_inputs_[index] = tensor;
}

void Executor::bind_output(size_t index, const nb::object& tensor) {
  const Turn turn(is_busy_);
  check_index("output", index, executor_->output_count());
  const auto& given = nb::cast<const Tensor&>(tensor);
  if (given.is_read_only()) raise(error(Code::InvalidArgument, "the memory for output %zu is read-only", index));
  check(executor_->bind_output(index, given.view()));
  bound_outputs_[index] = tensor;
}

void Executor::load_params(params::ParamFile file, bool new_weights, nb::object memory) {
  Status status;
  {
    const nb::gil_scoped_release unlocked;
    status = executor_->load_parameters(std::move(file), {new_weights});
  }
  check(status);
  params_memory_ = std::move(memory);
}

void Executor::load_params_file(const nb::bytes& path, bool new_weights) {
  const Turn turn(is_busy_);
  load_params(take(params::ParamFile::open(to_path(path))), new_weights, nb::object());
}

void Executor::load_params_memory(const nb::object& bytes, bool new_weights) {
  const Turn turn(is_busy_);
  nb::object memory = nb::steal(PyMemoryView_FromObject(bytes.ptr()));
  if (!memory.is_valid()) throw nb::python_error();
  const Py_buffer& view = *PyMemoryView_GET_BUFFER(memory.ptr());
  const std::span<const uint8_t> content(static_cast<const uint8_t*>(view.buf), static_cast<size_t>(view.len));
  load_params(take(params::ParamFile::from_memory(content)), new_weights, std::move(memory));
}

nb::dict Executor::get_params() {
  const Turn turn(is_busy_);
  runtime::Ref<runtime::ParameterSet> set = executor_->parameters();
  if (!set) raise(error(Code::MissingParam, "the artifact holds no weights and no parameters were given"));
  auto module = runtime::Ref<runtime::Module>::share(const_cast<runtime::Module*>(&executor_->module()));
  const nb::object memory = nb::make_tuple(module_memory_, params_memory_.is_valid() ? params_memory_ : nb::none());
  return to_dict(take(runtime::ParameterView::of_set(std::move(module), std::move(set))), memory);
}

void Executor::run() {
  const Turn turn(is_busy_);
  if (executor_->thread_count() > 1) {
    if (has_lost_threads()) {
      raise(error(Code::InvalidArgument, "the executor's threads belong to process %d, this is its child %d", static_cast<int>(threads_process_),
                  static_cast<int>(getpid()))
                .with_remedy("make executors after the fork, or with threads=1"));
    }
    threads_process_ = getpid();
  }
  Status status;
  {
    const nb::gil_scoped_release unlocked;
    status = executor_->run();
  }
  check(status);
}

Tensor Executor::get_output(const nb::object& self, size_t index) {
  const Turn turn(is_busy_);
  check_index("output", index, executor_->output_count());
  const DLTensor view = take(executor_->output(index));
  const nb::object& owner = bound_outputs_[index].is_valid() ? bound_outputs_[index] : self;
  const runtime::TensorSpec spec = executor_->output_spec(index);
  return Tensor(spec.dtype, {spec.shape.begin(), spec.shape.end()}, static_cast<const uint8_t*>(view.data), executor_->output_bytes(index), false,
                owner);
}

void Executor::set_profiling(bool is_on) {
  const Turn turn(is_busy_);
  executor_->set_profiling(is_on);
}

nb::list Executor::profile_steps() {
  const Turn turn(is_busy_);
  nb::list steps;
  for (size_t i = 0; i < executor_->step_count(); ++i) {
    const runtime::StepProfile step = executor_->step_profile(i);
    steps.append(nb::make_tuple(to_text(step.label), to_text(step.kernel), step.ns));
  }
  return steps;
}

nb::dict Executor::report() {
  const Turn turn(is_busy_);
  return to_dict(executor_->module(), executor_->report());
}

nb::object create_executor(const LoadedModule& module, const std::string& name, int threads) {
  runtime::GraphExecutor* executor = take(runtime::GraphExecutor::create(module.module, name, {threads}));
  return nb::cast(new Executor(executor, module.memory), nb::rv_policy::take_ownership);
}

void define_executor(nb::module_& module) {
  nb::class_<Executor>(module, "Executor")
      .def("find_input", &Executor::find_input)
      .def("find_output", &Executor::find_output)
      .def("input_specs", &Executor::input_specs)
      .def("output_specs", &Executor::output_specs)
      .def("set", &Executor::set)
      .def("bind_input", &Executor::bind_input)
      .def("bind_output", &Executor::bind_output)
      .def("load_params_file", &Executor::load_params_file)
      .def("load_params_memory", &Executor::load_params_memory)
      .def("get_params", &Executor::get_params)
      .def("run", &Executor::run)
      .def("get_output", [](const nb::object& self, size_t index) { return nb::cast<Executor&>(self).get_output(self, index); })
      .def("set_profiling", &Executor::set_profiling)
      .def("profile_steps", &Executor::profile_steps)
      .def("report", &Executor::report);
}

}  // namespace tiffin::python
