// SPDX-License-Identifier: Apache-2.0
// ONNX models in memory, without files of external data: what the importer takes is inferred, verified, printed and parsed again.
#include <memory>
#include <vector>

#include "compiler/import/onnx/import_onnx.h"
#include "fuzz/graphs.h"
#include "fuzz/target.h"

bool tiffin::fuzz::accepts(std::span<const uint8_t> bytes) {
  const auto owner = std::make_shared<const std::vector<uint8_t>>(bytes.begin(), bytes.end());
  import::ImportOptions options;
  options.dims["batch"] = 1;
  auto model = import::import_onnx(*owner, owner, "", options);
  if (!model.has_value()) return false;
  use(import::check_open_dims(model->graph).is_ok());
  check_graph(model->graph);
  return true;
}
