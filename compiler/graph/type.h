// SPDX-License-Identifier: Apache-2.0
// The type of a value: element type and shape. A dimension is a number or a symbol.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace tiffin::graph {

// A dimension: a number >= 0, or a symbol with a name. Two symbols of one name are the same size; an unnamed dimension is a symbol whose name
// starts with '?' and is unique in the graph.
class Dim {
 public:
  Dim(int64_t value) : value_(value) {}
  static Dim symbol(std::string name) {
    Dim dim(-1);
    dim.symbol_ = std::move(name);
    return dim;
  }
  bool is_static() const { return value_ >= 0; }
  int64_t value() const { return value_; }                    // -1 for a symbol
  const std::string& symbol_name() const { return symbol_; }  // "" for a number
  bool operator==(const Dim&) const = default;

 private:
  int64_t value_;
  std::string symbol_;
};

using Shape = std::vector<Dim>;

struct Type {
  DType dtype = DType::Undefined;
  std::optional<Shape> shape;  // absent: rank unknown

  Type() = default;
  Type(DType element, Shape dims) : dtype(element), shape(std::move(dims)) {}
  static Type with_shape(DType element, std::span<const int64_t> dims) { return {element, Shape(dims.begin(), dims.end())}; }

  bool has_rank() const { return shape.has_value(); }
  bool has_static_shape() const;
  size_t rank() const { return shape->size(); }
  // Precondition: has_static_shape().
  std::vector<int64_t> static_shape() const;
  int64_t num_elements() const;
  bool operator==(const Type&) const = default;
};

// "float32[1,3,batch]"; "float32[*]" without a rank.
std::string to_string(const Type& type);
std::string to_string(std::span<const int64_t> shape);

// Product of the extents; -1 on overflow of int64.
int64_t num_elements(std::span<const int64_t> shape);

// Row-major strides in elements.
std::vector<int64_t> row_major_strides(std::span<const int64_t> shape);

}  // namespace tiffin::graph
