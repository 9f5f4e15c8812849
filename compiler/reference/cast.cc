// SPDX-License-Identifier: Apache-2.0
// Cast: floats round to nearest even; float to integer truncates, saturates, and maps NaN to 0; integers wrap; bool is "not equal to zero".
#include <cmath>
#include <limits>

#include "compiler/reference/evaluation.h"

namespace tiffin::reference {
namespace {

template <class To, class From>
To converted(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(value)) return To{0};
    // 2^digits is exact in every float type, unlike max() itself.
    const From limit = std::ldexp(From{1}, std::numeric_limits<To>::digits);
    if (value >= limit) return std::numeric_limits<To>::max();
    if (value <= (std::is_signed_v<To> ? -limit : From{0})) return std::numeric_limits<To>::min();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class To, class From>
Tensor cast_elements(const std::vector<From>& from, DType to, const std::vector<int64_t>& shape) {
  std::vector<To> out(from.size());
  for (size_t i = 0; i < out.size(); ++i) out[i] = to == DType::Bool ? static_cast<To>(from[i] != From{0}) : converted<To>(from[i]);
  return store(to, shape, out);
}

}  // namespace

Result<Tensors> evaluate_cast(const Evaluation& e) {
  const Tensor& x = e.inputs[0];
  const DType to = e.result_dtype();
  if (x.dtype() == to) return one(x);
  Tensors out;
  visit_any(x.dtype(), [&]<class From>(TypeTag<From>) {
    visit_any(to, [&]<class To>(TypeTag<To>) { out.push_back(cast_elements<To>(load<From>(x), to, x.shape())); });
  });
  if (out.empty()) return e.unsupported_type(dtype_bits(x.dtype()) < 8 ? x.dtype() : to);
  return out;
}

}  // namespace tiffin::reference
