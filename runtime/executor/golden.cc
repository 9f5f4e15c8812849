// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/golden.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/golden/compare.h"
#include "base/golden/section.h"

namespace tiffin::runtime {
namespace {

// Frees what GraphExecutor::create gave.
struct OwnedExecutor {
  GraphExecutor* executor = nullptr;
  OwnedExecutor() = default;
  OwnedExecutor(const OwnedExecutor&) = delete;
  ~OwnedExecutor() { GraphExecutor::destroy(executor); }
};

bool is_damage(Code code) { return code == Code::IndexOutOfRange || code == Code::NotAnArtifact || code == Code::Internal; }

class Cases {
 public:
  Cases(const golden::Section& section, GraphExecutor& executor, uint32_t variant) : section_(section), executor_(executor), variant_(variant) {}

  Status check_interface() const;
  Status run(GoldenVerdict* out);

 private:
  struct Trace {
    Cases* cases;
    std::span<const tiffin_golden_sketch> sketches;
    size_t next = 0;  // of the sketches
    size_t seen = 0;  // steps that ran
    size_t bad_step = SIZE_MAX;
  };

  Status misfit(const char* what, uint64_t actual, uint64_t expected) const;
  const tiffin_golden_tensor& output_row(uint32_t index) const { return section_.tensors()[section_.header().input_count + index]; }
  std::span<const uint8_t> expected_output(uint32_t number, uint32_t index) const {
    return section_.elements(number, section_.header().input_count + index);
  }
  void set_inputs(uint32_t number);
  Status run_case(uint32_t number, GoldenVerdict* out);
  Status blame(uint32_t number, uint32_t output, const char* what, GoldenVerdict* out);
  size_t writer_of(uint32_t output) const;
  static bool see_step(void* context, size_t step, void* const* buffers);

  const golden::Section& section_;
  GraphExecutor& executor_;
  const uint32_t variant_;
};

Status Cases::misfit(const char* what, uint64_t actual, uint64_t expected) const {
  return error(Code::NotAnArtifact, "section 'golden' does not fit entry '%s': %s is %" PRIu64 ", expected %" PRIu64,
               executor_.entry().name()->c_str(), what, actual, expected);
}

Status Cases::check_interface() const {
  const tiffin_golden_header& header = section_.header();
  if (header.input_count != executor_.input_count()) return misfit("the number of inputs", header.input_count, executor_.input_count());
  if (header.output_count != executor_.output_count()) return misfit("the number of outputs", header.output_count, executor_.output_count());
  for (uint32_t i = 0; i < section_.tensors().size(); ++i) {
    const bool is_input = i < header.input_count;
    const uint32_t index = is_input ? i : i - header.input_count;
    const TensorSpec spec = is_input ? executor_.input_spec(index) : executor_.output_spec(index);
    const uint64_t bytes = is_input ? executor_.input_bytes(index) : executor_.output_bytes(index);
    const tiffin_golden_tensor& row = section_.tensors()[i];
    if (row.dtype != static_cast<uint32_t>(spec.dtype)) return misfit("the dtype of a tensor", row.dtype, static_cast<uint64_t>(spec.dtype));
    if (row.bytes != bytes) return misfit("the size of a tensor", row.bytes, bytes);
  }
  const auto& steps = *executor_.entry().steps();
  for (const tiffin_golden_sketch& sketch : section_.sketches(variant_, 0)) {
    if (sketch.step >= steps.size()) return misfit("the step of a sketch", sketch.step, steps.size());
    const uint32_t buffers = steps.Get(sketch.step)->buffers()->size();
    if (sketch.buffer >= buffers) return misfit("the buffer of a sketch", sketch.buffer, buffers);
  }
  return {};
}

void Cases::set_inputs(uint32_t number) {
  for (uint32_t i = 0; i < section_.header().input_count; ++i) {
    const auto buffer = executor_.fill_input(i);
    const auto elements = section_.elements(number, i);
    if (!elements.empty()) memcpy(buffer.data(), elements.data(), elements.size());
  }
}

// Ends the run at the first step whose buffers depart from their sketches.
bool Cases::see_step(void* context, size_t step, void* const* buffers) {
  auto& trace = *static_cast<Trace*>(context);
  const abi::Entry& entry = trace.cases->executor_.entry();
  for (; trace.next < trace.sketches.size() && trace.sketches[trace.next].step <= step; ++trace.next) {
    const tiffin_golden_sketch& recorded = trace.sketches[trace.next];
    const auto& indices = *entry.steps()->Get(static_cast<uint32_t>(step))->buffers();
    if (recorded.step != step || recorded.buffer >= indices.size()) continue;
    const uint64_t bytes = entry.buffers()->Get(indices.Get(recorded.buffer))->bytes();
    tiffin_golden_sketch actual{};
    golden::take_sketch(static_cast<DType>(recorded.dtype), {static_cast<const uint8_t*>(buffers[recorded.buffer]), static_cast<size_t>(bytes)},
                        &actual);
    if (!golden::departs(recorded, actual)) continue;
    trace.bad_step = step;
    return false;
  }
  trace.seen = step + 1;
  return true;
}

// The last step that writes to the output; SIZE_MAX when none does. Outputs are the last of a step's buffers.
size_t Cases::writer_of(uint32_t output) const {
  const abi::Entry& entry = executor_.entry();
  size_t writer = SIZE_MAX;
  for (uint32_t i = 0; i < entry.steps()->size(); ++i) {
    for (const uint32_t index : *entry.steps()->Get(i)->buffers()) {
      const abi::Buffer& buffer = *entry.buffers()->Get(index);
      if (buffer.space() == abi::Space::Output && buffer.index() == output && writer == SIZE_MAX) writer = i;
    }
  }
  return writer;
}

Status Cases::blame(uint32_t number, uint32_t output, const char* what, GoldenVerdict* out) {
  Trace trace{this, section_.sketches(variant_, number)};
  const Status traced = executor_.run_observed({see_step, &trace});
  if (!traced.is_ok() && !is_damage(traced.code())) return traced.clone();
  size_t step = trace.bad_step;
  if (step == SIZE_MAX) step = traced.is_ok() ? writer_of(output) : trace.seen;
  if (step >= executor_.step_count()) {
    out->failure = error(Code::GoldenMismatch, "golden case %u of %u: %s", number + 1, section_.header().case_count, what);
    return {};
  }
  const StepProfile profile = executor_.step_profile(step);
  out->first_bad_kernel = profile.kernel;
  out->failure = error(Code::GoldenMismatch, "golden case %u of %u: %s; the first kernel whose output departs is '%s', of '%s'", number + 1,
                       section_.header().case_count, what, profile.kernel, profile.label)
                     .with_detail("first_bad_kernel", profile.kernel);
  return {};
}

Status Cases::run_case(uint32_t number, GoldenVerdict* out) {
  set_inputs(number);
  const bool is_first = out->failure.is_ok();
  const Status status = executor_.run();
  if (!status.is_ok()) {
    if (!is_damage(status.code())) return status.clone();
    return is_first ? blame(number, 0, status.message(), out) : Status();
  }
  uint32_t bad_output = UINT32_MAX;
  golden::Difference bad;
  for (uint32_t i = 0; i < section_.header().output_count; ++i) {
    TIFFIN_ASSIGN_OR_RETURN(const DLTensor tensor, executor_.output(i));
    const std::span<const uint8_t> actual{static_cast<const uint8_t*>(tensor.data), static_cast<size_t>(executor_.output_bytes(i))};
    const golden::Difference difference =
        golden::compare(static_cast<DType>(output_row(i).dtype), expected_output(number, i), actual, section_.tolerance(number, i));
    if (difference.worst_ulp > out->worst_ulp) out->worst_ulp = difference.worst_ulp;
    if (difference.is_accepted || bad_output != UINT32_MAX) continue;
    bad_output = i;
    bad = difference;
  }
  if (bad_output == UINT32_MAX) {
    ++out->passed;
    return {};
  }
  if (!is_first) return {};
  const tiffin_golden_tolerance& tolerance = section_.tolerance(number, bad_output);
  char what[384];
  snprintf(what, sizeof what, "element %" PRIu64 " of output '%.160s' is %.9g, expected %.9g within %.3g", bad.index,
           executor_.output_spec(bad_output).name, bad.actual, bad.expected,
           tolerance.absolute > tolerance.relative * fabs(bad.expected) ? tolerance.absolute : tolerance.relative * fabs(bad.expected));
  return blame(number, bad_output, what, out);
}

Status Cases::run(GoldenVerdict* out) {
  out->cases = section_.header().case_count;
  for (uint32_t number = 0; number < section_.header().case_count; ++number) TIFFIN_TRY(run_case(number, out));
  return {};
}

uint32_t index_of(const Module& module) {
  const auto& variants = *module.artifact().program().variants();
  uint32_t index = 0;
  while (index + 1 < variants.size() && variants.Get(index) != &module.variant()) ++index;
  return index;
}

}  // namespace

Result<uint64_t> golden_case_count(const Container& container) {
  const Section* section = container.find(TIFFIN_SECTION_GOLDEN);
  uint8_t start[sizeof(tiffin_golden_header)];
  if (section == nullptr || section->length < sizeof start) return uint64_t{0};
  TIFFIN_TRY(container.source_of(*section).read(section->offset, {start, sizeof start}));
  return golden::Section::case_count_of({start, sizeof start});
}

Result<GoldenVerdict> run_golden_cases(const Ref<Module>& module, Ref<ParameterSet> parameters, const ExecutorOptions& options) {
  GoldenVerdict verdict;
  const Section* row = module->artifact().container().find(TIFFIN_SECTION_GOLDEN);
  if (row == nullptr) return verdict;
  TIFFIN_TRY(module->artifact().container().check_section(*row));  // loading does not hash it
  Arena memory;
  TIFFIN_ASSIGN_OR_RETURN(const auto bytes, module->artifact().container().read_section(*row, memory));
  TIFFIN_ASSIGN_OR_RETURN(const golden::Section section, golden::Section::read(bytes));
  const auto& entries = *module->variant().entries();
  if (section.header().entry >= entries.size()) {
    return error(Code::NotAnArtifact, "section 'golden' is for entry %u, the artifact has %u", section.header().entry, entries.size());
  }
  OwnedExecutor owned;
  TIFFIN_ASSIGN_OR_RETURN(owned.executor,
                          GraphExecutor::create(Ref<Module>::share(module.get()), view(entries.Get(section.header().entry)->name()), options));
  if (parameters) owned.executor->set_parameters(std::move(parameters));
  Cases cases(section, *owned.executor, index_of(*module));
  TIFFIN_TRY(cases.check_interface());
  TIFFIN_TRY(cases.run(&verdict));
  return verdict;
}

}  // namespace tiffin::runtime
