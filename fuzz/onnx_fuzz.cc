// SPDX-License-Identifier: Apache-2.0
// ONNX models in memory, without files of external data: what the importer takes is inferred, verified, printed and parsed again.
#include <memory>
#include <vector>

#include "compiler/import/onnx/import_onnx.h"
#include "fuzz/graphs.h"
#include "fuzz/target.h"

bool tiffin::fuzz::accepts(std::span<const uint8_t> bytes) {
  const auto owner = std::make_shared<const std::vector<uint8_t>>(bytes.begin(), bytes.end());
  auto model = import::import_onnx(*owner, owner, "", {});
  if (!model.has_value()) return false;
  if (!import::check_open_dims(model->graph).is_ok()) {
    import::ImportOptions options;
    options.dims["batch"] = 1;
    auto closed = import::import_onnx(*owner, owner, "", options);
    if (closed.has_value()) model = std::move(closed);
  }
  check_graph(model->graph);
  return true;
}
