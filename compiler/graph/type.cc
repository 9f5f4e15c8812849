// SPDX-License-Identifier: Apache-2.0
#include "compiler/graph/type.h"

#include <algorithm>

namespace tiffin::graph {

bool Type::has_static_shape() const {
  return shape.has_value() && std::all_of(shape->begin(), shape->end(), [](const Dim& dim) { return dim.is_static(); });
}

std::vector<int64_t> Type::static_shape() const {
  std::vector<int64_t> out;
  out.reserve(shape->size());
  for (const Dim& dim : *shape) out.push_back(dim.value());
  return out;
}

int64_t Type::num_elements() const { return graph::num_elements(static_shape()); }

std::string to_string(const Type& type) {
  std::string out(dtype_name(type.dtype));
  if (!type.shape) return out + "[*]";
  out += '[';
  for (size_t i = 0; i < type.shape->size(); ++i) {
    const Dim& dim = (*type.shape)[i];
    if (i > 0) out += ',';
    out += dim.is_static() ? std::to_string(dim.value()) : dim.symbol_name();
  }
  return out + ']';
}

std::string to_string(std::span<const int64_t> shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) out += (i > 0 ? "," : "") + std::to_string(shape[i]);
  return out + ']';
}

int64_t num_elements(std::span<const int64_t> shape) {
  int64_t count = 1;
  for (const int64_t extent : shape) {
    if (__builtin_mul_overflow(count, extent, &count)) return -1;
  }
  return count;
}

std::vector<int64_t> row_major_strides(std::span<const int64_t> shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

}  // namespace tiffin::graph
