// SPDX-License-Identifier: Apache-2.0
// ScatterElements and ScatterND: a copy of the data, then the updates in order. Units own disjoint parts of the result, so that repeated indices give
// the same bits however the units are spread.
#include <algorithm>

#include "compiler/kernel/rules.h"
#include "compiler/ops/axes.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::kernel {

using graph::Node;

namespace {

enum class Combine : uint8_t { Replace, Add, Mul, Max, Min };

Result<Combine> combine_of(Lowering& l, const Node& node) {
  const std::string name = node.string_attribute("reduction", "none");
  if (name == "none") return Combine::Replace;
  if (name == "add") return Combine::Add;
  if (name == "mul") return Combine::Mul;
  if (name == "max") return Combine::Max;
  if (name == "min") return Combine::Min;
  return ops::node_error(Code::InvalidModel, l.graph(), node, "reduction is '%s', expected none, add, mul, max or min", name.c_str());
}

// Result element `index` combined with `update`.
void combine_into(Lowering& l, const Node& node, Combine how, const Index& index, Expr update) {
  Builder& b = l.b();
  const graph::ValueId output = node.outputs[0];
  const auto old = [&] {
    Expr stored = b.load(l.buffer_of(output), l.flatten(index, l.shape(output)));
    return b.let("old", b.cast(stored, compute_dtype(l.dtype(output))));
  };
  const bool is_bool = l.dtype(output) == DType::Bool;
  switch (how) {
    case Combine::Replace:
      return l.store(output, index, update);
    case Combine::Add:
      return l.store(output, index, is_bool ? b.bit_or(old(), update) : b.add(old(), update));
    case Combine::Mul:
      return l.store(output, index, is_bool ? b.bit_and(old(), update) : b.mul(old(), update));
    case Combine::Max:
      return l.store(output, index, b.max(old(), update));
    case Combine::Min:
      return l.store(output, index, b.min(old(), update));
  }
}

void set_units(Kernel& kernel, int64_t units, int64_t work) {
  kernel.units = units;
  kernel.grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, work));
}

}  // namespace

Status emit_scatter_elements(Lowering& l, const Node& node) {
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis_number, ops::axis_attribute(l.graph(), node, "axis", 0));
  TIFFIN_ASSIGN_OR_RETURN(const Combine how, combine_of(l, node));
  const size_t axis = static_cast<size_t>(axis_number);
  const std::vector<int64_t> shape = l.shape(node.inputs[0]), updates = l.shape(node.inputs[1]);
  std::vector<int64_t> rows = shape;
  rows[axis] = 1;
  set_units(l.kernel(), shape[axis] == 0 ? 0 : graph::num_elements(rows), shape[axis] + updates[axis]);
  Builder& b = l.b();
  b.unit_loop([&](Expr unit) {
    const Index row = l.unflatten(unit, rows);
    b.for_loop("i", shape[axis], [&](Expr i) {
      Index at = row;
      at[axis] = i;
      l.store(node.outputs[0], at, l.value(node.inputs[0], at));
    });
    // Only rows that the updates have.
    Expr has_updates = b.boolean(true);
    for (size_t i = 0; i < shape.size(); ++i) {
      if (i != axis) has_updates = b.bit_and(has_updates, b.lt(row[i], b.i64(updates[i])));
    }
    b.if_then(has_updates, [&] {
      Index inside = row;
      for (size_t i = 0; i < shape.size(); ++i) inside[i] = l.within(row[i], std::max<int64_t>(1, updates[i]));
      b.for_loop("i", updates[axis], [&](Expr i) {
        Index from = inside, to = row;
        from[axis] = i;
        to[axis] = l.checked_index(l.value(node.inputs[1], from), shape[axis]);
        combine_into(l, node, how, to, l.value(node.inputs[2], from));
      });
    });
  });
  return {};
}

Status emit_scatter_nd(Lowering& l, const Node& node) {
  TIFFIN_ASSIGN_OR_RETURN(const Combine how, combine_of(l, node));
  const std::vector<int64_t> shape = l.shape(node.inputs[0]), index_shape = l.shape(node.inputs[1]);
  const size_t depth = static_cast<size_t>(index_shape.back());
  const std::vector<int64_t> heads(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(depth));
  const std::vector<int64_t> slice(shape.begin() + static_cast<std::ptrdiff_t>(depth), shape.end());
  const std::vector<int64_t> tuples(index_shape.begin(), index_shape.end() - 1);
  const int64_t head_count = graph::num_elements(heads), run = graph::num_elements(slice), tuple_count = graph::num_elements(tuples);
  // A unit owns some columns of all slices.
  constexpr int64_t kColumns = 64;
  const int64_t columns = std::min(run, kColumns), blocks = run == 0 ? 0 : (run + columns - 1) / columns;
  set_units(l.kernel(), head_count == 0 ? 0 : blocks, (head_count + tuple_count) * std::max<int64_t>(1, columns));
  Builder& b = l.b();
  b.unit_loop([&](Expr unit) {
    Expr first = b.mul(unit, columns);
    const auto for_columns = [&](const Builder::LoopBody& body) {
      Expr end = b.min(b.add(first, columns), b.i64(run));
      b.for_loop("column", first, end, [&](Expr column) { body(l.within(column, run)); });
    };
    const auto join = [&](Index head, Expr column) {
      const Index rest = l.unflatten(column, slice);
      head.insert(head.end(), rest.begin(), rest.end());
      return head;
    };
    b.for_loop("head", head_count, [&](Expr head) {
      for_columns([&](Expr column) {
        const Index at = join(l.unflatten(head, heads), column);
        l.store(node.outputs[0], at, l.value(node.inputs[0], at));
      });
    });
    b.for_loop("tuple", tuple_count, [&](Expr tuple) {
      const Index from = l.unflatten(tuple, tuples);
      Index head;
      for (size_t i = 0; i < depth; ++i) {
        Index at = from;
        at.push_back(b.i64(static_cast<int64_t>(i)));
        head.push_back(l.checked_index(l.value(node.inputs[1], at), shape[i]));
      }
      for_columns([&](Expr column) { combine_into(l, node, how, join(head, column), l.value(node.inputs[2], join(from, column))); });
    });
  });
  return {};
}

}  // namespace tiffin::kernel
