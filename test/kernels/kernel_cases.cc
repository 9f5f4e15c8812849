// SPDX-License-Identifier: Apache-2.0
#include "test/kernels/kernel_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "compiler/codegen/llvm/compile.h"
#include "compiler/codegen/llvm/loaded_blob.h"
#include "compiler/kernel/interpreter.h"
#include "compiler/kernel/printer.h"
#include "compiler/kernel/verifier.h"
#include "compiler/ops/infer.h"
#include "compiler/reference/evaluate.h"
#include "test/portable/run_record.h"

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

}  // namespace

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

namespace {

Tensor random_tensor(std::mt19937_64& random, DType dtype, const std::vector<int64_t>& shape, double low, double high) {
  std::vector<uint8_t> bytes;
  std::uniform_real_distribution<double> numbers(low, high);
  for (int64_t i = graph::num_elements(shape); i > 0; --i) append_number(bytes, dtype, numbers(random));
  return Tensor(dtype, shape, std::move(bytes));
}

}  // namespace

ValueId Case::input(DType dtype, std::vector<int64_t> shape, double low, double high) {
  inputs.push_back(random_tensor(random, dtype, shape, low, high));
  return graph.add_input("", graph::Type::with_shape(dtype, shape));
}

ValueId Case::parameter(DType dtype, std::vector<int64_t> shape, double low, double high) {
  return graph.add_parameter("", random_tensor(random, dtype, shape, low, high));
}

const std::vector<codegen::Target>& targets() {
  static const std::vector<codegen::Target> all = [] {
    std::vector<codegen::Target> parsed;
    for (const char* cpu : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
      parsed.push_back(codegen::parse_target(std::string("llvm -mtriple=x86_64-linux-gnu -mcpu=") + cpu).value());
    }
    return parsed;
  }();
  return all;
}

namespace {

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// One kernel's buffers, aligned as kernels may expect; outputs hold what no result may keep.
class Buffers {
 public:
  Buffers(const kernel::LoweredKernel& lowered, const std::vector<Tensor>& values) {
    for (size_t i = 0; i < lowered.buffers.size(); ++i) {
      const kernel::Buffer* buffer = lowered.kernel->parameters()[i];
      uint64_t bytes = 0;
      if (!storage_bytes(buffer->dtype, static_cast<uint64_t>(buffer->size), &bytes)) std::abort();
      pointers_.push_back(std::aligned_alloc(64, (bytes + 127) / 64 * 64));
      memory_.emplace_back(pointers_.back());
      sizes_.push_back(bytes);
      std::memset(pointers_.back(), 0xab, bytes);
      const auto known = values[static_cast<size_t>(lowered.buffers[i])].bytes();
      if (!buffer->is_output && !known.empty()) std::memcpy(pointers_.back(), known.data(), known.size());
    }
  }

  const std::vector<void*>& pointers() const { return pointers_; }
  std::span<const uint8_t> bytes(size_t i) const { return {static_cast<const uint8_t*>(pointers_[i]), sizes_[i]}; }

 private:
  std::vector<std::unique_ptr<void, Free>> memory_;
  std::vector<void*> pointers_;
  std::vector<size_t> sizes_;
};

// In two parts and out of order: the results may not depend on it.
Status interpret(const kernel::Kernel& kernel, const Buffers& buffers) {
  const int64_t middle = kernel.units / 2;
  TIFFIN_TRY(kernel::interpret(kernel, buffers.pointers(), middle, kernel.units));
  return kernel::interpret(kernel, buffers.pointers(), 0, middle);
}

void take_outputs(const kernel::LoweredKernel& lowered, const Graph& graph, const Buffers& buffers, std::vector<Tensor>& values) {
  for (size_t i = 0; i < lowered.buffers.size(); ++i) {
    if (!lowered.kernel->parameters()[i]->is_output) continue;
    const graph::Value& value = graph.value(lowered.buffers[i]);
    values[static_cast<size_t>(lowered.buffers[i])] =
        Tensor(value.type.dtype, value.type.static_shape(), std::vector<uint8_t>(buffers.bytes(i).begin(), buffers.bytes(i).end()));
  }
}

bool is_nan_element(DType dtype, const uint8_t* element) {
  if (!is_standard_float(dtype)) return false;
  const Tensor one(dtype, std::vector<int64_t>{}, std::vector<uint8_t>(element, element + dtype_bits(dtype) / 8));
  return std::isnan(one.to_doubles()[0]);
}

// The same bits, but any NaN for any NaN.
void expect_same_bits(const kernel::LoweredKernel& lowered, const Buffers& expected, const Buffers& actual) {
  for (size_t i = 0; i < lowered.buffers.size(); ++i) {
    if (std::ranges::equal(expected.bytes(i), actual.bytes(i))) continue;
    const kernel::Buffer* buffer = lowered.kernel->parameters()[i];
    const auto width = static_cast<size_t>(dtype_bits(buffer->dtype) / 8);
    for (size_t at = 0; at < expected.bytes(i).size(); at += width) {
      const uint8_t *want = expected.bytes(i).data() + at, *got = actual.bytes(i).data() + at;
      if (std::equal(want, want + width, got) || (is_nan_element(buffer->dtype, want) && is_nan_element(buffer->dtype, got))) continue;
      FAIL() << "compiled code, or the kernel as data, leaves other bits than the interpreter in element " << at / width << " of buffer '"
             << buffer->name << "' of\n"
             << kernel::print(*lowered.kernel);
    }
  }
}

void run_as_data(const kernel::LoweredKernel& lowered, const Buffers& buffers) {
  const int64_t middle = lowered.kernel->units / 3;
  for (const auto& [begin, end] : {std::pair(middle, lowered.kernel->units), std::pair(int64_t{0}, middle)}) {
    int32_t status = 0;
    const Status ran = portable::run_as_data(*lowered.kernel, buffers.pointers(), begin, end, &status);
    ASSERT_TRUE(ran.is_ok()) << ran.message();
    EXPECT_EQ(status, 0);
  }
}

void run_compiled(const kernel::LoweredKernel& lowered, tiffin_kernel_function function, const Buffers& buffers) {
  const auto scratch_bytes = static_cast<size_t>(lowered.kernel->scratch_bytes + 127) / 64 * 64;
  const std::unique_ptr<void, Free> scratch(std::aligned_alloc(64, scratch_bytes));
  const int64_t middle = lowered.kernel->units / 3;
  EXPECT_EQ(function(buffers.pointers().data(), scratch.get(), middle, lowered.kernel->units), 0);
  EXPECT_EQ(function(buffers.pointers().data(), scratch.get(), 0, middle), 0);
}

}  // namespace

std::vector<Tensor> known_values(const Case& c) {
  std::vector<Tensor> values(c.graph.value_capacity());
  for (size_t i = 0; i < c.inputs.size(); ++i) values[static_cast<size_t>(c.graph.inputs()[i])] = c.inputs[i];
  for (size_t id = 0; id < values.size(); ++id) {
    if (const Tensor* tensor = c.graph.tensor_of(static_cast<ValueId>(id))) values[id] = *tensor;
  }
  return values;
}

namespace {

bool runs_here(const codegen::Target& target) {
  static const Result<codegen::Target> host = codegen::parse_target("llvm");
  return host.has_value() && target.elf_machine == host->elf_machine &&
         std::includes(host->features.begin(), host->features.end(), target.features.begin(), target.features.end());
}

}  // namespace

const codegen::Target* compiled_target(uint64_t seed) {
  std::vector<const codegen::Target*> candidates;
  for (const codegen::Target& target : targets()) {
    if (runs_here(target)) candidates.push_back(&target);
  }
  return candidates.empty() ? nullptr : candidates[seed % candidates.size()];
}

namespace {

using LoweredKernels = std::vector<kernel::LoweredKernel>;

void lower_all(const Case& c, bool is_fused, const kernel::LowerOptions& options, LoweredKernels& kernels) {
  const std::vector<NodeId> order = c.graph.topological_order();
  const size_t step = is_fused ? order.size() : 1;
  for (size_t i = 0; i < order.size(); i += step) {
    auto lowered = kernel::lower_group(c.graph, {&order[i], step}, options);
    ASSERT_TRUE(lowered.has_value()) << lowered.error().message();
    const Status verified = kernel::verify(*lowered->kernel);
    ASSERT_TRUE(verified.is_ok()) << verified.message();
    kernels.push_back(std::move(lowered).value());
  }
}

}  // namespace

void run_all(const Graph& graph, std::span<const kernel::LoweredKernel> kernels, const codegen::Target* target, std::vector<Tensor>& values) {
  Result<codegen::CodeBlob> blob = codegen::CodeBlob();
  if (target != nullptr) {
    std::vector<const kernel::Kernel*> pointers;
    for (const auto& lowered : kernels) pointers.push_back(lowered.kernel.get());
    blob = codegen::compile_kernels(pointers, *target, {});
    ASSERT_TRUE(blob.has_value()) << blob.error().message();
  }
  const codegen::LoadedBlob code(*blob);
  for (size_t i = 0; i < kernels.size(); ++i) {
    const Buffers interpreted(kernels[i], values);
    const Status ran = interpret(*kernels[i].kernel, interpreted);
    ASSERT_TRUE(ran.is_ok()) << ran.message();
    const Buffers as_data(kernels[i], values);
    run_as_data(kernels[i], as_data);
    expect_same_bits(kernels[i], interpreted, as_data);
    if (target != nullptr) {
      const Buffers compiled(kernels[i], values);
      ASSERT_TRUE(code.is_ready());
      run_compiled(kernels[i], code.function(i), compiled);
      expect_same_bits(kernels[i], interpreted, compiled);
    }
    take_outputs(kernels[i], graph, interpreted, values);
  }
}

Status run(const kernel::LoweredKernel& lowered, const Graph& graph, std::vector<Tensor>& values) {
  const Buffers buffers(lowered, values);
  TIFFIN_TRY(interpret(*lowered.kernel, buffers));
  take_outputs(lowered, graph, buffers, values);
  return {};
}

void expect_agreement(Case& c, double tolerance) {
  const Status inferred = ops::infer_types(c.graph);
  ASSERT_TRUE(inferred.is_ok()) << inferred.message() << " seed " << c.seed;
  auto expected = reference::evaluate_graph(c.graph, c.inputs);
  ASSERT_TRUE(expected.has_value()) << expected.error().message() << " seed " << c.seed;
  const std::vector<NodeId> order = c.graph.topological_order();
  bool can_fuse = order.size() > 1;
  for (size_t i = 0; i + 1 < order.size(); ++i) can_fuse &= !kernel::needs_own_kernel(c.graph.node(order[i]).op);
  const codegen::Target* compiled = compiled_target(c.seed);
  for (const codegen::Target& target : targets()) {
    for (const bool is_fused : {false, true}) {
      if (is_fused && !can_fuse) continue;
      for (const bool vectorise : {true, false}) {
        const std::string where = "seed " + std::to_string(c.seed) + ", " + target.text + (is_fused ? ", fused" : "") + (vectorise ? "" : ", scalar");
        SCOPED_TRACE(where);
        LoweredKernels kernels;
        lower_all(c, is_fused, {.machine = target.machine, .vectorise = vectorise}, kernels);
        if (testing::Test::HasFatalFailure()) return;
        std::vector<Tensor> values = known_values(c);
        run_all(c.graph, kernels, compiled == &target && vectorise && is_fused == can_fuse ? compiled : nullptr, values);
        if (testing::Test::HasFailure()) return;
        for (size_t i = 0; i < expected->size(); ++i) {
          expect_equal(values[static_cast<size_t>(c.graph.outputs()[i])], (*expected)[i], tolerance, where);
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
}

}  // namespace tiffin::kernel_cases
