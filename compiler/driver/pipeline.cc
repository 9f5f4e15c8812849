// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/pipeline.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include "base/name_distance.h"
#include "compiler/graph/printer.h"
#include "compiler/graph/unsupported_list.h"
#include "compiler/graph/verifier.h"
#include "compiler/passes/block_channels.h"
#include "compiler/passes/cancel_transposes.h"
#include "compiler/passes/decompose_operators.h"
#include "compiler/passes/eliminate_common.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/passes/fold_scale_shift.h"
#include "compiler/passes/pack_weights.h"
#include "compiler/passes/recognise_gelu.h"
#include "compiler/passes/recognise_hard_swish.h"
#include "compiler/passes/recognise_layer_norm.h"
#include "compiler/passes/recognise_rms_norm.h"
#include "compiler/passes/recognise_softmax.h"
#include "compiler/passes/simplify_graph.h"
#include "compiler/passes/sink_reshapes.h"
#include "compiler/passes/widen_halves.h"
#include "compiler/plan/check_support.h"

namespace tiffin::driver {
namespace {

// What cannot run has no types, which everything further down relies on.
Status refuse_stand_ins(graph::Graph& graph, passes::PassContext& context) {
  return graph::has_stand_in(graph) ? plan::check_support(graph, context.machine) : Status();
}

constexpr PassRow kPipeline[] = {
    {passes::fold_constants, "fold_constants", 0, "first: it infers every type, and removes shape arithmetic and constant If"},
    {passes::decompose_operators, "decompose_operators", 0, "needs static types; leaves the primitives that everything below knows"},
    {passes::widen_halves, "widen_halves", 0, "after decomposition, which says what computes; before folding, which widens constants"},
    {passes::fold_constants, "fold_decomposed", 0, "decomposition makes constant operands that lowering wants folded"},
    {refuse_stand_ins, "refuse_stand_ins", 0, "after folding, which drops those that nothing needs; below, types are relied on"},
    {passes::simplify_graph, "simplify_graph", 1, "before patterns are looked for: no-ops hide them"},
    {passes::eliminate_common, "eliminate_common", 1, "patterns expect equal expressions to be one value"},
    {passes::recognise_gelu, "recognise_gelu", 2, "needs every factor of the formula in its place, so before factors are folded"},
    {passes::recognise_hard_swish, "recognise_hard_swish", 2, "as GELU"},
    {passes::recognise_layer_norm, "recognise_layer_norm", 2, "before scale and shift are folded: gamma and beta belong to it"},
    {passes::recognise_rms_norm, "recognise_rms_norm", 2, "after layer normalisation, which has the same heart"},
    {passes::recognise_softmax, "recognise_softmax", 2, "any time after eliminate_common"},
    {passes::cancel_transposes, "cancel_transposes", 2, "after patterns, which know trailing axes only; before folding, which wants neighbours"},
    {passes::sink_reshapes, "sink_reshapes", 2, "after patterns, which put one operator where several read a Reshape; before folding, as above"},
    {passes::fold_scale_shift, "fold_scale_shift", 2, "before bias and weights are packed: it takes the bias out of convolutions"},
    {passes::fold_constants, "fold_shifts", 2, "vectors that depend on no parameter are computed now"},
    {passes::simplify_graph, "simplify_again", 1, "movements that the passes above left side by side join"},
    {passes::pack_weights, "pack_weights", 1, "after every pass that matches products or reads weights"},
    {passes::block_channels, "block_channels", 1, "after fusable forms are settled: it changes the shape of every activation"},
    {passes::fold_constants, "fold_layouts", 1, "layouts of constants are computed now"},
};

bool contains(const std::vector<std::string>& names, const char* name) { return std::find(names.begin(), names.end(), name) != names.end(); }

Status check_names(const RunnerOptions& options) {
  std::vector<std::string> asked = options.skip;
  asked.insert(asked.end(), options.only.begin(), options.only.end());
  if (!options.stop_after.empty()) asked.push_back(options.stop_after);
  for (const std::string& name : asked) {
    const auto found = std::find_if(std::begin(kPipeline), std::end(kPipeline), [&](const PassRow& row) { return name == row.name; });
    if (found != std::end(kPipeline)) {
      if (name == options.stop_after && found->min_opt_level > options.opt_level) {
        return error(Code::InvalidArgument, "the pass '%s' does not run at level %d, but from %d on", name.c_str(), options.opt_level,
                     found->min_opt_level);
      }
      continue;
    }
    std::string known;
    const char* nearest = kPipeline[0].name;
    for (const PassRow& row : kPipeline) {
      known += std::string(known.empty() ? "" : ", ") + row.name;
      if (name_distance(name, row.name) < name_distance(name, nearest)) nearest = row.name;
    }
    Status status = error(Code::InvalidArgument, "there is no pass '%s'; the passes are: %s", name.c_str(), known.c_str());
    return std::move(status).with_remedy("did you mean '%s'?", nearest).with_detail("nearest", nearest);
  }
  return {};
}

Status write_text(const std::string& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return error(Code::Io, "cannot write '%s': %m", path.c_str());
  const bool is_whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) != 0 || !is_whole) return error(Code::Io, "cannot write '%s': %m", path.c_str());
  return {};
}

class Runner {
 public:
  Runner(graph::Graph& graph, passes::PassContext& context, const RunnerOptions& options, std::vector<PassTime>* out_times)
      : graph_(graph), context_(context), options_(options), out_times_(out_times) {}

  Status run() {
    TIFFIN_TRY(check_names(options_));
    TIFFIN_TRY(graph::verify_graph(graph_));  // it may be built by hand
    keep_output_names();
    TIFFIN_TRY(check_output_shapes("import"));
    if (!options_.dump_folder.empty()) TIFFIN_TRY(dump("imported"));
    if (!options_.only.empty()) {
      for (const std::string& name : options_.only) {
        TIFFIN_TRY(run_pass(*std::find_if(std::begin(kPipeline), std::end(kPipeline), [&](const PassRow& row) { return name == row.name; })));
      }
      return {};
    }
    for (const PassRow& row : kPipeline) {
      if (options_.opt_level >= row.min_opt_level && !contains(options_.skip, row.name)) TIFFIN_TRY(run_pass(row));
      if (options_.stop_after == row.name) return error(Code::Cancelled, "stopped after the pass '%s', as asked", row.name);
    }
    return {};
  }

 private:
  Status run_pass(const PassRow& row) {
    if (options_.stop.stop_requested()) return error(Code::Cancelled, "the compilation was interrupted");
    const auto start = std::chrono::steady_clock::now();
    Status status = row.run(graph_, context_);
    if (!status.is_ok()) {
      if (status.code() != Code::UnsupportedOperator) TIFFIN_TRY(graph::check_stand_ins(graph_));  // the fault may only follow from those
      return status;
    }
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    if (out_times_ != nullptr) out_times_->push_back({row.name, taken.count()});
    const Status valid = graph::verify_graph(graph_);
    if (!valid.is_ok()) return error(Code::Internal, "the pass '%s' left an invalid graph: %s", row.name, valid.message());
    TIFFIN_TRY(check_output_shapes(row.name));
    return options_.dump_folder.empty() ? Status() : dump(row.name);
  }

  // A graph built by hand need not name its outputs; passes replace the values whose names they go by.
  void keep_output_names() {
    if (!graph_.output_names().empty()) return;
    std::vector<std::string> names;
    for (const graph::ValueId output : graph_.outputs()) names.push_back(graph_.value(output).name);
    graph_.set_output_names(std::move(names));
  }

  // What a pass finds out about a shape it may add; what was known stays.
  Status check_output_shapes(const char* pass) {
    known_shapes_.resize(graph_.outputs().size());
    for (size_t i = 0; i < known_shapes_.size(); ++i) {
      const graph::Type& type = graph_.value(graph_.outputs()[i]).type;
      if (!type.has_static_shape()) continue;
      std::optional<std::vector<int64_t>>& known = known_shapes_[i];
      if (known.has_value() && *known != type.static_shape()) {
        return error(Code::Internal, "the pass '%s' changed the shape of output %zu from %s to %s", pass, i, graph::to_string(*known).c_str(),
                     graph::to_string(type.static_shape()).c_str());
      }
      known = type.static_shape();
    }
    return {};
  }

  // Only graphs that differ from the one before are written.
  Status dump(const char* name) {
    std::string text = graph::print_graph(graph_);
    const int number = dumps_++;
    if (text == last_dump_) return {};
    char prefix[16];
    std::snprintf(prefix, sizeof(prefix), "/%02d_", number);
    TIFFIN_TRY(write_text(options_.dump_folder + prefix + name + ".graph", text));
    last_dump_ = std::move(text);
    return {};
  }

  graph::Graph& graph_;
  passes::PassContext& context_;
  const RunnerOptions& options_;
  std::vector<PassTime>* out_times_;
  std::string last_dump_;
  std::vector<std::optional<std::vector<int64_t>>> known_shapes_;  // of the outputs
  int dumps_ = 0;
};

}  // namespace

std::span<const PassRow> pipeline() { return kPipeline; }

Status run_pipeline(graph::Graph& graph, passes::PassContext& context, const RunnerOptions& options, std::vector<PassTime>* out_times) {
  return Runner(graph, context, options, out_times).run();
}

}  // namespace tiffin::driver
