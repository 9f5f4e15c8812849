// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/check_outputs.h"

#include <algorithm>
#include <filesystem>

#include "base/mapping.h"
#include "compiler/import/onnx/external_locations.h"

namespace tiffin::driver {
namespace {

namespace fs = std::filesystem;

// Hard links have different paths; files that are not there yet can only be compared by theirs.
bool is_same_file(const std::string& a, const std::string& b) {
  std::error_code failed;
  if (a == b || fs::equivalent(a, b, failed)) return true;
  const fs::path first = fs::weakly_canonical(fs::absolute(a, failed), failed), second = fs::weakly_canonical(fs::absolute(b, failed), failed);
  return !failed && first == second;
}

}  // namespace

std::vector<std::string> files_of_model(const std::string& model) {
  std::error_code failed;
  const fs::path path = fs::absolute(model, failed);
  std::vector<std::string> files = {failed ? model : path.string()};
  const Result<Mapping> file = Mapping::open_file(model.c_str());
  if (!file.has_value()) return files;
  const auto locations = import::external_locations(file->bytes());
  if (!locations.has_value()) return files;  // a text, or no model at all
  for (const std::string& location : *locations) files.push_back((path.parent_path() / location).string());
  return files;
}

Status check_outputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].empty()) continue;
    for (size_t j = 0; j < i; ++j) {
      if (outputs[j].empty() || !is_same_file(outputs[i], outputs[j])) continue;
      return error(Code::InvalidArgument, "'%s' is given for two files, different ones are expected", outputs[i].c_str());
    }
    for (const std::string& input : inputs) {
      if (!is_same_file(outputs[i], input)) continue;
      return error(Code::InvalidArgument, "'%s' is given for two files: it would replace '%s', which is read", outputs[i].c_str(), input.c_str())
          .with_remedy("give the output another name");
    }
  }
  return {};
}

Status check_dump_folder(const std::string& folder, const std::vector<std::string>& inputs) {
  constexpr const char* kSuffixes[] = {".graph", ".kernel", ".ll", ".o", ".txt"};
  for (const std::string& input : inputs) {
    const fs::path path(input);
    std::error_code failed;
    const bool lies_there = !folder.empty() && fs::equivalent(path.parent_path(), folder, failed);
    if (!lies_there || std::find(std::begin(kSuffixes), std::end(kSuffixes), path.extension()) == std::end(kSuffixes)) continue;
    return error(Code::InvalidArgument, "a dump into '%s' could replace '%s', which is read", folder.c_str(), input.c_str())
        .with_remedy("dump into a folder of its own");
  }
  return {};
}

}  // namespace tiffin::driver
