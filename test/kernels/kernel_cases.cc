// SPDX-License-Identifier: Apache-2.0
#include "test/kernels/kernel_cases.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compiler/kernel/interpreter.h"
#include "compiler/kernel/verifier.h"
#include "compiler/ops/infer.h"
#include "compiler/reference/evaluate.h"

namespace tiffin::kernel_cases {

using graph::Graph;
using graph::NodeId;
using graph::Tensor;
using graph::ValueId;

namespace {

template <class T>
void append(std::vector<uint8_t>& bytes, T value) {
  const auto* first = reinterpret_cast<const uint8_t*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof(T));
}

void append_number(std::vector<uint8_t>& bytes, DType dtype, double value) {
  const auto whole = static_cast<int64_t>(std::llround(value));
  switch (dtype) {
    case DType::Float32:
      return append(bytes, static_cast<float>(value));
    case DType::Float64:
      return append(bytes, value);
    case DType::Float16:
      return append(bytes, graph::float_to_half(static_cast<float>(value)));
    case DType::BFloat16:
      return append(bytes, graph::float_to_bfloat16(static_cast<float>(value)));
    case DType::Bool:
      return append(bytes, static_cast<uint8_t>(whole & 1));
    case DType::Int8:
    case DType::UInt8:
      return append(bytes, static_cast<uint8_t>(whole));
    case DType::Int16:
    case DType::UInt16:
      return append(bytes, static_cast<uint16_t>(whole));
    case DType::Int32:
    case DType::UInt32:
      return append(bytes, static_cast<uint32_t>(whole));
    default:
      return append(bytes, whole);
  }
}

void expect_equal(const Tensor& actual, const Tensor& expected, double tolerance, const std::string& where) {
  ASSERT_EQ(actual.dtype(), expected.dtype()) << where;
  ASSERT_EQ(actual.shape(), expected.shape()) << where;
  if (!is_standard_float(actual.dtype())) {
    EXPECT_EQ(actual.to_int64s(), expected.to_int64s()) << where;
    return;
  }
  const bool is_short = actual.dtype() == DType::Float16 || actual.dtype() == DType::BFloat16;
  if (is_short) tolerance = std::max(tolerance, actual.dtype() == DType::Float16 ? 4e-3 : 3e-2);
  const std::vector<double> a = actual.to_doubles(), e = expected.to_doubles();
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(e[i]) && std::isnan(a[i])) continue;
    if (a[i] == e[i]) continue;
    ASSERT_LE(std::abs(a[i] - e[i]), tolerance * (1 + std::abs(e[i]))) << where << " element " << i << ": " << a[i] << ", expected " << e[i];
  }
}

}  // namespace

ValueId Case::input(DType dtype, std::vector<int64_t> shape, double low, double high) {
  std::vector<uint8_t> bytes;
  std::uniform_real_distribution<double> numbers(low, high);
  for (int64_t i = graph::num_elements(shape); i > 0; --i) append_number(bytes, dtype, numbers(random));
  inputs.emplace_back(dtype, shape, std::move(bytes));
  return graph.add_input("", graph::Type::with_shape(dtype, shape));
}

std::vector<kernel::Machine> machines() {
  kernel::Machine sse{.vector_bytes = 16}, avx2{.vector_bytes = 32, .has_fma = true}, avx512{.vector_bytes = 64, .vector_registers = 32};
  avx512.has_fma = avx512.has_masks = true;
  return {sse, avx2, avx512};
}

Status run(const kernel::LoweredKernel& lowered, const Graph& graph, std::vector<Tensor>& values) {
  std::vector<std::vector<uint8_t>> memory;
  std::vector<void*> pointers;
  for (size_t i = 0; i < lowered.buffers.size(); ++i) {
    const ValueId id = lowered.buffers[i];
    const kernel::Buffer* buffer = lowered.kernel->parameters()[i];
    uint64_t bytes = 0;
    if (!storage_bytes(buffer->dtype, static_cast<uint64_t>(buffer->size), &bytes)) return error(Code::Internal, "buffer too large");
    memory.emplace_back(bytes, uint8_t{0xab});
    if (!buffer->is_output)
      std::copy(values[static_cast<size_t>(id)].bytes().begin(), values[static_cast<size_t>(id)].bytes().end(), memory.back().begin());
  }
  for (auto& bytes : memory) pointers.push_back(bytes.data());
  // In two parts and out of order: the results may not depend on it.
  const int64_t middle = lowered.kernel->units / 2;
  TIFFIN_TRY(kernel::interpret(*lowered.kernel, pointers, middle, lowered.kernel->units));
  TIFFIN_TRY(kernel::interpret(*lowered.kernel, pointers, 0, middle));
  for (size_t i = 0; i < lowered.buffers.size(); ++i) {
    if (!lowered.kernel->parameters()[i]->is_output) continue;
    const graph::Value& value = graph.value(lowered.buffers[i]);
    values[static_cast<size_t>(lowered.buffers[i])] = Tensor(value.type.dtype, value.type.static_shape(), memory[i]);
  }
  return {};
}

namespace {

std::vector<Tensor> known_values(const Case& c) {
  std::vector<Tensor> values(c.graph.value_capacity());
  for (size_t i = 0; i < c.inputs.size(); ++i) values[static_cast<size_t>(c.graph.inputs()[i])] = c.inputs[i];
  for (size_t id = 0; id < values.size(); ++id) {
    if (const Tensor* tensor = c.graph.tensor_of(static_cast<ValueId>(id))) values[id] = *tensor;
  }
  return values;
}

void lower_and_run(const Case& c, std::span<const NodeId> nodes, const kernel::LowerOptions& options, std::vector<Tensor>& values) {
  auto lowered = kernel::lower_group(c.graph, nodes, options);
  ASSERT_TRUE(lowered.has_value()) << lowered.error().message();
  const Status verified = kernel::verify(*lowered->kernel);
  ASSERT_TRUE(verified.is_ok()) << verified.message();
  const Status ran = run(*lowered, c.graph, values);
  ASSERT_TRUE(ran.is_ok()) << ran.message();
}

}  // namespace

void expect_agreement(Case& c, double tolerance) {
  const Status inferred = ops::infer_types(c.graph);
  ASSERT_TRUE(inferred.is_ok()) << inferred.message() << " seed " << c.seed;
  auto expected = reference::evaluate_graph(c.graph, c.inputs);
  ASSERT_TRUE(expected.has_value()) << expected.error().message() << " seed " << c.seed;
  const std::vector<NodeId> order = c.graph.topological_order();
  bool can_fuse = true;
  for (size_t i = 0; i + 1 < order.size(); ++i) can_fuse &= !kernel::needs_own_kernel(c.graph.node(order[i]).op);
  for (const kernel::Machine& machine : machines()) {
    for (const bool is_fused : {false, true}) {
      if (is_fused && (!can_fuse || order.size() == 1)) continue;
      for (const bool vectorise : {true, false}) {
        const std::string where = std::string("seed ") + std::to_string(c.seed) + ", " + std::to_string(machine.vector_bytes) + " bytes" +
                                  (is_fused ? ", fused" : "") + (vectorise ? "" : ", scalar");
        SCOPED_TRACE(where);
        std::vector<Tensor> values = known_values(c);
        const kernel::LowerOptions options{.machine = machine, .vectorise = vectorise};
        if (is_fused) lower_and_run(c, order, options, values);
        for (size_t i = 0; !is_fused && i < order.size(); ++i) {
          lower_and_run(c, {&order[i], 1}, options, values);
          if (testing::Test::HasFatalFailure()) return;
        }
        if (testing::Test::HasFatalFailure()) return;
        for (size_t i = 0; i < expected->size(); ++i) {
          expect_equal(values[static_cast<size_t>(c.graph.outputs()[i])], (*expected)[i], tolerance, where);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

}  // namespace tiffin::kernel_cases
