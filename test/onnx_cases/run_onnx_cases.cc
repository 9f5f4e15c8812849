// SPDX-License-Identifier: Apache-2.0
// Runs a tree of ONNX cases (index.csv; <folder>/<case>/model.onnx with test_data_set_<n>/input_<i>.pb and output_<i>.pb) through import,
// folding, decomposition and the reference evaluator, each in a process of its own, and prints what differs from the expected outputs.
//
//   run_onnx_cases CASES [LIST] [--whole]     LIST: a file of case names, one a line; --whole: composites are evaluated without decomposition
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "compiler/graph/unsupported_list.h"
#include "compiler/import/onnx/import_onnx.h"
#include "compiler/import/onnx/tensor_proto.h"
#include "compiler/passes/decompose_operators.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/reference/evaluate.h"

namespace {

using namespace tiffin;
using graph::Tensor;

struct Case {
  std::string folder, name, operators;
  double rtol = 1e-3, atol = 1e-7;
};

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::stringstream stream(line);
  for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
  return fields;
}

std::vector<Case> read_index(const std::string& root, const std::set<std::string>& wanted) {
  std::ifstream file(root + "/index.csv");
  std::string line;
  std::getline(file, line);
  std::vector<Case> cases;
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = split(line);
    if (fields.size() < 11 || (!wanted.empty() && wanted.count(fields[1]) == 0)) continue;
    cases.push_back({fields[0], fields[1], fields[2], std::atof(fields[9].c_str()), std::atof(fields[10].c_str())});
  }
  return cases;
}

std::string describe(const Status& status) { return std::string(code_row(status.code()).name) + ": " + status.message(); }

bool is_declined(const Status& status) { return status.code() == Code::UnsupportedOperator || status.code() == Code::UnsupportedType; }

std::string difference(const Tensor& actual, const Tensor& expected, double rtol, double atol) {
  if (actual.dtype() != expected.dtype()) return "dtype " + graph::to_string(actual.type()) + ", expected " + graph::to_string(expected.type());
  if (actual.shape() != expected.shape()) return "shape " + graph::to_string(actual.type()) + ", expected " + graph::to_string(expected.type());
  if (actual.dtype() == DType::BFloat16) rtol = std::max(rtol, 1.0 / 64);
  const std::vector<double> a = actual.to_doubles(), b = expected.to_doubles();
  for (size_t i = 0; i < a.size(); ++i) {
    const bool is_close = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) || std::fabs(a[i] - b[i]) <= atol + rtol * std::fabs(b[i]);
    if (is_close) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", expected " + std::to_string(b[i]);
  }
  return "";
}

// "ok", "declined: …" or what is wrong.
std::string run_case(const std::string& path, const Case& which, bool is_whole) {
  auto imported = import::import_onnx(path + "/model.onnx", {});
  const auto failed = [](const char* stage, const Status& status) {
    return (is_declined(status) ? "declined: " : std::string(stage) + ": ") + describe(status);
  };
  if (!imported.has_value()) return failed("import", imported.error());
  graph::Graph& graph = imported->graph;
  Status status = graph::check_stand_ins(graph);
  if (!status.is_ok()) return failed("import", status);
  passes::PassContext context;
  status = passes::fold_constants(graph, context);
  if (!status.is_ok()) return failed("fold", status);
  if (!is_whole) status = passes::decompose_operators(graph, context);
  if (!status.is_ok()) return failed("decompose", status);
  if (!is_whole) status = passes::fold_constants(graph, context);
  if (!status.is_ok()) return failed("fold again", status);
  for (int set = 0; std::filesystem::exists(path + "/test_data_set_" + std::to_string(set)); ++set) {
    const std::string data = path + "/test_data_set_" + std::to_string(set) + "/";
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      auto read = import::read_tensor_file(data + "input_" + std::to_string(i) + ".pb");
      if (!read.has_value()) return failed("input", read.error());
      inputs.push_back(read->tensor);
    }
    auto outputs = reference::evaluate_graph(graph, inputs);
    if (!outputs.has_value()) return failed("evaluate", outputs.error());
    for (size_t i = 0; i < outputs->size(); ++i) {
      auto expected = import::read_tensor_file(data + "output_" + std::to_string(i) + ".pb");
      if (!expected.has_value()) return failed("output", expected.error());
      const std::string found = difference((*outputs)[i], expected->tensor, which.rtol, which.atol);
      if (!found.empty()) return "WRONG output " + std::to_string(i) + ": " + found;
    }
  }
  return "ok";
}

// The case in a child, so that a crash or an endless loop is a verdict as well.
std::string run_apart(const std::string& path, const Case& which, bool is_whole) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const std::string verdict = run_case(path, which, is_whole);
    const ssize_t written = write(ends[1], verdict.data(), verdict.size());
    _exit(written < 0);
  }
  close(ends[1]);
  std::string verdict;
  char text[4096];
  for (ssize_t got = read(ends[0], text, sizeof(text)); got > 0; got = read(ends[0], text, sizeof(text))) {
    verdict.append(text, static_cast<size_t>(got));
  }
  close(ends[0]);
  int state = 0;
  waitpid(child, &state, 0);
  return WIFSIGNALED(state) ? "CRASH: signal " + std::to_string(WTERMSIG(state)) : verdict;
}

}  // namespace

int main(int argc, char** argv) {
  std::set<std::string> wanted;
  bool is_whole = false;
  for (int i = 2; i < argc; ++i) {
    if (std::string(argv[i]) == "--whole") {
      is_whole = true;
      continue;
    }
    std::ifstream list(argv[i]);
    for (std::string name; std::getline(list, name);) wanted.insert(name);
  }
  if (argc < 2) return std::fprintf(stderr, "usage: run_onnx_cases CASES [LIST] [--whole]\n"), 2;
  std::map<std::string, int> totals;
  for (const Case& which : read_index(argv[1], wanted)) {
    const std::string verdict = run_apart(std::string(argv[1]) + "/" + which.folder + "/" + which.name, which, is_whole);
    const std::string kind = verdict == "ok" ? "ok" : verdict.starts_with("declined") ? "declined" : "failed";
    ++totals[kind];
    if (kind != "ok") std::printf("%-8s %s [%s] %s\n", kind.c_str(), which.name.c_str(), which.operators.c_str(), verdict.c_str());
  }
  for (const auto& [kind, count] : totals) std::printf("%s: %d\n", kind.c_str(), count);
  return totals["failed"] == 0 ? 0 : 1;
}
