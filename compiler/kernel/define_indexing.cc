// SPDX-License-Identifier: Apache-2.0
// Elements of the operators that read at computed indices. Each index is checked: outside its axis the kernel fails; negative ones count from the
// end.
#include <algorithm>

#include "abi/kernel.h"
#include "compiler/kernel/rules.h"
#include "compiler/ops/axes.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::kernel {

using graph::Node;
using graph::ValueId;

Expr Lowering::checked_index(Expr raw, int64_t extent) {
  Builder& builder = b();
  Expr index = builder.let("index", builder.cast(raw, DType::Int64));
  const Type type = index->type;
  Expr is_in = builder.bit_and(builder.le(builder.integer(type, -extent), index), builder.lt(index, builder.integer(type, extent)));
  builder.check(is_in, TIFFIN_KERNEL_INDEX_OUT_OF_RANGE);
  Expr wrapped = builder.select(builder.lt(index, builder.integer(type, 0)), builder.add(index, extent), index);
  return builder.let_index("index", wrapped, {0, std::max<int64_t>(extent - 1, 0)});
}

Result<ElementFn> define_gather(Lowering& lowering, const Node& node) {
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis_number, ops::axis_attribute(lowering.graph(), node, "axis", 0));
  const size_t axis = static_cast<size_t>(axis_number);
  const ValueId data = node.inputs[0], indices = node.inputs[1];
  const size_t index_rank = lowering.shape(indices).size();
  const int64_t extent = lowering.shape(data)[axis];
  return ElementFn([=](Lowering& l, size_t, Points points) {
    std::vector<Index> sources;
    for (const Index& point : points) {
      const auto first = point.begin() + static_cast<std::ptrdiff_t>(axis), last = first + static_cast<std::ptrdiff_t>(index_rank);
      Index source(point.begin(), first);
      source.push_back(l.checked_index(l.value(indices, Index(first, last)), extent));
      source.insert(source.end(), last, point.end());
      sources.push_back(std::move(source));
    }
    return l.values(data, sources);
  });
}

Result<ElementFn> define_gather_elements(Lowering& lowering, const Node& node) {
  TIFFIN_ASSIGN_OR_RETURN(const int64_t axis_number, ops::axis_attribute(lowering.graph(), node, "axis", 0));
  const size_t axis = static_cast<size_t>(axis_number);
  const ValueId data = node.inputs[0], indices = node.inputs[1];
  const int64_t extent = lowering.shape(data)[axis];
  return ElementFn([=](Lowering& l, size_t, Points points) {
    std::vector<Index> sources;
    for (const Index& point : points) {
      Index source = point;
      source[axis] = l.checked_index(l.value(indices, point), extent);
      sources.push_back(std::move(source));
    }
    return l.values(data, sources);
  });
}

Result<ElementFn> define_gather_nd(Lowering& lowering, const Node& node) {
  const ValueId data = node.inputs[0], indices = node.inputs[1];
  const std::vector<int64_t> data_shape = lowering.shape(data), index_shape = lowering.shape(indices);
  const int64_t batch_axes = node.int_attribute("batch_dims", 0);
  if (index_shape.empty() || batch_axes < 0 || batch_axes >= static_cast<int64_t>(std::min(index_shape.size(), data_shape.size() + 1))) {
    return ops::node_error(Code::InvalidModel, lowering.graph(), node, "attribute 'batch_dims' is %lld, expected less than both ranks",
                           static_cast<long long>(batch_axes));
  }
  const size_t batch = static_cast<size_t>(batch_axes), depth = static_cast<size_t>(index_shape.back());
  return ElementFn([=](Lowering& l, size_t, Points points) {
    std::vector<Index> sources;
    for (const Index& point : points) {
      const auto tuple_end = point.begin() + static_cast<std::ptrdiff_t>(index_shape.size() - 1);
      Index source(point.begin(), point.begin() + static_cast<std::ptrdiff_t>(batch));
      for (size_t i = 0; i < depth; ++i) {
        Index at(point.begin(), tuple_end);
        at.push_back(l.b().i64(static_cast<int64_t>(i)));
        source.push_back(l.checked_index(l.value(indices, at), data_shape[batch + i]));
      }
      source.insert(source.end(), tuple_end, point.end());
      sources.push_back(std::move(source));
    }
    return l.values(data, sources);
  });
}

}  // namespace tiffin::kernel
