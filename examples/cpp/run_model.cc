// SPDX-License-Identifier: Apache-2.0
// Runs an artifact whose inputs are float32 on ones and prints what comes out: run_model MODEL.so. Links the runtime only.
#include <iostream>
#include <tiffin/tiffin.hpp>

namespace {

int report(const tiffin::Error& error) {
  std::cerr << error.code() << ": " << error.message() << "\n  remedy: " << error.remedy() << "\n";
  return 1;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return std::cerr << "usage: run_model MODEL.so\n", 2;
  const auto module = tiffin::Module::load(words[1]);
  if (!module) return report(module.error());
  auto executor = module->create_executor();
  if (!executor) return report(executor.error());

  for (std::size_t i = 0; i < executor->input_count(); ++i) {
    const auto spec = executor->input_spec(i);
    if (!spec) return report(spec.error());
    const std::vector<float> ones(spec->bytes / sizeof(float), 1.0F);
    if (const auto set = executor->set_input(i, tiffin::view<const float>(ones, spec->shape)); !set) return report(set.error());
  }
  if (const auto run = executor->run(); !run) return report(run.error());

  for (std::size_t i = 0; i < executor->output_count(); ++i) {
    const auto spec = executor->output_spec(i);
    const auto elements = executor->output<float>(i);
    if (!spec || !elements) return report(spec ? elements.error() : spec.error());
    std::cout << spec->name << ": " << spec->dtype << ", " << elements->size() << " elements";
    if (!elements->empty()) std::cout << ", the first is " << elements->front();
    std::cout << "\n";
  }
  return 0;
}
