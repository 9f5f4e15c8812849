// SPDX-License-Identifier: Apache-2.0
#include "fuzz/memory_file.h"
#include "fuzz/target.h"
#include "tools/commands/npy.h"

bool tiffin::fuzz::accepts(std::span<const uint8_t> bytes) {
  auto tensor = tools::read_npy(path_of_memory(bytes));
  if (!tensor.has_value()) return false;
  require(tensor->size_bytes() <= bytes.size(), "an array is no larger than its file");
  use(tools::type_text(*tensor));
  for (const DType wanted : {DType::BFloat16, DType::Float8E4M3FN, DType::Int4}) {
    if (tensor->item_bytes() == 0) break;
    auto adopted = tools::adopt_raw(std::move(tensor).value(), wanted);
    if (!adopted.has_value()) break;
    *tensor = std::move(adopted).value();
  }
  return true;
}
