// SPDX-License-Identifier: Apache-2.0
// Tiffin's own PackPanels: the last axis in panels of 16 that come first, zero padded.
#include <cstring>

#include "compiler/ops/shape_rules.h"
#include "compiler/reference/evaluation.h"

namespace tiffin::reference {

Result<Tensors> evaluate_pack_panels(const Evaluation& e) {
  const Tensor& x = e.inputs[0];
  const int bits = dtype_bits(x.dtype());
  if (bits < 8 || x.rank() == 0) return e.unsupported_type(x.dtype());
  const auto element = static_cast<size_t>(bits) / 8;
  const auto columns = static_cast<size_t>(x.shape().back());
  const size_t rows = columns == 0 ? 0 : static_cast<size_t>(x.num_elements()) / columns;
  const std::vector<int64_t> shape = e.result_shape();
  std::vector<uint8_t> out(static_cast<size_t>(graph::num_elements(shape)) * element, 0);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; column += ops::kPanelColumns) {
      const size_t run = std::min<size_t>(ops::kPanelColumns, columns - column);
      const size_t target = (column / ops::kPanelColumns * rows + row) * ops::kPanelColumns;
      memcpy(out.data() + target * element, x.bytes().data() + (row * columns + column) * element, run * element);
    }
  }
  return one(Tensor(x.dtype(), shape, std::move(out)));
}

}  // namespace tiffin::reference
