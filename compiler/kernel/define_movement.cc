// SPDX-License-Identifier: Apache-2.0
// Elements of the operators that move elements: each maps the indices of its result to those of an operand.
#include <algorithm>

#include "compiler/kernel/rules.h"
#include "compiler/ops/axes.h"
#include "compiler/ops/shape_rules.h"
#include "compiler/ops/slice_rule.h"

namespace tiffin::kernel {

using graph::Node;
using graph::ValueId;

namespace {

using IndexMap = std::function<Index(Lowering&, const Index&)>;

// An element function that reads `operand` at mapped indices.
ElementFn mapped(ValueId operand, IndexMap map) {
  return [operand, map = std::move(map)](Lowering& l, size_t, Points points) {
    std::vector<Index> sources;
    for (const Index& point : points) sources.push_back(map(l, point));
    return l.values(operand, sources);
  };
}

}  // namespace

// result[panel, ..., lane] = operand[..., panel * kPanelColumns + lane], and zero beyond the last column.
Result<ElementFn> define_pack_panels(Lowering& lowering, const Node& node) {
  const int64_t columns = lowering.shape(node.inputs[0]).back();
  const DType dtype = compute_dtype(lowering.dtype(node.outputs[0]));
  return ElementFn([operand = node.inputs[0], columns, dtype](Lowering& l, size_t, Points points) {
    Values elements;
    for (const Index& point : points) {
      Expr column = l.b().add(l.b().mul(point.front(), ops::kPanelColumns), point.back());
      Index source(point.begin() + 1, point.end());
      elements.push_back(l.guarded(
          column, 0, columns,
          [&] {
            source.back() = l.within(column, columns);
            return l.value(operand, source);
          },
          l.b().zero({dtype, 1})));
    }
    return elements;
  });
}

Result<ElementFn> define_identity(Lowering&, const Node& node) {
  return ElementFn([operand = node.inputs[0]](Lowering& l, size_t, Points points) { return l.values(operand, points); });
}

Result<ElementFn> define_reshape(Lowering& lowering, const Node& node) {
  const std::vector<int64_t> from = lowering.shape(node.inputs[0]), to = lowering.shape(node.outputs[0]);
  return mapped(node.inputs[0], [from, to](Lowering& l, const Index& index) { return l.unflatten(l.flatten(index, to), from); });
}

Result<ElementFn> define_transpose(Lowering& lowering, const Node& node) {
  const size_t rank = lowering.shape(node.inputs[0]).size();
  std::vector<int64_t> order = node.ints_attribute("perm");
  if (order.empty()) {
    for (size_t i = rank; i-- > 0;) order.push_back(static_cast<int64_t>(i));
  }
  return mapped(node.inputs[0], [order](Lowering&, const Index& index) {
    Index source(index.size());
    for (size_t i = 0; i < order.size(); ++i) source[static_cast<size_t>(order[i])] = index[i];
    return source;
  });
}

Result<ElementFn> define_expand(Lowering&, const Node& node) {
  return ElementFn([operand = node.inputs[0]](Lowering& l, size_t, Points points) { return l.broadcast_values(operand, points); });
}

Result<ElementFn> define_slice(Lowering& lowering, const Node& node) {
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<ops::SliceAxis> axes, ops::slice_of(lowering.graph(), node));
  return mapped(node.inputs[0], [axes](Lowering& l, const Index& index) {
    Index source(index.size());
    for (size_t i = 0; i < axes.size(); ++i) source[i] = l.b().add(l.b().mul(index[i], axes[i].step), axes[i].start);
    return source;
  });
}

Result<ElementFn> define_concat(Lowering& lowering, const Node& node) {
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, ops::axis_attribute(lowering.graph(), node, "axis", 0));
  std::vector<int64_t> begins{0};
  for (ValueId input : node.inputs) begins.push_back(begins.back() + lowering.shape(input)[static_cast<size_t>(axis)]);
  const DType dtype = compute_dtype(lowering.dtype(node.outputs[0]));
  return ElementFn([operands = node.inputs, axis = static_cast<size_t>(axis), begins, dtype](Lowering& l, size_t, Points points) {
    Values elements;
    for (const Index& point : points) {
      Expr element = l.b().zero({dtype, 1});
      Expr position = point[axis];
      for (size_t i = operands.size(); i-- > 0;) {
        if (begins[i] == begins[i + 1]) continue;
        element = l.guarded(
            position, begins[i], begins[i + 1],
            [&] {
              Index source = point;
              source[axis] = l.within(l.b().sub(position, begins[i]), begins[i + 1] - begins[i]);
              return l.value(operands[i], source);
            },
            element);
      }
      elements.push_back(element);
    }
    return elements;
  });
}

Result<ElementFn> define_split(Lowering& lowering, const Node& node) {
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis, ops::axis_attribute(lowering.graph(), node, "axis", 0));
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, ops::split_sizes(lowering.graph(), node));
  return ElementFn([operand = node.inputs[0], axis = static_cast<size_t>(axis), sizes](Lowering& l, size_t output, Points points) {
    int64_t begin = 0;
    for (size_t i = 0; i < output; ++i) begin += sizes[i];
    std::vector<Index> sources(points.begin(), points.end());
    for (Index& source : sources) source[axis] = l.b().add(source[axis], begin);
    return l.values(operand, sources);
  });
}

namespace {

struct Padding {
  std::vector<ops::PadAxis> axes;
  std::vector<int64_t> extents;  // of the data
  std::string mode;
  ValueId data = graph::kNone, fill = graph::kNone;
  DType dtype = DType::Undefined;
};

Expr padded_element(Lowering& l, const Padding& padding, Index source, size_t axis, Expr fill) {
  if (axis == source.size()) return l.value(padding.data, source);
  if (padding.axes[axis].begin == 0 && padding.axes[axis].end == 0) return padded_element(l, padding, std::move(source), axis + 1, fill);
  const int64_t extent = padding.extents[axis];
  return l.guarded(
      source[axis], 0, extent,
      [&] {
        Index inner = source;
        inner[axis] = l.within(inner[axis], extent);
        return padded_element(l, padding, inner, axis + 1, fill);
      },
      fill);
}

// Edge, reflect and wrap: where the position lies inside it is used as it is, so that the bulk keeps even steps.
Expr mirrored_element(Lowering& l, const Padding& padding, Index source, size_t axis) {
  Builder& b = l.b();
  if (axis == source.size()) return l.value(padding.data, source);
  if (padding.axes[axis].begin == 0 && padding.axes[axis].end == 0) return mirrored_element(l, padding, std::move(source), axis + 1);
  const int64_t extent = padding.extents[axis];
  Expr position = source[axis];
  const auto at = [&](Expr mapped_position) {
    Index inner = source;
    inner[axis] = l.within(mapped_position, extent);
    return mirrored_element(l, padding, inner, axis + 1);
  };
  const auto outside = [&](Expr mapped_position) { return at(b.max(b.min(mapped_position, b.i64(extent - 1)), b.i64(0))); };
  // Reflection and wrapping of positions any number of periods away.
  const int64_t period = padding.mode == "wrap" ? extent : std::max<int64_t>(2 * extent - 2, 1);
  const int64_t periods = std::max<int64_t>(std::max<int64_t>(padding.axes[axis].begin, 0) + period - 1, 0) / period;
  Expr shifted = b.mod(b.add(position, periods * period), period);
  if (padding.mode == "edge")
    return l.guarded_else(
        position, 0, extent, [&] { return at(position); }, [&] { return outside(position); });
  if (padding.mode == "wrap")
    return l.guarded_else(
        position, 0, extent, [&] { return at(position); }, [&] { return outside(shifted); });
  Expr mirrored = b.min(shifted, b.sub(b.i64(period), shifted));
  return l.guarded_else(
      position, 0, extent, [&] { return at(position); }, [&] { return outside(mirrored); });
}

}  // namespace

Result<ElementFn> define_pad(Lowering& lowering, const Node& node) {
  Padding padding;
  TIFFIN_ASSIGN_OR_RETURN(padding.axes, ops::pads_of(lowering.graph(), node));
  padding.extents = lowering.shape(node.inputs[0]);
  padding.mode = node.string_attribute("mode", "constant");
  padding.data = node.inputs[0];
  padding.fill = node.input(2);
  padding.dtype = compute_dtype(lowering.dtype(node.outputs[0]));
  const bool is_known = padding.mode == "constant" || padding.mode == "edge" || padding.mode == "reflect" || padding.mode == "wrap";
  if (!is_known) {
    return ops::node_error(Code::InvalidModel, lowering.graph(), node, "mode is '%s', expected constant, edge, reflect or wrap",
                           padding.mode.c_str());
  }
  return ElementFn([padding](Lowering& l, size_t, Points points) {
    Values elements;
    for (const Index& point : points) {
      Index source = point;
      for (size_t i = 0; i < source.size(); ++i) source[i] = l.b().sub(source[i], padding.axes[i].begin);
      Expr fill =
          padding.fill == graph::kNone ? l.b().zero({padding.dtype, 1}) : l.value(padding.fill, Index(l.shape(padding.fill).size(), l.b().i64(0)));
      elements.push_back(padding.mode == "constant" ? padded_element(l, padding, source, 0, fill) : mirrored_element(l, padding, source, 0));
    }
    return elements;
  });
}

}  // namespace tiffin::kernel
