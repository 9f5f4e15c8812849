// SPDX-License-Identifier: Apache-2.0
// GridSample and RoiAlign: interpolation at computed positions.
#include <algorithm>
#include <cmath>

#include "compiler/ops/sampling_rule.h"
#include "compiler/reference/evaluation.h"
#include "compiler/reference/positions.h"

namespace tiffin::reference {
namespace {

using ops::GridSampling;
using ops::SampleMode;
using ops::SamplePadding;

constexpr int64_t kOutside = -1;

struct Tap {
  int64_t position = kOutside;  // outside: the element is 0
  double weight = 1;
};

// Mirrors at `low` and `high` as often as it takes.
double reflected(double x, double low, double high) {
  const double range = high - low;
  if (range == 0) return low;
  if (!(x < low) && !(x > high)) return x;
  const double beyond = x < low ? low - x : x - high, turns = std::trunc(beyond / range), rest = beyond - turns * range;
  const bool is_odd = turns - 2 * std::floor(turns * 0.5) == 1;
  return (x < low) != is_odd ? low + rest : high - rest;
}

int64_t clamped(double whole, int64_t extent) {
  if (!(whole > 0)) return 0;
  return whole >= static_cast<double>(extent - 1) ? extent - 1 : static_cast<int64_t>(whole);
}

double cubic_weight(double distance) {
  constexpr double a = -0.75;
  const double d = std::abs(distance);
  return d <= 1 ? ((a + 2) * d - (a + 3)) * d * d + 1 : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

class AxisSampler {
 public:
  AxisSampler(const GridSampling& sampling, int64_t extent) : sampling_(sampling), extent_(extent) {
    low_ = sampling.aligns_corners ? 0 : -0.5;
    high_ = static_cast<double>(extent) - (sampling.aligns_corners ? 1 : 0.5);
  }

  std::vector<Tap> taps(double normalised) const {
    const auto extent = static_cast<double>(extent_);
    double x = sampling_.aligns_corners ? (normalised + 1) / 2 * (extent - 1) : ((normalised + 1) * extent - 1) / 2;
    if (sampling_.mode == SampleMode::Nearest) x = std::nearbyint(x);
    if (sampling_.padding == SamplePadding::Border && (x < low_ || x > high_)) x = std::clamp(x, 0.0, extent - 1);
    if (sampling_.padding == SamplePadding::Reflection) x = reflected(x, low_, high_);
    if (sampling_.mode == SampleMode::Nearest) return {{pixel(x), 1}};
    const double first = std::floor(x), rest = x - first;
    if (sampling_.mode == SampleMode::Linear) return {{pixel(first), 1 - rest}, {pixel(first + 1), rest}};
    std::vector<Tap> taps;
    for (int i = -1; i <= 2; ++i) taps.push_back({pixel(first + i), cubic_weight(rest - i)});
    return taps;
  }

 private:
  int64_t pixel(double whole) const {
    const bool is_inside = whole >= 0 && whole <= static_cast<double>(extent_ - 1);
    if (sampling_.padding == SamplePadding::Zeros) return is_inside ? static_cast<int64_t>(whole) : kOutside;
    if (sampling_.padding == SamplePadding::Reflection) whole = std::trunc(reflected(whole, low_, high_));
    return clamped(whole, extent_);
  }

  const GridSampling& sampling_;
  int64_t extent_;
  double low_ = 0, high_ = 0;
};

// The sum over the taps of all axes from `axis` on, of the plane that begins at element `base`.
double sample(const std::vector<double>& x, std::span<const int64_t> extents, const std::vector<std::vector<Tap>>& taps, size_t axis, int64_t base) {
  if (axis == taps.size()) return x[static_cast<size_t>(base)];
  double sum = 0;
  for (const Tap& tap : taps[axis]) {
    const double value = tap.position == kOutside ? 0 : sample(x, extents, taps, axis + 1, base * extents[axis] + tap.position);
    sum += value * tap.weight;
  }
  return sum;
}

}  // namespace

Result<Tensors> evaluate_grid_sample(const Evaluation& e) {
  const Tensor &x = e.inputs[0], &grid = e.inputs[1];
  if (!is_standard_float(x.dtype())) return e.unsupported_type(x.dtype());
  if (!is_standard_float(grid.dtype())) return e.unsupported_type(grid.dtype());
  const GridSampling sampling = ops::grid_sampling_of(e.node);
  const std::vector<double> elements = x.to_doubles(), places = grid.to_doubles();
  const std::vector<int64_t> shape = e.result_shape();
  const std::span<const int64_t> extents = std::span<const int64_t>(x.shape()).subspan(2);
  const int64_t channels = shape[1], rank = static_cast<int64_t>(extents.size());
  const int64_t pixels = graph::num_elements(std::span<const int64_t>(shape).subspan(2));
  std::vector<AxisSampler> samplers;
  for (const int64_t extent : extents) samplers.emplace_back(sampling, extent);
  std::vector<double> out(static_cast<size_t>(graph::num_elements(shape)));
  std::vector<std::vector<Tap>> taps(samplers.size());
  for (int64_t place = 0; place < shape[0] * pixels; ++place) {
    // The grid names the last axis first.
    for (size_t axis = 0; axis < samplers.size(); ++axis) {
      taps[axis] = samplers[axis].taps(places[static_cast<size_t>((place + 1) * rank - 1 - static_cast<int64_t>(axis))]);
    }
    for (int64_t channel = 0; channel < channels; ++channel) {
      const int64_t plane = place / pixels * channels + channel;
      out[static_cast<size_t>(plane * pixels + place % pixels)] = sample(elements, extents, taps, 0, plane);
    }
  }
  Tensors results;
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) { results.push_back(store(x.dtype(), shape, std::vector<T>(out.begin(), out.end()))); });
  return results;
}

namespace {

// The two neighbours of a position, which is inside up to one pixel beyond the axis.
std::vector<Tap> neighbours(double at, int64_t extent) {
  if (!(at >= -1 && at <= static_cast<double>(extent))) return {{kOutside, 0}, {kOutside, 0}};
  at = std::clamp(at, 0.0, static_cast<double>(extent - 1));
  const auto low = static_cast<int64_t>(at);
  const double rest = at - static_cast<double>(low);
  return {{low, 1 - rest}, {std::min(low + 1, extent - 1), rest}};
}

// The positions of one axis of a region's samples: bin after bin.
std::vector<std::vector<Tap>> region_taps(const ops::RegionSampling& sampling, double begin, double end, int64_t bins, int64_t extent) {
  begin = begin * sampling.scale - sampling.offset;
  end = end * sampling.scale - sampling.offset;
  const double length = sampling.offset == 0 ? std::max(end - begin, 1.0) : end - begin, step = length / static_cast<double>(bins);
  const int64_t samples = sampling.samples > 0 ? sampling.samples : clamped(std::ceil(step), int64_t{1} << 20);
  std::vector<std::vector<Tap>> taps;
  for (int64_t i = 0; i < bins * samples; ++i) {
    const auto bin = static_cast<double>(i / samples), part = static_cast<double>(i % samples);
    taps.push_back(neighbours(begin + bin * step + (part + 0.5) * step / static_cast<double>(samples), extent));
  }
  return taps;
}

double region_element(const ops::RegionSampling& sampling, const double* plane, int64_t width, std::span<const std::vector<Tap>> rows,
                      std::span<const std::vector<Tap>> columns) {
  double sum = 0, largest = -HUGE_VAL;
  for (const auto& row : rows) {
    for (const auto& column : columns) {
      for (const Tap& y : row) {
        for (const Tap& x : column) {
          const bool is_inside = y.position != kOutside && x.position != kOutside;
          const double term = is_inside ? plane[y.position * width + x.position] * (y.weight * x.weight) : 0;
          sum += term;
          largest = std::max(largest, term);
        }
      }
    }
  }
  if (sampling.takes_maximum) return rows.empty() || columns.empty() ? 0 : largest;
  return sum / static_cast<double>(std::max<size_t>(rows.size() * columns.size(), 1));
}

}  // namespace

Result<Tensors> evaluate_roi_align(const Evaluation& e) {
  const Tensor& x = e.inputs[0];
  if (!is_standard_float(x.dtype())) return e.unsupported_type(x.dtype());
  const ops::RegionSampling sampling = ops::region_sampling_of(e.node);
  const std::vector<double> elements = x.to_doubles(), regions = e.inputs[1].to_doubles();
  const std::vector<int64_t> batches = e.inputs[2].to_int64s(), shape = e.result_shape(), &extents = x.shape();
  std::vector<double> out;
  for (size_t region = 0; region < batches.size(); ++region) {
    const int64_t batch = batches[region] < 0 ? batches[region] + extents[0] : batches[region];
    if (batch < 0 || batch >= extents[0]) {
      return error(Code::IndexOutOfRange, "node '%s' (RoiAlign): batch index %lld is outside [%lld, %lld]", e.node.name.c_str(),
                   static_cast<long long>(batches[region]), static_cast<long long>(-extents[0]), static_cast<long long>(extents[0] - 1));
    }
    const double* box = &regions[region * 4];
    const auto rows = region_taps(sampling, box[1], box[3], shape[2], extents[2]),
               columns = region_taps(sampling, box[0], box[2], shape[3], extents[3]);
    const size_t per_row = rows.size() / static_cast<size_t>(shape[2]), per_column = columns.size() / static_cast<size_t>(shape[3]);
    for (int64_t channel = 0; channel < shape[1]; ++channel) {
      const double* plane = elements.data() + (batch * extents[1] + channel) * extents[2] * extents[3];
      for (size_t bin = 0; bin < static_cast<size_t>(shape[2] * shape[3]); ++bin) {
        const size_t row = bin / static_cast<size_t>(shape[3]), column = bin % static_cast<size_t>(shape[3]);
        out.push_back(region_element(sampling, plane, extents[3], std::span(rows).subspan(row * per_row, per_row),
                                     std::span(columns).subspan(column * per_column, per_column)));
      }
    }
  }
  Tensors results;
  visit_float(x.dtype(), [&]<class T>(TypeTag<T>) { results.push_back(store(x.dtype(), shape, std::vector<T>(out.begin(), out.end()))); });
  return results;
}

}  // namespace tiffin::reference
