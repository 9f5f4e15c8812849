// SPDX-License-Identifier: Apache-2.0
#include "compiler/golden/random_inputs.h"

#include <string>

#include "base/float16.h"

namespace tiffin::golden {
namespace {

// splitmix64: G. Steele, D. Lea, C. Flood, "Fast splittable pseudorandom number generators".
class Stream {
 public:
  explicit Stream(uint64_t seed) : state_(seed) { next(); }
  uint64_t next() {
    state_ += 0x9E3779B97F4A7C15u;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
    return mixed ^ (mixed >> 31);
  }
  // The sum of twelve uniform numbers, less 6, has variance 1 and needs no logarithm.
  double next_normal() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(next() >> 11) * 0x1p-53;
    return sum;
  }

 private:
  uint64_t state_;
};

template <class T>
void append(std::vector<uint8_t>& bytes, T value) {
  const auto* first = reinterpret_cast<const uint8_t*>(&value);
  bytes.insert(bytes.end(), first, first + sizeof(T));
}

// False for a type that has no rule.
bool append_element(DType dtype, Stream& stream, uint64_t integer_limit, std::vector<uint8_t>& bytes) {
  switch (dtype) {
    case DType::Float32:
      append(bytes, static_cast<float>(stream.next_normal()));
      return true;
    case DType::Float64:
      append(bytes, stream.next_normal());
      return true;
    case DType::Float16:
      append(bytes, float_to_float16(static_cast<float>(stream.next_normal())));
      return true;
    case DType::BFloat16:
      append(bytes, float_to_bfloat16(static_cast<float>(stream.next_normal())));
      return true;
    default:
      break;
  }
  const uint64_t value = stream.next() % (dtype == DType::Bool ? 2 : integer_limit);
  switch (is_standard_int(dtype) || dtype == DType::Bool ? dtype_bits(dtype) : 0) {
    case 8:
      append(bytes, static_cast<uint8_t>(value));
      return true;
    case 16:
      append(bytes, static_cast<uint16_t>(value));
      return true;
    case 32:
      append(bytes, static_cast<uint32_t>(value));
      return true;
    case 64:
      append(bytes, value);
      return true;
    default:
      return false;
  }
}

}  // namespace

Result<std::vector<graph::Tensor>> random_inputs(const graph::Graph& graph, uint64_t seed, uint64_t integer_limit) {
  std::vector<graph::Tensor> inputs;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const graph::Value& value = graph.value(graph.inputs()[i]);
    Stream stream(seed * 0x10001 + i);
    std::vector<uint8_t> bytes;
    for (int64_t k = 0; k < value.type.num_elements(); ++k) {
      if (append_element(value.type.dtype, stream, integer_limit, bytes)) continue;
      return error(Code::UnsupportedType, "input '%s' is %s, for which there are no random elements", value.name.c_str(),
                   graph::to_string(value.type).c_str())
          .with_remedy("give inputs with --golden-inputs, or leave the golden cases out");
    }
    inputs.emplace_back(value.type.dtype, value.type.static_shape(), std::move(bytes));
  }
  return inputs;
}

}  // namespace tiffin::golden
