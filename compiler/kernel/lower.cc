// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/lower.h"

#include <algorithm>

#include "compiler/kernel/lowering.h"
#include "compiler/kernel/nest.h"
#include "compiler/kernel/rules.h"
#include "compiler/kernel/scalar.h"
#include "compiler/kernel/tile_rules.h"

namespace tiffin::kernel {

namespace {

using graph::ValueId;

bool is_same_form(const Linear& a, const Linear& b) { return a.terms == b.terms && a.constant == b.constant; }

// Inputs that an output can take the place of: one nest, every load of the input at exactly the element that is stored.
std::vector<std::pair<int, int>> in_place_pairs(Lowering& lowering) {
  std::vector<std::pair<int, int>> pairs;
  const std::vector<ValueId>& outputs = lowering.outputs();
  const std::vector<int64_t> shape = lowering.shape(outputs[0]);
  for (ValueId output : outputs) {
    if (lowering.shape(output) != shape) return pairs;
  }
  if (graph::num_elements(shape) == 0) return pairs;
  lowering.probe([&](Builder& trial) {
    Index index;
    for (int64_t extent : shape) index.push_back(extent == 1 ? trial.i64(0) : trial.free_variable("axis", {0, extent - 1}));
    for (ValueId output : outputs) lowering.value(output, index);
    const Linear stored = trial.index_math().form_of(lowering.flatten(index, shape));
    const std::vector<Trace::Access>& loads = lowering.trace()->loads;
    for (const Buffer* input : lowering.kernel().parameters()) {
      if (input->is_output) continue;
      const bool is_elementwise = std::all_of(
          loads.begin(), loads.end(), [&](const Trace::Access& access) { return access.buffer != input || is_same_form(access.form, stored); });
      if (!is_elementwise) continue;
      for (const Buffer* output : lowering.kernel().parameters()) {
        if (!output->is_output || input->size != output->size || element_bytes(input->dtype) != element_bytes(output->dtype)) continue;
        pairs.push_back({input->index, output->index});
      }
    }
  });
  return pairs;
}

}  // namespace

bool has_lowering(graph::Op op) { return lowering_row(op) != nullptr; }

bool needs_own_kernel(graph::Op op) {
  const LoweringRow* row = lowering_row(op);
  return row != nullptr && row->procedure != nullptr;
}

Result<LoweredKernel> lower_group(const graph::Graph& graph, std::span<const graph::NodeId> nodes, const LowerOptions& options) {
  if (nodes.empty()) return error(Code::InvalidArgument, "a group of no nodes, expected at least one");
  Lowering lowering(graph, nodes, options);
  TIFFIN_TRY(lowering.prepare());
  LoweredKernel lowered;
  const graph::Node& last = graph.node(nodes.back());
  const LoweringRow* row = lowering_row(last.op);
  const TileRoot tile_root = find_tile_root(lowering);
  if (tile_root.rule != nullptr) {
    TIFFIN_TRY(emit_tiles(lowering, tile_root));
    lowered.in_place = tile_in_place_pairs(lowering, tile_root);
  } else if (row->procedure != nullptr) {
    TIFFIN_TRY(row->procedure(lowering, last));
  } else if (!lowering.outputs().empty()) {
    emit_nests(lowering);
    lowered.in_place = in_place_pairs(lowering);
  }
  if (lowering.has_failed) {
    if (!options.vectorise) return error(Code::Internal, "node '%s' could not be lowered without lanes", last.name.c_str());
    LowerOptions scalar = options;
    scalar.vectorise = false;
    return lower_group(graph, nodes, scalar);
  }
  lowering.b().finish();
  lowered.buffers = lowering.buffers();
  lowered.kernel = lowering.take_kernel();
  return lowered;
}

}  // namespace tiffin::kernel
