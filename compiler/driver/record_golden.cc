// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/record_golden.h"

#include "compiler/driver/pipeline.h"
#include "compiler/driver/read_model.h"

namespace tiffin::driver {

GoldenRecording::GoldenRecording(const std::string& model, const import::ImportOptions& import_options, const CompileOptions& options, int threads)
    : model_(model), import_options_(import_options), options_(options) {
  if (options.golden_count == 0 && !options.golden_inputs) return;
  golden::RecorderOptions recorder;
  recorder.count = options.golden_count;
  recorder.threads = threads;
  recorder.stop = options.stop;
  recorder.progress = [this](double fraction) {
    if (tell_) tell_(fraction);
  };
  recorder_ = std::make_unique<golden::Recorder>(std::move(recorder));
}

Status GoldenRecording::record_cases() {
  TIFFIN_ASSIGN_OR_RETURN(import::ImportedModel model, read_model(model_, import_options_));
  passes::PassContext context;
  context.opt_level = 0;
  RunnerOptions runner;
  runner.only = {"fold_constants", "decompose_operators"};
  runner.stop = options_.stop;
  TIFFIN_TRY(run_pipeline(model.graph, context, runner, nullptr));
  std::vector<std::vector<graph::Tensor>> given;
  if (options_.golden_inputs) {
    TIFFIN_ASSIGN_OR_RETURN(given, options_.golden_inputs(model.graph));
  }
  return recorder_->record_cases(model.graph, std::move(given)).with_context("golden cases");
}

Status GoldenRecording::add_variant(const graph::Graph& graph, const plan::Plan& plan, const std::function<void(double)>& tell) {
  if (recorder_ == nullptr) return {};
  const double cases_part = recorder_->has_cases() ? 0 : 0.5;
  tell_ = [&](double fraction) { tell(fraction * cases_part); };
  if (!recorder_->has_cases()) TIFFIN_TRY(record_cases());
  tell_ = [&](double fraction) { tell(cases_part + fraction * (1 - cases_part)); };
  Status status = recorder_->record_steps(variants_++, graph, plan).with_context("sketches of golden cases");
  tell_ = nullptr;
  return status;
}

}  // namespace tiffin::driver
