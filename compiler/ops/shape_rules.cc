// SPDX-License-Identifier: Apache-2.0
#include "compiler/ops/shape_rules.h"

#include <cstdarg>
#include <cstdio>

#include "compiler/graph/unsupported_list.h"

namespace tiffin::ops {

using graph::Dim;
using graph::Shape;

Status node_error(Code code, const graph::Graph& graph, const graph::Node& node, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  Status failure = error_v(code, format, arguments);
  va_end(arguments);
  return std::move(failure).with_context("%s", graph::node_title(graph, node).c_str());
}

const graph::Type& Inference::type(size_t i) const {
  static const graph::Type kUnknown;
  return has_input(i) ? graph_.value(node_.input(i)).type : kUnknown;
}

Dim Inference::fresh_dim(size_t output, size_t axis) const {
  std::string stem = "?";
  if (has_output(output)) stem += graph_.value(node_.output(output)).name;
  return Dim::symbol(stem + "." + std::to_string(axis));
}

Shape Inference::fresh_shape(size_t output, size_t rank) const {
  Shape shape;
  for (size_t axis = 0; axis < rank; ++axis) shape.push_back(fresh_dim(output, axis));
  return shape;
}

Dim Inference::dim_or_fresh(int64_t value, size_t output, size_t axis) const { return value >= 0 ? Dim(value) : fresh_dim(output, axis); }

Status Inference::set(size_t output, DType dtype, std::optional<Shape> shape) {
  if (!has_output(output)) return {};
  graph::Type type;
  type.dtype = dtype;
  type.shape = std::move(shape);
  uint64_t bytes = 0;
  if (type.has_static_shape()) {
    const int64_t count = type.num_elements();
    const bool has_size = dtype_bits(dtype) != 0;
    if (count < 0 || (has_size && (!storage_bytes(dtype, static_cast<uint64_t>(count), &bytes) || bytes > INT64_MAX))) {
      return node_error(Code::InvalidModel, graph_, node_, "result %zu would be %s, more than an int64 can count (type.overflow)", output,
                        graph::to_string(type).c_str());
    }
  }
  graph_.value(node_.output(output)).type = std::move(type);
  return {};
}

bool may_equal(const Dim& a, const Dim& b) { return !a.is_static() || !b.is_static() || a.value() == b.value(); }

Status expect_rank(const Inference& inference, size_t input, size_t rank, const char* rule) {
  if (!inference.has_rank(input) || inference.rank(input) == rank) return {};
  return node_error(Code::ShapeMismatch, inference.graph(), inference.node(), "input %zu is %s, expected rank %zu (%s)", input,
                    graph::to_string(inference.type(input)).c_str(), rank, rule);
}

Status expect_min_rank(const Inference& inference, size_t input, size_t rank, const char* rule) {
  if (!inference.has_rank(input) || inference.rank(input) >= rank) return {};
  return node_error(Code::ShapeMismatch, inference.graph(), inference.node(), "input %zu is %s, expected rank %zu or more (%s)", input,
                    graph::to_string(inference.type(input)).c_str(), rank, rule);
}

Status expect_dim(const Inference& inference, size_t input, size_t axis, const Dim& expected, const char* rule) {
  if (may_equal(inference.dim(input, axis), expected)) return {};
  return node_error(Code::ShapeMismatch, inference.graph(), inference.node(), "input %zu is %s, expected %lld at axis %zu (%s)", input,
                    graph::to_string(inference.type(input)).c_str(), static_cast<long long>(expected.value()), axis, rule);
}

namespace {

// False when the two cannot be broadcast.
bool broadcast_dim(const Dim& a, const Dim& b, const Dim& fresh, Dim* out) {
  if (a == b) return *out = a, true;
  if (a.is_static() && a.value() == 1) return *out = b, true;
  if (b.is_static() && b.value() == 1) return *out = a, true;
  if (a.is_static() && b.is_static()) return false;
  *out = a.is_static() ? a : b.is_static() ? b : fresh;
  return true;
}

}  // namespace

Result<Shape> broadcast(const Inference& inference, const Shape& a, const Shape& b, size_t output) {
  const size_t rank = std::max(a.size(), b.size());
  Shape shape(rank, Dim(1));
  for (size_t i = 0; i < rank; ++i) {
    const size_t axis = rank - 1 - i;
    const Dim left = i < a.size() ? a[a.size() - 1 - i] : Dim(1);
    const Dim right = i < b.size() ? b[b.size() - 1 - i] : Dim(1);
    if (broadcast_dim(left, right, inference.fresh_dim(output, axis), &shape[axis])) continue;
    return node_error(Code::ShapeMismatch, inference.graph(), inference.node(),
                      "shapes %s and %s do not broadcast: %lld and %lld at axis -%zu (broadcast.c1)", to_string(a).c_str(), to_string(b).c_str(),
                      static_cast<long long>(left.value()), static_cast<long long>(right.value()), i + 1);
  }
  return shape;
}

Status broadcast_inputs(const Inference& inference, size_t first, size_t count, std::optional<Shape>* out) {
  Shape shape;
  bool is_known = true;
  for (size_t i = first; i < first + count; ++i) {
    if (!inference.has_input(i)) continue;
    if (!inference.has_rank(i)) {
      is_known = false;
      continue;
    }
    TIFFIN_ASSIGN_OR_RETURN(shape, broadcast(inference, shape, inference.shape(i)));
  }
  out->reset();
  if (is_known) *out = std::move(shape);
  return {};
}

Status expect_broadcast_to(const Inference& inference, size_t from, const Shape& to, const char* rule) {
  if (!inference.has_rank(from)) return {};
  const Shape& shape = inference.shape(from);
  bool fits = shape.size() <= to.size();
  for (size_t i = 0; fits && i < shape.size(); ++i) {
    const Dim& source = shape[shape.size() - 1 - i];
    fits = (source.is_static() && source.value() == 1) || may_equal(source, to[to.size() - 1 - i]);
  }
  if (fits) return {};
  return node_error(Code::ShapeMismatch, inference.graph(), inference.node(), "input %zu is %s, which does not broadcast to %s (%s)", from,
                    graph::to_string(inference.type(from)).c_str(), to_string(to).c_str(), rule);
}

int64_t multiply_extents(int64_t a, int64_t b) {
  if (a == -2 || b == -2) return -2;
  if (a == 0 || b == 0) return 0;
  if (a < 0 || b < 0) return -1;
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? -2 : product;
}

Result<Dim> product_of(const Inference& inference, const Shape& shape, size_t begin, size_t end, size_t output, size_t axis) {
  int64_t product = 1;
  const Dim* only_symbol = nullptr;
  int symbols = 0;
  for (size_t i = begin; i < end; ++i) {
    if (!shape[i].is_static()) {
      only_symbol = &shape[i];
      ++symbols;
    }
    product = multiply_extents(product, shape[i].is_static() ? shape[i].value() : 1);
  }
  if (product == -2) {
    return node_error(Code::InvalidModel, inference.graph(), inference.node(),
                      "the dimensions of %s multiply to more than an int64 can count (type.overflow)", to_string(shape).c_str());
  }
  if (symbols == 0 || product == 0) return Dim(product);
  return symbols == 1 && product == 1 ? *only_symbol : inference.fresh_dim(output, axis);
}

Result<DType> dtype_of_code(const graph::Graph& graph, const graph::Node& node, const char* attribute, int64_t code) {
  constexpr int64_t kLastOnnxCode = 28;  // float6 types have codes that Tiffin does not carry
  if (code >= kDTypeCount && code <= kLastOnnxCode) {
    return node_error(Code::UnsupportedType, graph, node, "attribute '%s' is element type %lld, which is not supported (dtype.c2)", attribute,
                      static_cast<long long>(code));
  }
  if (code <= 0 || code > kLastOnnxCode) {
    return node_error(Code::InvalidModel, graph, node, "attribute '%s' is %lld, expected the code of an element type (dtype.c1)", attribute,
                      static_cast<long long>(code));
  }
  const auto dtype = static_cast<DType>(code);
  if (dtype == DType::String || dtype == DType::Complex64 || dtype == DType::Complex128) {
    return node_error(Code::UnsupportedType, graph, node, "attribute '%s' is element type '%s', which is not supported (dtype.c2)", attribute,
                      std::string(dtype_name(dtype)).c_str());
  }
  return dtype;
}

std::string to_string(const Shape& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) out += ',';
    out += shape[i].is_static() ? std::to_string(shape[i].value()) : shape[i].symbol_name();
  }
  return out + ']';
}

}  // namespace tiffin::ops
