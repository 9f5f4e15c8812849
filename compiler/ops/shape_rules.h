// SPDX-License-Identifier: Apache-2.0
// What the inference rules of all operator families are written with: access to a node's operands, dimension arithmetic, broadcasting.
#pragma once

#include <optional>

#include "base/status.h"
#include "compiler/graph/graph.h"

namespace tiffin::ops {

// A failure "node 'NAME' (Op): …". A node without a name is called by its first result. The text ends in the rule's label: "(conv.c3)".
Status node_error(Code code, const graph::Graph& graph, const graph::Node& node, const char* format, ...) __attribute__((format(printf, 4, 5)));

// One node under inference. Types of omitted inputs are Undefined without a rank.
class Inference {
 public:
  // `depth`: how many bodies the graph stands in.
  Inference(graph::Graph& graph, graph::NodeId id, int depth = 0) : graph_(graph), node_(graph.node(id)), depth_(depth) {}

  graph::Graph& graph() const { return graph_; }
  const graph::Node& node() const { return node_; }
  int depth() const { return depth_; }

  bool has_input(size_t i) const { return node_.input(i) != graph::kNone; }
  bool has_output(size_t i) const { return node_.output(i) != graph::kNone; }
  const graph::Type& type(size_t i) const;
  DType dtype(size_t i) const { return type(i).dtype; }
  bool has_rank(size_t i) const { return type(i).has_rank(); }
  // Preconditions: has_rank(i).
  size_t rank(size_t i) const { return type(i).rank(); }
  const graph::Shape& shape(size_t i) const { return *type(i).shape; }
  const graph::Dim& dim(size_t i, size_t axis) const { return (*type(i).shape)[axis]; }
  // The tensor of input i when it is a Parameter or Constant, else null.
  const graph::Tensor* constant(size_t i) const { return graph_.tensor_of(node_.input(i)); }

  // A dimension of result `output` that nothing is known of: a symbol unique to that axis.
  graph::Dim fresh_dim(size_t output, size_t axis) const;
  graph::Shape fresh_shape(size_t output, size_t rank) const;
  // `value` as a dimension; fresh when it is negative.
  graph::Dim dim_or_fresh(int64_t value, size_t output, size_t axis) const;

  // Sets the type of result `output`; nothing when it is omitted. InvalidModel when the shape has more elements than an int64 counts.
  Status set(size_t output, DType dtype, std::optional<graph::Shape> shape);

 private:
  graph::Graph& graph_;
  const graph::Node& node_;
  int depth_;
};

// infer_types of a body of the node under inference, whose outer values are the node's inputs from `captured` on, in the order of their ids. Moves
// `captured` behind them.
Status infer_body(const Inference& inference, graph::Graph& body, size_t* captured);

// Whether two dimensions can be the same size: only two different numbers cannot.
bool may_equal(const graph::Dim& a, const graph::Dim& b);

// ShapeMismatch unless input i has a known rank of `rank` or none.
Status expect_rank(const Inference& inference, size_t input, size_t rank, const char* rule);
Status expect_min_rank(const Inference& inference, size_t input, size_t rank, const char* rule);
// ShapeMismatch unless the dimension of input i at `axis` may be `expected`. Precondition: has_rank(input), axis < rank.
Status expect_dim(const Inference& inference, size_t input, size_t axis, const graph::Dim& expected, const char* rule);

// ONNX's multidirectional broadcast of inputs [first, first + count); no shape when a rank is unknown. ShapeMismatch when they do not fit.
// A symbol against a number above 1 is taken to be that number. Dimensions that stay open become fresh ones of result 0.
Status broadcast_inputs(const Inference& inference, size_t first, size_t count, std::optional<graph::Shape>* out);
// The same of two shapes; `output` names the result that fresh dimensions belong to.
Result<graph::Shape> broadcast(const Inference& inference, const graph::Shape& a, const graph::Shape& b, size_t output = 0);
// ShapeMismatch unless input `from` broadcasts to `to` alone (unidirectional).
Status expect_broadcast_to(const Inference& inference, size_t from, const graph::Shape& to, const char* rule);

// Products and quotients of extents. -1 stands for unknown; overflow gives -2.
int64_t multiply_extents(int64_t a, int64_t b);
// Product of dims [begin, end): a number, the symbol of the only dimension that is not 1, else fresh. InvalidModel on overflow.
Result<graph::Dim> product_of(const Inference& inference, const graph::Shape& shape, size_t begin, size_t end, size_t output, size_t axis);

// An ONNX element type code of an attribute ("to", "dtype", "output_dtype"); InvalidModel or UnsupportedType.
Result<DType> dtype_of_code(const graph::Graph& graph, const graph::Node& node, const char* attribute, int64_t code);

// Packed weights are panels of this many columns, the last one filled with zeros.
inline constexpr int64_t kPanelColumns = 16;
constexpr int64_t panel_count(int64_t columns) { return columns / kPanelColumns + (columns % kPanelColumns != 0 ? 1 : 0); }

// "[1,3,batch]" of a shape, for messages.
std::string to_string(const graph::Shape& shape);

}  // namespace tiffin::ops
