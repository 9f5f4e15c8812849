// SPDX-License-Identifier: Apache-2.0
#include "compiler/artifact/golden_section.h"

#include <algorithm>
#include <cstring>

#include "base/golden/section.h"

namespace tiffin::artifact {
namespace {

class Bytes {
 public:
  template <class T>
  void add(const T& object) {
    add_bytes(reinterpret_cast<const uint8_t*>(&object), sizeof(T));
  }
  void add_bytes(const uint8_t* first, size_t count) { bytes_.insert(bytes_.end(), first, first + count); }
  void pad() { bytes_.resize(golden::padded(bytes_.size())); }
  std::vector<uint8_t> take() { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
};

void add_header(const GoldenCases& golden, Bytes& out) {
  const GoldenCase& first = golden.cases[0];
  tiffin_golden_header header{};
  header.entry = golden.entry;
  header.case_count = static_cast<uint32_t>(golden.cases.size());
  header.input_count = static_cast<uint32_t>(first.inputs.size());
  header.output_count = static_cast<uint32_t>(first.outputs.size());
  header.variant_count = static_cast<uint32_t>(golden.sketches.size());
  out.add(header);
  for (const auto* tensors : {&first.inputs, &first.outputs}) {
    for (const GoldenTensor& tensor : *tensors) out.add(tiffin_golden_tensor{static_cast<uint32_t>(tensor.dtype), 0, tensor.bytes.size()});
  }
}

bool same_tensors(const std::vector<GoldenTensor>& a, const std::vector<GoldenTensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const GoldenTensor& x, const GoldenTensor& y) { return x.dtype == y.dtype && x.bytes == y.bytes; });
}

bool same_cases(const GoldenCases& a, const GoldenCases& b) {
  return a.entry == b.entry &&
         std::equal(a.cases.begin(), a.cases.end(), b.cases.begin(), b.cases.end(),
                    [](const GoldenCase& x, const GoldenCase& y) { return same_tensors(x.inputs, y.inputs) && same_tensors(x.outputs, y.outputs); });
}

GoldenTensor tensor_of(const golden::Section& section, uint32_t number, size_t index) {
  const auto bytes = section.elements(number, index);
  return {static_cast<DType>(section.tensors()[index].dtype), {bytes.begin(), bytes.end()}};
}

}  // namespace

std::vector<uint8_t> serialize(const GoldenCases& golden) {
  if (golden.cases.empty()) return {};
  Bytes out;
  add_header(golden, out);
  for (const GoldenCase& one : golden.cases) {
    for (const tiffin_golden_tolerance& tolerance : one.tolerances) out.add(tolerance);
  }
  for (const auto& [variant, cases] : golden.sketches) {
    out.add(tiffin_golden_variant{variant, static_cast<uint32_t>(cases.empty() ? 0 : cases[0].size())});
  }
  for (const auto& [variant, cases] : golden.sketches) {
    for (const auto& sketches : cases) {
      for (const tiffin_golden_sketch& sketch : sketches) out.add(sketch);
    }
  }
  for (const GoldenCase& one : golden.cases) {
    for (const auto* tensors : {&one.inputs, &one.outputs}) {
      for (const GoldenTensor& tensor : *tensors) {
        out.add_bytes(tensor.bytes.data(), tensor.bytes.size());
        out.pad();
      }
    }
  }
  std::vector<uint8_t> bytes = out.take();
  const uint64_t length = bytes.size();
  memcpy(bytes.data() + offsetof(tiffin_golden_header, total_length), &length, sizeof(length));
  return bytes;
}

Result<GoldenCases> read_golden(const std::vector<uint8_t>& bytes) {
  GoldenCases out;
  if (bytes.empty()) return out;
  TIFFIN_ASSIGN_OR_RETURN(const golden::Section section, golden::Section::read(bytes));
  const tiffin_golden_header& header = section.header();
  out.entry = header.entry;
  for (uint32_t number = 0; number < header.case_count; ++number) {
    GoldenCase one;
    for (uint32_t i = 0; i < header.input_count; ++i) one.inputs.push_back(tensor_of(section, number, i));
    for (uint32_t i = 0; i < header.output_count; ++i) {
      one.outputs.push_back(tensor_of(section, number, header.input_count + i));
      one.tolerances.push_back(section.tolerance(number, i));
    }
    out.cases.push_back(std::move(one));
  }
  for (const tiffin_golden_variant& row : section.variants()) {
    auto& cases = out.sketches[row.variant];
    for (uint32_t number = 0; number < header.case_count; ++number) {
      const auto sketches = section.sketches(row.variant, number);
      cases.emplace_back(sketches.begin(), sketches.end());
    }
  }
  return out;
}

Result<std::vector<uint8_t>> join_golden(const std::vector<uint8_t>& first, const std::vector<uint8_t>& second, uint32_t first_count) {
  TIFFIN_ASSIGN_OR_RETURN(GoldenCases joined, read_golden(first));
  TIFFIN_ASSIGN_OR_RETURN(GoldenCases other, read_golden(second));
  if (joined.cases.empty()) {
    joined.entry = other.entry;
    joined.cases = std::move(other.cases);
  } else if (!same_cases(joined, other)) {
    return first;
  }
  for (auto& [variant, cases] : other.sketches) joined.sketches[variant + first_count] = std::move(cases);
  return serialize(joined);
}

}  // namespace tiffin::artifact
