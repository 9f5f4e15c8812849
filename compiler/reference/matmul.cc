// SPDX-License-Identifier: Apache-2.0
// Matrix products: MatMul with NumPy's ranks, Gemm, MatMulInteger.
#include "compiler/reference/evaluation.h"
#include "compiler/reference/positions.h"

namespace tiffin::reference {
namespace {

// Both operands as stacks of matrices: vectors become a row or a column, batches are broadcast.
struct Product {
  std::vector<int64_t> batch;                   // broadcast
  std::vector<int64_t> a_matrices, b_matrices;  // for each batch element the matrix of a and of b
  int64_t m = 1, k = 1, n = 1;
};

Product product_of(std::vector<int64_t> a, std::vector<int64_t> b) {
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  Product product;
  product.m = a[a.size() - 2];
  product.k = a[a.size() - 1];
  product.n = b[b.size() - 1];
  a.resize(a.size() - 2);
  b.resize(b.size() - 2);
  product.batch = broadcast_shape(a, b);
  product.a_matrices = broadcast_indices(a, product.batch);
  product.b_matrices = broadcast_indices(b, product.batch);
  return product;
}

// One matrix [m, n] appended to `out`.
template <class T>
void multiply_matrices(const T* a, const T* b, const Product& p, std::vector<Accumulator<T>>& out) {
  for (int64_t i = 0; i < p.m; ++i) {
    const size_t row = out.size();
    out.resize(row + static_cast<size_t>(p.n));
    for (int64_t k = 0; k < p.k; ++k) {
      const Accumulator<T> factor = accumulated(a[i * p.k + k]);
      for (int64_t j = 0; j < p.n; ++j) out[row + static_cast<size_t>(j)] += factor * accumulated(b[k * p.n + j]);
    }
  }
}

template <class T>
std::vector<T> multiply_all(const std::vector<T>& a, const std::vector<T>& b, const Product& p) {
  std::vector<Accumulator<T>> sums;
  for (size_t batch = 0; batch < p.a_matrices.size(); ++batch) {
    multiply_matrices(a.data() + p.a_matrices[batch] * p.m * p.k, b.data() + p.b_matrices[batch] * p.k * p.n, p, sums);
  }
  std::vector<T> out;
  for (const auto& sum : sums) out.push_back(static_cast<T>(sum));
  return out;
}

// The elements minus their zero point: one for all, or one for each row (`axis` -2) or column (-1) of the matrices.
std::vector<int32_t> without_zero_point(const Tensor& x, const Tensor& zero_point, int64_t axis) {
  const std::vector<int64_t> values = x.to_int64s();
  std::vector<int32_t> out(values.begin(), values.end());
  if (zero_point.is_empty()) return out;
  const std::vector<int64_t> zeros = zero_point.to_int64s();
  std::vector<int64_t> shape = zero_point.shape();
  if (axis == -2 && shape.size() == 1) shape.push_back(1);
  if (zeros.size() == 1) shape = {};
  const std::vector<int64_t> from = broadcast_indices(shape, x.shape());
  for (size_t i = 0; i < out.size(); ++i) out[i] -= static_cast<int32_t>(zeros[static_cast<size_t>(from[i])]);
  return out;
}

template <class T>
std::vector<T> maybe_transposed(std::vector<T> x, const std::vector<int64_t>& shape, bool is_transposed) {
  if (!is_transposed) return x;
  std::vector<T> out;
  for (int64_t j = 0; j < shape[1]; ++j) {
    for (int64_t i = 0; i < shape[0]; ++i) out.push_back(x[static_cast<size_t>(i * shape[1] + j)]);
  }
  return out;
}

}  // namespace

Result<Tensors> evaluate_matmul(const Evaluation& e) {
  const Product product = product_of(e.inputs[0].shape(), e.inputs[1].shape());
  Tensors out;
  visit_number(e.result_dtype(), [&]<class T>(TypeTag<T>) {
    out.push_back(store(e.result_dtype(), e.result_shape(), multiply_all(load<T>(e.inputs[0]), load<T>(e.inputs[1]), product)));
  });
  if (out.empty()) return e.unsupported_type(e.result_dtype());
  return out;
}

Result<Tensors> evaluate_gemm(const Evaluation& e) {
  const bool transposes_a = e.node.int_attribute("transA", 0) != 0, transposes_b = e.node.int_attribute("transB", 0) != 0;
  const std::vector<int64_t> shape = e.result_shape();
  Product product = product_of({shape[0], e.inputs[0].shape()[transposes_a ? 0 : 1]}, {e.inputs[0].shape()[transposes_a ? 0 : 1], shape[1]});
  Tensors out;
  visit_number(e.result_dtype(), [&]<class T>(TypeTag<T>) {
    const std::vector<T> a = maybe_transposed(load<T>(e.inputs[0]), e.inputs[0].shape(), transposes_a);
    const std::vector<T> b = maybe_transposed(load<T>(e.inputs[1]), e.inputs[1].shape(), transposes_b);
    const T alpha = static_cast<T>(e.node.float_attribute("alpha", 1)), beta = static_cast<T>(e.node.float_attribute("beta", 1));
    std::vector<T> elements = multiply_all(a, b, product);
    for (T& element : elements) element = multiply(alpha, element);
    if (e.has_input(2)) {
      const std::vector<T> c = load<T>(e.inputs[2]);
      const std::vector<int64_t> from = broadcast_indices(e.inputs[2].shape(), shape);
      for (size_t i = 0; i < elements.size(); ++i) elements[i] = add(elements[i], multiply(beta, c[static_cast<size_t>(from[i])]));
    }
    out.push_back(store(e.result_dtype(), shape, elements));
  });
  if (out.empty()) return e.unsupported_type(e.result_dtype());
  return out;
}

Result<Tensors> evaluate_matmul_integer(const Evaluation& e) {
  const Product product = product_of(e.inputs[0].shape(), e.inputs[1].shape());
  const std::vector<int32_t> a = without_zero_point(e.inputs[0], e.has_input(2) ? e.inputs[2] : Tensor(), -2);
  const std::vector<int32_t> b = without_zero_point(e.inputs[1], e.has_input(3) ? e.inputs[3] : Tensor(), -1);
  return one(store(DType::Int32, e.result_shape(), multiply_all(a, b, product)));
}

}  // namespace tiffin::reference
