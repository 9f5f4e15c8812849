// SPDX-License-Identifier: Apache-2.0
// Golden cases of one compilation: asked for by the options, recorded variant by variant while the graphs are at hand.
#pragma once

#include <memory>
#include <string>

#include "compiler/driver/compile.h"
#include "compiler/golden/recorder.h"
#include "compiler/import/onnx/import_onnx.h"

namespace tiffin::driver {

class GoldenRecording {
 public:
  // Nothing is recorded unless the options ask for golden cases. They and the file are used until the last variant.
  GoldenRecording(const std::string& model, const import::ImportOptions& import_options, const CompileOptions& options, int threads);

  // With the first variant the model is read again and evaluated, as it was imported but for composite operators, which are taken apart. `plan` was
  // made of `graph`; `tell` hears how much of the variant is done.
  Status add_variant(const graph::Graph& graph, const plan::Plan& plan, const std::function<void(double)>& tell);
  // The section's bytes; none if nothing was asked for.
  std::vector<uint8_t> section() const { return recorder_ == nullptr ? std::vector<uint8_t>() : recorder_->section(); }

 private:
  Status record_cases();

  const std::string& model_;
  const import::ImportOptions& import_options_;
  const CompileOptions& options_;
  std::function<void(double)> tell_;
  std::unique_ptr<golden::Recorder> recorder_;
  uint32_t variants_ = 0;
};

}  // namespace tiffin::driver
