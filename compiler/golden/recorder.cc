// SPDX-License-Identifier: Apache-2.0
#include "compiler/golden/recorder.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "base/golden/compare.h"
#include "compiler/golden/error_estimate.h"
#include "compiler/golden/random_inputs.h"
#include "compiler/reference/evaluate.h"

namespace tiffin::golden {
namespace {

using graph::Tensor;
using graph::ValueId;

artifact::GoldenTensor recorded(const Tensor& tensor) { return {tensor.dtype(), {tensor.bytes().begin(), tensor.bytes().end()}}; }

// Where the value is written: by which step, at which position of its buffers.
struct Place {
  uint32_t step, buffer;
};

std::multimap<ValueId, Place> places_of(const plan::Plan& plan) {
  std::multimap<ValueId, Place> places;
  for (uint32_t i = 0; i < plan.entry.steps.size(); ++i) {
    const plan::Step& step = plan.entry.steps[i];
    const size_t first = step.buffers.size() - step.results.size();
    for (size_t k = 0; k < step.results.size(); ++k) places.emplace(step.results[k], Place{i, static_cast<uint32_t>(first + k)});
  }
  return places;
}

tiffin_golden_sketch sketch_of(const Tensor& tensor, const Estimate& estimate, const Place& place) {
  tiffin_golden_sketch sketch{};
  take_sketch(tensor.dtype(), tensor.bytes(), &sketch);
  const tiffin_golden_tolerance tolerance = tolerance_of(tensor.dtype(), estimate);
  sketch.step = place.step;
  sketch.buffer = place.buffer;
  sketch.relative = tolerance.relative;
  sketch.absolute = tolerance.absolute;
  return sketch;
}

bool is_before(const tiffin_golden_sketch& a, const tiffin_golden_sketch& b) { return a.step != b.step ? a.step < b.step : a.buffer < b.buffer; }

}  // namespace

Status Recorder::for_each_case(size_t node_count, const std::function<Status(size_t, const Tick&)>& evaluate) {
  const size_t count = inputs_.size();
  const double total = static_cast<double>(std::max<size_t>(1, node_count * count));
  std::mutex mutex;
  size_t done = 0, next = 0;
  std::vector<Status> results(count);
  const Tick tick = [&]() -> Status {
    if (options_.stop.stop_requested()) return error(Code::Cancelled, "the compilation was interrupted");
    const std::lock_guard lock(mutex);
    if (options_.progress) options_.progress(static_cast<double>(++done) / total);
    return {};
  };
  const auto work = [&] {
    while (true) {
      size_t number = 0;
      {
        const std::lock_guard lock(mutex);
        if (next == count) return;
        number = next++;
      }
      results[number] = evaluate(number, tick);
    }
  };
  const size_t helpers = std::min(count, static_cast<size_t>(std::max(1, options_.threads))) - (count > 0 ? 1 : 0);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < helpers; ++i) threads.emplace_back(work);
    work();
  }
  for (Status& status : results) TIFFIN_TRY(std::move(status));
  return {};
}

Status Recorder::record_outputs(const graph::Graph& graph) {
  std::vector<artifact::GoldenCase> cases(inputs_.size());
  TIFFIN_TRY(for_each_case(graph.topological_order().size(), [&](size_t number, const Tick& tick) -> Status {
    ErrorEstimate estimate(graph);
    const reference::Observer observe = [&](const graph::Node& node, std::span<const Tensor> inputs, std::span<const Tensor> results) {
      estimate.observe(node, inputs, results);
      return tick();
    };
    TIFFIN_ASSIGN_OR_RETURN(const std::vector<Tensor> outputs, reference::evaluate_graph(graph, inputs_[number], observe));
    artifact::GoldenCase& made = cases[number];
    for (const Tensor& input : inputs_[number]) made.inputs.push_back(recorded(input));
    for (size_t i = 0; i < outputs.size(); ++i) {
      made.outputs.push_back(recorded(outputs[i]));
      made.tolerances.push_back(tolerance_of(outputs[i].dtype(), estimate.of(graph.outputs()[i])));
    }
    return {};
  }));
  golden_.cases = std::move(cases);
  return {};
}

Status Recorder::record_cases(const graph::Graph& graph, std::vector<std::vector<Tensor>> given) {
  if (!given.empty()) {
    inputs_ = std::move(given);
    return record_outputs(graph);
  }
  // Random integers may be indices: of ten things, of two, of one.
  for (const uint64_t integer_limit : {10, 2, 1}) {
    inputs_.clear();
    for (uint32_t number = 0; number < options_.count; ++number) {
      TIFFIN_ASSIGN_OR_RETURN(inputs_.emplace_back(), random_inputs(graph, number + 1, integer_limit));
    }
    Status status = record_outputs(graph);
    const bool may_be_range = status.code() == Code::IndexOutOfRange || status.code() == Code::InvalidModel;
    if (status.is_ok() || !may_be_range || integer_limit == 1) return status;
  }
  return {};
}

Status Recorder::record_steps(uint32_t variant, const graph::Graph& graph, const plan::Plan& plan) {
  const std::multimap<ValueId, Place> places = places_of(plan);
  std::vector<std::vector<tiffin_golden_sketch>> all(inputs_.size());
  TIFFIN_TRY(for_each_case(graph.topological_order().size(), [&](size_t number, const Tick& tick) -> Status {
    ErrorEstimate estimate(graph);
    const reference::Observer observe = [&](const graph::Node& node, std::span<const Tensor> inputs, std::span<const Tensor> results) {
      estimate.observe(node, inputs, results);
      for (size_t i = 0; i < node.outputs.size() && i < results.size(); ++i) {
        const auto [first, last] = places.equal_range(node.outputs[i]);
        for (auto place = first; place != last; ++place) {
          all[number].push_back(sketch_of(results[i], estimate.of(node.outputs[i]), place->second));
        }
      }
      return tick();
    };
    const auto outputs = reference::evaluate_graph(graph, inputs_[number], observe);
    if (!outputs.has_value()) return outputs.error().clone();
    std::sort(all[number].begin(), all[number].end(), is_before);
    return {};
  }));
  golden_.sketches[variant] = std::move(all);
  return {};
}

}  // namespace tiffin::golden
