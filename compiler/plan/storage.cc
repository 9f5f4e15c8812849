// SPDX-License-Identifier: Apache-2.0
#include "compiler/plan/storage.h"

#include <algorithm>
#include <set>

#include "compiler/ops/shape_rules.h"
#include "compiler/plan/placement.h"
#include "compiler/plan/vector_expression.h"

namespace tiffin::plan {
namespace {

using graph::Graph;
using graph::kNone;
using graph::Node;
using graph::NodeId;
using graph::Op;
using graph::ValueId;
using graph::ValueKind;

constexpr uint64_t kAlignment = 64;

// (1) derive the placement of every value that movement alone makes from parameters, but outputs, which a kernel writes; (2) find the derived values
// that kernels read; (3) where one parameter would be stored twice, keep it as it is and leave the derived values to kernels; (4) store what is left,
// vector expressions beside, and every parameter that nothing covers.
class StoragePlanner {
 public:
  StoragePlanner(const Graph& graph, bool transform) : graph_(graph), transform_(transform), users_(graph.build_users()) {
    decision_.is_absorbed.assign(graph.node_capacity(), 0);
  }

  Result<StorageDecision> run() {
    collect_parameters();
    if (transform_) {
      for (const NodeId id : graph_.topological_order()) derive(id);
      drop_conflicts();
    }
    for (const NodeId id : graph_.topological_order()) store_operands(id);
    cover_the_rest();
    mark_absorbed();
    lay_out();
    return std::move(decision_);
  }

 private:
  void collect_parameters();
  void derive(NodeId id);
  std::optional<Placement> derive_placement(const Node& node) const;
  void drop_conflicts();
  bool is_output(ValueId value) const { return std::find(graph_.outputs().begin(), graph_.outputs().end(), value) != graph_.outputs().end(); }
  bool is_read_by_kernel(ValueId value) const;
  void store_operands(NodeId id);
  void store(ValueId value);
  void store_placement(ValueId value, const Placement& placement);
  void cover_the_rest();
  void mark_absorbed();
  void lay_out();
  const Placement* placement_of(ValueId value) const {
    const auto found = placements_.find(value);
    return found == placements_.end() ? nullptr : &found->second;
  }
  bool is_derived(ValueId value) const { return placements_.count(value) != 0 || expressions_.count(value) != 0; }

  const Graph& graph_;
  const bool transform_;
  std::vector<std::vector<NodeId>> users_;
  StorageDecision decision_;
  std::map<ValueId, Placement> placements_;
  std::map<ValueId, VectorExpression> expressions_;
  std::map<ValueId, uint32_t> parameter_index_;
};

void StoragePlanner::collect_parameters() {
  for (ValueId id = 0; id < static_cast<ValueId>(graph_.value_capacity()); ++id) {
    const graph::Value& value = graph_.value(id);
    if (value.is_erased || value.kind != ValueKind::Parameter) continue;
    const auto index = static_cast<uint32_t>(decision_.storage.parameters.size());
    parameter_index_[id] = index;
    placements_[id] = place_parameter(index, value.tensor);
    decision_.storage.parameters.push_back({value.name, value.tensor, value.is_frozen});
  }
}

std::optional<Placement> StoragePlanner::derive_placement(const Node& node) const {
  const ValueId result = node.outputs[0];
  const Placement* from = placement_of(node.input(0));
  if (from == nullptr || dtype_bits(from->dtype) < 8 || !graph_.value(result).type.has_static_shape()) return std::nullopt;
  const std::vector<int64_t> shape = graph_.value(result).type.static_shape();
  switch (node.op) {
    case Op::Identity:
      return *from;
    case Op::Reshape:
      return reshape(*from, shape);
    case Op::Transpose: {
      std::vector<int64_t> permutation = node.ints_attribute("perm");
      if (permutation.empty()) {
        for (auto axis = static_cast<int64_t>(shape.size()); axis-- > 0;) permutation.push_back(axis);
      }
      return transpose(*from, permutation);
    }
    case Op::Pad: {
      const graph::Tensor* pads = graph_.tensor_of(node.input(1));
      const bool is_plain = node.string_attribute("mode", "constant") == "constant" && node.inputs.size() == 2;
      if (!is_plain || pads == nullptr) return std::nullopt;
      std::vector<int64_t> begins = pads->to_int64s();
      if (std::any_of(begins.begin(), begins.end(), [](int64_t pad) { return pad < 0; })) return std::nullopt;
      begins.resize(shape.size());
      return pad_zeros(*from, begins, shape);
    }
    case Op::PackPanels:
      return pack_panels(*from, ops::kPanelColumns);
    case Op::Concat: {
      std::vector<const Placement*> parts;
      for (const ValueId input : node.inputs) parts.push_back(placement_of(input));
      if (std::count(parts.begin(), parts.end(), nullptr) != 0) return std::nullopt;
      const int64_t axis = node.int_attribute("axis", 0);
      return concat(parts, static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis), shape);
    }
    default:
      return std::nullopt;
  }
}

void StoragePlanner::derive(NodeId id) {
  const Node& node = graph_.node(id);
  if (node.outputs.size() != 1 || node.outputs[0] == kNone || is_output(node.outputs[0])) return;
  if (std::optional<Placement> placement = derive_placement(node)) {
    placements_[node.outputs[0]] = std::move(*placement);
  } else if (std::optional<VectorExpression> expression = derive_expression(graph_, node.outputs[0], parameter_index_)) {
    expressions_[node.outputs[0]] = std::move(*expression);
  }
}

bool StoragePlanner::is_read_by_kernel(ValueId value) const {
  const auto& users = users_[static_cast<size_t>(value)];
  return std::any_of(users.begin(), users.end(), [&](NodeId user) { return !is_derived(graph_.node(user).outputs[0]); });
}

// Distinct layouts of one parameter among the values that kernels read.
void StoragePlanner::drop_conflicts() {
  const auto key_of = [](const Placement& placement) {
    std::string key;
    for (const Piece& piece : pieces_of(placement)) {
      key += std::to_string(piece.source_offset) + ':' + std::to_string(piece.target_offset) + graph::to_string(piece.extents) +
             graph::to_string(piece.source_strides) + graph::to_string(piece.target_strides);
    }
    return key;
  };
  bool has_changed = true;
  while (has_changed) {
    has_changed = false;
    std::map<uint32_t, std::set<std::string>> layouts;
    for (const auto& [value, placement] : placements_) {
      if (!is_read_by_kernel(value)) continue;
      const std::string key = key_of(placement);
      for (const PlacedBox& box : placement.boxes) layouts[box.parameter].insert(key);
    }
    for (auto it = placements_.begin(); it != placements_.end();) {
      const auto& boxes = it->second.boxes;
      const bool is_original = parameter_index_.count(it->first) != 0;
      const bool conflicts = std::any_of(boxes.begin(), boxes.end(), [&](const PlacedBox& box) { return layouts[box.parameter].size() > 1; });
      if (is_original || !conflicts) {
        ++it;
        continue;
      }
      it = placements_.erase(it);
      has_changed = true;
    }
  }
}

void StoragePlanner::store_operands(NodeId id) {
  const Node& node = graph_.node(id);
  if (!node.outputs.empty() && node.outputs[0] != kNone && is_derived(node.outputs[0])) return;
  for (const ValueId input : node.inputs) store(input);
}

void StoragePlanner::store(ValueId value) {
  if (value == kNone || decision_.stored_of.count(value) != 0) return;
  if (const Placement* placement = placement_of(value)) {
    store_placement(value, *placement);
    return;
  }
  const auto found = expressions_.find(value);
  if (found == expressions_.end()) return;
  const VectorExpression& expression = found->second;
  Stored stored;
  stored.name = graph_.value(value).name;
  stored.dtype = graph_.value(value).type.dtype;
  stored.shape = expression.shape;
  stored.steps = expression.steps;
  stored.constants = expression.constants;
  decision_.stored_of[value] = static_cast<uint32_t>(decision_.storage.stored.size());
  decision_.storage.stored.push_back(std::move(stored));
}

void StoragePlanner::store_placement(ValueId value, const Placement& placement) {
  const std::vector<Piece> pieces = pieces_of(placement);
  const auto same = [](const Piece& a, const Piece& b) {
    return a.parameter == b.parameter && a.extents == b.extents && a.source_strides == b.source_strides && a.target_strides == b.target_strides &&
           a.source_offset == b.source_offset && a.target_offset == b.target_offset;
  };
  const int64_t elements = graph::num_elements(placement.shape);
  for (size_t i = 0; i < decision_.storage.stored.size(); ++i) {
    const Stored& other = decision_.storage.stored[i];
    if (pieces.empty() || other.pieces.size() != pieces.size() || graph::num_elements(other.shape) != elements) continue;
    if (!std::equal(pieces.begin(), pieces.end(), other.pieces.begin(), same)) continue;
    decision_.stored_of[value] = static_cast<uint32_t>(i);
    return;
  }
  Stored stored;
  stored.name = graph_.value(value).name;
  stored.dtype = placement.dtype;
  stored.shape = placement.shape;
  stored.pieces = pieces;
  decision_.stored_of[value] = static_cast<uint32_t>(decision_.storage.stored.size());
  decision_.storage.stored.push_back(std::move(stored));
}

// Parameters that no placement holds: read by vector expressions alone, or by nothing.
void StoragePlanner::cover_the_rest() {
  std::vector<char> is_covered(decision_.storage.parameters.size(), 0);
  for (const Stored& stored : decision_.storage.stored) {
    for (const Piece& piece : stored.pieces) is_covered[piece.parameter] = 1;
  }
  for (const auto& [value, index] : parameter_index_) {
    if (is_covered[index] != 0 || decision_.stored_of.count(value) != 0) continue;
    store_placement(value, place_parameter(index, graph_.value(value).tensor));
  }
}

void StoragePlanner::mark_absorbed() {
  for (size_t id = 0; id < graph_.node_capacity(); ++id) {
    const Node& node = graph_.node(static_cast<NodeId>(id));
    if (!node.is_erased && !node.outputs.empty() && node.outputs[0] != kNone && is_derived(node.outputs[0])) decision_.is_absorbed[id] = 1;
  }
}

void StoragePlanner::lay_out() {
  uint64_t offset = 0;
  for (Stored& stored : decision_.storage.stored) {
    const auto elements = static_cast<uint64_t>(graph::num_elements(stored.shape));
    if (!storage_bytes(stored.dtype, elements, &stored.bytes)) stored.bytes = 0;
    stored.offset = offset;
    offset = (offset + stored.bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  decision_.storage.data_bytes = offset;
}

}  // namespace

Result<StorageDecision> plan_storage(const Graph& graph, bool transform) { return StoragePlanner(graph, transform).run(); }

}  // namespace tiffin::plan
