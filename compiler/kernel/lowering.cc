// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/lowering.h"

#include <algorithm>

#include "compiler/kernel/rules.h"
#include "compiler/kernel/scalar.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::kernel {

using graph::Node;
using graph::NodeId;
using graph::ValueId;

DType compute_dtype(DType stored) { return stored == DType::Float16 || stored == DType::BFloat16 ? DType::Float32 : stored; }

namespace {

// A constant of one element stands in the code. Parameters never do: their values can be exchanged.
bool is_inlined(const graph::Value& value) { return value.kind == graph::ValueKind::Constant && value.tensor.num_elements() == 1; }

Expr inlined_constant(Builder& b, const graph::Tensor& tensor) {
  const Type type{compute_dtype(tensor.dtype()), 1};
  if (is_standard_float(tensor.dtype())) return b.real(type, tensor.to_doubles()[0]);
  return b.integer(type, tensor.to_int64s()[0]);
}

}  // namespace

Lowering::Lowering(const graph::Graph& graph, std::span<const NodeId> nodes, const LowerOptions& options)
    : graph_(graph), nodes_(nodes), options_(options) {
  const Node& last = graph.node(nodes.back());
  kernel_ = std::make_unique<Kernel>(last.name.empty() ? std::string(graph::op_name(last.op)) : last.name);
  kernel_->has_fma = options.machine.has_fma;
  main_builder_ = std::make_unique<Builder>(*kernel_);
  builder_ = main_builder_.get();
}

Status Lowering::prepare() {
  for (NodeId id : nodes_) {
    for (ValueId value : graph_.node(id).outputs) {
      if (value != graph::kNone) inside_.insert(value);
    }
  }
  for (NodeId id : nodes_) TIFFIN_TRY(collect(graph_.node(id), id));
  std::vector<std::vector<NodeId>> own_users;
  if (options_.users == nullptr) own_users = graph_.build_users();
  const auto& users = options_.users == nullptr ? own_users : *options_.users;
  const auto is_in_group = [&](NodeId user) { return std::find(nodes_.begin(), nodes_.end(), user) != nodes_.end(); };
  for (NodeId id : nodes_) {
    for (ValueId value : graph_.node(id).outputs) {
      if (value == graph::kNone) continue;
      const auto& readers = users[static_cast<size_t>(value)];
      const bool is_graph_output = std::find(graph_.outputs().begin(), graph_.outputs().end(), value) != graph_.outputs().end();
      if (!is_graph_output && std::all_of(readers.begin(), readers.end(), is_in_group)) continue;
      outputs_.push_back(value);
      buffer_values_.push_back(value);
      buffers_[value] = kernel_->add_parameter(graph_.value(value).name, dtype(value), graph_.value(value).type.num_elements(), true);
    }
  }
  return {};
}

Status Lowering::collect(const Node& node, NodeId id) {
  const LoweringRow* row = lowering_row(node.op);
  if (row == nullptr) {
    return ops::node_error(Code::UnsupportedOperator, graph_, node, "the operator has no lowering to a kernel");
  }
  if (row->procedure != nullptr && nodes_.back() != id) {
    return ops::node_error(Code::UnsupportedOperator, graph_, node, "the operator stores its results itself and must be the last of its group");
  }
  for (ValueId value : node.outputs) {
    if (value == graph::kNone) continue;
    const graph::Type& type = graph_.value(value).type;
    if (!type.has_static_shape()) {
      return ops::node_error(Code::OpenShape, graph_, node, "result '%s' is %s, expected a static shape", graph_.value(value).name.c_str(),
                             graph::to_string(type).c_str());
    }
    if (!is_kernel_dtype(type.dtype)) {
      return ops::node_error(Code::UnsupportedType, graph_, node, "result '%s' is %s, which kernels do not compute with",
                             graph_.value(value).name.c_str(), std::string(dtype_name(type.dtype)).c_str());
    }
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == graph::kNone || (i < 32 && (row->shaping_inputs >> i & 1) != 0)) continue;
    TIFFIN_TRY(add_operand(node.inputs[i]));
  }
  if (row->define != nullptr) {
    TIFFIN_ASSIGN_OR_RETURN(definitions_[id], row->define(*this, node));
  }
  return {};
}

Status Lowering::add_operand(ValueId value) {
  const graph::Value& operand = graph_.value(value);
  if (is_inside(value) || buffers_.count(value) != 0) return {};
  if (!operand.type.has_static_shape()) {
    return error(Code::OpenShape, "value '%s' is %s, expected a static shape", operand.name.c_str(), graph::to_string(operand.type).c_str());
  }
  if (!is_kernel_dtype(operand.type.dtype)) {
    return error(Code::UnsupportedType, "value '%s' is %s, which kernels do not compute with", operand.name.c_str(),
                 std::string(dtype_name(operand.type.dtype)).c_str());
  }
  if (is_inlined(operand)) return {};
  buffer_values_.push_back(value);
  buffers_[value] = kernel_->add_parameter(operand.name, operand.type.dtype, operand.type.num_elements(), false);
  return {};
}

const Buffer* Lowering::buffer_of(ValueId value) const {
  auto found = buffers_.find(value);
  return found == buffers_.end() ? nullptr : found->second;
}

// ---- expressions ----

Expr Lowering::load_external(ValueId value, const Index& index) {
  const graph::Value& operand = graph_.value(value);
  if (is_inlined(operand)) return inlined_constant(b(), operand.tensor);
  Expr loaded = b().load_at(buffers_.at(value), flatten(index, shape(value)), active);
  return b().let(operand.name, b().cast(loaded, compute_dtype(operand.type.dtype)));
}

Values Lowering::values(ValueId value, Points points) {
  Values found(points.size());
  if (value == tile_root) {
    for (size_t i = 0; i < points.size(); ++i) found[i] = root_values.at(points[i]);
    return found;
  }
  std::vector<Index> missing;
  const auto key_of = [&](const Index& index) {
    Builder::CacheKey key{Builder::kFirstUserKey + value, index};
    key.second.push_back(active);
    return key;
  };
  for (size_t i = 0; i < points.size(); ++i) {
    found[i] = b().find_cached(key_of(points[i]));
    if (found[i] == nullptr && std::find(missing.begin(), missing.end(), points[i]) == missing.end()) missing.push_back(points[i]);
  }
  if (missing.empty()) return found;
  Values fresh;
  if (is_inside(value)) {
    const graph::Value& result = graph_.value(value);
    fresh = definitions_.at(result.producer)(*this, static_cast<size_t>(result.output_index), missing);
    for (Expr& element : fresh) element = b().let(result.name, element);
  } else {
    for (const Index& index : missing) fresh.push_back(load_external(value, index));
  }
  for (size_t i = 0; i < missing.size(); ++i) b().remember(key_of(missing[i]), fresh[i]);
  for (size_t i = 0; i < points.size(); ++i) {
    if (found[i] != nullptr) continue;
    found[i] = fresh[static_cast<size_t>(std::find(missing.begin(), missing.end(), points[i]) - missing.begin())];
  }
  return found;
}

Values Lowering::broadcast_values(ValueId value, Points points) {
  const std::vector<int64_t> extents = shape(value);
  std::vector<Index> own;
  for (const Index& index : points) {
    Index aligned(index.end() - static_cast<std::ptrdiff_t>(extents.size()), index.end());
    for (size_t axis = 0; axis < extents.size(); ++axis) {
      if (extents[axis] == 1) aligned[axis] = b().i64(0);
    }
    own.push_back(std::move(aligned));
  }
  return values(value, own);
}

Expr Lowering::guarded(Expr position, int64_t low, int64_t high, const std::function<Expr()>& inside, Expr outside) {
  return guarded_else(position, low, high, inside, [&] { return outside; });
}

Expr Lowering::guarded_else(Expr position, int64_t low, int64_t high, const std::function<Expr()>& inside, const std::function<Expr()>& outside) {
  Expr is_in_range = b().bit_and(b().le(b().integer(position->type, low), position), b().lt(position, b().integer(position->type, high)));
  if (is_in_range->kind == ExprKind::Const) return is_in_range->int_value != 0 ? inside() : outside();
  if (trace_ != nullptr) {
    // Both sides are looked at, as if nothing depended on the condition.
    trace_->guards.push_back({b().index_math().form_of(position), low, high});
    outside();
    return inside();
  }
  if (position->type.lanes > 1) {
    has_failed = true;
    return outside();
  }
  return b().choose(is_in_range, inside, outside);
}

Expr Lowering::within(Expr position, int64_t extent) {
  const Range range = b().index_math().range_of(position);
  if (trace_ != nullptr || position->type.lanes > 1 || (range.low >= 0 && range.high < extent)) return position;
  return b().let_index("within", position, {0, extent - 1});
}

Expr Lowering::flatten(const Index& index, std::span<const int64_t> extents) {
  const std::vector<int64_t> strides = graph::row_major_strides(extents);
  Expr position = b().i64(0);
  for (size_t axis = 0; axis < extents.size(); ++axis) position = b().add(position, b().mul(index[axis], strides[axis]));
  return position;
}

Index Lowering::unflatten(Expr position, std::span<const int64_t> extents) {
  const std::vector<int64_t> strides = graph::row_major_strides(extents);
  Index index(extents.size(), b().i64(0));
  bool is_first = true;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] == 1) continue;
    // The leading axis needs no remainder: the position lies inside.
    Expr at = b().div(position, std::max<int64_t>(strides[axis], 1));
    index[axis] = is_first ? at : b().mod(at, extents[axis]);
    is_first = false;
  }
  return index;
}

void Lowering::store(ValueId value, const Index& index, Expr element) {
  Expr position = flatten(index, shape(value));
  Expr converted = b().cast(element, dtype(value));
  const Buffer* buffer = buffers_.at(value);
  const int lanes = position->type.lanes;
  // A vector at one index: an axis of one element, which lanes beyond the active ones are not in.
  if (lanes == 1) return b().store(buffer, position, converted, 1, converted->type.lanes > 1 ? active : nullptr);
  Linear form = b().index_math().form_of(position);
  const bool is_even = std::all_of(form.terms.begin(), form.terms.end(), [](const LinearTerm& term) { return term.atom->type.lanes == 1; });
  if (!is_even) return b().store(buffer, position, b().splat(converted, lanes), 1, active);
  const int64_t stride = form.lane_step;
  form.lanes = 1;
  form.lane_step = 0;
  b().store(buffer, b().index_math().expr_of(form), b().splat(converted, lanes), stride, active);
}

// ---- loops ----

int Lowering::lanes_for(DType dtype) const { return std::max(1, machine().lanes(std::max(1, dtype_bits(compute_dtype(dtype)) / 8))); }

bool Lowering::may_use_lanes(Points points) {
  if (!options_.vectorise || active != nullptr) return false;
  for (const Index& index : points) {
    for (Expr position : index) {
      if (position->type.lanes > 1) return false;
      for (Expr variable : lane_variables) {
        if (b().index_math().mentions(position, variable)) return false;
      }
    }
  }
  return true;
}

bool Lowering::is_contiguous_along(ValueId value, const std::vector<int64_t>& axes) {
  auto [entry, is_new] = contiguity_.try_emplace({value, axes}, false);
  if (!is_new) return entry->second;
  const std::vector<int64_t> extents = shape(value);
  std::vector<int64_t> walked;
  for (int64_t axis : axes) walked.push_back(extents[static_cast<size_t>(axis)]);
  if (graph::num_elements(extents) == 0) return false;
  bool is_contiguous = true;
  const Trace seen = probe([&](Builder& trial) {
    Index index;
    for (int64_t extent : extents) {
      index.push_back(trial.free_variable("axis", {0, extent - 1}));
    }
    Expr walker = trial.free_variable("walker", {0, graph::num_elements(walked) - 1});
    const Index inner = unflatten(walker, walked);
    for (size_t i = 0; i < axes.size(); ++i) index[static_cast<size_t>(axes[i])] = inner[i];
    this->value(value, index);
    IndexMath& math = trial.index_math();
    for (const Trace::Access& access : trace_->loads) {
      const int64_t stride = access.form.coefficient_of(walker);
      is_contiguous &= (stride == 0 || stride == 1) && !math.hides(access.form, walker);
    }
    for (const Trace::Guard& guard : trace_->guards) {
      is_contiguous &= guard.position.coefficient_of(walker) == 0 && !math.hides(guard.position, walker);
    }
    is_contiguous &= trace_->row_variables.empty();
  });
  contiguity_[{value, axes}] = is_contiguous;
  return is_contiguous;
}

// ---- trial runs ----

Trace Lowering::probe(const std::function<void(Builder&)>& body) {
  Kernel scratch("trial");
  scratch.has_fma = kernel_->has_fma;
  Builder trial(scratch);
  Trace seen;
  Builder* outer_builder = std::exchange(builder_, &trial);
  Trace* outer_trace = std::exchange(trace_, &seen);
  Expr outer_active = std::exchange(active, nullptr);
  std::vector<Expr> outer_variables = std::exchange(lane_variables, {});
  const bool outer_failed = has_failed;
  trial.observer = [&](Expr made) {
    if (made->type.dtype != DType::Int64 && made->type.dtype != DType::Bool) seen.dtypes.insert(made->type.dtype);
  };
  trial.load_observer = [&](const Buffer* buffer, Expr index) { seen.loads.push_back({buffer, trial.index_math().form_of(index)}); };
  body(trial);
  builder_ = outer_builder;
  trace_ = outer_trace;
  active = outer_active;
  lane_variables = std::move(outer_variables);
  has_failed = outer_failed;
  return seen;
}

void Lowering::note_row(Expr index) {
  if (trace_ == nullptr) return;
  for (const LinearTerm& term : b().index_math().form_of(index).terms) trace_->row_variables.insert(term.atom);
}

void Lowering::note_tile(Expr index) {
  if (trace_ == nullptr) return;
  const Linear form = b().index_math().form_of(index);
  if (form.terms.size() == 1) trace_->tile_variables.insert(form.terms[0].atom);
}

void Lowering::note_reduction(int64_t count, bool is_contiguous) {
  if (trace_ == nullptr) return;
  trace_->work += static_cast<double>(count);
  trace_->has_contiguous_reduction |= is_contiguous;
}

}  // namespace tiffin::kernel
