// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/input_files.h"

#include "compiler/driver/check_outputs.h"

namespace tiffin::driver {

InputFiles::InputFiles(const std::string& model) {
  for (std::string& path : files_of_model(model)) {
    File file{std::move(path), false, {}};
    file.is_there = stat(file.path.c_str(), &file.facts) == 0;
    files_.push_back(std::move(file));
  }
}

std::vector<std::string> InputFiles::paths() const {
  std::vector<std::string> paths;
  for (const File& file : files_) paths.push_back(file.path);
  return paths;
}

Status InputFiles::check_unchanged() const {
  for (const File& file : files_) {
    struct stat now {};
    const auto& before = file.facts;
    if (!file.is_there || stat(file.path.c_str(), &now) != 0 || now.st_dev != before.st_dev || now.st_ino != before.st_ino) continue;
    const bool is_same =
        now.st_size == before.st_size && now.st_mtim.tv_sec == before.st_mtim.tv_sec && now.st_mtim.tv_nsec == before.st_mtim.tv_nsec;
    if (is_same) continue;
    return error(Code::Io, "'%s' was written to since it was compiled: it has %lld bytes, %lld before", file.path.c_str(),
                 static_cast<long long>(now.st_size), static_cast<long long>(before.st_size))
        .with_remedy("compile the model again, and write new models beside old ones, or rename them into place");
  }
  return {};
}

}  // namespace tiffin::driver
