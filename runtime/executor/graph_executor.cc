// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/graph_executor.h"

#include <algorithm>
#include <cinttypes>
#include <cstdlib>

#include "base/name_distance.h"
#include "base/text.h"
#include "runtime/artifact/check_program.h"
#include "runtime/host/clock.h"
#include "runtime/host/cpu.h"

namespace tiffin::runtime {
namespace {

// Separate cache lines, in pairs, for what different threads write.
constexpr uint64_t kPieceAlignment = 128;

// Stands for an executor's own set where generations of the module have their numbers.
constexpr uint64_t kOwnGeneration = UINT64_MAX;

uint64_t align_piece(uint64_t bytes) { return (bytes + kPieceAlignment - 1) / kPieceAlignment * kPieceAlignment; }

Status no_memory() { return error(Code::OutOfMemory, "no memory for an executor"); }

}  // namespace

TensorSpec GraphExecutor::spec_of(const char* role, const abi::Value& value) {
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
  return {role, value.name()->c_str(), static_cast<DType>(value.dtype()), {value.shape()->data(), value.shape()->size()}};
}

Result<GraphExecutor*> GraphExecutor::create(Ref<Module> module, std::string_view entry_name, const ExecutorOptions& options) {
  TIFFIN_ASSIGN_OR_RETURN(const abi::Entry* entry, module->find_entry(entry_name));
  if (view(entry->executor()) != "graph") {
    return error(Code::FormatTooNew, "entry '%s' wants the executor '%s', this runtime has 'graph'", entry->name()->c_str(),
                 entry->executor()->c_str());
  }
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return error(Code::InvalidArgument, "%d threads were asked for, 1 to %d are possible", options.threads, kMaxThreads);
  }
  void* memory = malloc(sizeof(GraphExecutor));
  if (memory == nullptr) return no_memory();
  auto* executor = new (memory) GraphExecutor(std::move(module), *entry);
  Status status = executor->prepare(options);
  if (status.is_ok()) return executor;
  destroy(executor);
  return status;
}

void GraphExecutor::destroy(GraphExecutor* executor) {
  if (executor == nullptr) return;
  executor->~GraphExecutor();
  free(executor);
}

Status GraphExecutor::prepare(const ExecutorOptions& options) {
  report_ = module_->report();
  TIFFIN_TRY(make_slots(*entry_->inputs(), &inputs_));
  TIFFIN_TRY(make_slots(*entry_->outputs(), &outputs_));
  TIFFIN_TRY(allocate_memory(options.threads == 0 ? std::min(usable_core_count(), kMaxThreads) : options.threads));
  return make_steps();
}

Status GraphExecutor::make_slots(const flatbuffers::Vector<flatbuffers::Offset<abi::Value>>& values, std::span<Slot>* out_slots) {
  auto* slots = tables_.allocate<Slot>(values.size());
  if (slots == nullptr) return no_memory();
  *out_slots = {slots, values.size()};
  for (uint32_t i = 0; i < values.size(); ++i) {
    slots[i].value = values.Get(i);
    if (!value_bytes(*values.Get(i), &slots[i].bytes)) {
      return error(Code::OpenShape, "the shape of '%s' is open, the graph executor wants it fixed", values.Get(i)->name()->c_str());
    }
  }
  return {};
}

Status GraphExecutor::allocate_memory(int threads) {
  const uint64_t scratch_bytes = align_piece(module_->scratch_bytes(*entry_));
  uint64_t total = align_piece(entry_->arena_bytes());
  bool is_too_large = false;
  const auto place = [&](uint64_t bytes) {
    const uint64_t at = total;
    is_too_large |= __builtin_add_overflow(total, align_piece(bytes), &total);
    return at;
  };
  for (const auto slots : {inputs_, outputs_}) {
    for (const Slot& slot : slots) place(slot.bytes);
  }
  const uint64_t scratch_at = place(0);
  for (int i = 0; i < threads; ++i) place(scratch_bytes);
  if (is_too_large) return no_memory();
  TIFFIN_ASSIGN_OR_RETURN(memory_, allocate_pages(total));
  uint8_t* next = memory_.data() + align_piece(entry_->arena_bytes());
  for (const auto slots : {inputs_, outputs_}) {
    for (Slot& slot : slots) {
      slot.own = next;
      next += align_piece(slot.bytes);
    }
  }
  workers_.configure(threads, memory_.data() + scratch_at, scratch_bytes);
  return {};
}

Status GraphExecutor::make_steps() {
  const auto& tables = *entry_->steps();
  size_t pointer_count = 0;
  for (const abi::Step* table : tables) pointer_count += table->buffers()->size();
  auto* steps = tables_.allocate<Step>(tables.size());
  auto* addresses = tables_.allocate<void*>(entry_->buffers()->size());
  auto* pointers = tables_.allocate<void*>(pointer_count);
  if (steps == nullptr || addresses == nullptr || pointers == nullptr) return no_memory();
  steps_ = {steps, tables.size()};
  addresses_ = {addresses, entry_->buffers()->size()};
  for (uint32_t i = 0; i < tables.size(); ++i) {
    const abi::Step& table = *tables.Get(i);
    steps[i].table = &table;
    steps[i].buffers = pointers;
    steps[i].work = module_->work(table.kernel());
    steps[i].work.buffers = pointers;
    steps[i].work.units = table.units();
    steps[i].work.grain = table.grain();
    pointers += table.buffers()->size();
  }
  return {};
}

uint8_t* GraphExecutor::address_of(const abi::Buffer& buffer, const ParameterSet& parameters) const {
  const uint32_t index = buffer.index();
  switch (buffer.space()) {
    case abi::Space::Input:
      return inputs_[index].data() + buffer.offset();
    case abi::Space::Output:
      return outputs_[index].data() + buffer.offset();
    case abi::Space::Arena:
      return memory_.data() + buffer.offset();
    // Kernels write to neither of these; their pages are read-only.
    case abi::Space::Stored: {
      const uint64_t at = module_->artifact().storage_plan().table().stored()->Get(index)->offset();
      return const_cast<uint8_t*>(parameters.data().data()) + at + buffer.offset();
    }
    case abi::Space::Constant:
      return const_cast<uint8_t*>(module_->constant(index)) + buffer.offset();
  }
  return nullptr;
}

void GraphExecutor::resolve_buffers(const ParameterSet& parameters) {
  for (uint32_t i = 0; i < addresses_.size(); ++i) addresses_[i] = address_of(*entry_->buffers()->Get(i), parameters);
  for (Step& step : steps_) {
    const auto& indices = *step.table->buffers();
    for (uint32_t i = 0; i < indices.size(); ++i) step.buffers[i] = addresses_[indices.Get(i)];
  }
  is_resolved_ = true;
}

Result<size_t> GraphExecutor::find(std::span<const Slot> slots, const char* role, Code code, std::string_view name) const {
  const char* nearest = "";
  size_t nearest_distance = SIZE_MAX;
  Text names;
  for (size_t i = 0; i < slots.size(); ++i) {
    const char* candidate = slots[i].value->name()->c_str();
    if (name == candidate) return i;
    const size_t distance = name_distance(name, candidate);
    names.add_item("'%s'", candidate);
    if (distance >= nearest_distance) continue;
    nearest = candidate;
    nearest_distance = distance;
  }
  const int length = static_cast<int>(std::min<size_t>(name.size(), 1000));
  Status status = error(code, "entry '%s' has no %s '%.*s', it has %s", entry_->name()->c_str(), role, length, name.data(),
                        names.empty() ? "none" : names.c_str());
  if (slots.empty()) return status;
  return std::move(status).with_remedy("did you mean '%s'?", nearest).with_detail("nearest", nearest);
}

Result<size_t> GraphExecutor::find_input(std::string_view name) const { return find(inputs_, "input", Code::UnknownInput, name); }

Result<size_t> GraphExecutor::find_output(std::string_view name) const { return find(outputs_, "output", Code::InvalidArgument, name); }

Status GraphExecutor::set_input(size_t index, const DLTensor& tensor) {
  const TensorSpec spec = input_spec(index);
  TIFFIN_TRY(check_tensor(tensor, spec));
  Slot& slot = inputs_[index];
  TIFFIN_TRY(copy_compact(tensor, spec.dtype, slot.own, slot.bytes));
  fill_input(index);
  return {};
}

std::span<uint8_t> GraphExecutor::fill_input(size_t index) {
  Slot& slot = inputs_[index];
  is_resolved_ = is_resolved_ && slot.bound == nullptr;
  slot.bound = nullptr;
  slot.is_set = true;
  return {slot.own, static_cast<size_t>(slot.bytes)};
}

// A run writes outputs before it has read all inputs; these may share memory among themselves.
Status GraphExecutor::check_apart(const Slot& slot, const TensorSpec& spec, const uint8_t* data, bool is_output) const {
  for (const auto slots : {outputs_, inputs_}) {
    for (const Slot& other : slots) {
      if (&other == &slot || data >= other.data() + other.bytes || other.data() >= data + slot.bytes) continue;
      return error(Code::InvalidArgument, "%s '%s' would share memory with '%s'", spec.role, spec.name, other.value->name()->c_str());
    }
    if (!is_output) break;
  }
  return {};
}

Status GraphExecutor::bind(Slot& slot, const TensorSpec& spec, const DLTensor& tensor, bool is_output) {
  TIFFIN_TRY(check_tensor(tensor, spec));
  auto* data = const_cast<uint8_t*>(first_byte(tensor));
  if (!is_compact(tensor)) return error(Code::InvalidArgument, "%s '%s' is not compact, as binding wants", spec.role, spec.name);
  if (slot.bytes != 0 && reinterpret_cast<uintptr_t>(data) % TIFFIN_BUFFER_ALIGNMENT != 0) {
    return error(Code::InvalidArgument, "%s '%s' is aligned to %u bytes, binding wants %d", spec.role, spec.name,
                 1u << __builtin_ctzll(reinterpret_cast<uintptr_t>(data)), TIFFIN_BUFFER_ALIGNMENT);
  }
  TIFFIN_TRY(check_apart(slot, spec, data, is_output));
  uint8_t* const bound = slot.bytes == 0 ? nullptr : data;  // an empty tensor may have no memory at all
  is_resolved_ = is_resolved_ && slot.bound == bound;
  slot.bound = bound;
  slot.is_set = true;
  return {};
}

Status GraphExecutor::bind_input(size_t index, const DLTensor& tensor) { return bind(inputs_[index], input_spec(index), tensor, false); }

Status GraphExecutor::bind_output(size_t index, const DLTensor& tensor) { return bind(outputs_[index], output_spec(index), tensor, true); }

void GraphExecutor::set_parameters(Ref<ParameterSet> parameters) {
  own_parameters_ = std::move(parameters);
  is_resolved_ = false;
}

Status GraphExecutor::load_parameters(params::ParamFile&& file, const params::BindOptions& options) {
  const uint64_t start = now_ns();
  params::BindOptions joined = module_->bind_options();
  joined.new_weights = options.new_weights;
  joined.verify_values = joined.verify_values || options.verify_values;
  const uint64_t repacked = report_.repacked_bytes;
  TIFFIN_ASSIGN_OR_RETURN(Ref<ParameterSet> set, ParameterSet::from_file(module_->artifact(), std::move(file), joined, report_));
  TIFFIN_TRY(module_->check_report(report_, repacked));
  report_.add_phase("load_params", now_ns() - start);
  set_parameters(std::move(set));
  return {};
}

Status GraphExecutor::set_parameters(const params::ParamSource& source, const params::BindOptions& options) {
  const uint64_t start = now_ns();
  const Ref<ParameterSet> base = parameters();
  params::BindOptions joined = module_->bind_options();
  joined.new_weights = options.new_weights;
  const uint64_t repacked = report_.repacked_bytes;
  TIFFIN_ASSIGN_OR_RETURN(Ref<ParameterSet> set, ParameterSet::from_source(module_->artifact(), source, base.get(), joined, report_));
  TIFFIN_TRY(module_->check_report(report_, repacked));
  report_.add_phase("set_params", now_ns() - start);
  set_parameters(std::move(set));
  return {};
}

Status GraphExecutor::check_ready(const ParameterSet* parameters) const {
  if (parameters == nullptr) {
    Text names, keys;
    for (const params::ParamEntry& entry : module_->artifact().storage_plan().parameters()) {
      names.add_item("'%.*s'", static_cast<int>(entry.name.size()), entry.name.data());
      keys.add_key(entry.name);
    }
    return error(Code::MissingParam, "the artifact holds no weights and no parameters were given: %s", names.c_str())
        .with_details("missing", keys.view());
  }
  Text unset, keys;
  for (const Slot& slot : inputs_) {
    if (slot.is_set) continue;
    unset.add_item("'%s'", slot.value->name()->c_str());
    keys.add_key(slot.value->name()->c_str());
  }
  if (!unset.empty()) return error(Code::UnsetInput, "inputs without a value: %s", unset.c_str()).with_details("inputs", keys.view());
  return {};
}

Status GraphExecutor::kernel_failed(const Step& step, int32_t status) const {
  const char* label = step.table->label()->c_str();
  if (status == TIFFIN_KERNEL_INDEX_OUT_OF_RANGE) {
    return error(Code::IndexOutOfRange, "an index that '%s' reads is outside its axis", label);
  }
  if (status < 0) return error(Code::NotAnArtifact, "the artifact is damaged: the kernel of '%s' leaves its buffers or does not end", label);
  return error(Code::Internal, "the kernel of '%s' gives status %d", label, status);
}

Status GraphExecutor::run() {
  if (own_parameters_) return run_on(own_parameters_.get(), kOwnGeneration);
  const Generation* generation = module_->parameter_sets().begin_run(use_);
  Status status = generation == nullptr ? run_on(nullptr, 0) : run_on(generation->set.get(), generation->number);
  ParameterSets::end_run(use_);
  return status;
}

Status GraphExecutor::run_on(const ParameterSet* parameters, uint64_t generation) {
  TIFFIN_TRY(check_ready(parameters));
  if (!is_resolved_ || resolved_generation_ != generation) resolve_buffers(*parameters);
  resolved_generation_ = generation;
  if (observer_ != nullptr) return run_observed_steps();
  if (is_profiling_) return run_profiled();
  for (const Step& step : steps_) {
    const int32_t status = workers_.run(step.work);
    if (status != TIFFIN_KERNEL_OK) return kernel_failed(step, status);
  }
  has_run_ = true;
  return {};
}

Status GraphExecutor::run_profiled() {
  uint64_t before = now_ns();
  for (Step& step : steps_) {
    const int32_t status = workers_.run(step.work);
    if (status != TIFFIN_KERNEL_OK) return kernel_failed(step, status);
    const uint64_t after = now_ns();
    step.ns += after - before;
    before = after;
  }
  ++profiled_runs_;
  has_run_ = true;
  return {};
}

Status GraphExecutor::run_observed(const StepObserver& observer) {
  observer_ = &observer;
  Status status = run();
  observer_ = nullptr;
  return status;
}

Status GraphExecutor::run_observed_steps() {
  for (size_t i = 0; i < steps_.size(); ++i) {
    const int32_t status = workers_.run(steps_[i].work);
    if (status != TIFFIN_KERNEL_OK) return kernel_failed(steps_[i], status);
    if (!observer_->see(observer_->context, i, steps_[i].buffers)) return {};
  }
  has_run_ = true;
  return {};
}

Result<DLTensor> GraphExecutor::output(size_t index) const {
  if (!has_run_) return error(Code::InvalidArgument, "there is no output before the first run");
  const TensorSpec spec = output_spec(index);
  DLTensor tensor{};
  tensor.data = outputs_[index].data();
  tensor.device = {kDLCPU, 0};
  tensor.ndim = static_cast<int32_t>(spec.shape.size());
  tensor.dtype = to_dlpack(spec.dtype);
  tensor.shape = const_cast<int64_t*>(spec.shape.data());
  return tensor;
}

void GraphExecutor::set_profiling(bool is_on) {
  is_profiling_ = is_on;
  if (!is_on) return;
  profiled_runs_ = 0;
  for (Step& step : steps_) step.ns = 0;
}

StepProfile GraphExecutor::step_profile(size_t index) const {
  const Step& step = steps_[index];
  const abi::Kernel& kernel = *module_->variant().kernels()->Get(step.table->kernel());
  return {step.table->label()->c_str(), kernel.name()->c_str(), step.ns};
}

}  // namespace tiffin::runtime
