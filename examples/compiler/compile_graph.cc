// SPDX-License-Identifier: Apache-2.0
// Compiles a network that is written as text, without any ONNX: compile_graph OUT.so. Links the compiler.
#include <iostream>

#include "compiler/driver/compile.h"
#include "compiler/graph/parser.h"

namespace {

constexpr const char* kNetwork = R"(
graph "perceptron" {
  input %x: float32[1,64]
  parameter %weight: float32[64,10] = random(7)
  parameter %bias: float32[10] = random(8)
  %product = MatMul(%x, %weight)
  %sum = Add(%product, %bias)
  %y = Softmax(%sum) {axis=-1}
  output %y
}
)";

int report(const tiffin::Status& status) {
  std::cerr << status.message() << "\n";
  return 1;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return std::cerr << "usage: compile_graph OUT.so\n", 2;
  auto graph = tiffin::graph::parse_graph(kNetwork);
  if (!graph.has_value()) return report(graph.error());
  const auto module = tiffin::driver::compile_graph(std::move(*graph), {.name = "perceptron"}, {});
  if (!module.has_value()) return report(module.error());
  if (const tiffin::Status written = module->export_library(words[1]); !written.is_ok()) return report(written);
  std::cout << words[1] << ": " << module->targets().front() << ", " << module->code_bytes() << " bytes of code\n";
  return 0;
}
