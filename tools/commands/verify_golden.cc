// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/verify_golden.h"

#include <cinttypes>
#include <cmath>
#include <cstdio>

#include "base/params/param_file.h"
#include "tools/commands/byte_file.h"

namespace tiffin::tools {
namespace {

bool is_foreign(Code code) { return code == Code::NoVariant || code == Code::MissingCpuFeature; }

Status set_reason(GoldenAnswer* out, const char* reason, const char* detail) {
  out->not_run.add(reason);
  out->not_run.add(detail);
  return out->not_run.has_failed() ? out_of_memory() : Status();
}

Result<runtime::Ref<runtime::ParameterSet>> read_parameters(const Arguments& arguments, const runtime::Module& module) {
  if (arguments.params == nullptr) return runtime::Ref<runtime::ParameterSet>();
  TIFFIN_ASSIGN_OR_RETURN(params::ParamFile file, params::ParamFile::open(arguments.params));
  runtime::LoadReport report;
  return runtime::ParameterSet::from_file(module.artifact(), std::move(file), {.new_weights = arguments.new_weights}, report);
}

}  // namespace

Status verify_golden(const Arguments& arguments, const runtime::Artifact& artifact, GoldenAnswer* out) {
  TIFFIN_ASSIGN_OR_RETURN(out->verdict.cases, runtime::golden_case_count(artifact.container()));
  if (out->verdict.cases == 0) return {};
  const bool has_weights = artifact.weights() != nullptr || artifact.storage_plan().parameter_count() == 0;
  if (!has_weights && arguments.params == nullptr) return set_reason(out, "the weights are not inside, give them with --params", "");
  Result<runtime::Ref<runtime::Module>> module = runtime::Module::load(arguments.file, {.verify = runtime::VerifyLevel::None});
  if (!module.has_value()) {
    const Status failure = module.take_error();
    return is_foreign(failure.code()) ? set_reason(out, "not on this machine: ", failure.message()) : failure.clone();
  }
  out->module = std::move(module).value();
  TIFFIN_ASSIGN_OR_RETURN(runtime::Ref<runtime::ParameterSet> parameters, read_parameters(arguments, *out->module));
  TIFFIN_ASSIGN_OR_RETURN(out->verdict, runtime::run_golden_cases(out->module, std::move(parameters), {.threads = arguments.values.threads}));
  if (arguments.new_weights && out->verdict.failure.code() == Code::GoldenMismatch) {
    out->verdict.failure = std::move(out->verdict.failure)
                               .with_remedy(
                                   "the cases were recorded with the old weights, whose results new ones do not give: leave out --new-weights to "
                                   "check the kernels, or record cases with the new weights");
  }
  return {};
}

Status skip_golden(const Status& reason, GoldenAnswer* out) {
  return out->verdict.cases == 0 ? Status() : set_reason(out, "not by this runtime: ", reason.message());
}

// Why no case was run: what was found, or that something before failed.
static std::string_view reason_of(const GoldenAnswer& answer) {
  if (answer.module.get() != nullptr || answer.verdict.cases == 0) return {};
  return answer.not_run.view().empty() ? "the digests or the signature do not hold" : answer.not_run.view();
}

void write_golden(JsonOutput& out, const GoldenAnswer& answer) {
  const runtime::GoldenVerdict& verdict = answer.verdict;
  const bool has_run = answer.module.get() != nullptr && verdict.cases > 0;
  out.begin_object("golden");
  out.number("cases", verdict.cases);
  out.number("passed", verdict.passed);
  if (has_run) {
    out.real("worst_ulp", verdict.worst_ulp);
  } else {
    out.null("worst_ulp");
  }
  if (verdict.first_bad_kernel != nullptr) {
    out.text("first_bad_kernel", verdict.first_bad_kernel);
  } else {
    out.null("first_bad_kernel");
  }
  if (!reason_of(answer).empty()) out.text("not_run", reason_of(answer));
  out.end_object();
}

void print_golden(const GoldenAnswer& answer) {
  const runtime::GoldenVerdict& verdict = answer.verdict;
  if (verdict.cases == 0) return;
  if (answer.module.get() == nullptr) {
    const std::string_view reason = reason_of(answer);
    printf(", %" PRIu64 " golden cases not run: %.*s", verdict.cases, static_cast<int>(reason.size()), reason.data());
  } else {
    printf(", %" PRIu64 " of %" PRIu64 " golden cases passed, worst %.3g ulp", verdict.passed, verdict.cases, verdict.worst_ulp);
  }
}

}  // namespace tiffin::tools
