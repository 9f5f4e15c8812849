// SPDX-License-Identifier: Apache-2.0
// `tiffin diff`: what differs between two artifacts, by meaning. Exits as `diff` does: 0 the same, 1 different, 3 trouble.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/commands/json_output.h"
#include "tools/commands/open_artifact.h"
#include "tools/tiffin/compare_artifacts.h"
#include "tools/tiffin/parse_words.h"
#include "tools/tiffin/subcommands.h"

namespace tiffin::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Part {
  const char* name;
  std::vector<Difference> Comparison::*list;
};

// In the order in which people want to know them.
constexpr Part kParts[] = {{"interface", &Comparison::interface}, {"targets", &Comparison::targets}, {"producer", &Comparison::producer},
                           {"model", &Comparison::model},         {"options", &Comparison::options}, {"program", &Comparison::program},
                           {"kernels", &Comparison::kernels},     {"tensors", &Comparison::tensors}, {"sections", &Comparison::sections},
                           {"sizes", &Comparison::sizes}};

Json to_json(const Difference& one, bool is_tensor) {
  Json out = {{"name", one.name}, {"change", change_name(one.change)}};
  if (is_tensor) out["max_difference"] = std::isfinite(one.max_difference) ? Json(one.max_difference) : Json(nullptr);
  if (one.change == Change::Changed || one.change == Change::Removed) out["before"] = one.before;
  if (one.change == Change::Changed || one.change == Change::Added) out["after"] = one.after;
  return out;
}

void print_json(const Comparison& comparison) {
  Json out = {{"same", comparison.is_same()}};
  for (const Part& part : kParts) {
    Json list = Json::array();
    for (const Difference& one : comparison.*part.list) list.push_back(to_json(one, part.list == &Comparison::tensors));
    out[part.name] = std::move(list);
  }
  // One producer, not a list of them.
  Json producer = out["producer"][0];
  producer.erase("name");
  out["producer"] = std::move(producer);
  fmt::print("{}\n", out.dump(-1, ' ', false, Json::error_handler_t::replace));
}

void print_text(const Comparison& comparison) {
  for (const Part& part : kParts) {
    for (const Difference& one : comparison.*part.list) {
      if (one.change == Change::Equal) continue;
      std::string line = fmt::format("{:<10} {:<8} {}: ", part.name, change_name(one.change), one.name);
      if (one.change == Change::Removed) line += one.before;
      if (one.change == Change::Added) line += one.after;
      if (one.change == Change::Changed) line += one.before == one.after ? one.before : fmt::format("{} -> {}", one.before, one.after);
      if (part.list == &Comparison::tensors && !std::isnan(one.max_difference)) line += fmt::format(", largest difference {:g}", one.max_difference);
      fmt::print("{}\n", line);
    }
  }
}

Result<int> diff(const std::string& before_path, const std::string& after_path, bool json) {
  TIFFIN_ASSIGN_OR_RETURN(const runtime::Artifact before, open_to_describe(before_path.c_str()));
  TIFFIN_ASSIGN_OR_RETURN(const runtime::Artifact after, open_to_describe(after_path.c_str()));
  TIFFIN_ASSIGN_OR_RETURN(const Comparison comparison, compare_artifacts(before, after));
  json ? print_json(comparison) : print_text(comparison);
  TIFFIN_TRY(flush_output());
  return comparison.is_same() ? 0 : 1;
}

}  // namespace

int diff_command(int count, char** words) {
  bool json = false;
  std::string before, after;
  CLI::App app("Tells what differs between two artifacts by meaning: interface, targets, options, program, kernels, tensors, sizes.", "tiffin diff");
  app.add_option("A", before, "an artifact")->required();
  app.add_option("B", after, "another artifact")->required();
  app.add_flag("--json", json, "print one JSON object");
  if (const std::optional<int> done = parse_words(app, count, words)) return *done;
  Result<int> answer = diff(before, after, json);
  return answer.has_value() ? *answer : exit_status(answer.error(), json);
}

}  // namespace tiffin::tools
