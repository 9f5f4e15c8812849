// SPDX-License-Identifier: Apache-2.0
#include "compiler/driver/input_files.h"

#include <fcntl.h>
#include <unistd.h>

#include "compiler/driver/check_outputs.h"

namespace tiffin::driver {

InputFiles::InputFiles(const std::string& model) {
  for (std::string& path : files_of_model(model)) {
    File file{std::move(path), -1, {}};
    file.descriptor = open(file.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file.descriptor >= 0) fstat(file.descriptor, &file.facts);
    files_.push_back(std::move(file));
  }
}

InputFiles::~InputFiles() {
  for (const File& file : files_) {
    if (file.descriptor >= 0) close(file.descriptor);
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
    if (file.descriptor < 0 || fstat(file.descriptor, &now) != 0) continue;
    const auto& before = file.facts;
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
