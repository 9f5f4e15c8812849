// SPDX-License-Identifier: Apache-2.0
// Operators that make a tensor from a shape or from few numbers, or positions from a tensor.
#include <algorithm>

#include "compiler/reference/evaluation.h"
#include "compiler/reference/positions.h"

namespace tiffin::reference {

Result<Tensors> evaluate_shape(const Evaluation& e) {
  const std::vector<int64_t>& shape = e.inputs[0].shape();
  if (e.op() == Op::Size) return one(Tensor::scalar_int64(e.inputs[0].num_elements()));
  const auto rank = static_cast<int64_t>(shape.size());
  const auto bounded = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t begin = bounded(e.node.int_attribute("start", 0)), end = bounded(e.node.int_attribute("end", rank));
  if (begin >= end) return one(Tensor::int64s({}));
  return one(Tensor::int64s(std::span(shape).subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin))));
}

Result<Tensors> evaluate_constant_of_shape(const Evaluation& e) {
  const auto found = e.node.attributes.find("value");
  const Tensor zero = Tensor::scalar_float(0);
  const Tensor* value = found == e.node.attributes.end() ? &zero : std::get_if<Tensor>(&found->second);
  if (value == nullptr) return error(Code::InvalidModel, "attribute 'value' of '%s' (ConstantOfShape) is no tensor", e.node.name.c_str());
  const std::vector<int64_t> shape = e.result_shape();
  const auto element = static_cast<size_t>(dtype_bits(value->dtype()) / 8);
  if (element == 0) return e.unsupported_type(value->dtype());
  // Weights of synthetic models are made here, hundreds of megabytes of one value: the bytes are written once.
  std::vector<uint8_t> bytes(static_cast<size_t>(graph::num_elements(shape)) * element);
  const std::span<const uint8_t> pattern = value->bytes().first(element);
  // What is filled already is copied behind itself, twice as much each time.
  if (!bytes.empty()) std::copy(pattern.begin(), pattern.end(), bytes.begin());
  for (size_t filled = element; filled < bytes.size(); filled *= 2) {
    memcpy(bytes.data() + filled, bytes.data(), std::min(filled, bytes.size() - filled));
  }
  return one(Tensor(value->dtype(), shape, std::move(bytes)));
}

Result<Tensors> evaluate_range(const Evaluation& e) {
  const DType dtype = e.inputs[0].dtype();
  const int64_t count = e.result_shape()[0];
  Tensors out;
  visit_number(dtype, [&]<class T>(TypeTag<T>) {
    const T start = load<T>(e.inputs[0])[0], step = load<T>(e.inputs[2])[0];
    std::vector<T> elements;
    for (int64_t i = 0; i < count; ++i) elements.push_back(add(start, multiply(static_cast<T>(i), step)));
    out.push_back(store(dtype, {count}, elements));
  });
  if (out.empty()) return e.unsupported_type(dtype);
  return out;
}

Result<Tensors> evaluate_eye_like(const Evaluation& e) {
  const std::vector<int64_t> shape = e.result_shape();
  const int64_t diagonal = e.node.int_attribute("k", 0);
  Tensors out;
  visit_any(e.result_dtype(), [&]<class T>(TypeTag<T>) {
    std::vector<T> elements;
    for (Coordinates at(shape); !at.is_done(); at.next()) elements.push_back(at[1] - at[0] == diagonal ? T{1} : T{0});
    out.push_back(store(e.result_dtype(), shape, elements));
  });
  if (out.empty()) return e.unsupported_type(e.result_dtype());
  return out;
}

Result<Tensors> evaluate_non_zero(const Evaluation& e) {
  const Tensor& x = e.inputs[0];
  if (!visit_any(x.dtype(), [](auto) {})) return e.unsupported_type(x.dtype());
  const std::vector<double> elements = x.to_doubles();
  std::vector<std::vector<int64_t>> found(x.rank());
  int64_t count = 0;
  for (Coordinates at(x.shape()); !at.is_done(); at.next()) {
    if (elements[static_cast<size_t>(at.index())] == 0) continue;
    ++count;
    for (size_t axis = 0; axis < x.rank(); ++axis) found[axis].push_back(at[axis]);
  }
  std::vector<int64_t> positions;
  for (const std::vector<int64_t>& along : found) positions.insert(positions.end(), along.begin(), along.end());
  return one(store(DType::Int64, {static_cast<int64_t>(x.rank()), count}, positions));
}

}  // namespace tiffin::reference
