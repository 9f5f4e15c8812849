// SPDX-License-Identifier: Apache-2.0
#include "base/golden/compare.h"

#include <cmath>
#include <cstring>

#include "base/golden/element.h"

namespace tiffin::golden {
namespace {

double magnitude_of(double value) { return value < 0 ? -value : value; }
bool is_finite(double value) { return value - value == 0; }

// Where one of the two is not finite: equal infinities, or both NaN.
bool is_same_special(double a, double b) { return a == b || (a != a && b != b); }

// Position of sample `k` of `count` elements: spread by the finaliser of splitmix64 (G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom
// number generators"), so that no stride of a layout hides from it.
uint64_t sample_position(uint64_t k, uint64_t count) {
  if (count <= TIFFIN_GOLDEN_SAMPLES) return k;
  uint64_t mixed = (k + 1) * 0x9E3779B97F4A7C15u;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
  return (mixed ^ (mixed >> 31)) % count;
}

}  // namespace

Difference compare(DType dtype, std::span<const uint8_t> expected, std::span<const uint8_t> actual, const tiffin_golden_tolerance& tolerance) {
  Difference out;
  if (expected.size() == actual.size() && (expected.empty() || memcmp(expected.data(), actual.data(), expected.size()) == 0)) return out;
  const DType element = element_type(dtype);
  const uint64_t width = element_bytes(element);
  const double scale = tolerance.relative > 0 ? tolerance.absolute / tolerance.relative : 0;
  for (uint64_t i = 0; i < expected.size() / width; ++i) {
    if (memcmp(expected.data() + i * width, actual.data() + i * width, width) == 0) continue;
    const double e = element_at(element, expected.data(), i), a = element_at(element, actual.data(), i);
    const bool is_ordinary = is_finite(e) && is_finite(a);
    if (!is_ordinary && is_same_special(e, a)) continue;
    double difference = is_ordinary ? magnitude_of(a - e) : HUGE_VAL;
    if (difference == 0 && !is_standard_float(element)) difference = 1;  // beyond 2^53
    const double size = magnitude_of(e);
    const double ulps = is_ordinary ? difference / ulp_at(element, size > scale ? size : scale) : HUGE_VAL;
    if (ulps > out.worst_ulp) out.worst_ulp = ulps;
    const bool is_near = difference <= tolerance.absolute || difference <= tolerance.relative * size;
    if (!out.is_accepted || (is_ordinary && (is_near || difference <= tolerance.ulp * ulp_at(element, size)))) continue;
    out.is_accepted = false;
    out.index = i;
    out.actual = a;
    out.expected = e;
  }
  return out;
}

void take_sketch(DType dtype, std::span<const uint8_t> bytes, tiffin_golden_sketch* out) {
  const DType element = element_type(dtype);
  out->dtype = static_cast<uint32_t>(dtype);
  out->elements = bytes.size() / element_bytes(element);
  out->not_finite = 0;
  out->sum = out->sum_squares = 0;
  for (uint64_t i = 0; i < out->elements; ++i) {
    const double value = element_at(element, bytes.data(), i);
    if (!is_finite(value)) {
      ++out->not_finite;
      continue;
    }
    out->sum += value;
    out->sum_squares += value * value;
  }
  for (uint64_t k = 0; k < TIFFIN_GOLDEN_SAMPLES; ++k) {
    const uint64_t position = sample_position(k, out->elements);
    out->samples[k] = position < out->elements ? element_at(element, bytes.data(), position) : 0;
  }
}

bool departs(const tiffin_golden_sketch& recorded, const tiffin_golden_sketch& actual) {
  if (recorded.elements != actual.elements || recorded.not_finite != actual.not_finite) return true;
  for (uint64_t k = 0; k < TIFFIN_GOLDEN_SAMPLES; ++k) {
    const double e = recorded.samples[k], a = actual.samples[k];
    if (is_same_special(e, a)) continue;
    if (!(magnitude_of(a - e) <= recorded.relative * magnitude_of(e) + recorded.absolute)) return true;
  }
  const double finite = static_cast<double>(recorded.elements - recorded.not_finite);
  const double slack = recorded.absolute * (finite / 8 + std::sqrt(finite));
  if (!(magnitude_of(actual.sum - recorded.sum) <= slack) && actual.sum != recorded.sum) return true;
  const double square_slack = finite > 0 ? 2 * std::sqrt(recorded.sum_squares / finite) * slack + finite * recorded.absolute * recorded.absolute : 0;
  return !(magnitude_of(actual.sum_squares - recorded.sum_squares) <= square_slack) && actual.sum_squares != recorded.sum_squares;
}

}  // namespace tiffin::golden
