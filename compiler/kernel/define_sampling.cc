// SPDX-License-Identifier: Apache-2.0
// Elements of GridSample and RoiAlign: weighted sums over a few elements at computed positions. Positions and weights are computed in Float64, by
// the formulas of reference/sampling.cc.
#include <algorithm>
#include <cmath>

#include "compiler/kernel/fold_loop.h"
#include "compiler/kernel/rules.h"
#include "compiler/ops/sampling_rule.h"
#include "compiler/ops/shape_rules.h"

namespace tiffin::kernel {

using graph::Node;
using graph::ValueId;
using ops::GridSampling;
using ops::SampleMode;
using ops::SamplePadding;

namespace {

struct Tap {
  Expr position = nullptr;   // in the axis
  Expr is_inside = nullptr;  // else the element is 0; null: always
  Expr weight = nullptr;     // Float64; null: 1
};

using Taps = std::vector<Tap>;

// A whole number as a position in the axis; NaN is position 0.
Expr clamped(Builder& b, Expr whole, int64_t extent) {
  Expr inside = b.max(b.min(whole, b.real(whole->type, static_cast<double>(extent - 1))), b.real(whole->type, 0));
  return b.let_index("position", b.cast(inside, DType::Int64), {0, std::max<int64_t>(extent - 1, 0)});
}

class AxisSampler {
 public:
  AxisSampler(Builder& builder, const GridSampling& sampling, int64_t extent, Expr normalised)
      : b(builder), sampling_(sampling), extent_(extent), type_(normalised->type), x_(normalised) {
    low_ = sampling.aligns_corners ? 0 : -0.5;
    high_ = static_cast<double>(extent) - (sampling.aligns_corners ? 1 : 0.5);
  }

  Taps taps() {
    x_ = let(source());
    if (sampling_.mode == SampleMode::Nearest) return {pixel(x_, nullptr)};
    Expr first = let(b.floor(x_)), rest = let(b.sub(x_, first));
    if (sampling_.mode == SampleMode::Linear) return {pixel(first, b.sub(real(1), rest)), pixel(b.add(first, real(1)), rest)};
    Taps taps;
    for (int i = -1; i <= 2; ++i) taps.push_back(pixel(b.add(first, real(i)), cubic_weight(b.sub(rest, real(i)), i == 0 || i == 1)));
    return taps;
  }

 private:
  Expr real(double value) { return b.real(type_, value); }
  Expr let(Expr value) { return b.let("sample", value); }

  Expr source() {
    const auto extent = static_cast<double>(extent_);
    Expr from_edge = b.add(x_, real(1));
    Expr x = sampling_.aligns_corners ? b.mul(b.div(from_edge, real(2)), real(extent - 1))
                                      : b.div(b.sub(b.mul(from_edge, real(extent)), real(1)), real(2));
    if (sampling_.mode == SampleMode::Nearest) x = b.round_even(x);
    x = let(x);
    if (sampling_.padding == SamplePadding::Zeros) return x;
    if (sampling_.padding == SamplePadding::Reflection) return reflected(x);
    Expr is_beyond = b.bit_or(b.lt(x, real(low_)), b.lt(real(high_), x));
    return b.select(is_beyond, b.max(b.min(x, real(extent - 1)), real(0)), x);
  }

  // Mirrors at both ends as often as it takes.
  Expr reflected(Expr x) {
    const double range = high_ - low_;
    if (range == 0) return real(low_);
    Expr is_below = b.let("is_below", b.lt(x, real(low_))), is_above = b.let("is_above", b.lt(real(high_), x));
    Expr beyond = let(b.select(is_below, b.sub(real(low_), x), b.sub(x, real(high_))));
    Expr turns = let(b.trunc(b.div(beyond, real(range))));
    Expr rest = let(b.sub(beyond, b.mul(turns, real(range))));
    Expr is_odd = b.eq(b.sub(turns, b.mul(real(2), b.floor(b.mul(turns, real(0.5))))), real(1));
    Expr mirrored = b.select(b.bit_xor(is_below, is_odd), b.add(real(low_), rest), b.sub(real(high_), rest));
    return b.select(b.bit_or(is_below, is_above), mirrored, x);
  }

  Tap pixel(Expr whole, Expr weight) {
    whole = let(whole);
    Tap tap;
    tap.weight = weight == nullptr ? nullptr : let(weight);
    if (sampling_.padding == SamplePadding::Zeros) {
      Expr last = real(static_cast<double>(extent_ - 1));
      tap.is_inside = b.let("is_inside", b.bit_and(b.le(real(0), whole), b.le(whole, last)));
    }
    if (sampling_.padding == SamplePadding::Reflection) whole = b.trunc(reflected(whole));
    tap.position = clamped(b, whole, extent_);
    return tap;
  }

  Expr cubic_weight(Expr distance, bool is_near) {
    constexpr double a = -0.75;
    Expr d = let(b.abs(distance));
    if (is_near) return b.add(b.mul(b.mul(b.sub(b.mul(real(a + 2), d), real(a + 3)), d), d), real(1));
    return b.sub(b.mul(b.add(b.mul(b.sub(b.mul(real(a), d), real(5 * a)), d), real(8 * a)), d), real(4 * a));
  }

  Builder& b;
  const GridSampling& sampling_;
  int64_t extent_;
  Type type_;
  Expr x_;
  double low_ = 0, high_ = 0;
};

// The sum over the taps of all axes from `axis` on, of `data` at `source`, whose spatial positions are filled in.
Expr weighted_sum(Lowering& l, ValueId data, const std::vector<Taps>& taps, Index source, Expr is_inside, size_t axis) {
  Builder& b = l.b();
  if (axis == taps.size()) {
    Expr element = l.value(data, source);
    return is_inside == nullptr ? element : b.select(is_inside, element, b.zero(element->type));
  }
  Expr sum = nullptr;
  for (const Tap& tap : taps[axis]) {
    source[axis + 2] = tap.position;
    Expr inside = is_inside == nullptr ? tap.is_inside : tap.is_inside == nullptr ? is_inside : b.bit_and(is_inside, tap.is_inside);
    Expr value = weighted_sum(l, data, taps, source, inside, axis + 1);
    if (tap.weight == nullptr) return value;
    value = b.let("value", value);
    Expr weight = b.let("weight", b.cast(tap.weight, value->type.dtype));
    sum = b.let("sum", sum == nullptr ? b.mul(value, weight) : b.fma(value, weight, sum));
  }
  return sum;
}

struct Sampled {
  ValueId data = graph::kNone, grid = graph::kNone;
  GridSampling sampling;
  std::vector<int64_t> extents;
};

Expr sampled_element(Lowering& l, const Sampled& sampled, const Index& point) {
  const size_t rank = sampled.extents.size();
  std::vector<Taps> taps;
  int64_t reads = 1;
  for (size_t axis = 0; axis < rank; ++axis) {
    Index at{point[0]};
    at.insert(at.end(), point.begin() + 2, point.end());
    at.push_back(l.b().i64(static_cast<int64_t>(rank - 1 - axis)));  // the grid names the last axis first
    Expr normalised = l.b().let("place", l.b().cast(l.value(sampled.grid, at), DType::Float64));
    taps.push_back(AxisSampler(l.b(), sampled.sampling, sampled.extents[axis], normalised).taps());
    reads *= static_cast<int64_t>(taps.back().size());
  }
  l.note_reduction(reads, false);
  return weighted_sum(l, sampled.data, taps, point, nullptr, 0);
}

Status expect_floats(const Lowering& lowering, const Node& node, size_t inputs) {
  for (size_t i = 0; i < inputs; ++i) {
    const DType dtype = lowering.dtype(node.inputs[i]);
    if (is_standard_float(dtype)) continue;
    return ops::node_error(Code::UnsupportedType, lowering.graph(), node, "input %zu is %s, the operator is lowered for floats alone", i,
                           std::string(dtype_name(dtype)).c_str());
  }
  return {};
}

}  // namespace

Result<ElementFn> define_grid_sample(Lowering& lowering, const Node& node) {
  constexpr size_t kMostAxes = 3;  // each multiplies the number of elements read
  TIFFIN_TRY(expect_floats(lowering, node, 2));
  Sampled sampled{node.inputs[0], node.inputs[1], ops::grid_sampling_of(node), {}};
  const std::vector<int64_t> shape = lowering.shape(sampled.data);
  sampled.extents.assign(shape.begin() + 2, shape.end());
  if (sampled.extents.size() > kMostAxes) {
    return ops::node_error(Code::UnsupportedOperator, lowering.graph(), node, "the data has rank %zu, the operator is lowered up to rank %zu",
                           shape.size(), kMostAxes + 2);
  }
  return ElementFn([sampled](Lowering& l, size_t, Points points) {
    Values elements;
    for (const Index& point : points) elements.push_back(sampled_element(l, sampled, point));
    return elements;
  });
}

namespace {

struct Region {
  ValueId data = graph::kNone, boxes = graph::kNone, batches = graph::kNone;
  ops::RegionSampling sampling;
  std::vector<int64_t> extents, bins;  // rows and columns
  int64_t batch_extent = 0;
};

struct Span {
  Expr begin = nullptr, step = nullptr;  // of the bins, in pixels
};

// A region along one axis: 0 rows, 1 columns.
Span span_of(Lowering& l, const Region& region, Expr number, int64_t axis) {
  Builder& b = l.b();
  const auto corner = [&](int64_t column) {
    Expr raw = b.cast(l.value(region.boxes, {number, b.i64(column)}), DType::Float64);
    return b.let("corner", b.sub(b.mul(raw, b.real(raw->type, region.sampling.scale)), b.real(raw->type, region.sampling.offset)));
  };
  Expr begin = corner(1 - axis), length = b.sub(corner(3 - axis), begin);
  if (region.sampling.offset == 0) length = b.max(length, b.real(length->type, 1));
  return {begin, b.let("step", b.div(length, b.real(length->type, static_cast<double>(region.bins[static_cast<size_t>(axis)]))))};
}

// The two neighbours of sample `part` of a bin; nothing counts farther than a pixel beyond the axis.
Taps neighbours(Builder& b, const Region& region, const Span& span, Expr bin, Expr part, size_t axis) {
  const int64_t extent = region.extents[axis];
  const auto real = [&](Expr like, double value) { return b.real(like->type, value); };
  Expr whole = b.cast(bin, DType::Float64), fraction = b.cast(part, DType::Float64);
  Expr within = b.div(b.mul(b.add(fraction, real(fraction, 0.5)), span.step), real(fraction, static_cast<double>(region.sampling.samples)));
  Expr at = b.let("at", b.add(b.add(span.begin, b.mul(whole, span.step)), within));
  Expr is_inside = b.let("is_inside", b.bit_and(b.le(real(at, -1), at), b.le(at, real(at, static_cast<double>(extent)))));
  Expr clipped = b.let("clipped", b.max(b.min(at, real(at, static_cast<double>(extent - 1))), real(at, 0)));
  Expr first = b.let("first", b.floor(clipped)), rest = b.let("rest", b.sub(clipped, first));
  return {{clamped(b, first, extent), is_inside, b.sub(real(rest, 1), rest)}, {clamped(b, b.add(first, real(first, 1)), extent), is_inside, rest}};
}

Expr region_element(Lowering& l, const Region& region, const Index& point, int lanes) {
  Builder& b = l.b();
  const ops::RegionSampling& sampling = region.sampling;
  Index source{l.checked_index(l.value(region.batches, {point[0]}), region.batch_extent), point[1], nullptr, nullptr};
  const Span spans[] = {span_of(l, region, point[0], 0), span_of(l, region, point[0], 1)};
  const Type type{compute_dtype(l.dtype(region.data)), 1};
  const Monoid monoid{b.real(type, sampling.takes_maximum ? -HUGE_VAL : 0), sampling.takes_maximum ? BinaryOp::Max : BinaryOp::Add};
  const int64_t count = sampling.samples * sampling.samples;
  l.note_reduction(count * 4, false);
  const auto step = [&](Expr r, const Values& accumulators) {
    const std::vector<Taps> taps = {neighbours(b, region, spans[0], point[2], b.div(r, sampling.samples), 0),
                                    neighbours(b, region, spans[1], point[3], b.mod(r, sampling.samples), 1)};
    Expr result = accumulators[0];
    for (const Tap& y : taps[0]) {
      for (const Tap& x : taps[1]) {
        source[2] = y.position;
        source[3] = x.position;
        Expr element = b.let("element", l.value(region.data, source)), weight = b.cast(b.mul(y.weight, x.weight), type.dtype);
        Expr term = b.select(b.bit_and(y.is_inside, x.is_inside), b.mul(element, weight), b.zero(element->type));
        result = b.let("result", b.binary(monoid.merge, result, term));
      }
    }
    return Values{result};
  };
  Expr folded = fold_range(l, count, {monoid}, lanes, false, step)[0];
  return sampling.takes_maximum ? folded : b.div(folded, b.real(folded->type, static_cast<double>(count)));
}

}  // namespace

Result<ElementFn> define_roi_align(Lowering& lowering, const Node& node) {
  TIFFIN_TRY(expect_floats(lowering, node, 2));
  Region region{node.inputs[0], node.inputs[1], node.inputs[2], ops::region_sampling_of(node), {}, {}, 0};
  constexpr int64_t kMostSamples = int64_t{1} << 20;
  if (region.sampling.samples < 1 || region.sampling.samples > kMostSamples) {
    return ops::node_error(Code::UnsupportedOperator, lowering.graph(), node,
                           "attribute 'sampling_ratio' is %lld, which lets the data decide how many samples are taken; expected 1 to %lld",
                           static_cast<long long>(region.sampling.samples), static_cast<long long>(kMostSamples));
  }
  const std::vector<int64_t> shape = lowering.shape(region.data), result = lowering.shape(node.outputs[0]);
  region.extents = {shape[2], shape[3]};
  region.bins = {result[2], result[3]};
  region.batch_extent = shape[0];
  return ElementFn([region](Lowering& l, size_t, Points points) {
    Values elements;
    for (const Index& point : points) elements.push_back(region_element(l, region, point, lanes_of({&point, 1})));
    return elements;
  });
}

}  // namespace tiffin::kernel
