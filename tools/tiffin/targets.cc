// SPDX-License-Identifier: Apache-2.0
// `tiffin targets`: what can be compiled for.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "compiler/codegen/target.h"
#include "tools/commands/json_output.h"
#include "tools/tiffin/parse_words.h"
#include "tools/tiffin/subcommands.h"

namespace tiffin::tools {
namespace {

constexpr const char* kArchitectures[] = {"x86_64", "aarch64"};

std::string native_target() {
  Result<codegen::Target> target = codegen::parse_target("llvm -mcpu=native");
  return target.has_value() ? target->text : std::string();
}

// {feature: [what it implies]} and {cpu: [its features]}, of the features that code may use.
nlohmann::ordered_json feature_tables(const codegen::CpuTable& table) {
  const auto names = [&](uint32_t mask) {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (size_t i = 0; i < table.features.size(); ++i) {
      if ((mask >> i & 1) != 0) out.push_back(table.features[i]);
    }
    return out;
  };
  nlohmann::ordered_json out = {{"features", nlohmann::ordered_json::object()}, {"cpu_features", nlohmann::ordered_json::object()}};
  for (size_t i = 0; i < table.features.size(); ++i) out["features"][table.features[i]] = names(table.implied[i]);
  for (const auto& [cpu, mask] : table.cpus) out["cpu_features"][cpu] = names(mask);
  return out;
}

Status print_json() {
  nlohmann::ordered_json out;
  out["native"] = native_target();
  out["targets"] = nlohmann::ordered_json::array();
  for (const char* architecture : kArchitectures) {
    out["targets"].push_back({{"kind", "llvm"}, {"triple", fmt::format("{}-linux-gnu", architecture)}, {"cpus", codegen::known_cpus(architecture)}});
    out["targets"].back().update(feature_tables(codegen::cpu_table(architecture)));
  }
  fmt::print("{}\n", out.dump());
  return flush_output();
}

Status print_text() {
  fmt::print("native: {}\n", native_target());
  for (const char* architecture : kArchitectures) {
    fmt::print("llvm -mtriple={}-linux-gnu -mcpu=\n ", architecture);
    size_t column = 1;
    for (const std::string& cpu : codegen::known_cpus(architecture)) {
      if (column + cpu.size() > 100) {
        fmt::print("\n ");
        column = 1;
      }
      fmt::print(" {}", cpu);
      column += cpu.size() + 1;
    }
    fmt::print("\n");
  }
  return flush_output();
}

}  // namespace

int targets_command(int count, char** words) {
  bool json = false;
  CLI::App app("Lists the targets that models can be compiled for.", "tiffin targets");
  app.add_flag("--json", json, "print one JSON object");
  if (const std::optional<int> done = parse_words(app, count, words)) return *done;
  return exit_status(json ? print_json() : print_text(), json);
}

}  // namespace tiffin::tools
