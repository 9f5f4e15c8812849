// SPDX-License-Identifier: Apache-2.0
// What the lowering rules of all operators are written with. An operator is defined by its element: the expression of one result element as a
// function of its indices. Elements of operands are expressions too, so any chain of operators in a group becomes one expression in one loop
// nest (nest.h). An index may have lanes; then the element has as many, or one where it does not depend on them.
//
// Definitions work on several points at once, so that those which loop (matrix product, convolution) share their loads.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "base/status.h"
#include "compiler/graph/graph.h"
#include "compiler/kernel/builder.h"
#include "compiler/kernel/lower.h"

namespace tiffin::kernel {

class Lowering;

using Index = std::vector<Expr>;  // one Int64 expression for each axis
using Points = std::span<const Index>;
using Values = std::vector<Expr>;

// Elements of result `output` at the points, in compute types.
using ElementFn = std::function<Values(Lowering&, size_t output, Points)>;
// Resolves a node's attributes. UnsupportedOperator and UnsupportedType as lower_group.
using DefineFn = Result<ElementFn> (*)(Lowering&, const graph::Node&);
// Emits the whole kernel of a node that stores its results itself.
using ProcedureFn = Status (*)(Lowering&, const graph::Node&);

// Float16 and BFloat16 are computed in Float32, all else in itself.
DType compute_dtype(DType stored);

// What a trial run of an element function shows; nest.h decides the loops by it.
struct Trace {
  struct Access {
    const Buffer* buffer;
    Linear form;
  };
  struct Guard {
    Linear position;
    int64_t low, high;
  };
  std::vector<Access> loads;
  std::vector<Guard> guards;      // conditions that ranges left open
  std::set<DType> dtypes;         // of everything computed but indices
  std::set<Expr> row_variables;   // index variables along which a row operator runs
  std::set<Expr> tile_variables;  // index variables along which neighbours share their other operand
  bool has_contiguous_reduction = false;
  double work = 0;  // operations beyond the elementwise ones
};

class Lowering {
 public:
  Lowering(const graph::Graph& graph, std::span<const graph::NodeId> nodes, const LowerOptions& options);

  // Resolves all definitions and declares the parameters.
  Status prepare();

  // ---- the group ----
  const graph::Graph& graph() const { return graph_; }
  const Machine& machine() const { return options_.machine; }
  std::span<const graph::NodeId> nodes() const { return nodes_; }
  const std::vector<graph::ValueId>& outputs() const { return outputs_; }
  const Buffer* buffer_of(graph::ValueId value) const;  // null for values that have none
  DType dtype(graph::ValueId value) const { return graph_.value(value).type.dtype; }
  std::vector<int64_t> shape(graph::ValueId value) const { return graph_.value(value).type.static_shape(); }
  bool is_inside(graph::ValueId value) const { return inside_.count(value) != 0; }
  Kernel& kernel() { return *kernel_; }
  std::unique_ptr<Kernel> take_kernel() { return std::move(kernel_); }
  const std::vector<graph::ValueId>& buffers() const { return buffer_values_; }

  // ---- expressions ----
  Builder& b() { return *builder_; }
  // Elements of any value of the group or beside it, each computed once per point. Indices lie in the value's shape.
  Values values(graph::ValueId value, Points points);
  Expr value(graph::ValueId value, const Index& index) { return values(value, {&index, 1})[0]; }
  // The same, right-aligned: axes of extent 1 are read at 0, missing ones are left out.
  Values broadcast_values(graph::ValueId value, Points points);
  Expr broadcast_value(graph::ValueId value, const Index& index) { return broadcast_values(value, {&index, 1})[0]; }
  // `inside` where low <= position < high, else `outside`. `inside` is computed only there.
  Expr guarded(Expr position, int64_t low, int64_t high, const std::function<Expr()>& inside, Expr outside);
  // The same with an alternative that is computed only elsewhere.
  Expr guarded_else(Expr position, int64_t low, int64_t high, const std::function<Expr()>& inside, const std::function<Expr()>& outside);
  // `position`, of which the caller knows that it lies in [0, extent) here.
  Expr within(Expr position, int64_t extent);
  // An element of an index tensor as an index in [0, extent): negative ones count from the end, others outside make the kernel fail.
  Expr checked_index(Expr raw, int64_t extent);
  // Position in row-major order, and back.
  Expr flatten(const Index& index, std::span<const int64_t> shape);
  Index unflatten(Expr position, std::span<const int64_t> shape);
  // Converts an element to the stored type and stores it.
  void store(graph::ValueId value, const Index& index, Expr element);
  // Runs `body` in the outermost block where all of `index` is known.
  void at_home(const Index& index, const std::function<void()>& body) { builder_->at_home(index, body); }

  // Elements of the group's heavy root that a tile has computed (tile.h): its element function looks them up here.
  std::map<Index, Expr> root_values;
  graph::ValueId tile_root = graph::kNone;

  // ---- loops ----
  int lanes_for(DType dtype) const;
  bool vectorises() const { return options_.vectorise; }
  // True when a loop inside an element at these points may use lanes of its own: none of them varies along the nest's lanes.
  bool may_use_lanes(Points points);
  // True when every load that the value's element makes has stride 0 or 1 along `axes` taken as one row-major axis, and no condition depends on it.
  bool is_contiguous_along(graph::ValueId value, const std::vector<int64_t>& axes);
  // Loads with lanes read only so many, while it is set.
  Expr active = nullptr;
  // Variables of the axis that the nest vectorises: base of the lanes, or of the tail.
  std::vector<Expr> lane_variables;
  // Set when something can't be computed with lanes; the kernel is then built again without.
  bool has_failed = false;

  // ---- trial runs ----
  Trace* trace() { return trace_; }
  // Runs `body` with a builder of its own, whose statements are dropped.
  Trace probe(const std::function<void(Builder&)>& body);
  void note_row(Expr index);
  void note_tile(Expr index);
  void note_reduction(int64_t count, bool is_contiguous);

 private:
  Status collect(const graph::Node& node, graph::NodeId id);
  Status add_operand(graph::ValueId value);
  Expr load_external(graph::ValueId value, const Index& index);

  const graph::Graph& graph_;
  std::span<const graph::NodeId> nodes_;
  LowerOptions options_;
  std::unique_ptr<Kernel> kernel_;
  std::unique_ptr<Builder> main_builder_;
  Builder* builder_ = nullptr;
  Trace* trace_ = nullptr;
  std::set<graph::ValueId> inside_;
  std::map<graph::ValueId, const Buffer*> buffers_;
  std::vector<graph::ValueId> buffer_values_, outputs_;
  std::map<graph::NodeId, ElementFn> definitions_;
  std::map<std::pair<graph::ValueId, std::vector<int64_t>>, bool> contiguity_;
};

}  // namespace tiffin::kernel
