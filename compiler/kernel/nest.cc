// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/nest.h"

#include <algorithm>
#include <cmath>

#include "compiler/kernel/schedule.h"

namespace tiffin::kernel {

namespace {

// Work, in elementwise operations, that is worth a thread of its own.
constexpr double kThreadWork = 65536;

class Nest {
 public:
  Nest(Lowering& lowering, std::vector<graph::ValueId> results)
      : lowering_(lowering), results_(std::move(results)), schedule_(make_schedule(lowering, results_)) {}

  int64_t units() const { return schedule_.units(); }
  int64_t grain() const {
    const double unit_work = static_cast<double>(schedule_.unit_elements()) * schedule_.element_work;
    return std::clamp<int64_t>(static_cast<int64_t>(std::ceil(kThreadWork / unit_work)), 1, std::max<int64_t>(units(), 1));
  }

  // `unit` in [0, units()).
  void emit(Expr unit) {
    places_.assign(schedule_.dimensions.size(), {b().i64(0)});
    // From the innermost coordinate of the unit to the outermost.
    if (schedule_.chunk > 0) {
      const int64_t chunks = (vector_extent() + schedule_.chunk - 1) / schedule_.chunk;
      chunk_ = b().mod(unit, chunks);
      unit = b().div(unit, chunks);
    }
    std::vector<Expr> coordinates(schedule_.unit_loops);
    for (size_t i = schedule_.unit_loops; i-- > 0;) {
      const int64_t count = schedule_.iterations(schedule_.order[i]);
      coordinates[i] = i == 0 ? unit : b().mod(unit, count);
      unit = b().div(unit, count);
    }
    emit_unit_loop(0, coordinates);
  }

 private:
  Builder& b() { return lowering_.b(); }
  int64_t vector_extent() const { return schedule_.dimensions[schedule_.vector_dimension].extent; }
  bool is_tiled(size_t dimension) const { return schedule_.has_tile && dimension == schedule_.tile_dimension; }

  void emit_unit_loop(size_t loop, const std::vector<Expr>& coordinates) {
    if (loop == schedule_.unit_loops) return emit_loop(loop);
    const size_t dimension = schedule_.order[loop];
    if (is_tiled(dimension)) return emit_block(dimension, coordinates[loop], [&] { emit_unit_loop(loop + 1, coordinates); });
    places_[dimension] = {coordinates[loop]};
    emit_unit_loop(loop + 1, coordinates);
  }

  // Block `block` of the tiled dimension: whole, or the rest at the end.
  void emit_block(size_t dimension, Expr block, const Builder::Body& body) {
    const int64_t extent = schedule_.dimensions[dimension].extent, whole = extent / schedule_.tile;
    const auto with_tile = [&](int64_t count) {
      return [this, dimension, block, count, body] {
        places_[dimension].clear();
        for (int64_t i = 0; i < count; ++i) places_[dimension].push_back(b().add(b().mul(block, schedule_.tile), i));
        body();
      };
    };
    if (extent % schedule_.tile == 0) return with_tile(schedule_.tile)();
    b().if_then(b().lt(block, b().i64(whole)), with_tile(schedule_.tile), [&] {
      // The last block begins at a known place, which keeps its indices inside.
      places_[dimension].clear();
      for (int64_t i = whole * schedule_.tile; i < extent; ++i) places_[dimension].push_back(b().i64(i));
      body();
    });
  }

  void emit_loop(size_t loop) {
    if (loop == schedule_.order.size()) return emit_elements();
    const size_t dimension = schedule_.order[loop];
    const int64_t extent = schedule_.dimensions[dimension].extent;
    if (dimension == schedule_.vector_dimension) return emit_vector_loop(loop);
    if (!is_tiled(dimension)) {
      return b().for_loop("i", extent, [&](Expr i) {
        places_[dimension] = {i};
        emit_loop(loop + 1);
      });
    }
    const int64_t whole = extent / schedule_.tile * schedule_.tile;
    const LoopOptions options{.step = schedule_.tile};
    b().for_loop(
        "i", b().i64(0), b().i64(whole), [&](Expr i) { emit_tile(loop, i, schedule_.tile); }, options);
    if (whole < extent) emit_tile(loop, b().i64(whole), extent - whole);
  }

  void emit_tile(size_t loop, Expr first, int64_t count) {
    std::vector<Expr>& places = places_[schedule_.tile_dimension];
    places.clear();
    for (int64_t i = 0; i < count; ++i) places.push_back(b().add(first, i));
    emit_loop(loop + 1);
  }

  void emit_vector_loop(size_t loop) {
    if (schedule_.chunk == 0) {
      int64_t begin = 0;
      std::vector<int64_t> ends = schedule_.splits;
      ends.push_back(vector_extent());
      for (int64_t end : ends) {
        emit_segment(loop, b().i64(begin), end - begin);
        begin = end;
      }
      return;
    }
    const int64_t whole = vector_extent() / schedule_.chunk, rest = vector_extent() % schedule_.chunk;
    const auto emit_whole = [&] { emit_segment(loop, b().mul(chunk_, schedule_.chunk), schedule_.chunk); };
    if (rest == 0) return emit_whole();
    b().if_then(b().lt(chunk_, b().i64(whole)), emit_whole, [&] { emit_segment(loop, b().i64(whole * schedule_.chunk), rest); });
  }

  // `count` elements from `begin` on: side by side vectors, single vectors, then the tail: one vector with fewer active lanes where that costs
  // nothing, else element by element. All compute an element alike.
  void emit_segment(size_t loop, Expr begin, int64_t count) {
    const int64_t lanes = schedule_.lanes, wide = lanes * schedule_.vectors;
    const int64_t wide_end = count / wide * wide, vector_end = count / lanes * lanes;
    emit_vectors(loop, begin, 0, wide_end, schedule_.vectors);
    emit_vectors(loop, begin, wide_end, vector_end, 1);
    const int64_t rest = count - vector_end;
    if (rest == 0) return;
    std::vector<Expr>& places = places_[schedule_.vector_dimension];
    if (lowering_.machine().has_masks) {
      b().index_math().set_active_lanes(static_cast<int>(rest));
      lowering_.active = b().i64(rest);
      places = {b().lanes(b().add(begin, vector_end), 1, schedule_.lanes)};
      emit_loop(loop + 1);
      lowering_.active = nullptr;
      b().index_math().set_active_lanes(0);
      return;
    }
    const auto emit_one = [&](Expr x) {
      lowering_.lane_variables = {x};
      places_[schedule_.vector_dimension] = {x};
      emit_loop(loop + 1);
      lowering_.lane_variables.clear();
    };
    b().for_loop("x", b().add(begin, vector_end), b().add(begin, count), emit_one, {.keeps_variable = true});
  }

  void emit_vectors(size_t loop, Expr begin, int64_t from, int64_t to, int vectors) {
    const LoopOptions options{.step = int64_t{schedule_.lanes} * vectors};
    const auto body = [&](Expr x) {
      std::vector<Expr>& places = places_[schedule_.vector_dimension];
      places.clear();
      for (int v = 0; v < vectors; ++v) places.push_back(b().lanes(b().add(x, int64_t{schedule_.lanes} * v), 1, schedule_.lanes));
      emit_loop(loop + 1);
    };
    b().for_loop("x", b().add(begin, from), b().add(begin, to), body, options);
  }

  // One index for each combination of places, in the axes of the results.
  std::vector<Index> points() {
    std::vector<Index> points{Index(schedule_.shape.size(), b().i64(0))};
    for (size_t d = 0; d < schedule_.dimensions.size(); ++d) {
      const Dimension& dimension = schedule_.dimensions[d];
      std::vector<int64_t> extents;
      for (size_t axis : dimension.axes) extents.push_back(schedule_.shape[axis]);
      std::vector<Index> extended;
      for (const Index& point : points) {
        for (Expr place : places_[d]) {
          const Index inner = lowering_.unflatten(place, extents);
          extended.push_back(point);
          for (size_t i = 0; i < extents.size(); ++i) extended.back()[dimension.axes[i]] = inner[i];
        }
      }
      points = std::move(extended);
    }
    return points;
  }

  // All elements before all stores, so that a result may take the place of an operand.
  void emit_elements() {
    const std::vector<Index> at = points();
    std::vector<Values> elements;
    for (graph::ValueId value : results_) elements.push_back(lowering_.values(value, at));
    for (size_t i = 0; i < results_.size(); ++i) {
      for (size_t p = 0; p < at.size(); ++p) lowering_.store(results_[i], at[p], elements[i][p]);
    }
  }

  Lowering& lowering_;
  std::vector<graph::ValueId> results_;
  Schedule schedule_;
  std::vector<std::vector<Expr>> places_;  // per dimension
  Expr chunk_ = nullptr;
};

}  // namespace

void emit_nests(Lowering& lowering) {
  std::vector<std::vector<graph::ValueId>> by_shape;
  for (graph::ValueId value : lowering.outputs()) {
    const std::vector<int64_t> shape = lowering.shape(value);
    if (graph::num_elements(shape) == 0) continue;
    auto same = std::find_if(by_shape.begin(), by_shape.end(), [&](const auto& values) { return lowering.shape(values[0]) == shape; });
    if (same == by_shape.end()) {
      by_shape.push_back({value});
    } else {
      same->push_back(value);
    }
  }
  std::vector<std::unique_ptr<Nest>> nests;
  Kernel& kernel = lowering.kernel();
  kernel.units = 0;
  for (auto& values : by_shape) {
    nests.push_back(std::make_unique<Nest>(lowering, values));
    kernel.units += nests.back()->units();
    kernel.grain = std::max(kernel.grain, nests.back()->grain());
  }
  Builder& b = lowering.b();
  b.unit_loop([&](Expr unit) {
    if (nests.size() == 1) return nests[0]->emit(unit);
    int64_t first = 0;
    for (const auto& nest : nests) {
      const int64_t units = nest->units();
      Expr is_own = b.bit_and(b.le(b.i64(first), unit), b.lt(unit, b.i64(first + units)));
      b.if_then(is_own, [&] { nest->emit(b.let_index("unit", b.sub(unit, first), {0, units - 1})); });
      first += units;
    }
  });
}

}  // namespace tiffin::kernel
