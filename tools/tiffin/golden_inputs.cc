// SPDX-License-Identifier: Apache-2.0
#include "tools/tiffin/golden_inputs.h"

#include <algorithm>
#include <filesystem>

#include "tools/commands/inputs.h"
#include "tools/tiffin/subcommands.h"

namespace tiffin::tools {
namespace {

namespace fs = std::filesystem;

bool has_input(const graph::Graph& graph, const std::string& name) {
  return std::ranges::any_of(graph.inputs(), [&](graph::ValueId input) { return graph.value(input).name == name; });
}

bool holds_inputs(const fs::path& folder, const graph::Graph& graph) {
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    const fs::path name = entry.path().filename();
    if (is_tensor_file(name.string()) && (!is_output_name(name.string()) || has_input(graph, name.stem().string()))) return true;
  }
  return false;
}

// The folder itself, or its sub-folders in order.
Result<std::vector<std::string>> case_folders(const std::string& folder, const graph::Graph& graph) {
  std::error_code failed;
  fs::directory_iterator entries(folder, failed);
  if (failed) return error(Code::Io, "cannot read the folder '%s': %s", folder.c_str(), failed.message().c_str());
  if (holds_inputs(folder, graph)) return std::vector<std::string>{folder};
  std::vector<std::string> folders;
  for (const fs::directory_entry& entry : entries) {
    if (entry.is_directory(failed) && holds_inputs(entry.path(), graph)) folders.push_back(entry.path().string());
  }
  std::sort(folders.begin(), folders.end());
  if (!folders.empty()) return folders;
  return error(Code::InvalidArgument, "the folder '%s' of --golden-inputs holds no tensor file and no sub-folder with one", folder.c_str())
      .with_remedy("put input_0.npy, input_1.npy, … or NAME.npy into it, or into one sub-folder for each case");
}

Result<std::vector<graph::Tensor>> read_case(const std::string& folder, const graph::Graph& graph) {
  Arguments arguments;
  arguments.inputs = folder.c_str();
  TIFFIN_ASSIGN_OR_RETURN(FixedList<GivenFile> given, find_given_files(arguments));
  return golden_case(std::move(given), graph);
}

}  // namespace

Result<std::vector<graph::Tensor>> golden_case(FixedList<GivenFile> given, const graph::Graph& graph) {
  std::vector<std::vector<int64_t>> shapes;
  for (const graph::ValueId input : graph.inputs()) shapes.push_back(graph.value(input).type.static_shape());
  std::vector<WantedInput> wanted;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const graph::Value& value = graph.value(graph.inputs()[i]);
    wanted.push_back({value.name, value.type.dtype, shapes[i]});
  }
  auto matched = match_inputs({given.begin(), given.size()}, wanted, Arguments(), &compiler_extensions());
  if (!matched.has_value() && matched.error().code() == Code::UnsetInput) {
    return matched.take_error().with_remedy("give each golden case a tensor for every input: NAME.npy, or input_N.npy of its number");
  }
  TIFFIN_ASSIGN_OR_RETURN(const FixedList<HostTensor> tensors, std::move(matched));
  std::vector<graph::Tensor> inputs;
  for (const HostTensor& tensor : tensors) {
    inputs.emplace_back(tensor.dtype(), std::vector<int64_t>(tensor.shape().begin(), tensor.shape().end()),
                        std::vector<uint8_t>(tensor.bytes(), tensor.bytes() + tensor.size_bytes()));
  }
  return inputs;
}

std::vector<std::string> golden_files(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failed;
  for (fs::recursive_directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (entry.depth() >= 1) entry.disable_recursion_pending();
    if (is_tensor_file(entry->path().filename().string())) files.push_back(entry->path().string());
  }
  return files;
}

Result<std::vector<std::vector<graph::Tensor>>> read_golden_inputs(const std::string& folder, const graph::Graph& graph) {
  TIFFIN_ASSIGN_OR_RETURN(const std::vector<std::string> folders, case_folders(folder, graph));
  std::vector<std::vector<graph::Tensor>> cases;
  for (const std::string& one : folders) {
    TIFFIN_ASSIGN_OR_RETURN(std::vector<graph::Tensor> inputs, read_case(one, graph));
    cases.push_back(std::move(inputs));
  }
  return cases;
}

}  // namespace tiffin::tools
