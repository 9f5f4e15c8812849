// SPDX-License-Identifier: Apache-2.0
#include "compiler/kernel/schedule.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace tiffin::kernel {

namespace {

// Work of a partition unit, in elementwise operations: enough to hide the cost of handing it out.
constexpr double kUnitWork = 8192;
constexpr size_t kMaxSegments = 12;
// With this many units there is no need to cut a row.
constexpr int64_t kEnoughUnits = 64;

using AxisExprs = std::vector<Expr>;

// What the trial run shows of the result's axes.
class Analysis {
 public:
  Analysis(Lowering& lowering, const std::vector<graph::ValueId>& results, Schedule& schedule)
      : lowering_(lowering), results_(results), schedule_(schedule) {}

  void run() {
    lowering_.probe([&](Builder& trial) {
      math_ = &trial.index_math();
      trace_ = lowering_.trace();
      run_elements(trial, {}, schedule_.shape.size());
      schedule_.element_work = 1 + trace_->work;
      collapse();
      choose_order();
      choose_lanes();
      choose_tile();
    });
  }

 private:
  bool steps_together(const Linear& form, size_t outer, size_t inner) const {
    if (math_->hides(form, axes_[outer]) || math_->hides(form, axes_[inner])) return false;
    return form.coefficient_of(axes_[outer]) == form.coefficient_of(axes_[inner]) * schedule_.shape[inner];
  }

  bool can_join(size_t outer, size_t inner) const {
    if (trace_->row_variables.count(axes_[outer]) != trace_->row_variables.count(axes_[inner])) return false;
    const auto loads_step = [&](const Trace::Access& access) { return steps_together(access.form, outer, inner); };
    const auto guards_step = [&](const Trace::Guard& guard) { return steps_together(guard.position, outer, inner); };
    return std::all_of(trace_->loads.begin(), trace_->loads.end(), loads_step) &&
           std::all_of(trace_->guards.begin(), trace_->guards.end(), guards_step);
  }

  void collapse() {
    for (size_t axis = 0; axis < schedule_.shape.size(); ++axis) {
      if (schedule_.shape[axis] == 1) continue;
      const bool is_row = trace_->row_variables.count(axes_[axis]) != 0;
      if (!schedule_.dimensions.empty() && can_join(schedule_.dimensions.back().axes.back(), axis)) {
        schedule_.dimensions.back().axes.push_back(axis);
        schedule_.dimensions.back().extent *= schedule_.shape[axis];
      } else {
        schedule_.dimensions.push_back({schedule_.shape[axis], {axis}, is_row});
      }
    }
    if (schedule_.dimensions.empty()) schedule_.dimensions.push_back({});
    schedule_.vector_dimension = schedule_.dimensions.size() - 1;
  }

  // Rows innermost, so that what belongs to a whole row is computed once; the lanes' dimension just around them if it is none itself.
  void choose_order() {
    const auto& dimensions = schedule_.dimensions;
    const size_t last = schedule_.vector_dimension;
    for (size_t i = 0; i < dimensions.size(); ++i) {
      if (!dimensions[i].is_row && i != last) schedule_.order.push_back(i);
    }
    if (!dimensions[last].is_row) schedule_.order.push_back(last);
    for (size_t i = 0; i < dimensions.size(); ++i) {
      if (dimensions[i].is_row) schedule_.order.push_back(i);
    }
  }

  // Sum of the coefficients is not needed: joined axes step together, so that the innermost one's coefficient is the dimension's.
  Expr innermost_axis(const Dimension& dimension) const { return dimension.axes.empty() ? nullptr : axes_[dimension.axes.back()]; }

  bool mentions(const Linear& form, const Dimension& dimension) const {
    return std::any_of(dimension.axes.begin(), dimension.axes.end(),
                       [&](size_t axis) { return form.coefficient_of(axes_[axis]) != 0 || math_->hides(form, axes_[axis]); });
  }

  // The positions where a condition changes along the lanes; false when they can't be told.
  bool find_splits(const Dimension& dimension) {
    Expr axis = innermost_axis(dimension);
    for (const Trace::Guard& guard : trace_->guards) {
      const Linear& form = guard.position;
      if (!mentions(form, dimension)) continue;
      const int64_t step = form.coefficient_of(axis);
      if (dimension.axes.size() != 1 || form.terms.size() != 1 || step == 0) return false;
      for (int64_t bound : {guard.low, guard.high}) {
        const int64_t distance = bound - form.constant;
        const int64_t magnitude = std::abs(step);
        // step > 0: the first v with step * v >= distance; step < 0: the first v with step * v < distance.
        int64_t at = step > 0 ? (distance + magnitude - 1) / magnitude : -distance / magnitude + 1;
        if (step > 0 && distance <= 0) at = 0;
        if (step < 0 && distance > 0) at = 0;
        if (at > 0 && at < dimension.extent) schedule_.splits.push_back(at);
      }
    }
    std::sort(schedule_.splits.begin(), schedule_.splits.end());
    schedule_.splits.erase(std::unique(schedule_.splits.begin(), schedule_.splits.end()), schedule_.splits.end());
    return schedule_.splits.size() < kMaxSegments;
  }

  bool has_uneven_load(const Dimension& dimension) const {
    return std::any_of(trace_->loads.begin(), trace_->loads.end(), [&](const Trace::Access& access) {
      return std::any_of(dimension.axes.begin(), dimension.axes.end(), [&](size_t axis) { return math_->hides(access.form, axes_[axis]); });
    });
  }

  bool has_strided_load(const Dimension& dimension) const {
    Expr axis = innermost_axis(dimension);
    return std::any_of(trace_->loads.begin(), trace_->loads.end(), [&](const Trace::Access& access) {
      const int64_t step = access.form.coefficient_of(axis);
      return step != 0 && step != 1;
    });
  }

  int natural_lanes() const {
    int bytes = 0;
    for (DType dtype : trace_->dtypes) {
      // 64-bit integers are mostly indices; they take several registers beside narrower elements.
      if (dtype != DType::UInt64) bytes = std::max(bytes, dtype_bits(compute_dtype(dtype)) / 8);
    }
    if (bytes == 0) bytes = 8;
    return std::clamp(lowering_.machine().lanes(bytes), 1, 64);
  }

  void choose_lanes() {
    const Dimension& dimension = schedule_.dimensions[schedule_.vector_dimension];
    const bool sums_contiguously = trace_->has_contiguous_reduction;
    if (!lowering_.vectorises() || dimension.extent < 2) return;
    if (sums_contiguously && has_strided_load(dimension)) return;
    const int natural = natural_lanes();
    if (sums_contiguously && dimension.extent < natural) return;
    const bool is_even = find_splits(dimension) && (schedule_.splits.empty() ? !has_uneven_load(dimension) : has_even_segments(dimension));
    const uint64_t extent = static_cast<uint64_t>(dimension.extent);
    const uint64_t fitting = lowering_.machine().has_masks ? std::bit_ceil(extent) : std::bit_floor(extent);
    schedule_.lanes = is_even ? static_cast<int>(std::min<uint64_t>(static_cast<uint64_t>(natural), fitting)) : 1;
    if (schedule_.lanes == 1) schedule_.splits.clear();
  }

  // True when between two splits no condition along the dimension is open and all loads step evenly.
  bool has_even_segments(const Dimension& dimension) {
    std::vector<int64_t> bounds = schedule_.splits;
    bounds.insert(bounds.begin(), 0);
    bounds.push_back(dimension.extent);
    bool is_even = true;
    Trace* whole = trace_;
    const AxisExprs whole_axes = axes_;
    IndexMath* whole_math = math_;
    for (size_t i = 0; i + 1 < bounds.size() && is_even; ++i) {
      lowering_.probe([&](Builder& trial) {
        trace_ = lowering_.trace();
        math_ = &trial.index_math();
        run_elements(trial, {bounds[i], bounds[i + 1] - 1}, dimension.axes[0]);
        is_even = !has_uneven_load(dimension) && std::none_of(trace_->guards.begin(), trace_->guards.end(),
                                                              [&](const Trace::Guard& guard) { return mentions(guard.position, dimension); });
      });
    }
    trace_ = whole;
    axes_ = whole_axes;
    math_ = whole_math;
    return is_even;
  }

  // The elements of all results at free positions; `axis` lies in `range` instead of the whole extent.
  void run_elements(Builder& trial, Range range, size_t axis) {
    axes_.clear();
    for (size_t i = 0; i < schedule_.shape.size(); ++i) {
      const Range whole{0, std::max<int64_t>(schedule_.shape[i] - 1, 0)};
      axes_.push_back(schedule_.shape[i] == 1 ? trial.i64(0) : trial.free_variable("axis", i == axis ? range : whole));
    }
    for (graph::ValueId value : results_) {
      lowering_.value(value, axes_);
      trial.observer(trial.zero({compute_dtype(lowering_.dtype(value)), 1}));
    }
  }

  bool asks_along(const Dimension& dimension) const {
    return std::any_of(trace_->guards.begin(), trace_->guards.end(), [&](const Trace::Guard& guard) { return mentions(guard.position, dimension); });
  }

  void choose_tile() {
    const int64_t extent = schedule_.dimensions[schedule_.vector_dimension].extent;
    if (trace_->work <= 0 || !lowering_.vectorises()) return;
    // Conditions along the lanes that no split decides are asked for one element at a time.
    if (schedule_.lanes == 1 && asks_along(schedule_.dimensions[schedule_.vector_dimension])) return;
    // Enough independent sums to hide the latency of an addition.
    const int wanted = trace_->tile_variables.empty() ? 4 : 2;
    schedule_.vectors = static_cast<int>(std::clamp<int64_t>(extent / schedule_.lanes, 1, wanted));
    for (size_t i = 0; i < schedule_.dimensions.size(); ++i) {
      if (i == schedule_.vector_dimension) continue;
      for (size_t axis : schedule_.dimensions[i].axes) {
        if (trace_->tile_variables.count(axes_[axis]) == 0) continue;
        schedule_.has_tile = true;
        schedule_.tile_dimension = i;
      }
    }
    if (!schedule_.has_tile) return;
    const int64_t most = lowering_.machine().vector_registers >= 32 ? 8 : 4;
    schedule_.tile = std::min(most, schedule_.dimensions[schedule_.tile_dimension].extent);
    if (schedule_.tile <= 1) schedule_.has_tile = false;
    // Many segments repeat the code, so that each gets less of it.
    if (schedule_.splits.size() > 4) schedule_.vectors = 1;
  }

  Lowering& lowering_;
  const std::vector<graph::ValueId>& results_;
  Schedule& schedule_;
  IndexMath* math_ = nullptr;
  Trace* trace_ = nullptr;
  AxisExprs axes_;
};

void choose_units(Schedule& schedule) {
  size_t loop = schedule.order.size();
  double work = schedule.element_work;
  // Loops from the vector dimension and the first row on are inside a unit.
  size_t outer_loops = 0;
  while (outer_loops < schedule.order.size() && schedule.order[outer_loops] != schedule.vector_dimension &&
         !schedule.dimensions[schedule.order[outer_loops]].is_row) {
    ++outer_loops;
  }
  while (loop > outer_loops) work *= static_cast<double>(schedule.dimensions[schedule.order[--loop]].extent);
  while (loop > 0 && work < kUnitWork) {
    const size_t dimension = schedule.order[--loop];
    work *= static_cast<double>(schedule.dimensions[dimension].extent);
  }
  // A tiled dimension in a unit is computed tile by tile.
  schedule.unit_loops = loop;
  int64_t units = 1;
  for (size_t i = 0; i < loop; ++i) units *= schedule.iterations(schedule.order[i]);
  const Dimension& vector = schedule.dimensions[schedule.vector_dimension];
  if (units >= kEnoughUnits || vector.is_row || !schedule.splits.empty() || loop != outer_loops || work < 2 * kUnitWork) return;
  if (schedule.order.back() != schedule.vector_dimension) return;
  const int64_t step = int64_t{schedule.lanes} * schedule.vectors;
  const int64_t wanted = std::max<int64_t>(1, static_cast<int64_t>(kUnitWork / schedule.element_work));
  schedule.chunk = (wanted + step - 1) / step * step;
  if (schedule.chunk >= vector.extent) schedule.chunk = 0;
}

}  // namespace

int64_t Schedule::iterations(size_t dimension) const {
  const int64_t extent = dimensions[dimension].extent;
  return has_tile && dimension == tile_dimension ? (extent + tile - 1) / tile : extent;
}

int64_t Schedule::units() const {
  int64_t units = 1;
  for (size_t i = 0; i < unit_loops; ++i) units *= iterations(order[i]);
  if (chunk > 0) units *= (dimensions[vector_dimension].extent + chunk - 1) / chunk;
  return units;
}

int64_t Schedule::unit_elements() const {
  int64_t elements = 1;
  for (const Dimension& dimension : dimensions) elements *= dimension.extent;
  return std::max<int64_t>(1, elements / std::max<int64_t>(1, units()));
}

Schedule make_schedule(Lowering& lowering, const std::vector<graph::ValueId>& results) {
  Schedule schedule;
  schedule.shape = lowering.shape(results[0]);
  Analysis(lowering, results, schedule).run();
  choose_units(schedule);
  return schedule;
}

}  // namespace tiffin::kernel
