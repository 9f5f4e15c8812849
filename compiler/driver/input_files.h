// SPDX-License-Identifier: Apache-2.0
// The files that a compilation reads: the model and those that hold its tensors. Tensors borrow the mapped files until the module is written.
#pragma once

#include <sys/stat.h>

#include <string>
#include <vector>

#include "base/status.h"

namespace tiffin::driver {

class InputFiles {
 public:
  InputFiles() = default;
  // The model and the external data that it names, as they are now; a model that cannot be read names none.
  explicit InputFiles(const std::string& model);

  // Absolute: the same files whatever becomes of the working directory.
  std::vector<std::string> paths() const;
  // Io for a file that was written to since: what was read of it is not what it holds now, and a shorter one cannot be read at all. A file that was
  // removed, or that another one was put in the place of, is still there for who has mapped it.
  Status check_unchanged() const;

 private:
  struct File {
    std::string path;
    bool is_there;
    struct stat facts;
  };
  std::vector<File> files_;
};

}  // namespace tiffin::driver
